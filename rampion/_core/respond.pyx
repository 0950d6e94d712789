"""What relevant sets answer to weights, and what weights would gain by slopes (S10.5). Scores are those of slab.pxd.

Twin: rampion/_reference/respond.py
"""

from rampion._core.types cimport id_t, real, row_t, small_t

cdef enum:
    HEAD = 6     # words before the sizes of a blob
    SLAB = 16    # chunks in a slab


cdef inline bint has(const id_t[::1] blob, row_t mask, row_t c) except -1 nogil:
    return blob[mask + c // 32] >> c % 32 & 1


cdef inline row_t size_of(const id_t[::1] blob, row_t sizes, row_t chunk) except -1 nogil:
    return blob[sizes + chunk // 4] >> 8 * (chunk % 4) & 255


def respond(
    slabs, const small_t[::1] weights, const real[::1] own,
    real[::1] scores,  # OUT
):
    """Fill scores, one a candidate."""
    cdef const row_t[::1] bounds = slabs.bounds, starts = slabs.starts
    cdef const real[::1] offsets = slabs.offsets, values = slabs.values
    cdef const id_t[::1] blob = slabs.blob
    cdef row_t s, c, i, j, k, row, rows, first, end, chunks, words, sizes, mask, places
    cdef small_t totals[2][64]    # of so many candidates at once
    cdef small_t total
    cdef real score
    with nogil:
        for s in range(bounds.shape[0] - 1):
            for first in range(bounds[s], bounds[s + 1], 64):
                end = min(first + 64, bounds[s + 1])
                for i in range(64):
                    totals[0][i] = totals[1][i] = 0.0
                chunks = SLAB * <row_t>blob[starts[s] + 1]
                words = 2 * <row_t>blob[starts[s] + 2]
                sizes = starts[s] + HEAD
                mask = sizes + chunks // 4
                places = mask + chunks * words
                for k in range(chunks):
                    rows = size_of(blob, sizes, k - k % SLAB)
                    total = weights[blob[places + k % SLAB]]
                    for row in range(1, rows):
                        total += weights[blob[places + SLAB * row + k % SLAB]]
                    for c in range(first, end):
                        if has(blob, mask + k * words, c - bounds[s]):
                            totals[k & 1][c - first] += total
                    if k % SLAB == SLAB - 1:
                        places += SLAB * rows
                for c in range(first, end):
                    score = 0.0
                    for j in range(own.shape[0]):
                        score += own[j] * values[c * own.shape[0] + j]
                    total = totals[0][c - first] + totals[1][c - first]
                    scores[c] = offsets[c] + (score + total)


def collect(slabs, const real[::1] slopes, real[::1] gradient):
    """Add to gradient[place] every slope times the feature, of active places: sums over a chunk, in doubles."""
    cdef const row_t[::1] bounds = slabs.bounds, starts = slabs.starts
    cdef const id_t[::1] blob = slabs.blob
    cdef row_t s, c, k, row, chunks, words, sizes, mask, places
    cdef real total
    with nogil:
        for s in range(bounds.shape[0] - 1):
            if bounds[s] == bounds[s + 1]:
                continue
            chunks = SLAB * <row_t>blob[starts[s] + 1]
            words = 2 * <row_t>blob[starts[s] + 2]
            sizes = starts[s] + HEAD
            mask = sizes + chunks // 4
            places = mask + chunks * words
            for k in range(chunks):
                total = 0.0
                for c in range(bounds[s + 1] - bounds[s]):
                    if has(blob, mask + k * words, c):
                        total += slopes[bounds[s] + c]
                for row in range(size_of(blob, sizes, k)):
                    gradient[blob[places + SLAB * row + k % SLAB]] += total
                if k % SLAB == SLAB - 1:
                    places += SLAB * size_of(blob, sizes, k - k % SLAB)
