"""The feature table of store.keys.Keys: exact 64-bit keys, open addressing, linear probing; key 0 marks a free slot.

Shared by keys.pyx and the decoder's search. Multiplying a mixed key by the number of slots and keeping the upper 64
bits gives its home, so that a table may have any size. A free slot has weight 0: whoever seeks a key that is not
there reads that weight.
"""

from rampion._core.types cimport id_t, key_t, row_t, small_t

cdef extern from "machine.h" nogil:
    key_t rampion_high(key_t a, key_t b)    # the upper 64 bits of the product
    void rampion_prefetch(const void* address)


cdef packed struct slot_t:
    key_t key
    small_t weight
    id_t id


cdef inline key_t mixed(key_t key) except? 0 nogil:
    """The key's bits spread over all 64."""
    key *= <key_t> 0x9E3779B97F4A7C15
    return (key ^ (key >> 32)) * <key_t> 0xD6E8FEB86659FD93


cdef inline row_t home(const slot_t[::1] slots, key_t key) except? -1 nogil:
    """The slot where the search for key begins."""
    return <row_t> rampion_high(mixed(key), <key_t> slots.shape[0])


cdef inline int fetch(const slot_t[::1] slots, row_t slot) except -1 nogil:
    """Ask for the slot's cache line ahead of its use."""
    rampion_prefetch(&slots[slot])
    return 0


cdef inline row_t seek_from(const slot_t[::1] slots, row_t slot, key_t key) except? -1 nogil:
    """The slot that holds key, or the free one where it belongs; the search begins at slot, the key's home."""
    while slots[slot].key != key and slots[slot].key != 0:
        slot += 1
        if slot == slots.shape[0]:
            slot = 0
    return slot


cdef inline row_t seek(const slot_t[::1] slots, key_t key) except? -1 nogil:
    """The slot that holds key, or the free one where it belongs."""
    return seek_from(slots, home(slots, key), key)
