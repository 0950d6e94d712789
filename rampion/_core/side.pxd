"""One side of a contrast loss: the (soft)max of score + handicap over a segment, and its derivative.

softness > 0   value = T log sum exp((score + handicap) / T), mass = the softmax
softness = 0   value = max, mass = 1 on the winner; ties go to the larger handicap, then to the earlier candidate
softness < 0   the side does not search: handicap is itself the mass, value = mass . scores
A side on which no candidate may stand (all handicaps -inf, all masses 0) has the value -inf and no mass.
Twin: rampion/_reference/side.py
"""

from libc.math cimport INFINITY, exp, log

from rampion._core.types cimport real, row_t


cdef inline row_t winner(
    const real[::1] scores, row_t offset, const real[::1] handicap, row_t start, row_t size, real tilt,
) except -2 nogil:
    """The place of the greatest score + tilt * handicap; ties go as above; -1 if all are -inf."""
    cdef row_t i, best = -1
    cdef real top = -INFINITY, value, tilted
    for i in range(size):
        tilted = tilt * handicap[start + i]
        value = scores[offset + i] + tilted
        if value > top or (value == top and best >= 0 and tilted > tilt * handicap[start + best]):
            top = value
            best = i
    return best


cdef inline real add_side(
    const real[::1] scores, row_t offset, const real[::1] handicap, row_t start, row_t end,
    real softness, real sign, real[::1] slopes, row_t base, real[::1] powers,
) except? -1.0 nogil:
    """Add sign * mass to slopes[base:] and return the value; scores are read from offset, handicaps from start.

    powers is room for a segment; a soft side leaves its exponentials there.
    """
    cdef row_t size = end - start, i, best = -1
    cdef real top, total = 0.0
    # the side is fixed: its masses are given
    if softness < 0.0:
        for i in range(size):
            if handicap[start + i] != 0.0:
                total += handicap[start + i] * scores[offset + i]
                slopes[base + i] += sign * handicap[start + i]
                best = i
        return total if best >= 0 else -INFINITY
    # max
    best = winner(scores, offset, handicap, start, size, 1.0)
    if best < 0:
        return -INFINITY
    top = scores[offset + best] + handicap[start + best]
    if softness == 0.0:
        slopes[base + best] += sign
        return top
    # T log sum exp(. / T), with the greatest term taken out, so that no power overflows
    for i in range(size):
        powers[i] = exp((scores[offset + i] + handicap[start + i] - top) / softness)
        total += powers[i]
    for i in range(size):
        slopes[base + i] += sign * (powers[i] / total)
    return top + softness * log(total)
