"""What blocks score by themselves.

Twin: decoder/_reference/model.py
"""

from rampion._core.keys cimport fetch, home, seek_from, slot_t
from rampion._core.types cimport id_t, key_t, real, row_t, small_t

from .moves cimport FILL, OPEN, STEP, CLOSE
from .templates cimport block_keys, leave_keys, move_keys, room

cdef enum:
    KINDS = 4


cdef inline real summed(const slot_t[::1] slots, const key_t[::1] keys, const row_t[::1] homes,
                        row_t start, row_t end, real total) except? -1 nogil:
    cdef row_t at
    for at in range(start, end):
        total += slots[seek_from(slots, homes[at], keys[at])].weight
    return total


def assess(const id_t[::1] asked, row_t start, blocks, model, work, real[:, ::1] local):  # OUT local
    """Fill local[b] for the blocks from `start` on that lack it; return how many are done: all, or room is short.

    local[b, k] is what block b brings when it comes by move k, whatever stands beside it: P1, P5, W1, W3, T1, T2
    inside, its columns, one block, its words; P2, H1 and orientation by the move; H2 by the move that must follow.
    """
    cdef const id_t[::1] sources = blocks.sources, targets = blocks.targets
    cdef const id_t[::1] source_words = blocks.source_words, target_words = blocks.target_words
    cdef const row_t[::1] source_bounds = blocks.source_bounds, target_bounds = blocks.target_bounds
    cdef const small_t[:, ::1] values = blocks.values
    cdef const slot_t[::1] slots = model.slots
    cdef const real[::1] columns = model.columns
    cdef real phrases = model.phrases, words = model.words
    cdef key_t mask = model.mask
    cdef key_t[::1] keys = work.keys
    cdef row_t[::1] homes = work.homes
    cdef row_t place, b, at, count, common, kind, source, target, column, forward, n
    cdef real total, moved
    with nogil:
        for place in range(start, asked.shape[0]):
            b = asked[place]
            if local[b, 0] == local[b, 0] and local[b, 1] == local[b, 1] and \
                    local[b, 2] == local[b, 2] and local[b, 3] == local[b, 3]:
                continue  # all four: another thread may be writing the same numbers
            source, target = sources[b], targets[b]
            n = target_bounds[target + 1] - target_bounds[target]
            if room(source_bounds[source + 1] - source_bounds[source], n) + 3 * KINDS > keys.shape[0]:
                break
            common = block_keys(mask, b, target, source_words, source_bounds[source], source_bounds[source + 1],
                                target_words, target_bounds[target], target_bounds[target + 1], keys, 0)
            count = common
            for kind in range(KINDS):
                count = move_keys(mask, b, <int> kind, keys, count)
                forward = 0 if kind == STEP or kind == CLOSE else 1 if kind == OPEN else 2
                count = leave_keys(mask, b, <int> forward, keys, count)
            for at in range(count):
                homes[at] = home(slots, keys[at])
                fetch(slots, homes[at])
            total = summed(slots, keys, homes, 0, common, 0.0) + (phrases + words * n)
            for column in range(5):
                total += columns[column] * values[b, column]
            at = (count - common) // KINDS
            for kind in range(KINDS):
                forward = 0 if kind == STEP or kind == CLOSE else 1 if kind == OPEN else 2
                moved = summed(slots, keys, homes, common + kind * at, common + kind * at + at, 0.0)
                column = 5 + (0 if kind == STEP or kind == CLOSE else 2 if kind == OPEN else 1)
                moved += columns[column] * values[b, column]
                moved += columns[8 + forward] * values[b, 8 + forward]
                local[b, kind] = total + moved
        else:
            place = asked.shape[0]
    return place
