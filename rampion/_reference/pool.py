"""Scores and gradients of grouped features (S11.2): weights meet features once a segment, and candidates only groups.

Twin: rampion/_core/pool.pyx, where the order of summation is defined.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.arrays import Reals
    from rampion.store.grouped import Part


def tally(grouped: Part, weights: Reals, scratch: Reals, scores: Reals) -> None:
    """Fill scores; scratch holds the widest segment's dense weights and twice those of its groups."""
    known, features, groups = weights.tolist(), grouped.features.tolist(), grouped.groups.tolist()
    filled: list[float] = []
    for s, (start, end) in enumerate(pairwise(grouped.group_bounds.tolist())):
        local = [0.0] * (end - start)
        for j in range(grouped.feature_bounds[s], grouped.feature_bounds[s + 1]):
            local[groups[j]] += known[features[j]]
        local += [-weight for weight in local]
        found = [0.0] * int(grouped.bounds[s + 1] - grouped.bounds[s])
        for weight, column in zip(known, columns(grouped, s), strict=False):
            for i, value in enumerate(column):
                found[i] += weight * value
        for i, g in side_by_side(entries(grouped, s)):
            found[i] += local[g]
        filled += found
    scores[:] = filled


def pool(grouped: Part, slopes: Reals, scratch: Reals, pooled: Reals) -> None:
    """Fill pooled, segment by segment: the sum of slope * value for each dense feature, then for each group."""
    filled: list[float] = []
    for s, (start, end) in enumerate(pairwise(grouped.group_bounds.tolist())):
        size, own = end - start, slopes[grouped.bounds[s] : grouped.bounds[s + 1]].tolist()
        for column in columns(grouped, s):
            total = 0.0
            for slope, value in zip(own, column, strict=True):
                total += slope * value
            filled.append(total)
        local = [0.0] * (2 * size)
        for i, g in entries(grouped, s):
            local[g] += own[i]
        filled += [local[g] - local[size + g] for g in range(size)]
    pooled[:] = filled


def columns(grouped: Part, s: int) -> list[list[float]]:
    """The values of each dense feature in a segment."""
    start, end = grouped.bounds[s : s + 2].tolist()
    block = grouped.dense[grouped.width * start : grouped.width * end]
    return [block[j * (end - start) : (j + 1) * (end - start)].tolist() for j in range(grouped.width)]


def side_by_side(row: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The first of each quarter, the second of each, …; what is left over last."""
    quarter = len(row) // 4
    return [row[q * quarter + e] for e in range(quarter) for q in range(4)] + row[4 * quarter :]


def entries(grouped: Part, s: int) -> list[tuple[int, int]]:
    """(candidate, group) of each entry of a segment."""
    span = slice(grouped.entry_bounds[s], grouped.entry_bounds[s + 1])
    return list(zip(grouped.owners[span].tolist(), grouped.entries[span].tolist(), strict=True))


def scatter(grouped: Part, pooled: Reals, low: int, high: int, gradient: Reals) -> None:
    """Add what was pooled to the gradient of the features from low to below high."""
    features, groups, feature_bounds = (
        array.tolist() for array in (grouped.features, grouped.groups, grouped.feature_bounds)
    )
    plain, total, width = pooled.tolist(), gradient[low:high].tolist(), grouped.width  # others fill in the rest
    for s, start in enumerate(grouped.group_bounds[:-1].tolist()):
        base = width * s + start
        for j in range(low, min(width, high)):
            total[j - low] += plain[base + j]
        for j in range(feature_bounds[s], feature_bounds[s + 1]):
            if low <= features[j] < high:
                total[features[j] - low] += plain[base + width + groups[j]]
    gradient[low:high] = total
