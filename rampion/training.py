"""The loop around everything: decode, choose candidates, judge them, solve, record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rampion.candidates import Candidates
from rampion.errors import TuningError
from rampion.features import Weights
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


Record = Callable[[Round], None]


@dataclass(frozen=True, slots=True)
class FixedLists:
    """The decoder that always answers with the same lists: a k-best file."""

    candidates: Candidates

    def decode(self, segments: Sequence[str], weights: Weights, k: int) -> Candidates:
        return self.candidates


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
    record: Record = lambda row: None,
) -> Weights:
    """Decode, learn, and decode again; the answer is the last weights (S4)."""
    weights, kept = start, None
    for iteration in range(1, recipe.iterations + 1):
        kept = recipe.policy.absorb(kept, decoder.decode(segments, weights, recipe.k), iteration)
        weights = learn(recipe, judge.batch(kept), weights, start, record, iteration)
    return weights


def learn(
    recipe: Recipe, batch: Batch, weights: Weights, start: Weights, record: Record, iteration: int = 1
) -> Weights:
    """One decoding iteration's learning: from `weights`, with L2 towards `start` or 0."""
    loss = recipe.loss
    if isinstance(loss, Contrast) and loss.up.where == "reference" and not batch.stakes.reached.any():
        raise TuningError(
            "no candidate equals a reference, so this loss has nothing to learn from; use a recipe that raises "
            "the hope or the oracle (rampion recipes)"
        )
    features = batch.candidates.features
    vector = weights.onto(features, lenient=iteration > 1)
    origin = start.onto(features, lenient=True) if recipe.origin == "start" else np.zeros(len(features))
    watch = _Watch(recipe, batch, iteration, vector, record)
    learnt = Weights(features, recipe.solver.solve(loss, batch, vector, origin, watch))
    refuse_collapsed(learnt)
    return learnt


class _Watch:
    """Turns the solver's rounds into records."""

    def __init__(self, recipe: Recipe, batch: Batch, iteration: int, vector: Reals, record: Record) -> None:
        self.recipe, self.batch, self.iteration = recipe, batch, iteration
        self.before, self.record = vector, record

    def __call__(self, round_: int, weights: Reals) -> None:
        scores = self.batch.scores(weights)
        loss, _ = self.recipe.loss.slopes(self.batch.stakes, scores)
        score = self.batch.corpus_score(MODEL.picks(self.batch.stakes, scores))
        moved = float(np.linalg.norm(weights - self.before))
        self.before = weights.copy()
        self.record(Round(self.iteration, round_, loss, score, moved, len(self.batch.candidates)))


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
