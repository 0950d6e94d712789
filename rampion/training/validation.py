"""Held-out scores of tuned weights and of baselines, which need no learning.

Segments are dealt into folds, with groups of segments kept together. In each fold, weights that were learnt from the
other folds choose the candidates. The best single feature is found in the same way. All choices together are scored as
one corpus; intervals and p draw whole groups (S12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.analysis.significance import bootstrap, paired_bootstrap, randomisation
from rampion.arrays import Integers, Reals
from rampion.errors import InputError, RecipeError
from rampion.losses.contrast import MODEL, ORACLE
from rampion.metrics import Bleu, Metric
from rampion.metrics import metric as named
from rampion.metrics.base import decimals
from rampion.metrics.consensus import consensus, votes
from rampion.metrics.judging import Batch
from rampion.store.bends import plain
from rampion.store.features import Weights
from rampion.store.text import Texts

FOLDS = 5
SPARSE = 20  # the number of most frequent sparse features that are tried as single features
PAIRS = 60_000_000  # with more pairs of candidates the consensus baseline is left out
LEVEL = 0.05  # p below which a difference counts
SURE, SURER, FEW = 0.75, 0.95, 50  # the share of drawn corpora in which one choice must win to beat another
LISTED, INITIAL, RANDOM, SINGLE = "listed order", "initial weights", "random choice", "best single feature"
CONSENSUS, VOTE, TUNED, ORACLE_LINE = "consensus", "majority vote", "tuned", "oracle"
KEPT = LISTED, INITIAL, SINGLE  # simple choices that weights can express
UNBEATEN = ORACLE_LINE, TUNED
ORDER = LISTED, RANDOM, INITIAL, SINGLE, CONSENSUS, VOTE, TUNED, ORACLE_LINE


@dataclass(frozen=True, slots=True)
class Line:
    """A way to choose candidates, and its score on lists that it has not seen.

    Parameters
    ----------
    name : str
        What chooses.
    score : float
        The score of its choices.
    low, high : float
        The 95 % interval of the score.
    note : str
        A remark, such as the name of the feature.

    Examples
    --------
    >>> rampion.tune(lists, references, recipe="risk", metric="chrf", folds=2).held["tuned"].score
    100.0
    """

    name: str
    score: float
    low: float
    high: float
    note: str = ""


class Figures(Mapping[str, Line]):
    """Held-out scores of the ways to choose: a mapping from their names, which prints as a table.

    Parameters
    ----------
    metric : Metric
        The metric.
    how : str
        Which lists were held out.
    lines : sequence of Line
        The ways to choose.
    p : float
        The two-sided p-value of the difference between the tuned weights and the best baseline.

    Examples
    --------
    >>> rampion.tune(lists, references, recipe="risk", metric="chrf", folds=2).held
    held out (2 folds of 2 lists)   chrF2     95% interval
    listed order                    26.56 [15.66, 100.00]
    """

    def __init__(self, metric: Metric, how: str, lines: Sequence[Line], p: float) -> None:
        self.metric, self.how, self.p = metric, how, p
        self.lines = {line.name: line for line in lines}

    def __getitem__(self, name: str) -> Line:
        return self.lines[name]

    def __iter__(self) -> Any:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def best(self) -> Line:
        """The baseline of the best score."""
        sign = 1.0 if self.metric.higher_is_better else -1.0
        unlearnt = [line for name, line in self.lines.items() if name not in UNBEATEN]
        return max(unlearnt, key=lambda line: sign * line.score)

    @property
    def gain(self) -> float:
        """How much better the tuned weights are than the best baseline; less than 0 if they are worse."""
        gain = self.lines[TUNED].score - self.best.score
        return gain if self.metric.higher_is_better else -gain

    @property
    def sure(self) -> bool:
        """Whether the tuned weights differ from the best baseline by more than chance."""
        return self.p < LEVEL

    def rows(self) -> list[list[str]]:
        """The cells of the table: name, score, interval, note."""
        d = decimals(line.score for line in self.lines.values())
        return [
            [one.name, f"{one.score:.{d}f}", f"[{one.low:.{d}f}, {one.high:.{d}f}]", one.note]
            for one in self.lines.values()
        ]

    def verdict(self) -> str:
        """The tuned weights beside the best baseline, in a sentence."""
        d = decimals(line.score for line in self.lines.values())
        if self.gain == 0:
            return f"the tuned weights choose as well as the {self.best.name}"
        apart = f"{abs(self.gain):.{d}f} {'better' if self.gain > 0 else 'worse'} than the {self.best.name}"
        unsure = "" if self.sure else ";\nthese lists cannot tell the two apart"
        return f"the tuned weights are {apart}, p = {self.p:.2g}{unsure}"

    def facts(self) -> dict[str, Any]:
        """The table for machines."""
        return {
            "metric": self.metric.name, "how": self.how, "best": self.best.name, "gain": self.gain, "p": self.p,
            "lines": [{"name": one.name, "score": one.score, "low": one.low, "high": one.high, "note": one.note}
                      for one in self.lines.values()],
        }  # fmt: skip

    def __repr__(self) -> str:
        rows = [[f"held out ({self.how})", self.metric.name, "95% interval", ""], *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            f"{name:{widths[0]}}  {score:>{widths[1]}}  {interval:>{widths[2]}}  {note}".rstrip()
            for name, score, interval, note in rows
        ]
        return "\n".join([*lines, self.verdict()])


class Onto(Protocol):
    """Weights in the order of the features of other lists than those learnt from."""

    def onto(self, weights: Reals) -> Reals: ...


class Parts(NamedTuple):
    """The fold of each segment, the number of folds, and the group of each segment."""

    fold: NDArray[np.int64]
    folds: int
    group: NDArray[np.int64]

    @classmethod
    def of(cls, segments: Texts, folds: int, groups: Sequence[str] | None) -> Parts:
        """Deal groups into folds at random, always with the same seed."""
        if folds < 0 or folds == 1:
            raise RecipeError(f"folds is {folds}; expected 2 or more, or 0 for no held-out figures")
        names = list(segments) if groups is None else list(groups)
        if len(names) != len(segments):
            raise InputError(f"there are {len(names)} groups for {len(segments)} segments; give one for each")
        known = {name: number for number, name in enumerate(dict.fromkeys(names))}
        group = np.array([known[name] for name in names], np.int64)
        count = min(folds, len(known))
        order = np.random.default_rng(0).permutation(len(known))
        dealt = np.empty(len(known), np.int64)
        dealt[order] = np.arange(len(known)) % max(1, count)
        return cls(dealt[group], count, group)


class Ground:
    """Judged lists, with the scores of choices of candidates."""

    def __init__(self, batch: Batch, parts: Parts) -> None:
        self.batch, self.parts = batch, parts
        self.filled = np.flatnonzero(np.diff(batch.stakes.bounds))
        self.fold, self.group = parts.fold[self.filled], parts.group[self.filled]
        self.metric, self.sign = batch.metric, 1.0 if batch.metric.higher_is_better else -1.0

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first candidates."""
        return np.asarray(self.batch.stakes.bounds[self.filled])

    def rows(self, picks: Integers, of: NDArray[np.bool_] | None = None) -> Reals:
        """The statistics of the picks of segments, added up over each group."""
        return self.summed(self.batch.statistics[picks], of)

    def summed(self, statistics: NDArray[Any], of: NDArray[np.bool_] | None = None) -> Reals:
        group = self.group
        if of is not None:
            statistics, group = statistics[of], group[of]
        _, places = np.unique(group, return_inverse=True)
        sums = np.zeros((int(places.max(initial=-1)) + 1, statistics.shape[1]))
        np.add.at(sums, places, statistics)
        return sums

    def height(self, picks: Integers, of: NDArray[np.bool_] | None = None) -> float:
        """The score of the picks of some segments, with the sign that makes more better."""
        found = self.batch.statistics[picks if of is None else picks[of]]
        return self.sign * float(self.metric.total_score(found.sum(axis=0)))

    def single(self, features: NDArray[np.int64]) -> list[Single]:
        """Every single feature with both signs."""
        candidates, found = self.batch.candidates, []
        for f in features.tolist():
            alone = np.zeros(len(candidates.features))
            alone[f] = 1.0
            least, most = np.empty((2, len(candidates)), np.int64)
            _kernels.extremes(candidates.score(alone), candidates.bounds, least, most)
            found += [Single(f, 1.0, most[self.filled]), Single(f, -1.0, least[self.filled])]
        return found


