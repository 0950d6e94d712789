"""The loop around everything: decode, choose candidates, judge them, solve, record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rampion.candidates import Candidates
from rampion.decoders import decoded
from rampion.errors import TuningError
from rampion.expected import Expectation
from rampion.features import Features, Weights
from rampion.losses import MODEL, ORACLE, WORST, Contrast
from rampion.protocols import Decoder, Policy
from rampion.recipes import Recipe
from rampion.stakes import Batch, Judge

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Round:
    """What happened in one round of the solver."""

    iteration: int
    round: int
    loss: float
    score: float
    moved: float
    candidates: int
    dev: float | None = None  # the score on held-out lists
    effective: float | None = None  # candidates that the model's distribution is spread over (expectation losses)


Record = Callable[[Round, Weights], None]


def ignore(row: Round, weights: Weights) -> None:
    """The record of those who keep none."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Held-out lists: judged after every round, never learnt from."""

    batch: Batch
    places: NDArray[np.int64]  # of their features among the learnt ones; -1: not among them

    @classmethod
    def out(cls, batch: Batch, learnt: Features) -> Held:
        return cls(batch, np.array([learnt.ids.get(name, -1) for name in batch.candidates.features.names], np.int64))

    def standing(self, weights: Reals) -> Standing:
        return standing(self.batch, self.onto(weights))

    def score(self, weights: Reals) -> float:
        return self.batch.corpus_score(MODEL.picks(self.batch.stakes, self.batch.scores(self.onto(weights))))

    def onto(self, weights: Reals) -> Reals:
        """The weights in the order of the held-out features; those not learnt weigh 0."""
        return np.append(weights, 0.0)[self.places]


def absorbed(policy: Policy, runs: Sequence[Candidates]) -> Candidates:
    """What a policy keeps of the lists of successive decoding iterations."""
    kept = None
    for iteration, fresh in enumerate(runs, 1):
        kept = policy.absorb(kept, fresh, iteration)
    if kept is None:
        raise TuningError("there are no lists to learn from")
    return kept


def train(
    recipe: Recipe,
    decoder: Decoder,
    segments: Sequence[str],
    judge: Judge,
    start: Weights,
    record: Record = ignore,
) -> Weights:
    """Decode, learn, and decode again; the answer is the last weights (S4)."""
    weights, kept, past = start, None, list[Weights]()
    judge = replace(judge, listed=recipe.base == "listed")
    for iteration in range(1, recipe.iterations + 1):
        kept = recipe.policy.absorb(kept, decoded(decoder, segments, weights, recipe.k), iteration)
        history = tuple(earlier.onto(kept.features, lenient=True) for earlier in past)
        batch = replace(judge.batch(kept), history=history)
        weights = learn(recipe, batch, weights, start, record, iteration)
        past.append(weights)
    return weights


def learn(
    recipe: Recipe,
    batch: Batch,
    weights: Weights,
    start: Weights,
    record: Record,
    iteration: int = 1,
    held: Held | None = None,
) -> Weights:
    """One decoding iteration's learning: from `weights`, with L2 towards `start` or 0.

    On the base "start" what learns is added to the initial weights: their scores become an offset (S11.1).
    """
    loss = recipe.loss
    if isinstance(loss, Contrast) and loss.up.where == "reference" and not batch.stakes.reached.any():
        raise TuningError(
            "no candidate equals a reference, so this loss has nothing to learn from; use a recipe that raises "
            "the hope or the oracle (rampion recipes)"
        )
    features = batch.candidates.features
    vector, initial = weights.onto(features, lenient=iteration > 1), start.onto(features, lenient=True)
    origin = initial if recipe.origin == "start" else np.zeros(len(features))
    fixed = np.zeros(len(features))
    if recipe.base == "start":
        batch, fixed = batch.upon(batch.candidates.score(initial)), initial
    if recipe.free == "sparse":
        batch = replace(batch, candidates=batch.candidates.sparse())
    watch = _Watch(recipe, batch, iteration, vector, fixed, features, held, record)
    learnt = Weights(features, fixed + recipe.solver.solve(loss, batch, vector - fixed, origin - fixed, watch))
    refuse_collapsed(learnt)
    return learnt


@dataclass(slots=True)
class _Watch:
    """Turns the solver's rounds into records."""

    recipe: Recipe
    batch: Batch
    iteration: int
    before: Reals
    fixed: Reals
    features: Features
    held: Held | None
    record: Record

    def __call__(self, round_: int, moving: Reals) -> None:
        loss, stakes = self.recipe.loss, self.batch.stakes
        scores, weights = self.batch.scores(moving), self.fixed + moving
        row = Round(
            self.iteration,
            round_,
            loss.slopes(stakes, scores)[0],
            self.batch.corpus_score(MODEL.picks(stakes, scores)),
            float(np.sqrt(np.square(weights - self.before).sum())),
            len(self.batch.candidates),
            self.held.score(weights) if self.held else None,
            loss.effective(stakes, scores) if isinstance(loss, Expectation) else None,
        )
        self.before = weights
        self.record(row, Weights(self.features, weights))


def refuse_collapsed(weights: Weights) -> None:
    """Raise TuningError on weights that would rank candidates by accident."""
    if not np.isfinite(weights.vector).all():
        name = weights.features.names[int(np.flatnonzero(~np.isfinite(weights.vector))[0])]
        raise TuningError(
            f"training diverged: the weight of {name!r} is not finite; use a smaller rate (--set rate=...)"
        )
    if not weights.vector.any():
        raise TuningError(
            "training ended with all weights zero; use a larger rate, more rounds or other initial weights"
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a reranker stands on judged lists: as listed, as the weights choose, and the best and worst possible."""

    listed: float
    chosen: float
    oracle: float
    worst: float


def standing(batch: Batch, weights: Reals) -> Standing:
    scores = batch.scores(weights)
    filled = np.flatnonzero(np.diff(batch.stakes.bounds))
    return Standing(
        batch.corpus_score(batch.stakes.bounds[filled]),
        batch.corpus_score(MODEL.picks(batch.stakes, scores)),
        batch.corpus_score(ORACLE.picks(batch.stakes, scores)),
        batch.corpus_score(WORST.picks(batch.stakes, scores)),
    )
