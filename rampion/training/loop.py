"""The loop around everything: decode, choose candidates, judge them, solve, record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rampion.errors import InputError, RampionError, RecipeError, TuningError
from rampion.losses.contrast import MODEL, ORACLE, WORST, Contrast
from rampion.losses.expectation import Expectation
from rampion.metrics.judging import Batch, Judge
from rampion.protocols import Decoder, ListPolicy, Policy
from rampion.store.candidates import Candidates
from rampion.store.features import Features, Weights
from rampion.store.text import Texts
from rampion.timing import Clock
from rampion.training.decoders import decoded
from rampion.training.policies import Merge
from rampion.training.recipes import Recipe, of_form
from rampion.training.sharded import Sharded, expectation

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


def absorbed(policy: ListPolicy, runs: Sequence[Candidates]) -> Candidates:
    """What a policy keeps of the lists of successive decoding iterations."""
    kept = None
    for iteration, fresh in enumerate(runs, 1):
        kept = policy.absorb(kept, fresh, iteration)
    if kept is None:
        raise TuningError("there are no lists to learn from")
    return kept


@dataclass(frozen=True, slots=True)
class Iteration:
    """What one decoding, and the learning from its lists, came to."""

    iteration: int
    decoded: float  # the score of what the decoder puts first
    learnt: float  # the score of what the weights choose among the candidates after learning
    dev: float | None  # the score of what the decoder then puts first on the dev text
    moved: float
    listed: int  # candidates of the decoder
    candidates: int  # those that the policy has kept
    seconds: dict[str, float]


class Judged(NamedTuple):
    """Sentences, and the judge of what is said for them."""

    segments: Texts
    judge: Judge

    def score(self, decoder: Decoder, weights: Weights) -> float:
        """Of what the decoder puts first."""
        return leading(self.judge, decoded(decoder, self.segments, weights, 1))


class Journal(Protocol):
    """What is known of the iterations that are done, so that who was stopped can go on."""

    @property
    def rows(self) -> list[Iteration]: ...

    def lists(self, iteration: int, decode: Callable[[], Candidates]) -> Candidates:
        """The lists of an iteration, which are decoded if they are not known."""
        ...

    def weights(self, iteration: int) -> Weights: ...

    def keep(self, row: Iteration, weights: Weights) -> None: ...


@dataclass(frozen=True, slots=True)
class Memory:
    """The journal of those who do not mean to go on."""

    rows: list[Iteration] = field(default_factory=list)
    ends: list[Weights] = field(default_factory=list)

    def lists(self, iteration: int, decode: Callable[[], Candidates]) -> Candidates:
        return decode()

    def weights(self, iteration: int) -> Weights:
        return self.ends[iteration - 1]

    def keep(self, row: Iteration, weights: Weights) -> None:
        self.rows.append(row)
        self.ends.append(weights)


def train(
    recipe: Recipe,
    decoder: Decoder,
    segments: Texts,
    judge: Judge,
    start: Weights,
    record: Record = ignore,
    *,
    dev: Judged | None = None,
    journal: Journal | None = None,
    lenient: bool = False,
) -> Weights:
    """Decode, learn, and decode again; the answer is the last weights, or those best on dev (S4)."""
    if recipe.base == "listed":
        raise RecipeError(
            "base='listed' adds to the totals of fixed lists; with a decoder choose base='start' or 'none'"
        )
    run: Journal = journal or Memory()
    policy = cast(ListPolicy, of_form(recipe, "lists").policy)
    first: Features | None = None
    kept: Candidates | None = None
    ends = [start]
    for iteration in range(1, recipe.iterations + 1):
        clock, weights = Clock(), ends[-1]
        with _told(iteration):
            with clock("decoding"):
                fresh = run.lists(iteration, partial(_decoded, decoder, segments, weights, recipe.k, first))
            first = first or fresh.features
            with clock("merging"):
                known, kept = kept, policy.absorb(kept, fresh, iteration)
            if iteration > len(run.rows):
                with clock("judging"):
                    before = leading(judge, fresh)
                    history = tuple(earlier.onto(kept.features, lenient=True) for earlier in ends[1:-1])
                    batch = replace(judge.batch(kept), history=history)
                with clock("learning"):
                    turn = recipe.anew(iteration)
                    learnt = learn(turn, batch, weights, start, record, iteration, lenient=lenient or iteration > 1)
                    after = batch.corpus_score(MODEL.picks(batch.stakes, batch.scores(learnt.vector)))
                    learnt = learnt.over(weights)
                with clock("testing"):
                    tested = dev.score(decoder, learnt) if dev else None
                moved = float(np.linalg.norm(_change(weights, learnt)))
                row = Iteration(iteration, before, after, tested, moved, fresh.size, kept.size, dict(clock))
                run.keep(row, learnt)
        ends.append(run.weights(iteration))
        if recipe.still and (
            _full(recipe.policy, known, kept) or np.abs(_change(*ends[-2:])).max(initial=0.0) < recipe.still
        ):
            break
    return ends[answer(recipe, run.rows[:iteration], judge.metric.higher_is_better)]


def answer(recipe: Recipe, rows: Sequence[Iteration], higher_is_better: bool) -> int:
    """The iteration whose weights are the answer: the last, or the first of those best on dev."""
    if recipe.keep == "last" or rows[-1].dev is None:
        return len(rows)
    scores = np.array([row.dev for row in rows])
    return 1 + int(scores.argmax() if higher_is_better else scores.argmin())


def leading(judge: Judge, lists: Candidates) -> float:
    """The score of what stands first in the lists."""
    first = lists.rank() == 0
    bounds = np.concatenate([[0], np.cumsum(first)])[lists.bounds]
    columns = {name: column[first] for name, column in lists.metrics.items()}
    said, references = lists.texts.take(np.flatnonzero(first)), judge.references_of(lists)
    return float(judge.metric.total_score(judge.metric.statistics(said, bounds, references, columns).sum(axis=0)))


def _decoded(decoder: Decoder, segments: Texts, weights: Weights, k: int, first: Features | None) -> Candidates:
    """The decoder's lists, which have the features that they first had: one that is everywhere was somewhere then."""
    lists = decoded(decoder, segments, weights, k)
    # A single segment proves nothing: its candidates may share any sparse feature.
    if first is not None and len(segments) > 1:
        for now, then, told in (
            (lists.features, first, "every candidate has the feature {}, which none had in iteration 1"),
            (first, lists.features, "no candidate has the feature {}, which every one had in iteration 1"),
        ):
            for name in now.names.take(np.arange(now.width)):
                if name not in then.ids:
                    where = f"segments {lists.segments[0]} to {lists.segments[len(segments) - 1]}"
                    raise InputError(f"{where}: {told.format(name)}; a decoder must keep its features")
    return lists


