"""The loop around everything: decode, choose candidates, judge them, solve, record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Reals, ends
from rampion.errors import InputError, RampionError, RecipeError, TuningError
from rampion.losses.contrast import MODEL, ORACLE, WORST, Contrast
from rampion.losses.expectation import Expectation
from rampion.metrics.judging import Batch, Judge
from rampion.protocols import Decoder, ListPolicy
from rampion.store.candidates import Candidates
from rampion.store.features import Features, Weights
from rampion.store.text import Texts
from rampion.store.units import Units
from rampion.timing import Clock
from rampion.training.decoders import decoded
from rampion.training.policies import Merge
from rampion.training.recipes import Recipe, of_form
from rampion.training.sharded import Sharded, expectation

Row = TypeVar("Row", bound="Iteration")
RowOut = TypeVar("RowOut", bound="Iteration", covariant=True)
W = TypeVar("W")


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
    effective: float | None = None  # effective number of candidates under the model's distribution (expectation losses)


Record = Callable[[Round, Weights], None]


def ignore(row: Round, weights: Weights) -> None:
    """The default record: does nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Held-out lists, which are judged after every round and never learnt from."""

    batch: Batch
    places: NDArray[np.int64]  # the place of each of their features among the learnt ones, or -1

    @classmethod
    def out(cls, batch: Batch, learnt: Features) -> Held:
        return cls(batch, learnt.places(batch.candidates.features.names))

    def standing(self, weights: Reals) -> Standing:
        return standing(self.batch, self.onto(weights))

    def score(self, weights: Reals) -> float:
        return self.batch.corpus_score(MODEL.picks(self.batch.stakes, self.batch.scores(self.onto(weights))))

    def onto(self, weights: Reals) -> Reals:
        """The weights in the order of the held-out features; features that were not learnt have weight 0."""
        return np.append(weights, 0.0)[self.places]


def absorbed(policy: ListPolicy, runs: Sequence[Candidates]) -> Candidates:
    """The lists that a policy keeps of successive decoding iterations."""
    kept = None
    for iteration, fresh in enumerate(runs, 1):
        kept = policy.absorb(kept, fresh, iteration)
    if kept is None:
        raise TuningError("there are no lists to learn from")
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """The results of one iteration, on lists or on relevant sets."""

    iteration: int
    dev: float | None  # the score of the best translations of the dev text with the weights of the iteration
    candidates: int  # learnt from
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListIteration(Iteration):
    """The results of one decoding, and of learning from its lists."""

    decoded: float  # the score of the candidates that the decoder lists first
    learnt: float  # the score of the candidates that the weights choose after learning
    moved: float
    listed: int  # candidates of the decoder


class Journal(Protocol[Row, W]):
    """The completed iterations, from which an interrupted run can be resumed."""

    @property
    def rows(self) -> list[Row]: ...

    def weights(self, iteration: int) -> W: ...

    def keep(self, row: Row, weights: W) -> None: ...


class ListJournal(Journal[ListIteration, Weights], Protocol):
    """A journal that also stores lists."""

    def lists(self, iteration: int, decode: Callable[[], Candidates]) -> Candidates:
        """The lists of an iteration: the stored ones, or else decoded ones, which are then stored."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryJournal:
    """A journal in memory: the run cannot be resumed."""

    rows: list[ListIteration] = field(default_factory=list)
    ends: list[Weights] = field(default_factory=list)

    def lists(self, iteration: int, decode: Callable[[], Candidates]) -> Candidates:
        return decode()

    def weights(self, iteration: int) -> Weights:
        return self.ends[iteration - 1]

    def keep(self, row: ListIteration, weights: Weights) -> None:
        self.rows.append(row)
        self.ends.append(weights)


class Steps(Protocol[RowOut, W]):
    """The steps of an iteration, for lists or for relevant sets."""

    def decode(self, iteration: int, clock: Clock) -> None:
        """Prepare the candidates that this iteration learns from: those that the policy keeps."""
        ...

    def solve(self, iteration: int, clock: Clock) -> W:
        """Learn weights from these candidates."""
        ...

    def row(self, iteration: int, learnt: W, clock: Clock) -> RowOut:
        """Evaluate these weights."""
        ...

    def settled(self, iteration: int) -> bool:
        """Whether further iterations would change nothing."""
        ...


