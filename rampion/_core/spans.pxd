"""A table of spans: strings of bytes or of ids, each kept once and numbered by first appearance.

Span i is kept[bounds[i]:bounds[i + 1]], and counts[0] is how many spans there are. Where a span is found by what it
holds, the `slots` help: a hash table with open addressing and linear probing. A slot holds 0 if it is free, otherwise
the number of a span + 1. Slots are a power of two, and more than the spans, so that every search ends.

A span is hashed element by element (FNV-1a), so that a caller who looks up a span and then a longer one need not begin
again. The upper bits, which depend on all elements, are folded onto the lower ones, which choose the slot. The slots of
a block set stand in its file: another hash would need another file format. Who knows it can make spans collide; so
the table takes no span that would stand far from where its search begins, and searches stay short.

This is the one such table of the house: names (intern.pxd), source phrases (decoder/_core/phrases.pyx, match.pyx) and
the texts of a k-best list (decoder/_core/derive.pxd).
"""

from .types cimport byte_t, id_t, key_t, row_t

cdef enum:
    FARTHEST = 1023  # no span stands farther from the slot where its search begins

ctypedef fused element_t:
    byte_t
    id_t


cdef inline key_t seed() noexcept nogil:
    """The hash of the empty span."""
    return 0xCBF29CE484222325


cdef inline key_t extended(key_t key, key_t element) noexcept nogil:  # it reads no array: there is nothing to check
    """The hash of a span of this hash and one element more."""
    return (key ^ element) * <key_t> 0x100000001B3


cdef inline key_t hash_of(const element_t[::1] text, row_t start, row_t size) except? 0 nogil:
    """The hash of text[start:start + size]."""
    cdef key_t key = seed()
    cdef row_t at
    for at in range(start, start + size):
        key = extended(key, text[at])
    return key


cdef inline row_t home_of(key_t key, row_t mask) noexcept nogil:
    """The slot where the search begins."""
    return <row_t> (key ^ (key >> 29) ^ (key >> 47)) & mask


cdef inline row_t slot_of(
    key_t key, const element_t[::1] text, row_t start, row_t size,
    const id_t[::1] slots, const element_t[::1] kept, const row_t[::1] bounds,
) except? -1 nogil:
    """The slot that holds text[start:start + size], whose hash is key, or the free one where it belongs."""
    cdef row_t mask = slots.shape[0] - 1, slot = home_of(key, mask), first, at
    while slots[slot] != 0:
        first = bounds[slots[slot] - 1]
        if bounds[slots[slot]] - first == size:
            at = 0
            while at < size and kept[first + at] == text[start + at]:
                at += 1
            if at == size:
                break
        slot = (slot + 1) & mask
    return slot


cdef inline row_t enter(
    const element_t[::1] text, row_t start, row_t size,
    id_t[::1] slots, element_t[::1] kept, row_t[::1] bounds, row_t[::1] counts,
) except? -2 nogil:
    """The number of text[start:start + size], a new one if need be; -1 if the table is full, or crowded there."""
    cdef key_t key = hash_of(text, start, size)
    cdef row_t slot = slot_of(key, text, start, size, slots, kept, bounds), mask = slots.shape[0] - 1, count, at
    if slots[slot] != 0:
        return slots[slot] - 1
    count = counts[0]
    if count == bounds.shape[0] - 1 or bounds[count] + size > kept.shape[0]:
        return -1
    if ((slot - home_of(key, mask)) & mask) > FARTHEST:
        return -1
    for at in range(size):
        kept[bounds[count] + at] = text[start + at]
    bounds[count + 1] = bounds[count] + size
    counts[0] = count + 1
    slots[slot] = <id_t> (count + 1)
    return count
