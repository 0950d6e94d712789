"""Wuebker et al.: maximum expected BLEU on training data, with four updates. The numbers are from S11.8.

Weights of sparse features, such as phrase pairs, are learnt from lists of the training text, where a sentence is
decoded without its own counts. The weights become columns of the blocks. MERT tunes these columns on the dev text
together with the other features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rampion.analysis.significance import paired_bootstrap, randomisation
from rampion.experiments import Experiment, Picture, Relation, Row
from rampion.experiments.claims import InRange, MoreSpread, Quantity, Ratio, close, greater, not_less
from rampion.experiments.papers import laws
from rampion.experiments.papers.laws import Checks, lawful
from rampion.experiments.samples import MEAN, Outcome

Method = Literal["GT", "SGD", "AdaGrad", "RPROP"]
METHODS: tuple[Method, ...] = ("GT", "SGD", "AdaGrad", "RPROP")
GT, SGD, ADAGRAD, RPROP = METHODS
RECIPES: Mapping[Method, str] = {"SGD": "xbleu-sgd", "AdaGrad": "xbleu-adagrad", "RPROP": "xbleu-rprop"}
STEPS = 40
USUAL = 1e-6  # the tau of methods whose rate is chosen
RATES: Mapping[Method, tuple[float, ...]] = {
    "SGD": (0.3, 3.0, 30.0, 300.0, 3000.0), "AdaGrad": (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
}  # fmt: skip
# The tau of GT means something else: its regulariser is another one.
STRENGTHS: Mapping[Method, tuple[float, ...]] = {"GT": (1e-3, 1e-2, 1e-1), "RPROP": (1e-7, 1e-6, 1e-5)}
LARGER = 3  # times as many sentences, where there are so many

PAIRS = "pairs"  # feature set (a); (b) is lexical, (c) triplets, (d) reordering
ALL = "pairs,lexical,triplets,reordering"


# What the decoder that lists a training sentence has seen of it: all but the counts of its own blocks, everything, or
# nothing, because the text is cut in stretches, and each is decoded with blocks and a language model of the others.
Lists = Literal["left", "whole", "crossed"]


@dataclass(frozen=True, slots=True)
class Learning:
    """Weights learnt from lists of the training text, while the base system's weights stay fixed."""

    seeded: ClassVar[bool] = False
    method: Method
    features: str = PAIRS
    lists: Lists = "left"
    larger: bool = False
    tau: float | None = None  # the strength of the regulariser; None: the best one on held-out lists
    rate: float | None = None  # None: the best one on held-out lists, for methods with a rate


