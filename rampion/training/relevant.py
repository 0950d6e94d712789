"""Learning from relevant sets (S10.6): decode, keep what is new, learn from all that was kept, and decode again.

An iteration is done when its file of records stands. Files of records and of weights are the only state: whoever is
stopped goes on from them, to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import fingerprint
from rampion.errors import RecipeError
from rampion.executors import Coordinator
from rampion.losses.ranking import Ranking
from rampion.metrics import Metric
from rampion.metrics import metric as named
from rampion.optim.online_sgd import OnlineSgd, SetWeights
from rampion.protocols import KeyedDecoder, Watcher
from rampion.sets.files import TRUTHS, Sets
from rampion.sets.packed import numbering
from rampion.sets.records import DecodedBatch, Keyed, KeyRow, Offsets, Reals, Records, Seen, recorded
from rampion.sets.selection import FIRST, Numbers, Packing
from rampion.store.keys import Keys
from rampion.store.text import References, Texts
from rampion.timing import Clock
from rampion.training.memory import peak
from rampion.training.mixing import Here, Learner, Mixing
from rampion.training.policies import RelevantSets
from rampion.training.recipes import Recipe, of_form

T = TypeVar("T")
Singles = NDArray[np.float32]

NOISE = 0.01  # how far the weights of the second seed are from those of the first, at most (S10.9)


class Lines(NamedTuple):
    """Sentences, and what they should become."""

    source: Texts
    references: References

    def first(self, count: int) -> Lines:
        rows = np.arange(min(count, len(self.source)))
        return Lines(self.source.take(rows), self.references.take(rows))


class Text(NamedTuple):
    """What to learn from, what chooses the iteration (S10.11), and what tells how good it is."""

    learn: Lines
    dev: Lines
    test: Lines

    @property
    def fingerprint(self) -> str:
        """Changes with every letter."""
        parts = ((*source.arrays, *references.texts.arrays, references.bounds) for source, references in self)
        return fingerprint(*(array for part in parts for array in part))


class Learnt(NamedTuple):
    """Weights after an iteration: of keyed features by id, of real-valued ones by name, those that are fixed too."""

    keyed: Singles
    own: dict[str, float]


class Beginning(NamedTuple):
    """What sets begin with: the truths (oracle), and the first candidates (000)."""

    part: str
    candidates: int
    gain: float
    train: float
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class Iteration:
    """What came of an iteration; train, dev and test are percentages."""

    iteration: int
    gain: float  # of the best candidates of the sentences learnt from, a mean (S10.5)
    train: float  # their sentence BLEU without length penalty, a mean (S2.5)
    dev: float  # BLEU
    test: float
    objective: list[float]  # of every epoch, a mean over sentences
    moved: list[int]  # visits of every epoch that changed the weights
    features: int
    awake: int  # binary features that are frequent enough to learn
    candidates: int  # learnt from
    fresh: int  # found with these weights
    sentences: int
    memory: int  # of the process at most, so far
    seconds: dict[str, float]


Record = Callable[[Iteration], None]


def ignore(row: Iteration) -> None:
    """The record of those who keep none."""


class Run(Protocol):
    """Where training keeps what it finds."""

    @property
    def sets(self) -> Sets: ...

    def begun(self, row: Beginning) -> None: ...

    def keep(self, row: Iteration, learnt: Learnt) -> None: ...

    def learnt(self, iteration: int) -> Learnt: ...


@dataclass(frozen=True, slots=True)
class Frozen:
    """Weights that do not learn: of real-valued features by name, and of the keys of another run (S10.12)."""

    own: dict[str, float]
    table: Keys | None

    @classmethod
    def of(cls, policy: RelevantSets, names: Iterable[str], fixed: Mapping[str, float], base: Keyed | None) -> Frozen:
        """Those of the base and the fixed ones; the recipe lets all others learn."""
        names, own = tuple(names), {**(base.own if base else {}), **fixed}
        for name in own:
            if name not in names:
                known = ", ".join(names) or "none"
                raise RecipeError(f"{name} has a fixed weight, but the real-valued features are: {known}")
        if policy.start == "seeds" and not names:
            raise RecipeError(
                "start='seeds' decodes with weights of real-valued features, of which there are none; choose 'bag'"
            )
        free = [name for name in names if name not in own]
        if policy.learn == "binary" and free:
            raise RecipeError(
                f"{free[0]} is real-valued and has no weight; fix it (--fixed {free[0]}=0.1) or let it learn "
                "(--set learn=both)"
            )
        if policy.learn == "real" and not free:
            raise RecipeError("all real-valued features are fixed, so none can learn; fix fewer, or set learn=binary")
        table = base.table if base and len(base.table) else None
        if table and policy.learn != "real":
            raise RecipeError("the base has weights of binary features, which stay as they are; set learn=real")
        return cls(own, table)

    def keyed(self, table: Keys, learnt: Learnt) -> Keyed:
        """The weights of all features; those of the table become the learnt ones."""
        if self.table:
            return Keyed(self.table, learnt.own)
        table.set_weights(np.append(learnt.keyed, np.zeros(len(table) - len(learnt.keyed), np.float32)))
        return Keyed(table, learnt.own)

    def weigh(self, keys: KeyRow) -> Singles:
        """The frozen weights of keys."""
        return self.table.weigh(keys) if self.table else np.zeros(0, np.float32)


class Top(NamedTuple):
    """Of the first candidates of all sentences: sums of gains, and of sentence BLEU without length penalty."""

    gain: float = 0.0
    bleu: float = 0.0

    def means(self, count: int) -> tuple[float, float]:
        """Mean gain, and the mean of BLEU in percent."""
        return self.gain / count, 100 * self.bleu / count


class Epochs(NamedTuple):
    """The losses that epochs met, and the visits that changed the weights."""

    losses: list[float]
    moved: list[int]

    def add(self, epoch: int, weights: SetWeights) -> None:
        self.losses.append(weights.objective)
        self.moved.append(weights.moved)


class Relevant:
    """The relevant sets of all segments: records on the disk, and who learns from them."""

    def __init__(
        self, recipe: Recipe, frozen: Frozen, packing: Packing, sets: Sets, lines: Lines, learner: Learner
    ) -> None:
        self.recipe, self.frozen, self.packing, self.sets, self.lines = recipe, frozen, packing, sets, lines
        self.policy = cast(RelevantSets, recipe.policy)
        self.learner, self.free = learner, packing.free
        self.table, self.seen = sets.table(), Seen(len(lines.source))
        self.numbers = Numbers.none()
        self.foreign = np.zeros(0, np.float32)  # the weights that the base gives to ids
        self.waiting = list[str]()  # parts that the learner does not have yet
        self.candidates = 0  # that it has
        for name in sets.parts:
            self._take(name)

    def _take(self, name: str) -> None:
        part = self.sets.parts[name]
        records = self.packing.used(name, part.records)
        self.seen.admit(0, records.bounds, records.prints)
        self.foreign = np.append(self.foreign, self.frozen.weigh(part.keys))
        self.waiting.append(name)

    def grow(self, name: str, batches: Iterator[DecodedBatch], clock: Clock, judge: Metric | None) -> tuple[int, Top]:
        """Record what is new among the candidates of all segments: how many, and what the first ones are worth.

        Without a judge they gain nothing (S10.7).
        """
        seen = Seen(len(self.lines.source)) if name == TRUTHS else self.seen
        parts, first, top = list[Records](), 0, Top()
        for fired in clock.each("decoding", batches):
            with clock("judging"):
                last = first + len(fired.bounds) - 1
                references = self.lines.references.take(np.arange(first, last))
                gains = np.zeros(len(fired.values))
                if judge:
                    gains = gains_of(judge, fired.texts, fired.bounds, references)
                    top = Top(*np.add(top, leaders(fired, gains, references)).tolist())
            with clock("recording"):
                parts.append(recorded(fired, gains, self.table, seen, first))
            first = last
        with clock("recording"):
            self.pending = Records.join(parts)
        return len(self.pending.gains), top

    def keep(self, name: str) -> None:
        """Write what has grown."""
        self.sets.append(name, self.pending, self.table)
        self._take(name)
        del self.pending

    def pack(self) -> None:
        """Give the learner what waits; all features get their places anew."""
        counts, places, awake = self.table.counts[: len(self.table)], np.zeros(0, np.uint32), 0
        if self.packing.binary:
            places, awake = numbering(counts, self.policy.least)
        self.numbers = Numbers(places, awake, self.foreign)
        self.learner.pack(self.sets, self.packing.ordered(self.waiting), self.numbers)
        self.candidates += sum(self.packing.count(name, self.sets.parts[name].records) for name in self.waiting)
        self.waiting.clear()

    def learn(self, iteration: int, past: Learnt | None, watch: Watcher[SetWeights]) -> Learnt:
        """Weights from the sets, beginning at those of the past or at the first ones."""
        places, awake, _ = self.numbers
        weights, own = np.zeros(awake + 1, np.float32), np.full(len(self.free), self.policy.initial)
        if past:
            ids = np.flatnonzero(places[: len(past.keyed)] <= awake)
            weights[places[ids]] = past.keyed[ids]
            own = np.array([past.own[name] for name in self.free])
        solver, batch = self.recipe.solver, self.learner.batch(iteration)
        found = solver.solve(self.recipe.loss, batch, SetWeights(weights, own), None, watch)
        return Learnt(np.append(found.places, np.float32(0))[np.minimum(places, awake + 1)], self.named(found.own))

    def named(self, own: Reals) -> dict[str, float]:
        """All weights of real-valued features."""
        return self.frozen.own | dict(zip(self.free, own.tolist(), strict=True))


def train(
    recipe: Recipe,
    decoder: KeyedDecoder,
    text: Text,
    run: Run,
    *,
    fixed: Mapping[str, float] | None = None,
    base: Keyed | None = None,
    record: Record = ignore,
    spill: Path | None = None,
    threads: int | None = None,
    coordinator: Coordinator | None = None,
) -> None:
    """Go on until the run has all iterations; the folder `spill` takes the sets if memory cannot.

    Shards learn where the coordinator has workers, if there is one; a single shard learns here.
    """
    policy, solver = cast(RelevantSets, of_form(recipe, "sets").policy), cast(OnlineSgd, recipe.solver)
    frozen, lines, judge = Frozen.of(policy, decoder.names, fixed or {}, base), text.learn, named(recipe.metric)
    loss, count = cast(Ranking, recipe.loss).packed, len(lines.source)
    packing = Packing(loss, decoder.names, frozen.own, policy.learn != "real")
    learner: Learner = Here(packing, count, spill, threads)
    if coordinator and solver.shards > 1:
        learner = Mixing(coordinator, packing, count, spill=spill is not None)
    sets = Relevant(recipe, frozen, packing, run.sets, lines, learner)
    flat = Learnt(np.zeros(0, np.float32), sets.named(np.full(len(sets.free), policy.flat)))

    def begin(name: str, batches: Iterator[DecodedBatch], judge: Metric | None) -> None:
        clock = Clock()
        new, top = sets.grow(name, batches, clock, judge)
        run.begun(Beginning(name, new, *top.means(count), dict(clock)))
        sets.keep(name)

    if policy.truths and TRUTHS not in run.sets.parts:
        begin(TRUTHS, decoder.truths(*lines, policy.truths), judge)
    if FIRST not in run.sets.parts:
        if policy.start == "bag":
            begin(FIRST, decoder.bags(lines.source, solver.seed), None)
        else:
            begin(FIRST, decoder.listed(lines.source, frozen.keyed(sets.table, flat), recipe.k), judge)
    done = len(run.sets.parts.keys() - {TRUTHS})
    for iteration in range(done, recipe.iterations + 1):
        clock, epochs = Clock(), Epochs([], [])
        with clock("packing"):
            sets.pack()
        with clock("learning"):
            if policy.start == "seeds" and iteration == 1:
                learnt = disturbed(flat, sets.free, solver.seed)
            else:
                past = None if policy.restart or iteration == 1 else run.learnt(iteration - 1)
                learnt = sets.learn(iteration, past, epochs.add)
        weights = frozen.keyed(sets.table, learnt)
        with clock("testing"):
            dev, test = (bleu(decoder, part, weights) for part in (text.dev, text.test))
        learnt_from, awake = sets.candidates, sets.numbers.awake
        fresh, top = sets.grow(f"{iteration:03}", decoder.listed(lines.source, weights, recipe.k), clock, judge)
        row = Iteration(
            iteration, *top.means(count), dev, test,
            [loss / count for loss in epochs.losses], epochs.moved,
            len(sets.table), awake, learnt_from, fresh, count, peak(), dict(clock),
        )  # fmt: skip
        run.keep(row, learnt)
        sets.keep(f"{iteration:03}")
        record(row)


def disturbed(flat: Learnt, names: Sequence[str], seed: int) -> Learnt:
    """Weights of the second seed: the first ones and some noise (S10.9)."""
    noise = np.random.default_rng(seed).uniform(-NOISE, NOISE, len(names)).tolist()
    return flat._replace(own=flat.own | {name: flat.own[name] + more for name, more in zip(names, noise, strict=True)})


def gains_of(judge: Metric, texts: Texts, bounds: Offsets, references: References) -> Reals:
    """What the metric says of every candidate on its own, turned so that more is better."""
    values = judge.segments(judge.statistics(texts, bounds, references))
    return values if judge.higher_is_better else 1.0 - values


def leaders(fired: DecodedBatch, gains: Reals, references: References) -> Top:
    """What the first candidates are worth."""
    filled = np.flatnonzero(np.diff(fired.bounds))
    first = fired.bounds[filled]
    unpenalised = named("bleu:raw,nobp")
    said = gains_of(unpenalised, fired.texts.take(first), np.arange(len(first) + 1), references.take(filled))
    return Top(float(gains[first].sum()), float(said.sum()))


def bleu(decoder: KeyedDecoder, lines: Lines, weights: Keyed) -> float:
    """Of the best candidates, as a corpus."""
    metric, best = named("bleu"), decoder.best(lines.source, weights)
    return metric.total_score(metric.statistics(best, np.arange(len(best) + 1), lines.references).sum(axis=0))
