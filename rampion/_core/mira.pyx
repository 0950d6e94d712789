"""Batch MIRA's pass over the lists, with BLEU in the context of a pseudo-corpus (Cherry & Foster 2012; S2.9, S7.2).

The gain of a candidate is r BLEU(its statistics + background), r the reference length in that sum.
A sum of statistics is [c, r, m1..m4, t1..t4]; its precision is ((m1 m2)(m3 m4) / ((t1 t2)(t3 t4)))^(1/4).
Twin: rampion/_reference/mira.py
"""

from libc.math cimport exp, sqrt

from rampion._core.pace cimport step_length
from rampion._core.pull cimport winner
from rampion._core.segment cimport add_slopes, fill_scores
from rampion._core.types cimport id_t, real, row_t


cdef inline int fill_gains(
    const real[:, ::1] statistics, row_t start, row_t end, const real[::1] background, real[::1] work, row_t gains,
) except -1 nogil:
    """work[gains + i] = the gain of candidate start + i"""
    cdef real matches, totals, c, r
    cdef row_t i
    for i in range(start, end):
        c = statistics[i, 0] + background[0]
        r = statistics[i, 1] + background[1]
        matches = ((statistics[i, 2] + background[2]) * (statistics[i, 3] + background[3])) * (
            (statistics[i, 4] + background[4]) * (statistics[i, 5] + background[5])
        )
        totals = ((statistics[i, 6] + background[6]) * (statistics[i, 7] + background[7])) * (
            (statistics[i, 8] + background[8]) * (statistics[i, 9] + background[9])
        )
        work[gains + i - start] = r * sqrt(sqrt(matches / totals))
        if c < r:
            work[gains + i - start] *= exp(1.0 - r / c)
    return 0


def mira(
    lists, const row_t[::1] order, const real[:, ::1] statistics, tilts, step, real[::1] background,
    real[::1] weights, real[::1] total, real[::1] work,
):
    """Take weights and background through the segments of order, and add to total the weights after each of them.

    A side is the greatest score + tilt * gain: tilts are those of the up and down sides and of the candidate that the
    background takes in; step is (cap, decay). Where the up side gains no more than the down side nothing happens.
    work holds the widest segment's weights and gradient, then the longest segment's scores, gains and slopes.
    """
    cdef const row_t[::1] bounds = lists.bounds, feature_bounds = lists.feature_bounds
    cdef const row_t[::1] entry_bounds = lists.entry_bounds
    cdef const real[::1] dense = lists.dense, values = lists.values
    cdef const id_t[::1] features = lists.features, entries = lists.entries
    cdef real up_tilt = tilts[0], down_tilt = tilts[1], heard_tilt = tilts[2], cap = step[0], decay = step[1]
    cdef real violation, pace
    cdef row_t width = lists.width, local_size = lists.local_size, longest = lists.longest
    cdef row_t visit, s, i, j, start, end, size, first, f, up, down, heard, remaining
    cdef row_t gradient = local_size, scores = 2 * local_size, gains = scores + longest, slopes = gains + longest
    with nogil:
        for j in range(weights.shape[0]):
            total[j] += order.shape[0] * weights[j]
        for i in range(longest):
            work[slopes + i] = 0.0
        for visit in range(order.shape[0]):
            remaining = order.shape[0] - visit
            s = order[visit]
            start = bounds[s]
            end = bounds[s + 1]
            if start == end:
                continue
            first = feature_bounds[s]
            size = feature_bounds[s + 1] - first
            for j in range(width):
                work[j] = weights[j]
            for j in range(size):
                work[width + j] = weights[features[first + j]]
            fill_scores(dense, width, entries, entry_bounds, values, start, end, work, work, scores)
            fill_gains(statistics, start, end, background, work, gains)
            up = winner(work, scores, work, gains, end - start, up_tilt)
            down = winner(work, scores, work, gains, end - start, down_tilt)
            if up == down or work[gains + up] <= work[gains + down]:
                continue
            heard = winner(work, scores, work, gains, end - start, heard_tilt)
            for j in range(background.shape[0]):
                background[j] = decay * background[j] + statistics[start + heard, j]
            violation = (work[scores + down] + down_tilt * work[gains + down]) - (
                work[scores + up] + down_tilt * work[gains + up]
            )
            for j in range(width + size):
                work[gradient + j] = 0.0
            work[slopes + up] = 1.0
            work[slopes + down] = -1.0
            add_slopes(dense, width, entries, entry_bounds, values, start, end, work, slopes, work, gradient)
            work[slopes + up] = 0.0
            work[slopes + down] = 0.0
            pace = step_length(cap, 1.0, violation, work, gradient, width + size)
            for j in range(width + size):
                if work[gradient + j] != 0.0:
                    f = j if j < width else features[first + j - width]
                    weights[f] += pace * work[gradient + j]
                    total[f] += remaining * (pace * work[gradient + j])
