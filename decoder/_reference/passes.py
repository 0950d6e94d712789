"""Distances of all nodes of a graph from its start and to its goal.

Twin: decoder/_core/passes.pyx
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, inf, log1p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.decoder.models.options import Graph

    from rampion.arrays import Reals


def distances(graph: Graph, scores: Reals, soft: bool, forward: Reals, backward: Reals) -> None:
    """Fill for every node the best score of all paths from the start and to the goal; soft: the log of their sum.

    -inf where there is no path.
    """

    def join(one: float, other: float) -> float:
        least, most = (other, one) if one > other else (one, other)
        return most if not soft or least == -inf else most + log1p(exp(least - most))

    origins, values = graph.origins.tolist(), scores.tolist()
    edges = [range(start, end) for start, end in pairwise(graph.edge_bounds.tolist())]
    starts, goals = [-inf] * len(edges), [-inf] * len(edges)
    for first, end in pairwise(graph.bounds.tolist()):
        if first == end:
            continue
        starts[first] = goals[end - 1] = 0.0
        for v in range(first + 1, end):
            for e in edges[v]:
                starts[v] = join(starts[v], starts[origins[e]] + values[e])
        for v in range(end - 1, first, -1):
            for e in edges[v]:
                goals[origins[e]] = join(goals[origins[e]], goals[v] + values[e])
    forward[:], backward[:] = starts, goals