def iterate(iterations: int, steps: Steps[Row, W], journal: Journal[Row, W]) -> None:
    """The one loop of all training with a decoder: decode, solve, record, until all iterations are in the journal."""
    for iteration in range(1, iterations + 1):
        clock = Clock()
        with _told(iteration):
            steps.decode(iteration, clock)
            if iteration > len(journal.rows):
                learnt = steps.solve(iteration, clock)
                journal.keep(steps.row(iteration, learnt, clock), learnt)
        if steps.settled(iteration):
            break


class Judged(NamedTuple):
    """Sentences, and the judge of their translations."""

    segments: Texts
    judge: Judge

    def score(self, decoder: Decoder, weights: Weights) -> float:
        """The score of the candidates that the decoder lists first."""
        return leading(self.judge, decoded(decoder, self.segments, weights, 1))


class ListSteps:
    """Steps on lists in memory: an iteration decodes with the last weights and learns from the kept lists (S4)."""

    def __init__(
        self, recipe: Recipe, decoder: Decoder, text: Judged, start: Weights, record: Record, dev: Judged | None,
        journal: ListJournal, lenient: bool,
    ) -> None:  # fmt: skip
        self.recipe, self.decoder, self.text, self.dev = recipe, decoder, text, dev
        self.start, self.record, self.journal, self.lenient = start, record, journal, lenient
        self.known: Candidates | None = None  # the lists that were kept before this iteration
        self.kept: Candidates | None = None
        self.first: Features | None = None  # of the first lists
        self.ends = list[Weights]()  # the weights that iterations began with

    def decode(self, iteration: int, clock: Clock) -> None:
        self.ends.append(self.journal.weights(iteration - 1) if iteration > 1 else self.start)
        with clock("decoding"):
            self.fresh = self.journal.lists(iteration, self._decoded)
        self.first = self.first or self.fresh.features
        with clock("merging"):
            policy = cast(ListPolicy, self.recipe.policy)
            self.known, self.kept = self.kept, policy.absorb(self.kept, self.fresh, iteration)

    def solve(self, iteration: int, clock: Clock) -> Weights:
        kept, lenient = cast(Candidates, self.kept), self.lenient or iteration > 1
        with clock("judging"):
            self.before = leading(self.text.judge, self.fresh)
            history = tuple(earlier.onto(kept.features, lenient=True) for earlier in self.ends[1:-1])
            batch = replace(self.text.judge.batch(kept), history=history)
        with clock("learning"):
            recipe = self.recipe.anew(iteration)
            learnt = learn(recipe, batch, self.ends[-1], self.start, self.record, iteration, lenient=lenient)
            self.after = batch.corpus_score(MODEL.picks(batch.stakes, batch.scores(learnt.vector)))
            return learnt.over(self.ends[-1])

    def row(self, iteration: int, learnt: Weights, clock: Clock) -> ListIteration:
        with clock("testing"):
            dev = self.dev.score(self.decoder, learnt) if self.dev else None
        return ListIteration(
            iteration=iteration, dev=dev, candidates=cast(Candidates, self.kept).size, seconds=dict(clock),
            decoded=self.before, learnt=self.after, moved=float(np.linalg.norm(_change(self.ends[-1], learnt))),
            listed=self.fresh.size,
        )  # fmt: skip

    def settled(self, iteration: int) -> bool:
        if not self.recipe.still:
            return False
        if isinstance(self.recipe.policy, Merge) and self.known and self.kept and self.known.size == self.kept.size:
            return True
        change = _change(self.ends[-1], self.journal.weights(iteration))
        return bool(np.abs(change).max(initial=0.0) < self.recipe.still)

    def _decoded(self) -> Candidates:
        """The decoder's lists. Their dense features must be those of the first iteration."""
        lists = decoded(self.decoder, self.text.segments, self.ends[-1], self.recipe.k)
        # A single segment proves nothing: its candidates may share any sparse feature.
        if self.first is not None and len(self.text.segments) > 1:
            for now, then, told in (
                (lists.features, self.first, "every candidate has the feature {}, which none had in iteration 1"),
                (self.first, lists.features, "no candidate has the feature {}, which every one had in iteration 1"),
            ):
                dense = now.names.part(0, now.width)
                for f in np.flatnonzero(then.places(dense) < 0)[:1].tolist():
                    where = f"segments {lists.segments[0]} to {lists.segments[len(self.text.segments) - 1]}"
                    raise InputError(f"{where}: {told.format(dense[f])}; a decoder must keep its features")
        return lists


