"""Costs of candidates, which losses receive besides the scores, and the judge that computes them from references."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Reals, span_of_each, taken
from rampion.errors import InputError
from rampion.metrics.base import Metric
from rampion.metrics.column import reads_columns
from rampion.metrics.costs import costs
from rampion.protocols import Loss
from rampion.store.candidates import Candidates
from rampion.store.grouped import Grouped, fits
from rampion.store.text import References, Texts

REACHED = "reached"  # the metric column that marks candidates as good as a reference


@dataclass(frozen=True, eq=False)
class Stakes:
    """The bounds and weights of lists, the cost of every candidate, and which candidates reach a reference."""

    bounds: NDArray[np.int64]
    costs: Reals
    reached: NDArray[np.bool_]
    weights: Reals | None = None  # of segments; None if all are 1

    @cached_property
    def longest(self) -> int:
        """The most candidates of one segment."""
        return int(np.diff(self.bounds).max(initial=0))

    @cached_property
    def filled(self) -> int:
        """The number of segments that have candidates."""
        return int(np.count_nonzero(np.diff(self.bounds)))

    def weighted(self, values: Reals, slopes: Reals) -> tuple[Reals, Reals]:
        """A number of every segment and one of every candidate, each times the segment's weight."""
        if self.weights is None:
            return values, slopes
        return values * self.weights, slopes * np.repeat(self.weights, np.diff(self.bounds))


def unjudged(candidates: Candidates) -> Stakes:
    """Stakes without costs or references, which suffice for the choices of the model."""
    n = candidates.size
    return Stakes(candidates.bounds, np.zeros(n), np.zeros(n, bool))


class Forms:
    """Makes the working form of candidates once, for all batches that share them."""

    def __init__(self, folder: str | None = None) -> None:
        """If a folder is given, the form is kept in files there, not in memory."""
        self.folder = folder
        self._last: tuple[Candidates, Candidates | Grouped] | None = None

    def of(self, candidates: Candidates) -> Candidates | Grouped:
        if self._last is None or self._last[0] is not candidates:
            form = Grouped.of(candidates, self.folder) if fits(candidates.lists) else candidates
            self._last = candidates, form
        return self._last[1]


@dataclass(frozen=True, eq=False)
class Batch:
    """Candidates with their costs, for a solver."""

    candidates: Candidates
    statistics: NDArray[Any]
    stakes: Stakes
    metric: Metric
    offset: Reals | None = None  # a fixed part of every candidate's score, such as a base system's
    forms: Forms = field(default_factory=Forms)
    history: tuple[Reals, ...] = ()  # the final weights of earlier decoding iterations, in order

    def scores(self, weights: Reals) -> Reals:
        """offset + weights . f of every candidate."""
        scores = self.candidates.score(weights)
        return scores if self.offset is None else scores + self.offset

    def relative(self, weights: Reals) -> Reals:
        """The same by the working form, up to a number that all candidates of a list share."""
        scores = self.form.score(weights)
        if self.offset is not None:
            scores += self.offset
        return scores

    @cached_property
    def form(self) -> Candidates | Grouped:
        """The candidates in the form that computes scores quickly, up to a number that a list shares."""
        return self.forms.of(self.candidates)

    def gradient(self, loss: Loss, weights: Reals) -> tuple[float, Reals]:
        """The loss and its (sub)gradient."""
        if not loss.relative:
            value, slopes = loss.slopes(self.stakes, self.scores(weights))
            return value, self.candidates.gather(slopes)
        value, slopes = loss.slopes(self.stakes, self.relative(weights))
        return value, self.form.gather(slopes)

    def among(self, segments: NDArray[np.int64]) -> Self:
        """Some segments only, in this order."""
        candidates = self.candidates[segments]
        rows, _ = taken(self.stakes.bounds, segments)
        weights = None if self.stakes.weights is None else self.stakes.weights[segments]
        stakes = Stakes(candidates.bounds, self.stakes.costs[rows], self.stakes.reached[rows], weights)
        offset = None if self.offset is None else self.offset[rows]
        return replace(
            self, candidates=candidates, statistics=self.statistics[rows], stakes=stakes, offset=offset, forms=Forms()
        )

    def priced(self, alpha: float) -> Stakes:
        """The stakes with the costs of another alpha."""
        return replace(self.stakes, costs=costs(self.metric, self.unweighted, alpha))

    @property
    def unweighted(self) -> NDArray[Any]:
        """The statistics as if all segments counted alike."""
        weights = weights_of(self.candidates)
        if weights is None:
            return self.statistics
        return np.asarray(self.statistics / np.where(weights > 0, weights, 1.0)[:, np.newaxis])

    def upon(self, offset: Reals) -> Self:
        """The same candidates with a further fixed part of their scores."""
        return replace(self, offset=offset if self.offset is None else self.offset + offset)

    def corpus_score(self, picks: NDArray[np.int64]) -> float:
        """The metric of the corpus of the picked candidates, one for each segment."""
        return float(self.metric.total_score(self.statistics[picks].sum(axis=0)))


