"""What a reranker could reach: oracle and worst scores by depth of the list, and ranks of the best candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rampion.analysis.inspection.findings import Finding
from rampion.arrays import Reals, rank_in_span, span_of_each
from rampion.losses.contrast import MODEL, ORACLE, WORST
from rampion.metrics.judging import Batch, Judge, Stakes
from rampion.store.candidates import Candidates

DEPTHS = (1, 5, 10, 50)


@dataclass(frozen=True, slots=True)
class Depth:
    """The best and the worst corpus score with the first k candidates of every list; k None is all of them."""

    k: int | None
    oracle: float
    worst: float


@dataclass(frozen=True, slots=True)
class Place:
    """The ranks, from 1, of the best candidates in an order of the lists, and how often they are first.

    Only lists count in which candidates differ in cost; of the others every candidate is as good as the first.
    """

    order: str
    mean: float
    median: float
    first: float
    lists: int  # 0: then there are no ranks


@dataclass(frozen=True, slots=True)
class Scores:
    """Corpus scores: of the first candidates, of the weights' choices, and of random choices (mean statistics)."""

    metric: str
    signature: str
    higher_is_better: bool
    listed: float
    chosen: float | None
    chance: float
    depths: tuple[Depth, ...]
    places: tuple[Place, ...]


def scores_of(judge: Judge, batch: Batch, weights: Reals | None) -> Scores:
    stakes, candidates = batch.stakes, batch.candidates
    rank, starts = candidates.rank(), stakes.bounds[:-1]
    chosen, orders = None, {"listed": -rank.astype(np.float64)}
    if weights is not None:
        orders["weights"] = candidates.score(weights)
        chosen = batch.corpus_score(MODEL.picks(stakes, orders["weights"]))
    means = np.add.reduceat(batch.statistics, starts) / np.diff(stakes.bounds)[:, np.newaxis]
    return Scores(
        judge.metric.name,
        judge.metric.signature(judge.references),
        judge.metric.higher_is_better,
        batch.corpus_score(starts),
        chosen,
        float(batch.metric.total_score(means.sum(axis=0))),
        tuple(_depth(batch, rank, k) for k in [*(k for k in DEPTHS if k < stakes.longest), None]),
        tuple(_place(name, order, stakes) for name, order in orders.items()),
    )


def _depth(batch: Batch, rank: NDArray[np.int64], k: int | None) -> Depth:
    kept = np.flatnonzero(rank < k) if k else np.arange(len(rank))
    bounds = np.searchsorted(kept, batch.stakes.bounds)
    stakes, level = Stakes(bounds, batch.stakes.costs[kept], batch.stakes.reached[kept]), np.zeros(len(kept))
    oracle, worst = (batch.corpus_score(kept[side.picks(stakes, level)]) for side in (ORACLE, WORST))
    return Depth(k, oracle, worst)


def _place(name: str, scores: Reals, stakes: Stakes) -> Place:
    """The rank of the first candidate of least cost when every list is sorted by `scores`."""
    starts, sizes = stakes.bounds[:-1], np.diff(stakes.bounds)
    costs = stakes.costs[np.lexsort((-scores, span_of_each(stakes.bounds)))]
    best = costs == np.repeat(np.minimum.reduceat(costs, starts), sizes)
    ranks = 1 + rank_in_span(stakes.bounds)
    places = np.minimum.reduceat(np.where(best, ranks, stakes.longest), starts)
    places = places[np.maximum.reduceat(costs, starts) > np.minimum.reduceat(costs, starts)]
    if not len(places):
        return Place(name, 0.0, 0.0, 0.0, 0)
    return Place(name, float(places.mean()), float(np.median(places)), float((places == 1).mean()), len(places))


def of_stakes(lists: Candidates, stakes: Stakes) -> Iterator[Finding]:
    starts, several = stakes.bounds[:-1], np.diff(stakes.bounds) > 1
    equal = several & (np.maximum.reduceat(stakes.costs, starts) == np.minimum.reduceat(stakes.costs, starts))
    if equal.sum() * 2 > several.sum():
        yield Finding(
            "nothing to learn",
            f"in {equal.sum()} of {several.sum()} lists all candidates have the same cost, so there is nothing to "
            "learn; check the references, or choose a finer metric",
            lists.segments[int(equal.argmax())],
        )