@dataclass(frozen=True, slots=True)
class Tuned:
    """The base system, or the system with the learnt weights in its blocks, tuned with MERT on the dev text."""

    seeded: ClassVar[bool] = True
    learning: Learning | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve of expected BLEU; nothing is decoded."""

    seeded: ClassVar[bool] = False
    learning: Learning


@dataclass(frozen=True, slots=True)
class Effort:
    """The time and memory of steps, and the number of values that they change."""

    seeded: ClassVar[bool] = False
    learning: Learning


@dataclass(frozen=True, slots=True)
class Trial:
    """Expected BLEU after the last step, and dev BLEU with the learnt columns at weight 1; nothing is tuned."""

    seeded: ClassVar[bool] = False
    learning: Learning


BASELINE, WITHOUT, EVERYTHING = "baseline", "RPROP without leave-one-out", "RPROP, all features"
CROSSED = "RPROP, cross-fitted"
FAMILIES = {f"RPROP, {name}": name for name in ALL.split(",") if name != PAIRS}
TABLE_2: Mapping[str, float] = {
    BASELINE: 30.4, GT: 30.9, SGD: 30.8, ADAGRAD: 31.1, RPROP: 31.3, WITHOUT: 30.7, EVERYTHING: 31.6,
}  # fmt: skip
CHOSEN: Mapping[str, int] = {ADAGRAD: 19, GT: 23, RPROP: 29, SGD: 35}  # the paper's best step
HOURS: Mapping[str, float] = {GT: 16.0, RPROP: 2.5}  # the paper's hours for 40 steps
GIGABYTES: Mapping[str, float] = {GT: 6.7, RPROP: 2.1}
UPDATED: Mapping[str, float] = {GT: 6.08e6, RPROP: 9.21e5}
TABLE_3: Mapping[str, float] = {BASELINE: 18.0, SGD: 18.0, ADAGRAD: 18.3, RPROP: 18.7}  # of the discussion forum


def _learning(method: Method, features: str = PAIRS, larger: bool = False) -> Learning:
    """Learning by a method: its rate is chosen if it has one, else its tau."""
    return Learning(method, features, larger=larger, tau=USUAL if method in RATES else None)


def _tuned(label: str, learning: Learning | None) -> Row:
    paper = {name: numbers[label] for name, numbers in (("test", TABLE_2), ("chosen", CHOSEN)) if label in numbers}
    return Row(label, Tuned(learning), paper)


table_2 = Experiment(
    "wuebker/table-2",
    "Table 2: updates, leave-one-out, and feature sets",
    {"expected": "expected BLEU", "tune": "dev BLEU", "test": "test BLEU", "chosen": "step"},
    (
        _tuned(BASELINE, None),
        *(_tuned(method, _learning(method)) for method in METHODS),
        _tuned(WITHOUT, Learning("RPROP", lists="whole")),
        *(_tuned(label, Learning("RPROP", features)) for label, features in FAMILIES.items()),
        _tuned(EVERYTHING, Learning("RPROP", ALL)),
        _tuned(CROSSED, Learning("RPROP", lists="crossed")),
    ),
    (
        Relation(
            "X20a", "must", "no method is below the baseline",
            tuple(not_less(method, BASELINE) for method in METHODS),
        ),
        Relation(
            "X20b", "must", "RPROP is not below AdaGrad, AdaGrad not below GT, and GT not below SGD",
            tuple(not_less(one, two) for one, two in ((RPROP, ADAGRAD), (ADAGRAD, GT), (GT, SGD))),
        ),
        Relation("X20c", "must", "leave-one-out improves test BLEU", (greater(RPROP, WITHOUT),)),
        Relation("X20d", "must", "all features are better than phrase pairs alone", (greater(EVERYTHING, RPROP),)),
        Relation("X20e", "should", "RPROP is above the baseline", (greater(RPROP, BASELINE),)),
        Relation(
            "X21f", "must", "GT reaches its best step earlier than SGD and RPROP",
            tuple(greater(other, GT, "chosen") for other in (SGD, RPROP)),
        ),
        Relation(
            "X20f", "report", "lists of sentences that the decoder has not seen are better than leave-one-out",
            (greater(CROSSED, RPROP),),
        ),
    ),
    note="Expected BLEU is that of the training lists, at the step that is best on dev; of the steps that are tried. "
    "X20f is not from the paper.",
)  # fmt: skip


def _curve(method: Method) -> str:
    return f"{method}, curve"


def _ways(measure: str, least: float, most: float, *methods: Method) -> tuple[InRange, ...]:
    return tuple(InRange(Quantity(_curve(method), measure), least, most) for method in methods)


INFINITE = float("inf")

figure_2 = Experiment(
    "wuebker/figure-2",
    "Figure 2: expected BLEU of the training lists, step by step",
    {
        "expected": "expected BLEU", "bend": "bend", "early bend": "early bend", "overshoot": "overshoot",
        "reached": "steps to 90 %",
    },
    tuple(Row(_curve(method), Curve(_learning(method))) for method in METHODS),
    (
        Relation(
            "X21a", "must", "RPROP ends above SGD and AdaGrad",
            tuple(greater(_curve(RPROP), _curve(other), "expected") for other in (SGD, ADAGRAD)),
        ),
        Relation("X21b", "should", "the curve of SGD is almost a straight line", _ways("bend", -0.1, 0.1, "SGD")),
        Relation(
            "X21c", "should", "the curve of GT rises fast at first, then more slowly",
            _ways("bend", 0.0, INFINITE, "GT"),
        ),
        Relation(
            "X21d", "should", "AdaGrad first overshoots and falls back, then rises more and more slowly",
            (*_ways("overshoot", 0.0, INFINITE, "AdaGrad"), *_ways("bend", 0.0, INFINITE, "AdaGrad")),
        ),
        Relation(
            "X21e", "should", "RPROP rises faster and faster at first",
            _ways("early bend", -INFINITE, 0.0, "RPROP"),
        ),
        Relation(
            "X21g", "should", "GT and AdaGrad reach 90 % of their gain in fewer steps than SGD and RPROP",
            tuple(
                greater(_curve(late), _curve(early), "reached")
                for early in ("GT", "AdaGrad") for late in ("SGD", "RPROP")
            ),
        ),
    ),
    note="GT has a different regulariser, so its final value cannot be compared with the others.",
    picture=Picture("expected BLEU of the training lists", {name: (_curve(name), "expected") for name in METHODS}),
)  # fmt: skip


def _effort(method: Method) -> Row:
    paper = {"step": 3600 * HOURS[method] / STEPS, "memory": 1000 * GIGABYTES[method], "updated": UPDATED[method]}
    return Row(f"{method}, effort", Effort(_learning(method)), paper)


def _times(name: str, sentence: str, measure: str, least: float) -> Relation:
    claim = Ratio(Quantity("GT, effort", measure), Quantity("RPROP, effort", measure), least, INFINITE)
    return Relation(name, "must", sentence, (claim,))


efficiency = Experiment(
    "wuebker/efficiency",
    "Efficiency: growth transformation (GT) and RPROP on the same lists",
    {"step": "seconds a step", "memory": "MB", "updated": "values changed"},
    (_effort("GT"), _effort("RPROP")),
    (
        _times("X22a", "GT changes at least twice as many values", "updated", 2.0),
        _times("X22b", "GT is more than twice as slow", "step", 2.0),
        _times("X22c", "GT needs more memory", "memory", 1.0),
    ),
    note="Memory is the peak that learning adds to the lists; the paper gives that of the whole program.",
)  # fmt: skip


TAUS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
SMALL = 1e-5  # the greatest tau that is small


def _strong(tau: float) -> str:
    return f"RPROP, tau {tau:g}"


def _paced(method: Method) -> tuple[str, ...]:
    return tuple(f"{method}, eta {rate:g}" for rate in RATES[method])


sensitivity = Experiment(
    "wuebker/sensitivity",
    "The regulariser and the learning rate",
    {"expected": "expected BLEU", "tune": "dev BLEU"},
    (
        *(Row(_strong(tau), Trial(Learning("RPROP", tau=tau))) for tau in TAUS),
        *(
            Row(label, Trial(Learning(method, tau=USUAL, rate=rate)))
            for method in RATES for label, rate in zip(_paced(method), RATES[method], strict=True)
        ),
    ),
    (
        Relation(
            "X24a", "must", "small values of tau make no difference",
            tuple(
                close(_strong(tau), _strong(0.0), 0.5, measure)
                for measure in ("expected", "tune") for tau in TAUS if 0 < tau <= SMALL
            ),
        ),
        Relation(
            "X24b", "must", "the learning rate matters more for SGD than for AdaGrad",
            tuple(MoreSpread(_paced("SGD"), _paced("AdaGrad"), "range", measure) for measure in ("expected", "tune")),
        ),
    ),
    note="The paper gives no numbers here. Each rate is ten times the one before it.",
)  # fmt: skip


MORE = "pairs,lexical,triplets"  # the paper's in Chinese-English, whose decoder cannot tell how blocks are reordered
ORDERED = "pairs,lexical,reordering"  # the paper's in the largest German-English task


def _larger(method: Method) -> str:
    return f"{method}, larger"


larger = Experiment(
    "wuebker/larger",
    "Tables 3 and 4: more sentences, more features",
    {"expected": "expected BLEU", "tune": "dev BLEU", "test": "test BLEU", "chosen": "step"},
    (
        Row(BASELINE, Tuned(None), {"test": TABLE_2[BASELINE]}),
        *(
            Row(_larger(method), Tuned(_learning(method, MORE, larger=True)), {"test": TABLE_3[method]})
            for method in ("SGD", "AdaGrad", "RPROP")
        ),
        Row("RPROP, larger, reordering", Tuned(Learning("RPROP", ORDERED, larger=True)), {"test": 28.9}),
    ),
    (
        Relation(
            "X23a", "should", "RPROP is above AdaGrad, AdaGrad above SGD",
            (greater(_larger("RPROP"), _larger("AdaGrad")), greater(_larger("AdaGrad"), _larger("SGD"))),
        ),
        Relation(
            "X23b", "should", "SGD is close to the baseline",
            (close(_larger("SGD"), BASELINE, 0.5),),
        ),
        Relation("X23c", "should", "RPROP is above the baseline", (greater("RPROP, larger, reordering", BASELINE),)),
    ),
    note="The paper's own baselines here have 18.0 (Chinese-English, discussion forum) and 28.3 (German-English).",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doubt:
    """A law of p-values, checked on systems with random scores."""

    seeded: ClassVar[bool] = True
    law: str
    problems: int = 20


SEGMENTS, RUNS, TRIALS = 40, 3, 999
SHIFTS, ROUGH = np.linspace(0.0, 1.0, 6), 0.02  # added to every segment of one system; by which p may rise
HALVES, FAR = 200, 1.95  # pairs of halves; times their root, what one in a thousand uniform samples is off


def scored(random: np.random.Generator, runs: int) -> NDArray[np.float64]:
    """Scores of a system's runs. The difficulty of a segment is the same for all of them."""
    values = random.normal(size=SEGMENTS) + 0.5 * random.normal(size=(runs, SEGMENTS))
    return np.stack([MEAN.rows(run) for run in values])