def _change(before: Weights, after: Weights) -> Reals:
    return after.vector - before.onto(after.features, lenient=True)


def _full(policy: Policy, known: Candidates | None, kept: Candidates) -> bool:
    """Whether decoding has brought nothing that was not known."""
    return isinstance(policy, Merge) and known is not None and known.size == kept.size


@contextmanager
def _told(iteration: int) -> Iterator[None]:
    """Errors say in which iteration they happened."""
    try:
        yield
    except RampionError as error:
        raise type(error)(f"iteration {iteration}: {error}") from error


def learn(
    recipe: Recipe,
    batch: Batch,
    weights: Weights,
    start: Weights,
    record: Record,
    iteration: int = 1,
    held: Held | None = None,
    lenient: bool = False,
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
    vector, initial = weights.onto(features, lenient=lenient), start.onto(features, lenient=True)
    origin = initial if recipe.origin == "start" else np.zeros(len(features))
    fixed = np.zeros(len(features))
    if recipe.base == "start":
        batch, fixed = batch.upon(batch.candidates.score(initial)), initial
    if recipe.free == "sparse":
        batch = replace(batch, candidates=batch.candidates.sparse())
    watch = None if record is ignore else _Watch(recipe, batch, iteration, vector, fixed, features, held, record)
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
        value, score, effective = (self._gathered if isinstance(self.batch, Sharded) else self._found)(moving)
        weights = self.fixed + moving
        row = Round(
            self.iteration,
            round_,
            value,
            score,
            float(np.sqrt(np.square(weights - self.before).sum())),
            self.batch.candidates.size,
            self.held.score(weights) if self.held else None,
            effective,
        )
        self.before = weights
        self.record(row, Weights(self.features, weights))

    def _found(self, moving: Reals) -> tuple[float, float, float | None]:
        """The loss, the score of what the weights choose, and over how many candidates they spread."""
        loss, stakes = self.recipe.loss, self.batch.stakes
        expects = isinstance(loss, Expectation)  # and so its solver has made the working form
        scores = (self.batch.relative if expects else self.batch.scores)(moving)
        return (
            loss.slopes(stakes, scores)[0],
            self.batch.corpus_score(MODEL.picks(stakes, scores)),
            loss.effective(stakes, scores) if isinstance(loss, Expectation) else None,
        )

    def _gathered(self, moving: Reals) -> tuple[float, float, float | None]:
        """The same as shards tell it."""
        loss, answer = expectation(self.recipe.loss), cast(Sharded, self.batch).answer(self.recipe.loss, moving)
        score = float(self.batch.metric.total_score(answer.statistics))
        return loss.whole(answer.sums)[0], score, answer.sums.effective


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
