"""One side of a contrast loss: the (soft)max of score + handicap over a segment, and its derivative.

softness > 0   value = T log sum exp((score + handicap) / T), mass = the softmax
softness = 0   value = max, mass = 1 on the winner; ties go to the larger handicap, then to the earlier candidate
softness < 0   the side does not search: handicap is itself the mass, value = mass . scores
A side on which no candidate may stand (all handicaps -inf, all masses 0) has the value -inf and no mass.
Twin: rampion/_reference/pull.py
"""

from libc.math cimport INFINITY, exp, log

from rampion._core.types cimport real, row_t


cdef inline real pull(
    const real[::1] scores, row_t offset, const real[::1] handicap, row_t start, row_t end,
    real softness, real sign, real[::1] slopes, row_t base, real[::1] powers, row_t spare,
) except? -1.0 nogil:
    """Add sign * mass to slopes[base:] and return the value; scores are read from offset, handicaps from start.

    powers[spare:] is room for a segment; a soft side leaves its exponentials there.
    """
    cdef row_t size = end - start, i, winner = -1
    cdef real top = -INFINITY, total = 0.0, value
    if softness < 0.0:
        for i in range(size):
            if handicap[start + i] != 0.0:
                total += handicap[start + i] * scores[offset + i]
                slopes[base + i] += sign * handicap[start + i]
                winner = i
        return total if winner >= 0 else -INFINITY
    for i in range(size):
        value = scores[offset + i] + handicap[start + i]
        if value > top or (value == top and winner >= 0 and handicap[start + i] > handicap[start + winner]):
            top = value
            winner = i
    if winner < 0:
        return -INFINITY
    if softness == 0.0:
        slopes[base + winner] += sign
        return top
    for i in range(size):
        powers[spare + i] = exp((scores[offset + i] + handicap[start + i] - top) / softness)
        total += powers[spare + i]
    for i in range(size):
        slopes[base + i] += sign * (powers[spare + i] / total)
    return top + softness * log(total)
