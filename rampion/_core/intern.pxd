"""The name table of rampion.vocab.Names: open addressing over FNV-1a, ids by first appearance.

Shared by intern.pyx, words.pyx and parse.pyx. A table with n bounds holds n - 1 names and has more slots than that.
"""

from libc.stdint cimport uint64_t

from .types cimport byte_t, id_t, row_t


cdef inline bint is_blank(byte_t byte) except? -1 nogil:
    """ASCII whitespace, as bytes.split() sees it."""
    return byte == 32 or 9 <= byte <= 13


cdef inline row_t slot_of(const byte_t[::1] text, row_t start, row_t end,
                          const id_t[::1] slots, const byte_t[::1] blob, const row_t[::1] bounds) except? -1 nogil:
    """The slot that holds text[start:end], or the empty one where it belongs."""
    cdef uint64_t key = 0xCBF29CE484222325, prime = 0x100000001B3
    cdef row_t mask = slots.shape[0] - 1, length = end - start, slot, first, at
    for at in range(start, end):
        key = (key ^ text[at]) * prime
    slot = <row_t> (key ^ (key >> 32)) & mask
    while slots[slot] != 0:
        first = bounds[slots[slot] - 1]
        if bounds[slots[slot]] - first == length:
            at = 0
            while at < length and blob[first + at] == text[start + at]:
                at += 1
            if at == length:
                break
        slot = (slot + 1) & mask
    return slot


cdef inline row_t intern_one(const byte_t[::1] text, row_t start, row_t end, id_t[::1] slots, byte_t[::1] blob,
                             row_t[::1] bounds, row_t[::1] counts) except? -2 nogil:
    """The id of text[start:end], a new one if need be; -1 if the table is full."""
    cdef row_t slot = slot_of(text, start, end, slots, blob, bounds), count = counts[0], at
    if slots[slot] != 0:
        return slots[slot] - 1
    if count == bounds.shape[0] - 1 or bounds[count] + end - start > blob.shape[0]:
        return -1
    for at in range(end - start):
        blob[bounds[count] + at] = text[start + at]
    bounds[count + 1] = bounds[count] + end - start
    counts[0] = count + 1
    slots[slot] = <id_t> (count + 1)
    return count
