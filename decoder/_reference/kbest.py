"""Exact lazy k-best of acyclic graphs (Huang and Chiang 2005, algorithm 3), a batch at a time.

An edge stands in its node's heap once, with the best derivation of its origin that it has not used; the next one of
the origin is looked for when somebody asks. Twin: decoder/_core/kbest.pyx
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.decoder.models.options import Derivations, Graph
    from rampion.decoder.search.kbest import Said, Work

NOTHING = 0xFFFFFFFF
Item = tuple[float, int, int]  # the score's negative, the last edge, the rank at its origin of what it continues


def kbest(graph: Graph, wording: Said, k: int, looks: int, start: int, work: Work, derivations: Derivations) -> int:
    """Fill the k best derivations of the sentences from `start` on; return how many are done: all, if the room lasts.

    Higher scores come first; of equals the earlier last edge, then what comes first in its origin. Only `looks` of them
    are looked at; if work.seen has room, only the best of those with the same words are kept.
    """
    bounds, options = graph.bounds.tolist(), graph.options.tolist()
    for s in range(start, len(bounds) - 1):
        edge_bounds = graph.edge_bounds[bounds[s] : bounds[s + 1] + 1].tolist()
        edges = slice(edge_bounds[0], edge_bounds[-1])
        origins = [origin - bounds[s] for origin in graph.origins[edges].tolist()]
        found = paths([edge - edges.start for edge in edge_bounds], origins, graph.scores[edges].tolist())
        every = ((score, [options[edges.start + e] for e in path]) for score, path in found)
        if not kept(islice(every, looks), wording, k, len(work.seen) > 0, s, derivations):
            return s
    return len(bounds) - 1


def kept(
    found: Iterable[tuple[float, list[int]]], wording: Said, k: int, distinct: bool, s: int, derivations: Derivations
) -> bool:
    """Whether there was room for the best k of the derivations found for sentence s: scores and options."""
    first, texts = int(derivations.bounds[s]), set[tuple[int, ...]]()
    d, end = first, int(derivations.step_bounds[first])
    for score, options in found:
        steps = [option for option in options if option != NOTHING]
        if d == len(derivations.scores) or end + len(steps) > len(derivations.steps):
            return False
        text = tuple(word for step in steps for word in wording.says(step)) if distinct else ()
        if text in texts:
            continue
        if distinct:
            texts.add(text)
        derivations.steps[end : end + len(steps)] = steps
        derivations.scores[d] = score
        d, end = d + 1, end + len(steps)
        derivations.step_bounds[d] = end
        if d - first == k:
            break
    derivations.bounds[s + 1] = d
    return True


def paths(edge_bounds: list[int], origins: list[int], scores: list[float]) -> Iterator[tuple[float, list[int]]]:
    """All paths from the first node to the last, best first: the score and the edges."""
    goal = len(edge_bounds) - 2
    found: list[list[Item]] = [[(0.0, -1, 0)]]
    for v in range(1, goal + 1):
        edges = range(edge_bounds[v], edge_bounds[v + 1])
        items = [(found[origins[e]][0][0] - scores[e], e, 0) for e in edges if found[origins[e]]]
        found.append([min(items)] if items else [])
    heaps: list[list[Item] | None] = [None if items else [] for items in found]
    heaps[0] = []
    waiting = [v > 0 and bool(items) for v, items in enumerate(found)]

    def extend(node: int) -> None:
        """Find one more derivation of the node, if there is one, and before it those it waits for."""
        chain = [node]
        while chain:
            v = chain[-1]
            heap = heaps[v]
            if heap is None:
                edges = range(edge_bounds[v], edge_bounds[v + 1])
                used = found[v][0][1]
                heap = [(found[u][0][0] - scores[e], e, 0) for e in edges if e != used and found[u := origins[e]]]
                heapify(heap)
                heaps[v] = heap
            if waiting[v]:
                _, e, rank = found[v][-1]
                u = origins[e]
                if len(found[u]) == rank + 1 and (waiting[u] or heaps[u] != []):
                    chain.append(u)
                    continue
                waiting[v] = False
                if len(found[u]) > rank + 1:
                    heappush(heap, (found[u][rank + 1][0] - scores[e], e, rank + 1))
            if heap:
                found[v].append(heappop(heap))
                waiting[v] = True
            chain.pop()

    rank = 0
    while goal > 0 and rank < len(found[goal]):
        score, edge, before = found[goal][rank]
        path = []
        while edge >= 0:
            path.append(edge)
            _, edge, before = found[origins[edge]][before]
        yield 0.0 - score, path[::-1]
        rank += 1
        if rank == len(found[goal]):
            extend(goal)
