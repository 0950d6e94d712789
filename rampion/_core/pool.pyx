"""Scores and gradients of grouped features (S11.2): weights meet features once a segment, and candidates only groups.

Order of summation: a score begins with its dense products, feature by feature; then come its entries, those of a
segment in four rows side by side: the first of each quarter, the second of each, …, what is left over last; so sums
that wait for one another are far apart. The weight of a group is added up in the order of its features, a feature's
gradient segment by segment, whatever range of features a call is for.
Twin: rampion/_reference/pool.py
"""

from rampion._core.segment cimport add_slopes, fill_scores
from rampion._core.slab cimport slab_fetch
from rampion._core.types cimport id_t, place_t, real, row_t

cdef enum:
    AHEAD = 512  # features whose weights are asked for, so that they are in the cache by their turn


cdef inline int add_entries(
    const real* weights, const place_t* entries, const place_t* owners, row_t size, real* scores,
) except -1 nogil:
    """scores[owner] += weight of each entry, in four rows."""
    cdef row_t quarter = size // 4, e
    for e in range(quarter):
        scores[owners[e]] += weights[entries[e]]
        scores[owners[quarter + e]] += weights[entries[quarter + e]]
        scores[owners[2 * quarter + e]] += weights[entries[2 * quarter + e]]
        scores[owners[3 * quarter + e]] += weights[entries[3 * quarter + e]]
    for e in range(4 * quarter, size):
        scores[owners[e]] += weights[entries[e]]
    return 0


def tally(grouped, const real[::1] weights, real[::1] scratch, real[::1] scores):
    """Fill scores; scratch holds the widest segment's dense weights and twice those of its groups."""
    cdef const row_t[::1] bounds = grouped.bounds, feature_bounds = grouped.feature_bounds
    cdef const row_t[::1] entry_bounds = grouped.entry_bounds, group_bounds = grouped.group_bounds
    cdef const real[::1] dense = grouped.dense
    cdef const id_t[::1] features = grouped.features, nothing = features[:0]
    cdef const place_t[::1] groups = grouped.groups, entries = grouped.entries, owners = grouped.owners
    cdef row_t width = grouped.width, s, j, size, first, filled, ahead
    with nogil:
        for j in range(width):
            scratch[j] = weights[j]
        for s in range(bounds.shape[0] - 1):
            size = group_bounds[s + 1] - group_bounds[s]
            for j in range(width, width + size):
                scratch[j] = 0.0
            ahead = min(AHEAD, features.shape[0] - feature_bounds[s + 1])
            for j in range(feature_bounds[s], feature_bounds[s + 1]):
                slab_fetch(&weights[features[j + ahead]], sizeof(real))
                scratch[width + groups[j]] += weights[features[j]]
            for j in range(width, width + size):
                scratch[size + j] = -scratch[j]
            fill_scores(
                dense, width, nothing, bounds, dense, bounds[s], bounds[s + 1], scratch, scores, bounds[s]
            )
            first = entry_bounds[s]
            filled = entry_bounds[s + 1] - first
            if filled:
                add_entries(&scratch[width], &entries[first], &owners[first], filled, &scores[bounds[s]])


def pool(grouped, const real[::1] slopes, real[::1] scratch, real[::1] pooled):
    """Fill pooled, segment by segment: the sum of slope * value for each dense feature, then for each group."""
    cdef const row_t[::1] bounds = grouped.bounds, group_bounds = grouped.group_bounds
    cdef const row_t[::1] entry_bounds = grouped.entry_bounds
    cdef const real[::1] dense = grouped.dense
    cdef const id_t[::1] nothing = grouped.features[:0]
    cdef const place_t[::1] entries = grouped.entries, owners = grouped.owners
    cdef row_t width = grouped.width, s, j, e, size, base
    with nogil:
        for s in range(bounds.shape[0] - 1):
            size = group_bounds[s + 1] - group_bounds[s]
            base = width * s + group_bounds[s]
            for j in range(width + 2 * size):
                scratch[j] = 0.0
            if width:
                add_slopes(
                    dense, width, nothing, bounds, dense, bounds[s], bounds[s + 1], slopes, bounds[s], scratch
                )
            for e in range(entry_bounds[s], entry_bounds[s + 1]):
                scratch[width + entries[e]] += slopes[bounds[s] + owners[e]]
            for j in range(width):
                pooled[base + j] = scratch[j]
            for j in range(width, width + size):
                pooled[base + j] = scratch[j] - scratch[size + j]


cdef inline row_t below(const id_t[::1] features, row_t start, row_t end, row_t limit) except -1 nogil:
    """The first of features[start:end], which rise, that is not below the limit."""
    cdef row_t middle
    while start < end:
        middle = (start + end) // 2
        if features[middle] < limit:
            start = middle + 1
        else:
            end = middle
    return start


def scatter(grouped, const real[::1] pooled, row_t low, row_t high, real[::1] gradient):
    """Add what was pooled to the gradient of the features from low to below high."""
    cdef const row_t[::1] feature_bounds = grouped.feature_bounds, group_bounds = grouped.group_bounds
    cdef const id_t[::1] features = grouped.features
    cdef const place_t[::1] groups = grouped.groups
    cdef row_t width = grouped.width, segments = group_bounds.shape[0] - 1
    cdef row_t s, j, first, last, following, ahead, base
    with nogil:
        following = below(features, 0, feature_bounds[min(1, segments)], low)
        for s in range(segments):
            base = width * s + group_bounds[s]
            for j in range(low, min(width, high)):
                gradient[j] += pooled[base + j]
            first = following
            last = below(features, first, feature_bounds[s + 1], high)
            following = below(features, feature_bounds[s + 1], feature_bounds[min(s + 2, segments)], low)
            ahead = min(following - first, features.shape[0] - last)
            for j in range(first, last):
                slab_fetch(&gradient[features[j + ahead]], sizeof(real))
                gradient[features[j]] += pooled[base + width + groups[j]]