def train(
    recipe: Recipe,
    decoder: Decoder,
    segments: Texts,
    judge: Judge,
    start: Weights,
    record: Record = ignore,
    *,
    dev: Judged | None = None,
    journal: ListJournal | None = None,
    lenient: bool = False,
) -> Weights:
    """Decode, learn, and decode again; the result is the last weights, or those that are best on dev (S4)."""
    if of_form(recipe, "lists").base == "listed":
        raise RecipeError(
            "base='listed' adds to the totals of fixed lists; with a decoder choose base='start' or 'none'"
        )
    run: ListJournal = journal or MemoryJournal()
    steps = ListSteps(recipe, decoder, Judged(segments, judge), start, record, dev, run, lenient)
    iterate(recipe.iterations, steps, run)
    return run.weights(answer(recipe, run.rows[: len(steps.ends)], judge.metric.higher_is_better))


def answer(recipe: Recipe, rows: Sequence[ListIteration], higher_is_better: bool) -> int:
    """The iteration whose weights are the result: the last one, or the first that is best on dev."""
    if recipe.keep == "last" or rows[-1].dev is None:
        return len(rows)
    scores = np.array([row.dev for row in rows])
    return 1 + int(scores.argmax() if higher_is_better else scores.argmin())


def leading(judge: Judge, lists: Candidates) -> float:
    """The score of the first candidates of the lists."""
    first = lists.rank() == 0
    bounds = ends(first)[lists.bounds]
    columns = {name: column[first] for name, column in lists.metrics.items()}
    said, references = lists.texts.take(np.flatnonzero(first)), judge.references_of(lists)
    return float(judge.metric.total_score(judge.metric.statistics(said, bounds, references, columns).sum(axis=0)))


def _change(before: Weights, after: Weights) -> Reals:
    return after.vector - before.onto(after.features, lenient=True)


@contextmanager
def _told(iteration: int) -> Iterator[None]:
    """Add the number of the iteration to errors."""
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
    """The learning of one decoding iteration: it begins at `weights`, with L2 towards `start` or 0.

    With base="start" the learnt weights are added to the initial ones, whose scores become an offset (S11.1).
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
        batch = replace(batch, candidates=batch.candidates.narrowed(0))
    watch = None if record is ignore else _Watch(recipe, batch, iteration, vector, fixed, features, held, record)
    learnt = Weights(features, fixed + recipe.solver.solve(loss, batch, vector - fixed, origin - fixed, watch))
    if not learnt.vector.any():
        _refuse_constant(batch.candidates)
    refuse_collapsed(learnt)
    return learnt


def _refuse_constant(lists: Candidates) -> None:
    """Raise InputError if every feature is constant in every list."""
    if not len(lists.lists.entries) and not Units.of(lists).sizes.any():
        raise InputError(
            "no feature differs within a list, so there is nothing to choose by; add features (rampion features)"
        )


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
        """The loss, the score of the chosen candidates, and the effective number of candidates."""
        loss, stakes = self.recipe.loss, self.batch.stakes
        expects = isinstance(loss, Expectation)  # whose solver has already made the working form
        scores = (self.batch.relative if expects else self.batch.scores)(moving)
        return (
            loss.slopes(stakes, scores)[0],
            self.batch.corpus_score(MODEL.picks(stakes, scores)),
            loss.effective(stakes, scores) if isinstance(loss, Expectation) else None,
        )

    def _gathered(self, moving: Reals) -> tuple[float, float, float | None]:
        """The same from the answers of shards."""
        loss, answer = expectation(self.recipe.loss), cast(Sharded, self.batch).answer(self.recipe.loss, moving)
        score = float(self.batch.metric.total_score(answer.statistics))
        return loss.whole(answer.sums)[0], score, answer.sums.effective


def refuse_collapsed(weights: Weights) -> None:
    """Raise TuningError on weights that are all 0 or not finite."""
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
    """Scores on judged lists: as listed, as the weights choose, and the best and worst possible."""

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
