"""Weights of many keys at once, so that memory answers for some while others are asked for.

Most keys of a search are in no table. They are dropped first, by a `sifter` that is small enough for a cache: bit
`mixed & 7` of byte `home` is set for every key of the table. For those that are left the slots are fetched, and only
then are their weights added up.
"""

from rampion._core.keys cimport fetch, mixed, rampion_high, rampion_prefetch, seek_from, slot_t
from rampion._core.types cimport byte_t, key_t, real, row_t


cdef inline row_t sieve(const slot_t[::1] slots, const byte_t[::1] sifter, key_t[::1] keys, row_t[::1] homes,
                        row_t[::1] marks, row_t runs) except -1 nogil:
    """Drop keys that the sifter lacks; what is left of run r is keys[marks[r]:marks[r + 1]], its slots in homes."""
    cdef row_t r, at = 0, end, kept = 0
    cdef key_t code
    for at in range(marks[runs]):
        homes[at] = <row_t> mixed(keys[at])
        rampion_prefetch(&sifter[<row_t> rampion_high(<key_t> homes[at], <key_t> sifter.shape[0])])
    at = 0
    for r in range(runs):
        end = marks[r + 1]
        marks[r] = kept
        while at < end:
            code = <key_t> homes[at]
            keys[kept], homes[kept] = keys[at], homes[at]
            kept += sifter[<row_t> rampion_high(code, <key_t> sifter.shape[0])] >> (code & 7) & 1
            at += 1
    for at in range(kept):
        homes[at] = <row_t> rampion_high(<key_t> homes[at], <key_t> slots.shape[0])
        fetch(slots, homes[at])
    marks[runs] = kept
    return kept


cdef inline real weight_of(const slot_t[::1] slots, const key_t[::1] keys, const row_t[::1] homes,
                           row_t start, row_t end) except? -1 nogil:
    """The sum of the weights of keys[start:end], in their order."""
    cdef real total = 0.0
    cdef row_t at
    for at in range(start, end):
        total += slots[seek_from(slots, homes[at], keys[at])].weight
    return total
