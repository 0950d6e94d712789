"""The moves of decoder/search/states.py, as kernels see them."""

from rampion._core.types cimport row_t

cdef enum:
    STEP = 0
    OPEN = 1
    FILL = 2
    CLOSE = 3
    REOPEN = 4
    MOVES = 5
    NO_GAP = -1


cdef inline int orientation_of(int move) except? -1 nogil:
    """R 0, L 1, N 2."""
    return 0 if move == STEP else 1 if move == FILL else 2


cdef inline int backward_of(int move) except? -1 nogil:
    """M 0, S 1, D 2: the new block towards all before it."""
    return 0 if move == STEP or move == CLOSE else 1 if move == FILL else 2


cdef inline int forward_of(int move) except? -1 nogil:
    """M 0, S 1, D 2: the last block towards the new one."""
    return 0 if move == STEP or move == OPEN else 1 if move == FILL else 2


cdef inline int move_of(row_t free, row_t last_start, row_t last_end, row_t start) except? -1 nogil:
    """How the block at `start` follows; free is where the furthest of those before it ends."""
    if start == last_end:
        return STEP
    if start < last_start:
        return FILL
    if start == free:
        return CLOSE
    return OPEN if last_end == free else REOPEN