@dataclass(frozen=True, eq=False)
class Judge:
    """Computes costs of candidates: alpha (1 - metric), or alpha times an error metric (S2.3, S2.8)."""

    metric: Metric
    references: References
    segments: Texts
    alpha: float = 10.0
    listed: bool = False  # whether the decoder's own totals are part of the scores

    def batch(self, candidates: Candidates) -> Batch:
        references = self.references_of(candidates)
        statistics = self.metric.statistics(candidates.texts, candidates.bounds, references, candidates.metrics)
        prices = costs(self.metric, statistics, self.alpha)
        reached = _reached(candidates, references)
        if reads_columns(self.metric) and REACHED not in candidates.metrics:
            reached &= len(references.texts.blob) > 0  # without references an empty text would equal one
            reached |= (prices == 0) & (prices.min(initial=0.0) == 0)  # a label of 1, or no errors
        stakes = Stakes(candidates.bounds, prices, reached)
        if (weights := weights_of(candidates)) is not None:
            statistics = statistics * weights[:, np.newaxis]
            stakes = replace(stakes, weights=candidates.segment_weights)
        return Batch(candidates, statistics, stakes, self.metric, totals(candidates) if self.listed else None)

    def references_of(self, candidates: Candidates) -> References:
        """The references in the order of the candidates' segments."""
        if candidates.segments == self.segments:
            return self.references
        order = {name: s for s, name in enumerate(self.segments)}
        try:
            return self.references.take(np.array([order[name] for name in candidates.segments], np.int64))
        except KeyError as error:
            raise InputError(
                f"segment {error} of the lists has no references; give references for every segment"
            ) from error


def weights_of(candidates: Candidates) -> Reals | None:
    """The weight of every candidate's segment in the score of a corpus; None if all are 1."""
    if "weight" not in candidates.fields:
        return None
    return np.repeat(candidates.segment_weights, np.diff(candidates.bounds))


def totals(candidates: Candidates) -> Reals:
    """The decoder's own score of every candidate."""
    unscored = np.flatnonzero(~np.isfinite(candidates.scores))
    if len(unscored):
        s = int(np.searchsorted(candidates.bounds, unscored[0], "right")) - 1
        raise InputError(
            f"candidate {unscored[0] - candidates.bounds[s] + 1} of segment {candidates.segments[s]!r} has no score of "
            "the decoder to build on; use lists with totals, or base='start' with initial weights"
        )
    return candidates.scores


def _reached(candidates: Candidates, references: References) -> NDArray[np.bool_]:
    """Which candidates reach a reference: those marked in a metric column `reached`, else those equal to one."""
    if REACHED in candidates.metrics:
        return np.asarray(candidates.metrics[REACHED] > 0)
    reached = np.zeros(candidates.size, bool)
    lengths, owner = np.diff(candidates.texts.bounds), span_of_each(candidates.bounds)
    wanted = np.diff(references.texts.bounds)
    for r in range(int(np.diff(references.bounds).max(initial=0))):
        rows = np.minimum(references.bounds[:-1] + r, references.bounds[1:] - 1)[owner]
        same = lengths == wanted[rows]
        reached |= same & (lengths == 0)
        likely = np.flatnonzero(same & ~reached)
        ours, theirs = candidates.texts.take(likely), references.texts.take(rows[likely])
        reached[likely] = np.logical_and.reduceat(ours.blob == theirs.blob, ours.bounds[:-1])
    return reached