def same(random: np.random.Generator) -> Checks:
    """p is 1 if a system is compared with itself."""
    system = scored(random, RUNS)
    for test in (randomisation, paired_bootstrap):
        yield np.array([test(MEAN, system, system, TRIALS).p != 1.0])


def apart(random: np.random.Generator) -> Checks:
    """p falls as the difference of two systems grows."""
    one, two = scored(random, RUNS), scored(random, RUNS)
    ahead = 1.0 if two[..., 0].mean() >= one[..., 0].mean() else -1.0
    for test in (randomisation, paired_bootstrap):
        p = [test(MEAN, one, two + np.array([ahead * shift, 0.0]), TRIALS).p for shift in SHIFTS]
        yield np.append(np.diff(p) > ROUGH, p[-1] > ROUGH)


def halves(random: np.random.Generator) -> Checks:
    """Two halves of one system's runs differ only by chance, so p is uniform."""
    p = np.empty(HALVES)
    for number in range(HALVES):
        runs = scored(random, 2 * RUNS)
        p[number] = randomisation(MEAN, runs[:RUNS], runs[RUNS:], TRIALS).p
    off = np.abs(np.sort(p) - (np.arange(HALVES) + 0.5) / HALVES).max()
    yield np.array([off > FAR / np.sqrt(HALVES)])


LAWS = {"same": same, "apart": apart, "halves": halves}


def prove(doubt: Doubt, seed: int) -> Outcome:
    """Check the law on random systems."""
    return laws.prove(LAWS[doubt.law], doubt.problems, seed)


significance = Experiment(
    "wuebker/significance",
    "Properties that p-values must have",
    laws.COLUMNS,
    (Row("same", Doubt("same")), Row("apart", Doubt("apart")), Row("halves", Doubt("halves", 1))),
    (
        lawful("X25a", "same", "p is 1 for two identical systems"),
        lawful("X25b", "apart", "p falls as an artificial difference between two systems grows"),
        lawful("X25c", "halves", "p is uniformly distributed for two halves of one system's runs"),
    ),
    note=f"{RUNS} runs of each system, {SEGMENTS} segments, {TRIALS} trials of approximate randomisation; the first "
    "two also with the paired bootstrap.",
)

EXPERIMENTS = (table_2, figure_2, efficiency, sensitivity, larger, significance)
