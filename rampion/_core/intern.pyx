"""Whole strings to ids of a name table.

Twin: rampion/_reference/intern.py
"""

from .spans cimport enter, hash_of, slot_of
from .types cimport byte_t, id_t, key_t, row_t


def intern(const byte_t[::1] text, const row_t[::1] bounds, row_t start, table, row_t[::1] ids):  # OUT ids
    """Fill ids with the ids of the strings from `start` on; return how many are done: all, unless the table is full."""
    cdef id_t[::1] slots = table.slots
    cdef byte_t[::1] blob = table.blob
    cdef row_t[::1] places = table.bounds, counts = table.counts
    cdef row_t row = start, last = bounds.shape[0] - 1
    with nogil:
        while row < last:
            ids[row] = enter(text, bounds[row], bounds[row + 1] - bounds[row], slots, blob, places, counts)
            if ids[row] < 0:
                break
            row += 1
    return row


def find(const byte_t[::1] text, const row_t[::1] bounds, table, row_t[::1] ids):  # OUT ids
    """Fill ids with the id of every string, -1 for those not in the table."""
    cdef const id_t[::1] slots = table.slots
    cdef const byte_t[::1] blob = table.blob
    cdef const row_t[::1] places = table.bounds
    cdef row_t row, size
    cdef key_t key
    with nogil:
        for row in range(bounds.shape[0] - 1):
            size = bounds[row + 1] - bounds[row]
            key = hash_of(text, bounds[row], size)
            ids[row] = <row_t> slots[slot_of(key, text, bounds[row], size, slots, blob, places)] - 1
