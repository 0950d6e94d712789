"""Values and slopes of one side, and of the contrast losses -(soft)max(score + up) + (soft)max(score + down).

A side is a pair (handicap of every candidate, softness); its law stands in side.pxd.
Twin: rampion/_reference/contrast.py
"""

from libc.math cimport INFINITY

from rampion._core.side cimport add_side
from rampion._core.types cimport real, row_t


def side(const real[::1] scores, stance, const row_t[::1] bounds, real[::1] work, real[::1] values, real[::1] masses):
    """Fill each segment's (soft)max of score + handicap, and each candidate's mass; an empty side is worth -inf.

    work is room for the longest segment.
    """
    cdef const real[::1] handicap = stance[0]
    cdef real softness = stance[1]
    cdef row_t s, i
    with nogil:
        for s in range(bounds.shape[0] - 1):
            for i in range(bounds[s], bounds[s + 1]):
                masses[i] = 0.0
            values[s] = add_side(
                scores, bounds[s], handicap, bounds[s], bounds[s + 1], softness, 1.0, masses, bounds[s], work
            )


def contrast(
    const real[::1] scores, up, down, const row_t[::1] bounds, real[::1] work, real[::1] values, real[::1] slopes
):
    """Fill each segment's value and each candidate's slope; a segment where a side is empty has none.

    work is room for the longest segment.
    """
    cdef const real[::1] up_handicap = up[0], down_handicap = down[0]
    cdef real up_softness = up[1], down_softness = down[1], raised, lowered
    cdef row_t s, i, start, end
    with nogil:
        for s in range(bounds.shape[0] - 1):
            start = bounds[s]
            end = bounds[s + 1]
            for i in range(start, end):
                slopes[i] = 0.0
            # slopes: -1 times the mass of the up side, +1 times that of the down side (S3.1)
            raised = add_side(scores, start, up_handicap, start, end, up_softness, -1.0, slopes, start, work)
            lowered = add_side(scores, start, down_handicap, start, end, down_softness, 1.0, slopes, start, work)
            # a segment where a side is empty takes no part (S3)
            if raised == -INFINITY or lowered == -INFINITY:
                values[s] = 0.0
                for i in range(start, end):
                    slopes[i] = 0.0
            else:
                values[s] = lowered - raised