class Single(NamedTuple):
    """A single feature: it, or its negative, chooses the candidates."""

    feature: int
    sign: float
    picks: Integers


class Baselines(NamedTuple):
    """Choices that need no learning: the picks of each, and a remark."""

    ground: Ground
    simple: Mapping[str, Integers]
    notes: Mapping[str, str]
    single: Single | None  # the best single feature of all these lists


@dataclass(frozen=True, eq=False)
class Validation:
    """The held-out choices of options that learn, and the baselines."""

    base: Baselines
    options: Mapping[str, Integers]

    @property
    def ground(self) -> Ground:
        return self.base.ground

    def chosen(self, of: NDArray[np.bool_] | None = None) -> str:
        """The option to use: the first one that learns, or another that clearly beats it. Simple choices come last."""
        found = self.best(of)
        simple = {name: picks for name, picks in self.base.simple.items() if name in KEPT}
        plain = max(simple, key=lambda one: self.ground.height(simple[one], of))
        return plain if self.beats(simple[plain], self.options[found], of) else found

    def best(self, of: NDArray[np.bool_] | None = None) -> str:
        """The first option that learns, or the best other one if that clearly beats it."""
        first = next(iter(self.options))
        best = max(self.options, key=lambda one: self.ground.height(self.options[one], of))
        return best if self.beats(self.options[best], self.options[first], of) else first

    def beats(self, one: Integers, other: Integers, of: NDArray[np.bool_] | None) -> bool:
        """Whether one choice scores better than another in most corpora of drawn groups."""
        theirs, mine = (self.ground.rows(picks, of) for picks in (other, one))
        if len(theirs) < 2 or np.array_equal(theirs, mine):
            return False
        share = SURER if len(theirs) < FEW else SURE
        found = paired_bootstrap(self.ground.metric, theirs, mine, samples=400, level=2 * share - 1)
        return found.low > 0 if self.ground.sign > 0 else found.high < 0

    @cached_property
    def answer(self) -> str:
        """The option to use, by all folds."""
        return self.chosen()

    @cached_property
    def learnt(self) -> str:
        """The option that learns, by all folds."""
        return self.best()

    def weights(self, start: Weights) -> Weights:
        """The weights of the simple choice, if one is used."""
        if self.answer == INITIAL:
            return start
        vector = np.zeros(len(start.vector))
        if self.answer == SINGLE and self.base.single:
            vector[self.base.single.feature] = self.base.single.sign
        return Weights(start.features, vector)

    @cached_property
    def picks(self) -> Integers:
        """Held-out picks of the whole procedure: in every fold, the other folds choose the option."""
        if len(self.options) == 1:
            return next(iter(self.options.values()))
        found = np.empty(len(self.ground.filled), np.int64)
        for k in range(self.ground.parts.folds):
            here = self.ground.fold == k
            name = self.chosen(~here)
            found[here] = {**self.base.simple, **self.options}[name][here]
        return found

    def figures(self) -> Figures:
        parts = self.ground.parts
        groups = int(parts.group.max()) + 1
        of = "lists" if groups == len(parts.group) else "groups of lists"
        return figures(self.base, self.picks, f"{parts.folds} folds of {groups} {of}")


