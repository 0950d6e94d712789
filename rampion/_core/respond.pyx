"""What relevant sets answer to weights, and what weights would gain by slopes (S10.5). Scores are those of slab.pxd.

Twin: rampion/_reference/respond.py
"""

from rampion._core.slab cimport ask, fill_scores, open_next, slab_is_wide, slab_t
from rampion._core.types cimport id_t, key_t, real, row_t, small_t


def respond(
    slabs, const row_t[::1] order, const small_t[::1] weights, const real[::1] own, bint portable, room,
    real[::1] scores,  # OUT
):
    """Fill scores, one a candidate, of the segments of order. portable: do without AVX-512."""
    cdef const row_t[::1] bounds = slabs.bounds, starts = slabs.starts
    cdef const real[::1] gains = slabs.gains, offsets = slabs.offsets, values = slabs.values
    cdef const id_t[::1] blob = slabs.blob
    cdef small_t[::1] found = room.found, totals = room.totals
    cdef int wide = not portable and slab_is_wide()
    cdef row_t visit, first, size
    cdef slab_t slab, following
    with nogil:
        open_next(bounds, starts, blob, order, 0, &following)
        for visit in range(order.shape[0]):
            ask(bounds, gains, offsets, values, starts, blob, order, visit, own.shape[0])
            slab = following
            open_next(bounds, starts, blob, order, visit + 1, &following)
            first = bounds[order[visit]]
            size = bounds[order[visit] + 1] - first
            if size > 0:
                fill_scores(wide, &slab, &following, first, size, offsets, values, weights, own, 1.0,
                            found, totals, scores[first:])


def collect(slabs, const real[::1] slopes, real[::1] gradient):
    """Add to gradient[place] every slope times the feature, of active places: sums over a chunk, in doubles."""
    cdef const row_t[::1] bounds = slabs.bounds, starts = slabs.starts
    cdef const id_t[::1] blob = slabs.blob
    cdef row_t s, k, c, row, words, chunks, at, places, mask, sizes, size
    cdef id_t half
    cdef real total
    with nogil:
        for s in range(bounds.shape[0] - 1):
            if bounds[s] == bounds[s + 1]:
                continue
            at = starts[s]
            chunks = 16 * <row_t>blob[at + 1]
            words = 2 * <row_t>blob[at + 2]
            sizes = at + 6
            mask = sizes + chunks // 4
            places = mask + chunks * words
            for k in range(chunks):
                size = blob[sizes + k // 4] >> 8 * (k % 4) & 255
                if k % 16 == 0 and k > 0:
                    places += 16 * row
                if k % 16 == 0:
                    row = size
                total = 0.0
                for c in range(bounds[s + 1] - bounds[s]):
                    half = blob[mask + c // 32] >> (c % 32)
                    if half & 1:
                        total += slopes[bounds[s] + c]
                mask += words
                for c in range(size):
                    gradient[blob[places + 16 * c + k % 16]] += total
