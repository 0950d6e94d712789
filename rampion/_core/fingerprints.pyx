"""Fingerprints of candidates.

Twin: rampion/_reference/fingerprints.py
"""

from rampion._core.types cimport key_t, row_t


cdef inline key_t spread(key_t key) except? 0 nogil:
    """A number that each bit of the key changes all bits of: the mixer of splitmix64."""
    key += <key_t> 0x9E3779B97F4A7C15
    key = (key ^ (key >> 30)) * <key_t> 0xBF58476D1CE4E5B9
    key = (key ^ (key >> 27)) * <key_t> 0x94D049BB133111EB
    return key ^ (key >> 31)


def fingerprints(
    const row_t[::1] bounds, const key_t[::1] keys, const key_t[:, ::1] values,
    key_t[::1] found,  # OUT
):
    """What tells candidates apart: 1 plus, modulo 2^64, a number for every key and for the bits of every value."""
    cdef row_t i, k, j
    cdef key_t total
    with nogil:
        for i in range(bounds.shape[0] - 1):
            total = 1
            for k in range(bounds[i], bounds[i + 1]):
                total += spread(keys[k])
            for j in range(values.shape[1]):
                total += spread(values[i, j] ^ spread(<key_t> j))
            found[i] = total
