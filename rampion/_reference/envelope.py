"""Exact line search (Och 2003): the winners of every list along a line, and the statistics of their corpus.

Candidate i is the line intercepts[i] + x * slopes[i]; the winners of a list are its upper envelope (S5.1).
Twin: rampion/_core/envelope.pyx
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.arrays import Offsets, Reals


def extremes(values: Reals, bounds: Offsets, least: Offsets, most: Offsets) -> None:
    """Fill the place of the least and the greatest value of every list: the first of equals, the start if empty."""
    known = values.tolist()
    for s, (start, end) in enumerate(pairwise(bounds.tolist())):
        least[s] = min(range(start, end), key=known.__getitem__, default=start)
        most[s] = max(range(start, end), key=known.__getitem__, default=start)


def envelope(
    intercepts: Reals,
    slopes: Reals,
    flattest: Offsets,
    steepest: Offsets,
    highest: Offsets,
    bounds: Offsets,
    kept: Offsets,
    starts: Reals,
    winners: Offsets,
) -> int:
    """Fill, list after list from left to right, where each winner's reign starts; return how many there are.

    A list's first reign starts at -inf, and the earliest of equal lines wins. The flattest, steepest and highest
    lines are found by `extremes`. kept is room for the longest list.
    """
    heights, rises = intercepts.tolist(), slopes.tolist()
    filled: list[tuple[float, int]] = []
    for begin, end in pairwise(bounds.tolist()):
        hull: list[tuple[float, int]] = []
        for line in sorted(range(begin, end), key=lambda i: (rises[i], -heights[i], i)):
            if hull and rises[line] == rises[hull[-1][1]]:
                continue
            while hull:
                reign, winner = hull[-1]
                start = (heights[winner] - heights[line]) / (rises[line] - rises[winner])
                if start > reign:
                    break
                hull.pop()
            else:
                start = -inf
            if start < inf:
                hull.append((start, line))
        filled += hull
    count = len(filled)
    starts[:count] = [start for start, _ in filled]
    winners[:count] = [winner for _, winner in filled]
    return count


def sweep(
    starts: Reals,
    winners: Offsets,
    order: Offsets,
    statistics: Reals,
    least: float,
    reach: float,
    total: Reals,
    spots: Reals,
    totals: Reals,
) -> int:
    """Fill a spot and a column of summed statistics for each interval wider than least; return how many.

    order sorts the starts that envelope found; intervals are cut at -reach and reach. The spot is 0 in the interval
    around 0, the middle of any other, and 1 beyond the outermost starts. total is room for one row.
    """
    reigns, chosen, places = starts.tolist(), winners.tolist(), order.tolist()
    rows = {k: statistics[chosen[k]].tolist() for k in places}
    edges = [reigns[k] for k in places] + [inf]
    running = [0.0] * statistics.shape[1]
    count = 0
    for k, left, right in zip(places, edges, edges[1:], strict=False):
        running = [value + new for value, new in zip(running, rows[k], strict=True)]
        if left > -inf:
            running = [value - old for value, old in zip(running, rows[k - 1], strict=True)]
        if not min(right, reach) - max(left, -reach) > least:
            continue
        if left < 0.0 < right:
            spot = 0.0
        elif left == -inf:
            spot = right - 1.0
        elif right == inf:
            spot = left + 1.0
        else:
            spot = (max(left, -reach) + min(right, reach)) / 2
        spots[count] = spot
        totals[:, count] = running
        count += 1
    return count
