"""Slopes become a gradient: X^T slopes, one scatter per segment.

Twin: rampion/_reference/gather.py
"""

from rampion._core.segment cimport add_slopes
from rampion._core.types cimport id_t, real, row_t


def gather(lists, const real[::1] slopes, real[::1] scratch, real[::1] gradient):
    """Add to gradient the sum of slope * f(candidate); scratch holds the widest segment's local gradient."""
    cdef const row_t[::1] bounds = lists.bounds, feature_bounds = lists.feature_bounds
    cdef const row_t[::1] entry_bounds = lists.entry_bounds
    cdef const real[::1] dense = lists.dense, values = lists.values
    cdef const id_t[::1] features = lists.features, entries = lists.entries
    cdef row_t width = lists.width, s, j, first, size
    with nogil:
        for s in range(bounds.shape[0] - 1):
            # the segment's own gradient, then a scatter over all features
            first = feature_bounds[s]
            size = feature_bounds[s + 1] - first
            for j in range(width + size):
                scratch[j] = 0.0
            add_slopes(
                dense, width, entries, entry_bounds, values, bounds[s], bounds[s + 1], slopes, bounds[s], scratch
            )
            for j in range(width):
                gradient[j] += scratch[j]
            for j in range(size):
                gradient[features[first + j]] += scratch[width + j]
