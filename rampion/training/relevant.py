"""Learning from relevant sets (S10.6): decode, keep new candidates, learn from all kept ones, and decode again.

The only state is in files of records and of weights, and in the events that announce them. A resumed run continues
from these, and ends with the same bits as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import numpy as np

from rampion.arrays import KeyRow, Offsets, Reals, Singles, fingerprint
from rampion.errors import RecipeError
from rampion.executors import Coordinator
from rampion.losses.ranking import Ranking
from rampion.metrics import Metric
from rampion.metrics import metric as named
from rampion.optim.online_sgd import OnlineSgd, SetWeights
from rampion.protocols import KeyedDecoder
from rampion.sets.files import TRUTHS, Sets
from rampion.sets.packed import numbering
from rampion.sets.records import DecodedBatch, Keyed, Records, Seen, recorded
from rampion.sets.selection import FIRST, Numbers, Packing
from rampion.store.keys import Keys
from rampion.store.text import References, Texts
from rampion.system import peak
from rampion.timing import Clock
from rampion.training.loop import Iteration, Journal, iterate
from rampion.training.mixing import Here, Learner, Mixing
from rampion.training.policies import RelevantSets
from rampion.training.recipes import Recipe, of_form

LEAST_SHARE = 2.0**-10  # the least share of the weights learnt on a base that is tried
NOISE = 0.01  # the largest distance of a weight of the second seed from that of the first (S10.9)


class Lines(NamedTuple):
    """Sentences and their references."""

    source: Texts
    references: References

    def first(self, count: int) -> Lines:
        rows = np.arange(min(count, len(self.source)))
        return Lines(self.source.take(rows), self.references.take(rows))


class Text(NamedTuple):
    """Training, dev and test text. Dev selects the iteration (S10.11)."""

    learn: Lines
    dev: Lines
    test: Lines

    @property
    def fingerprint(self) -> str:
        """A hash of all text."""
        parts = ((*source.arrays, *references.texts.arrays, references.bounds) for source, references in self)
        return fingerprint(*(array for part in parts for array in part))


class WeightsById(NamedTuple):
    """Weights after an iteration: of keyed features by id, of real-valued ones by name, fixed ones included."""

    keyed: Singles
    own: dict[str, float]


class FirstPart(NamedTuple):
    """An event about the first contents of relevant sets: the truths (oracle) or the first candidates (000)."""

    part: str
    candidates: int
    gain: float
    train: float
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetIteration(Iteration):
    """The results of an iteration on relevant sets. Scores of train, dev and test text are in percent."""

    dev: float
    gain: float  # the mean gain of the best candidates of the training sentences (S10.5)
    train: float  # the mean of their sentence BLEU without length penalty (S2.5)
    test: float
    objective: list[float]  # of every epoch, as a mean over sentences
    moved: list[int]  # in every epoch, the visits that changed the weights
    features: int
    awake: int  # binary features that are frequent enough to learn
    fresh: int  # candidates found with these weights
    sentences: int
    memory: int  # the peak of the process so far
    cores: float = 0.0  # processors that the process kept busy, a mean over the iteration
    share: float = 1.0  # with a base: the share of the learnt weights that dev has accepted (S10.12)


class SetJournal(Journal[SetIteration, WeightsById], Protocol):
    """A journal that also stores relevant sets."""

    @property
    def sets(self) -> Sets: ...

    def begun(self, row: FirstPart) -> None: ...


@dataclass(frozen=True, slots=True)
class Frozen:
    """Weights that are not learnt: of real-valued features by name, and of the keys of another run (S10.12)."""

    own: dict[str, float]
    table: Keys | None
    based: bool = False  # whether some of them come from another run

    @classmethod
    def of(cls, policy: RelevantSets, names: Iterable[str], fixed: Mapping[str, float], base: Keyed | None) -> Frozen:
        """The weights of the base and the fixed ones; the recipe determines which of the others are learnt."""
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
        return cls(own, table, base is not None)

    def keyed(self, table: Keys, learnt: WeightsById) -> Keyed:
        """The weights of all features; those of the table become the learnt ones."""
        if self.table:
            return Keyed(self.table, learnt.own)
        table.set_weights(np.append(learnt.keyed, np.zeros(len(table) - len(learnt.keyed), np.float32)))
        return Keyed(table, learnt.own)

    def weigh(self, keys: KeyRow) -> Singles:
        """The frozen weights of keys."""
        return self.table.weigh(keys) if self.table else np.zeros(0, np.float32)


class SetSteps:
    """Steps on relevant sets on disk: each iteration learns from all of them, and decodes with the weights (S10.6)."""

    def __init__(
        self, recipe: Recipe, frozen: Frozen, packing: Packing, learner: Learner, decoder: KeyedDecoder, text: Text,
        journal: SetJournal,
    ) -> None:  # fmt: skip
        self.recipe, self.frozen, self.packing, self.learner = recipe, frozen, packing, learner
        self.decoder, self.text, self.journal, self.sets = decoder, text, journal, journal.sets
        self.policy, self.solver = cast(RelevantSets, recipe.policy), cast(OnlineSgd, recipe.solver)
        self.judge, self.count, self.free = named(recipe.metric), len(text.learn.source), packing.free
        self.table, self.seen = self.sets.table(), Seen(self.count)
        self.numbers = Numbers.none()
        self.foreign = np.zeros(0, np.float32)  # the weights that the base gives to ids
        self.waiting = list[str]()  # parts that the learner does not have yet
        self.candidates = 0  # parts that it has
        self.upon = frozen.based  # whether weights are learnt on top of a base
        self.least: float | None = None  # BLEU of dev with only the base
        self.share = 1.0  # the accepted share of the weights learnt in this iteration
        first = 0.0 if self.upon else self.policy.flat  # decodings with the base, or with equal weights
        self.flat = WeightsById(np.zeros(0, np.float32), self._named(np.full(len(self.free), first)))
        for name in self.sets.parts:
            self._take(name)

    def decode(self, iteration: int, clock: Clock) -> None:
        """Record the truths and the first candidates; later iterations use those that the one before has decoded."""
        source, sets = self.text.learn.source, self.sets
        if self.policy.truths and TRUTHS not in sets.parts:
            self._begin(TRUTHS, self.decoder.truths(*self.text.learn, self.policy.truths), self.judge)
        if FIRST not in sets.parts and self.policy.start == "bag" and not self.upon:
            self._begin(FIRST, self.decoder.bags(source, self.solver.seed), None)
        elif FIRST not in sets.parts:
            weights = self.frozen.keyed(self.table, self.flat)
            self._begin(FIRST, self.decoder.listed(source, weights, self.recipe.k), self.judge)

    def solve(self, iteration: int, clock: Clock) -> WeightsById:
        """Learn weights from the sets, beginning at those of the last iteration or at the first ones."""
        self.losses, self.moved = list[float](), list[int]()
        with clock("packing"):
            self.pack()
        with clock("learning"):
            if self.policy.start == "seeds" and iteration == 1:
                disturbed_ = disturbed(self.flat, self.free, self.solver.seed)
                return self._shortened(disturbed_) if self.upon and self.free else disturbed_
            places, awake, _ = self.numbers
            weights, own = np.zeros(awake + 1, np.float32), np.full(len(self.free), self.policy.initial)
            if iteration > 1 and not self.policy.restart:
                past = self.journal.weights(iteration - 1)
                ids = np.flatnonzero(places[: len(past.keyed)] <= awake)
                weights[places[ids]] = past.keyed[ids]
                own = np.array([past.own[name] for name in self.free])
            batch = self.learner.batch(iteration)
            found = self.solver.solve(self.recipe.loss, batch, SetWeights(weights, own), None, self._watch)
            keyed = np.append(found.places, np.float32(0))[np.minimum(places, awake + 1)]
            learnt = WeightsById(keyed, self._named(found.own))
        if not self.upon:
            return learnt
        with clock("testing"):
            return self._shortened(learnt)

    def _share(self, learnt: WeightsById, share: float) -> WeightsById:
        """The frozen weights plus a share of the learnt ones."""
        own = {name: share * learnt.own[name] for name in self.free}
        return WeightsById(learnt.keyed * np.float32(share), self.frozen.own | own)

    def _shortened(self, learnt: WeightsById) -> WeightsById:
        """The weights learnt on a base, halved until dev is no worse than with the base, and while dev rises (S10.12).

        Learning is not bounded by alternatives that have not been decoded yet, so the whole step can go far too far.
        """
        if self.least is None:
            self.least = bleu(self.decoder, self.text.dev, self.frozen.keyed(self.table, self._share(learnt, 0.0)))
        share, chosen, best = 1.0, 0.0, -np.inf
        while share >= LEAST_SHARE:
            dev = bleu(self.decoder, self.text.dev, self.frozen.keyed(self.table, self._share(learnt, share)))
            if dev > best:
                chosen, best = share, dev
            elif best >= self.least:
                break
            share /= 2
        self.share = chosen if best >= self.least else 0.0
        return self._share(learnt, self.share)

    def row(self, iteration: int, learnt: WeightsById, clock: Clock) -> SetIteration:
        """Decode with the weights: score dev and test, and record the candidates of the training sentences."""
        weights = self.frozen.keyed(self.table, learnt)
        with clock("testing"):
            dev, test = (bleu(self.decoder, part, weights) for part in (self.text.dev, self.text.test))
        batches = self.decoder.listed(self.text.learn.source, weights, self.recipe.k)
        fresh, gain, train = self._grow(f"{iteration:03}", batches, clock, self.judge)
        return SetIteration(
            iteration=iteration, gain=gain, train=train, dev=dev, test=test,
            objective=[loss / self.count for loss in self.losses], moved=self.moved,
            features=len(self.table), awake=self.numbers.awake, candidates=self.candidates, fresh=fresh,
            sentences=self.count, memory=peak(), cores=clock.cores, share=self.share,
            seconds=dict(clock),
        )  # fmt: skip

    def settled(self, iteration: int) -> bool:
        return False

    def pack(self) -> None:
        """Pass the waiting parts to the learner; all features get new places."""
        counts, places, awake = self.table.counts[: len(self.table)], np.zeros(0, np.uint32), 0
        if self.packing.binary:
            places, awake = numbering(counts, self.policy.least)
        self.numbers = Numbers(places, awake, self.foreign)
        self.learner.pack(self.sets, self.packing.ordered(self.waiting), self.numbers)
        self.candidates += sum(self.packing.count(name, self.sets.parts[name].records) for name in self.waiting)
        self.waiting.clear()

    def _begin(self, name: str, batches: Iterator[DecodedBatch], judge: Metric | None) -> None:
        clock = Clock()
        self.journal.begun(FirstPart(name, *self._grow(name, batches, clock, judge), dict(clock)))

    def _grow(
        self, name: str, batches: Iterator[DecodedBatch], clock: Clock, judge: Metric | None
    ) -> tuple[int, float, float]:
        """Record the new candidates of all segments.

        Return their number, and the mean gain and the mean BLEU in percent of the first candidates. Without a judge all
        gains are 0 (S10.7).
        """
        seen = Seen(self.count) if name == TRUTHS else self.seen
        parts, first, top = list[Records](), 0, np.zeros(2)
        for fired in clock.each("decoding", batches):
            with clock("judging"):
                last = first + len(fired.bounds) - 1
                references = self.text.learn.references.take(np.arange(first, last))
                gains = np.zeros(len(fired.values))
                if judge:
                    gains = gains_of(judge, fired.texts, fired.bounds, references)
                    top += leaders(fired, gains, references)
            with clock("recording"):
                parts.append(recorded(fired, gains, self.table, seen, first))
            first = last
        with clock("recording"):
            records = Records.join(parts)
            del parts
            self.sets.append(name, records, self.table)
            self._take(name)
        gain, train = top.tolist()
        return len(records.gains), gain / self.count, 100 * train / self.count

    def _take(self, name: str) -> None:
        part = self.sets.parts[name]
        records = self.packing.used(name, part.records)
        self.seen.admit(0, records.bounds, records.prints)
        self.foreign = np.append(self.foreign, self.frozen.weigh(part.keys))
        self.waiting.append(name)

    def _watch(self, epoch: int, weights: SetWeights) -> None:
        """The losses of the epochs, and their visits that changed the weights."""
        self.losses.append(weights.objective)
        self.moved.append(weights.moved)

    def _named(self, own: Reals) -> dict[str, float]:
        """The weights of all real-valued features."""
        return self.frozen.own | dict(zip(self.free, own.tolist(), strict=True))


def train(
    recipe: Recipe,
    decoder: KeyedDecoder,
    text: Text,
    run: SetJournal,
    *,
    fixed: Mapping[str, float] | None = None,
    base: Keyed | None = None,
    spill: Path | None = None,
    threads: int | None = None,
    coordinator: Coordinator | None = None,
) -> None:
    """Run iterations until the journal has all of them; with `spill`, packed sets are kept in files of that folder.

    Shards run on the coordinator's workers, if there is a coordinator; a single shard runs in this process.
    """
    policy, solver = cast(RelevantSets, of_form(recipe, "sets").policy), cast(OnlineSgd, recipe.solver)
    frozen, count = Frozen.of(policy, decoder.names, fixed or {}, base), len(text.learn.source)
    packing = Packing(cast(Ranking, recipe.loss).packed, decoder.names, frozen.own, policy.learn != "real")
    learner: Learner = Here(packing, count, spill, threads)
    if coordinator and solver.shards > 1:
        learner = Mixing(coordinator, packing, count, spill=spill is not None)
    iterate(recipe.iterations, SetSteps(recipe, frozen, packing, learner, decoder, text, run), run)


def disturbed(flat: WeightsById, names: Sequence[str], seed: int) -> WeightsById:
    """The weights of the second seed: the first ones plus noise (S10.9)."""
    noise = np.random.default_rng(seed).uniform(-NOISE, NOISE, len(names)).tolist()
    return flat._replace(own=flat.own | {name: flat.own[name] + more for name, more in zip(names, noise, strict=True)})


def gains_of(judge: Metric, texts: Texts, bounds: Offsets, references: References) -> Reals:
    """The metric of every single candidate, with the sign that makes more better."""
    values = judge.segments(judge.statistics(texts, bounds, references))
    return values if judge.higher_is_better else 1.0 - values


def leaders(fired: DecodedBatch, gains: Reals, references: References) -> tuple[float, float]:
    """Sums over the first candidates of gains, and of sentence BLEU without length penalty."""
    filled = np.flatnonzero(np.diff(fired.bounds))
    first = fired.bounds[filled]
    unpenalised = named("bleu:raw,nobp")
    said = gains_of(unpenalised, fired.texts.take(first), np.arange(len(first) + 1), references.take(filled))
    return float(gains[first].sum()), float(said.sum())


def bleu(decoder: KeyedDecoder, lines: Lines, weights: Keyed) -> float:
    """The corpus BLEU of the best candidates."""
    metric, best = named("bleu"), decoder.best(lines.source, weights)
    return metric.total_score(metric.statistics(best, np.arange(len(best) + 1), lines.references).sum(axis=0))