def figures(base: Baselines, tuned: Integers, how: str) -> Figures:
    """The table, and p of the tuned choices against the best baseline."""
    ground, batch = base.ground, base.ground.batch
    rows = {name: ground.rows(picks) for name, picks in base.simple.items()}
    rows[RANDOM] = ground.summed(mean_rows(batch))
    rows[TUNED] = ground.rows(tuned)
    rows[ORACLE_LINE] = ground.rows(ORACLE.picks(batch.stakes, np.zeros(batch.candidates.size)))
    lines = []
    for name in ORDER:
        if name in rows:
            found = bootstrap(ground.metric, rows[name])
            lines.append(Line(name, found.score, found.low, found.high, base.notes.get(name, "")))
    table = Figures(ground.metric, how, lines, 1.0)
    table.p = randomisation(ground.metric, rows[table.best.name], rows[TUNED]).p
    return table


def mean_rows(batch: Batch) -> Reals:
    """The mean statistics of every list, which are those of a random choice."""
    bounds = batch.stakes.bounds
    starts = bounds[:-1][np.diff(bounds) > 0]
    sums = np.add.reduceat(np.asarray(batch.statistics, np.float64), starts, axis=0)
    return np.asarray(sums / np.diff(np.append(starts, bounds[-1]))[:, np.newaxis])


