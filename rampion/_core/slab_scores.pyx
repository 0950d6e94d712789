"""Scores of relevant sets by weights, and the gradient of weights by slopes (S10.5). Scores are those of slab.pxd.

Twin: rampion/_reference/slab_scores.py
"""

from rampion._core.slab cimport SLAB, slab_mask, slab_open, slab_t
from rampion._core.types cimport id_t, key_t, real, row_t, small_t


def slab_scores(
    slabs, const small_t[::1] weights, const real[::1] own,
    real[::1] scores,  # OUT
):
    """Fill scores, one a candidate."""
    cdef const row_t[::1] bounds = slabs.bounds, starts = slabs.starts
    cdef const real[::1] offsets = slabs.offsets, values = slabs.values
    cdef const id_t[::1] blob = slabs.blob
    cdef row_t s, c, i, j, k, row, first, end
    cdef small_t totals[2][64]    # of so many candidates at once: sums of even chunks, and of odd ones
    cdef small_t total
    cdef real score
    cdef key_t mask
    cdef slab_t slab
    with nogil:
        for s in range(bounds.shape[0] - 1):
            for first in range(bounds[s], bounds[s + 1], 64):
                end = min(first + 64, bounds[s + 1])
                for i in range(64):
                    totals[0][i] = totals[1][i] = 0.0
                slab = slab_open(&blob[starts[s]])
                for k in range(SLAB * slab.slabs):
                    total = weights[slab.places[k % SLAB]]
                    for row in range(1, slab.sizes[k - k % SLAB]):
                        total += weights[slab.places[SLAB * row + k % SLAB]]
                    mask = slab_mask(&slab, k, (first - bounds[s]) // 64)
                    for i in range(end - first):
                        if mask >> i & 1:
                            totals[k & 1][i] += total
                    if k % SLAB == SLAB - 1:
                        slab.places += SLAB * slab.sizes[k - k % SLAB]
                for c in range(first, end):
                    score = 0.0
                    for j in range(own.shape[0]):
                        score += own[j] * values[c * own.shape[0] + j]
                    total = totals[0][c - first] + totals[1][c - first]
                    scores[c] = offsets[c] + (score + total)


def slab_gradient(slabs, const real[::1] slopes, real[::1] gradient):
    """Add to gradient[place] every slope times the feature, of active places: sums over a chunk, in doubles."""
    cdef const row_t[::1] bounds = slabs.bounds, starts = slabs.starts
    cdef const id_t[::1] blob = slabs.blob
    cdef row_t s, i, k, row, first
    cdef key_t mask
    cdef real total
    cdef slab_t slab
    with nogil:
        for s in range(bounds.shape[0] - 1):
            if bounds[s] == bounds[s + 1]:
                continue
            slab = slab_open(&blob[starts[s]])
            for k in range(SLAB * slab.slabs):
                total = 0.0
                for first in range(bounds[s], bounds[s + 1], 64):
                    mask = slab_mask(&slab, k, (first - bounds[s]) // 64)
                    for i in range(min(64, bounds[s + 1] - first)):
                        if mask >> i & 1:
                            total += slopes[first + i]
                for row in range(slab.sizes[k]):
                    gradient[slab.places[SLAB * row + k % SLAB]] += total
                if k % SLAB == SLAB - 1:
                    slab.places += SLAB * slab.sizes[k - k % SLAB]
