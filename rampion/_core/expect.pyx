"""Expectations over each list under its own softmax, and their derivatives.

With p the softmax of a = (score - the list's highest) / temperature (S3.1, S8):
slope = d(E_p[value] - warmth H(p)) / d score = p (value - E_p[value] + warmth (a - E_p[a])) / temperature
Twin: rampion/_reference/expect.py
"""

from libc.math cimport exp, log

from rampion._core.types cimport real, row_t


def expect(
    const real[::1] scores, const real[::1] values, const row_t[::1] bounds, real temperature, real warmth,
    real[::1] means, real[::1] entropies, real[::1] slopes,
):
    """Fill each segment's E_p[value] and H(p), and each candidate's slope; an empty segment has 0 of both."""
    cdef row_t s, i, start, end
    cdef real top, total, mean, drift, share, cold = 1.0 / temperature
    with nogil:
        for s in range(bounds.shape[0] - 1):
            start = bounds[s]
            end = bounds[s + 1]
            means[s] = entropies[s] = 0.0
            if start == end:
                continue
            # a = (score - top) / temperature: no power overflows, and one of them is 1
            top = scores[start]
            for i in range(start + 1, end):
                if scores[i] > top:
                    top = scores[i]
            # E_p[value] and E_p[a], p = exp(a) / total; slopes hold exp(a) meanwhile
            total = mean = drift = 0.0
            for i in range(start, end):
                slopes[i] = exp((scores[i] - top) * cold)
            for i in range(start, end):
                total += slopes[i]
                mean += slopes[i] * values[i]
                drift += slopes[i] * ((scores[i] - top) * cold)
            mean /= total
            drift /= total
            # slope = p (value - E_p[value] + warmth (a - E_p[a])) / temperature (S3.1)
            share = cold / total
            if warmth != 0.0:
                for i in range(start, end):
                    slopes[i] *= (values[i] - mean + warmth * ((scores[i] - top) * cold - drift)) * share
            else:
                for i in range(start, end):
                    slopes[i] *= (values[i] - mean) * share
            # H(p) = log total - E_p[a]
            means[s] = mean
            entropies[s] = log(total) - drift
