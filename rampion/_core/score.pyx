"""Scores of every candidate of a store: weights enter a segment by one gather.

Twin: rampion/_reference/score.py
"""

from rampion._core.segment cimport fill_scores
from rampion._core.types cimport id_t, real, row_t


def score(lists, const real[::1] weights, real[::1] scratch, real[::1] scores):
    """Fill scores: weights . f(candidate); scratch holds the widest segment's local weights."""
    cdef const row_t[::1] bounds = lists.bounds, feature_bounds = lists.feature_bounds
    cdef const row_t[::1] entry_bounds = lists.entry_bounds
    cdef const real[::1] dense = lists.dense, values = lists.values
    cdef const id_t[::1] features = lists.features, entries = lists.entries
    cdef row_t width = lists.width, s, j, first
    with nogil:
        # dense weights are the same in every segment
        for j in range(width):
            scratch[j] = weights[j]
        for s in range(bounds.shape[0] - 1):
            # sparse weights in the order of the segment's own features
            first = feature_bounds[s]
            for j in range(feature_bounds[s + 1] - first):
                scratch[width + j] = weights[features[first + j]]
            fill_scores(
                dense, width, entries, entry_bounds, values, bounds[s], bounds[s + 1], scratch, scores, bounds[s]
            )
