"""Tables of phrases: open addressing over FNV-1a of word ids; slots hold 0 or phrase + 1, and are a power of two.

The words of phrase p are words[bounds[p]:bounds[p + 1]].
"""

from rampion._core.types cimport id_t, key_t, row_t


cdef inline key_t seed() except? 0 nogil:
    """The hash of no words."""
    return 0xCBF29CE484222325


cdef inline key_t extended(key_t key, id_t word) except? 0 nogil:
    """The hash of the words so far and one more."""
    return (key ^ word) * <key_t> 0x100000001B3


cdef inline row_t slot_of(
    key_t key, const id_t[::1] text, row_t start, row_t size,
    const id_t[::1] slots, const id_t[::1] words, const row_t[::1] bounds,
) except -1 nogil:
    """The slot that holds the phrase text[start:start + size] of this hash, or the empty one where it belongs."""
    cdef row_t mask = slots.shape[0] - 1, slot, first, at
    slot = <row_t> (key ^ (key >> 29) ^ (key >> 47)) & mask
    while slots[slot] != 0:
        first = bounds[slots[slot] - 1]
        if bounds[slots[slot]] - first == size:
            at = 0
            while at < size and words[first + at] == text[start + at]:
                at += 1
            if at == size:
                break
        slot = (slot + 1) & mask
    return slot
