"""N-grams and triggers: what their keys are, and which of them have a value.

A key is 21 bits a word; see NonLocal in decoder/search/cube.py. Keys stand sorted by bucket, and the bucket of a key is
the upper bits of its product with a constant; most have a key or none.
"""

from rampion._core.types cimport byte_t, id_t, key_t, real, row_t

cdef enum:
    START = 1
    END = 2
    BITS = 21


cdef inline key_t code(id_t word) except? 0 nogil:
    """Every word beyond those that have a code of their own is nobody."""
    return <key_t>word + 1 if word < (1 << BITS) - 2 else (1 << BITS) - 1


cdef inline key_t trigger(id_t before, id_t word) except? 0 nogil:
    return <key_t>1 << 63 | code(before) << BITS | code(word)


cdef inline real weight_of(
    const row_t[::1] buckets, const key_t[::1] keys, const real[::1] weights, int shift, key_t key,
) except? -1.0 nogil:
    cdef row_t bucket = <row_t>((key * <key_t>0x9E3779B97F4A7C15) >> shift), i
    for i in range(buckets[bucket], buckets[bucket + 1]):
        if keys[i] == key:
            return weights[i]
    return 0.0


cdef inline bint is_triggered(const byte_t[::1] triggered, id_t word) except -1 nogil:
    return word < triggered.shape[0] and triggered[word]


cdef inline bint is_first(const id_t[::1] text, row_t low, row_t at) except -1 nogil:
    """Whether the word does not stand in text[low:at]."""
    cdef row_t i
    for i in range(low, at):
        if text[i] == text[at]:
            return False
    return True
