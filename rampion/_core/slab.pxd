"""Segments of a working form as kernels see them (S10.5): scores out, steps in. Bodies and layout are in slab.h.

score of c = offset + scale * (own . values + what its places weigh), a double but for the last part, a single float.
Twin: rampion/_reference/slab.py
"""

from rampion._core.types cimport byte_t, id_t, key_t, real, row_t, small_t

cdef extern from "slab.h" nogil:
    enum:
        SLAB    # chunks in a slab
    ctypedef struct slab_t:
        row_t slabs, words, size
        const byte_t* sizes
        const id_t* masks
        const id_t* places
        const char* after
        row_t bytes
    int slab_is_wide()
    slab_t slab_open(const id_t* blob)
    key_t slab_mask(const slab_t* slab, row_t chunk, row_t word)
    void slab_fetch(const void* start, row_t size)
    void slab_score(
        int wide, const slab_t* slab, const slab_t* following, const small_t* weights, row_t candidates,
        small_t* found, small_t* sums, small_t* totals)
    void slab_part(int wide, const slab_t* slab, row_t up, row_t down, small_t delta, small_t* weights)
    void slab_move(const slab_t* slab, const key_t* touched, const small_t* steps, small_t* weights)


cdef struct visit_t:    # of one segment
    slab_t slab, following    # its places, and those of the next one visited
    row_t first, size    # its candidates
    int wide    # whether to use AVX-512


cdef inline int fetch_ahead(
    const row_t[::1] bounds, const real[::1] gains, const real[::1] offsets, const real[::1] values,
    const row_t[::1] starts, const id_t[::1] blob, const row_t[::1] order, row_t turn, row_t width,
    slab_t* slab,  # OUT
) except -1 nogil:
    """Fetch what the visit after the next will read, so that it is in the cache by then; the slab fetches its blob."""
    cdef row_t s, first, size
    slab.bytes = 0
    if turn + 4 < order.shape[0]:
        s = order[turn + 4]
        slab_fetch(&bounds[s], 1)
        slab_fetch(&starts[s], 1)
    if turn + 2 < order.shape[0]:
        s = order[turn + 2]
        first = bounds[s]
        size = bounds[s + 1] - first
        if size > 0:
            slab_fetch(&gains[first], 8 * size)
            slab_fetch(&offsets[first], 8 * size)
            if width > 0:
                slab_fetch(&values[first * width], 8 * size * width)
            slab.after = <const char*>&blob[starts[s]]
            slab.bytes = 4 * (starts[s + 1] - starts[s])
    return 0


cdef inline int open_next(
    const row_t[::1] bounds, const row_t[::1] starts, const id_t[::1] blob, const row_t[::1] order, row_t turn,
    slab_t* found,  # OUT
) except -1 nogil:
    """The segment of a turn; without places if it has no candidates, or if there is no such turn."""
    found.size = 0
    if turn < order.shape[0] and bounds[order[turn]] < bounds[order[turn] + 1]:
        found[0] = slab_open(&blob[starts[order[turn]]])
    return 0


cdef inline int fill_scores(
    const visit_t* visit, const real[::1] offsets, const real[::1] values, const small_t[::1] weights,
    const real[::1] own, real scale, small_t[::1] found, small_t[::1] sums,
    small_t[::1] totals, real[::1] scores,  # OUT totals, scores
) except -1 nogil:
    """Fill scores[:size]; found is room for the weights of all places, sums for those of all chunks."""
    cdef row_t first = visit.first, c, j, at = first * own.shape[0]
    cdef real score
    slab_score(
        visit.wide, &visit.slab, &visit.following, &weights[0], visit.size, &found[0], &sums[0], &totals[0]
    )
    for c in range(visit.size):
        score = 0.0
        for j in range(own.shape[0]):
            score += own[j] * values[at]
            at += 1
        scores[c] = offsets[first + c] + scale * (score + totals[c])
    return 0


cdef inline int fold(small_t[::1] weights, real[::1] own, real scale) except -1 nogil:
    """Multiply by the scale what is stored."""
    cdef row_t i
    for i in range(weights.shape[0]):
        weights[i] = <small_t>(scale * weights[i])
    for i in range(own.shape[0]):
        own[i] *= scale
    return 0
