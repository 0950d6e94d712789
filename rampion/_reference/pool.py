"""Scores and gradients of grouped features (S11.2): weights meet features once a segment, and candidates only groups.

Twin: rampion/_core/pool.pyx, where the order of summation is defined.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rampion._reference.segment import Plain

if TYPE_CHECKING:
    from rampion.candidates import Reals
    from rampion.groups import Part


def tally(grouped: Part, weights: Reals, scratch: Reals, scores: Reals) -> None:
    """Fill scores; scratch holds the widest segment's dense weights and twice those of its groups."""
    plain, plain_weights, groups = Plain(grouped), weights.tolist(), grouped.groups.tolist()
    filled: list[float] = []
    for s, (start, end) in enumerate(pairwise(grouped.group_bounds.tolist())):
        local = plain_weights[: grouped.width] + [0.0] * (end - start)
        for j in range(plain.feature_bounds[s], plain.feature_bounds[s + 1]):
            local[grouped.width + groups[j]] += plain_weights[plain.features[j]]
        filled += plain.scores(s, local + [-weight for weight in local[grouped.width :]])
    scores[:] = filled


def pool(grouped: Part, slopes: Reals, scratch: Reals, pooled: Reals) -> None:
    """Fill pooled, segment by segment: the sum of slope * value for each dense feature, then for each group."""
    plain, plain_slopes = Plain(grouped), slopes.tolist()
    filled: list[float] = []
    for s, (start, end) in enumerate(pairwise(grouped.group_bounds.tolist())):
        size, slopes_here = end - start, plain_slopes[plain.bounds[s] : plain.bounds[s + 1]]
        found = plain.gradient(s, slopes_here, 2 * size)
        filled += found[: grouped.width]
        filled += [found[grouped.width + g] - found[grouped.width + size + g] for g in range(size)]
    pooled[:] = filled


def scatter(grouped: Part, pooled: Reals, low: int, high: int, gradient: Reals) -> None:
    """Add what was pooled to the gradient of the features from low to below high."""
    features, groups, feature_bounds = (
        array.tolist() for array in (grouped.features, grouped.groups, grouped.feature_bounds)
    )
    plain, total, width = pooled.tolist(), gradient.tolist(), grouped.width
    for s, start in enumerate(grouped.group_bounds[:-1].tolist()):
        base = width * s + start
        for j in range(low, min(width, high)):
            total[j] += plain[base + j]
        for j in range(feature_bounds[s], feature_bounds[s + 1]):
            if low <= features[j] < high:
                total[features[j]] += plain[base + width + groups[j]]
    gradient[:] = total
