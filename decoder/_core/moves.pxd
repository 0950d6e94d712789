"""How one block follows another, in the words of decoder/search/states.py, as kernels see it.

The kind of a move is what the score of the new block depends on: its orientation, and its backward orientation.
"""

from rampion._core.types cimport row_t

cdef enum:
    STEP = 0   # R M
    OPEN = 1   # N D
    FILL = 2   # L S
    CLOSE = 3  # N M
    LEAN = 4   # N S
    KINDS = 5
    TURNS = 3  # M, S, D
    NO_GAP = -1


cdef inline int orientation_of(int kind) except? -1 nogil:
    """R 0, L 1, N 2."""
    return 0 if kind == STEP else 1 if kind == FILL else 2


cdef inline int backward_of(int kind) except? -1 nogil:
    """M 0, S 1, D 2: the new block towards all before it."""
    return 0 if kind == STEP or kind == CLOSE else 1 if kind == FILL or kind == LEAN else 2


cdef inline row_t between(row_t last_start, row_t last_end, row_t start, row_t end) except? -1 nogil:
    """How many words are between the last block and the new one."""
    return start - last_end if start >= last_end else last_start - end


cdef inline int kind_of(row_t last_start, row_t last_end, row_t start, row_t end, row_t covered) except? -1 nogil:
    """How the block over [start, end) follows, if so many of the words between the two are covered."""
    cdef row_t words = between(last_start, last_end, start, end)
    if start >= last_end:
        return STEP if words == 0 else CLOSE if covered == words else OPEN
    return FILL if words == 0 else LEAN if covered == words else OPEN


cdef inline int forward_of(row_t last_end, row_t start, row_t covered) except? -1 nogil:
    """M 0, S 1, D 2: the last block towards the new one, if so many of the words between the two are covered."""
    return 2 if covered > 0 else 0 if start >= last_end else 1
