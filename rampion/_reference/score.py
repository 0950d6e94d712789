"""Scores of every candidate of a store: weights enter a segment by one gather.

Twin: rampion/_core/score.pyx
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion._reference.segment import Plain

if TYPE_CHECKING:
    from rampion.arrays import Reals
    from rampion.store.lists import Lists


def score(lists: Lists, weights: Reals, scratch: Reals, scores: Reals) -> None:
    """Fill scores: weights . f(candidate); scratch holds the widest segment's local weights."""
    plain, plain_weights = Plain(lists), weights.tolist()
    filled: list[float] = []
    for s in range(len(plain.bounds) - 1):
        filled += plain.scores(s, [plain_weights[f] for f in plain.local_features(s)])
    scores[:] = filled