def axes(batch: Batch) -> NDArray[np.int64]:
    """The features that are tried as single features: dense ones but bends, and the most frequent sparse ones."""
    lists = batch.candidates.lists
    shifts = np.repeat(lists.feature_bounds[:-1], np.diff(lists.entry_bounds[lists.bounds]))
    counts = np.bincount(lists.features[lists.entries + shifts], minlength=len(batch.candidates.features))
    frequent = np.argsort(-counts, kind="stable")[: min(SPARSE, np.count_nonzero(counts))]
    return np.concatenate([np.arange(plain(batch.candidates.features)), frequent]).astype(np.int64)


def best_single(ground: Ground, singles: Sequence[Single], of: NDArray[np.bool_] | None = None) -> Single | None:
    return max(singles, key=lambda one: ground.height(one.picks, of), default=None)


def single_note(batch: Batch, single: Single) -> str:
    return f"{'' if single.sign > 0 else 'less '}{batch.candidates.features[single.feature]}"


def unlearnt(ground: Ground, start: Weights) -> tuple[dict[str, Integers], dict[str, str]]:
    """Choices that need no labels: the picks of each, and a remark."""
    batch = ground.batch
    found: dict[str, Integers] = {LISTED: ground.starts}
    notes: dict[str, str] = {}
    if start.vector.any():
        found[INITIAL] = MODEL.picks(batch.stakes, batch.scores(start.vector))
    candidates = batch.candidates
    lengths = np.diff(candidates.bounds)
    if int(np.square(lengths).sum()) <= PAIRS and len(candidates.texts.blob):
        by = "bleu:lin-och" if isinstance(batch.metric, Bleu) else "chrf"
        found[CONSENSUS] = MODEL.picks(batch.stakes, consensus(candidates, named(by)))
        notes[CONSENSUS] = f"by {named(by).name}"
    counted = votes(candidates, list(candidates.texts))
    most = np.maximum.reduceat(counted, ground.starts)
    if 2 * np.count_nonzero(most * lengths[ground.filled] > 1.5) >= len(ground.filled):  # texts repeat in half of them
        found[VOTE] = MODEL.picks(batch.stakes, counted)
    return found, notes


def baselines(ground: Ground, start: Weights) -> Baselines:
    """The baselines in folds; the single feature of every fold is the one that is best in the other folds."""
    simple, notes = unlearnt(ground, start)
    singles = ground.single(axes(ground.batch))
    single = best_single(ground, singles)
    if single is not None:
        alone = single.picks.copy()
        for k in range(ground.parts.folds if ground.parts.folds > 1 else 0):
            here = ground.fold == k
            best = best_single(ground, singles, ~here)
            alone[here] = best.picks[here] if best else alone[here]
        simple[SINGLE], notes[SINGLE] = alone, single_note(ground.batch, single)
    return Baselines(ground, simple, notes, single)


def elsewhere(base: Baselines, held: Batch, out: Onto, start: Weights) -> Baselines:
    """The baselines on held-out lists; the single feature is the one that is best on the lists learnt from."""
    ground = Ground(held, Parts.of(held.candidates.segments, 0, None))
    simple, notes = unlearnt(ground, Weights(held.candidates.features, out.onto(start.vector)))
    if base.single is not None:
        vector = np.zeros(len(start.vector))
        vector[base.single.feature] = base.single.sign
        simple[SINGLE] = MODEL.picks(held.stakes, held.candidates.score(out.onto(vector)))
        notes[SINGLE] = single_note(base.ground.batch, base.single)
    return Baselines(ground, simple, notes, None)


Learner = Callable[[Batch], Reals]  # takes lists to learn from, returns weights of the same features


def validated(base: Baselines, seen: Batch, learners: Mapping[str, Learner]) -> Validation:
    """For every fold, learn from the others and choose in it; `seen` are the lists as learners get them."""
    ground = base.ground
    options = {name: np.empty(len(ground.filled), np.int64) for name in learners}
    for k in range(ground.parts.folds):
        here = ground.fold == k
        away, home = (seen.among(ground.filled[side]) for side in (~here, here))
        firsts = ground.starts[here] - home.stakes.bounds[:-1]
        for name, learner in learners.items():
            options[name][here] = MODEL.picks(home.stakes, home.scores(learner(away))) + firsts
    return Validation(base, options)
