"""The quality of a ranking of all candidates of a list, not only of the first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Offsets, Reals, span_of_each


def ranks(bounds: Offsets, scores: Reals) -> Offsets:
    """The rank of every candidate in its list, from 1; of equals the first ranks first.

    Examples
    --------
    >>> from rampion.analysis.ranking import ranks
    >>> ranks(np.array([0, 3, 5]), np.array([0.5, 2.0, 0.5, 1.0, 3.0])).tolist()
    [2, 1, 3, 2, 1]
    """
    owner = span_of_each(bounds)
    order = np.lexsort((-scores, owner))
    found = np.empty(len(scores), np.int64)
    found[order] = np.arange(1, len(scores) + 1) - bounds[owner]
    return found


def reciprocal_rank(bounds: Offsets, scores: Reals, right: NDArray[np.bool_]) -> float:
    """The mean over lists of 1 / rank of the first right candidate (MRR), 0 for a list without one.

    Examples
    --------
    >>> from rampion.analysis.ranking import reciprocal_rank
    >>> reciprocal_rank(np.array([0, 3, 5]), np.array([3.0, 2, 1, 1, 2]), np.array([0, 1, 1, 0, 0], bool))
    0.25
    """
    best = np.zeros(len(bounds) - 1)
    owner = span_of_each(bounds)
    np.maximum.at(best, owner, np.where(right, 1 / ranks(bounds, scores), 0.0))
    return float(best.mean())


def discounted_gain(bounds: Offsets, scores: Reals, gains: Reals) -> float:
    """The mean of NDCG over the lists in which there is something to rank; NaN if there are none.

    NDCG is Σ gain / log2(1 + rank), divided by what the best order gives. Gains count from the least of the list, so
    that only differences matter and none is negative.

    Examples
    --------
    >>> from rampion.analysis.ranking import discounted_gain
    >>> round(discounted_gain(np.array([0, 3, 5]), np.array([3.0, 2, 1, 1, 2]), np.array([0.0, 1, 1, 5, 5])), 4)
    0.6934
    """
    size = len(bounds) - 1
    owner = span_of_each(bounds)
    least = np.full(size, np.inf)
    np.minimum.at(least, owner, gains)
    above = gains - least[owner]
    found, ideal = (
        np.bincount(owner, above / np.log2(1 + ranks(bounds, by)), size).astype(np.float64) for by in (scores, above)
    )
    ranked = ideal > 0
    return float((found[ranked] / ideal[ranked]).mean()) if ranked.any() else float("nan")
