"""Scores of every candidate of a store: weights enter a segment by one gather.

Twin: rampion/_core/score.pyx
"""

from __future__ import annotations

from rampion._reference.segment import Plain


def score(lists, weights, scratch, scores):
    """Fill scores: weights . f(candidate); scratch holds the widest segment's local weights."""
    plain, weights = Plain(lists), weights.tolist()
    filled = []
    for s in range(len(plain.bounds) - 1):
        filled += plain.scores(s, [weights[f] for f in plain.local_features(s)])
    scores[:] = filled
