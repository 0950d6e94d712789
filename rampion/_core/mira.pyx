"""Batch MIRA's pass over the lists, with BLEU in the context of a pseudo-corpus (Cherry & Foster 2012; S2.9, S7.2).

The gain of a candidate is r BLEU(its statistics + background), r the reference length in that sum.
A sum of statistics is [c, r, m1..m4, t1..t4]; its precision is ((m1 m2)(m3 m4) / ((t1 t2)(t3 t4)))^(1/4).
Twin: rampion/_reference/mira.py
"""

from libc.math cimport exp, sqrt

from rampion._core.segment cimport add_few, fill_scores
from rampion._core.side cimport winner
from rampion._core.step_length cimport step_length
from rampion._core.types cimport id_t, real, row_t


cdef inline int fill_gains(
    const real[:, ::1] statistics, row_t start, row_t end, const real[::1] background,
    real[::1] gains,  # OUT
) except -1 nogil:
    """gains[i] = the gain of candidate start + i: r BLEU, its precision and its brevity penalty (S2.9)"""
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
        gains[i - start] = r * sqrt(sqrt(matches / totals))
        if c < r:
            gains[i - start] *= exp(1.0 - r / c)
    return 0


def mira(
    lists, const row_t[::1] order, const real[:, ::1] statistics, tilts, step, real[::1] background,
    real[::1] weights, real[::1] total, work,
):
    """Take weights and background through the segments of order, and add to total the weights after each of them.

    A side is the greatest score + tilt * gain: tilts are those of the up and down sides and of the candidate that the
    background takes in; step is (cap, decay). Where the up side gains no more than the down side nothing happens.
    """
    # Longer than most, because it is one loop, a visit, with the steps of S7.2 in their order.
    cdef const row_t[::1] bounds = lists.bounds, feature_bounds = lists.feature_bounds
    cdef const row_t[::1] entry_bounds = lists.entry_bounds
    cdef const real[::1] dense = lists.dense, values = lists.values
    cdef const id_t[::1] features = lists.features, entries = lists.entries
    cdef real[::1] local = work.local, gradient = work.gradient
    cdef real[::1] scores = work.scores, slopes = work.slopes, gains = work.spare
    cdef real up_tilt = tilts[0], down_tilt = tilts[1], taken_tilt = tilts[2], cap = step[0], decay = step[1]
    cdef real violation, length
    cdef row_t width = lists.width, visit, s, i, j, start, end, size, first, f, up, down, taken, remaining
    with nogil:
        for j in range(weights.shape[0]):    # as if no visit moved the weights; each step adds what it changes
            total[j] += order.shape[0] * weights[j]
        for i in range(slopes.shape[0]):
            slopes[i] = 0.0
        for visit in range(order.shape[0]):
            remaining = order.shape[0] - visit
            s = order[visit]
            start = bounds[s]
            end = bounds[s + 1]
            if start == end:
                continue
            first = feature_bounds[s]
            size = feature_bounds[s + 1] - first
            # scores, and B of every candidate (S2.9)
            for j in range(width):
                local[j] = weights[j]
            for j in range(size):
                local[width + j] = weights[features[first + j]]
            fill_scores(dense, width, entries, entry_bounds, values, start, end, local, scores, 0)
            fill_gains(statistics, start, end, background, gains)
            # hope = argmax s + B, fear = argmax s - B; nothing happens unless B(hope) > B(fear)
            up = winner(scores, 0, gains, 0, end - start, up_tilt)
            down = winner(scores, 0, gains, 0, end - start, down_tilt)
            if up == down or gains[up] <= gains[down]:
                continue
            # the background takes in the hope, or whom it is to take in, even if no step is needed
            taken = winner(scores, 0, gains, 0, end - start, taken_tilt)
            for j in range(background.shape[0]):
                background[j] = decay * background[j] + statistics[start + taken, j]
            # the PA-I step (S7.1), with df = f(up) - f(down)
            violation = (scores[down] + down_tilt * gains[down]) - (scores[up] + down_tilt * gains[up])
            for j in range(width + size):
                gradient[j] = 0.0
            slopes[up] = 1.0
            slopes[down] = -1.0
            add_few(dense, width, entries, entry_bounds, values, start, end, slopes, 0, gradient)
            slopes[up] = 0.0
            slopes[down] = 0.0
            length = step_length(cap, 1.0, violation, gradient, width + size)
            for j in range(width + size):
                if gradient[j] != 0.0:
                    f = j if j < width else features[first + j - width]
                    weights[f] += length * gradient[j]
                    total[f] += remaining * (length * gradient[j])
