"""Real-valued features: Tables VI to IX, Figures 4 to 6. They learn from the dev text.

Dev BLEU is averaged over the sentences, with all references and the length penalty (S2.5); test BLEU and test
METEOR are those of the corpus. The two BLEUs cannot be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rampion.experiments import Experiment, Picture, Relation, Row
from rampion.experiments.claims import Close, GroupDifference, InRange, Quantity, Ratio, close, greater
from rampion.experiments.papers.tillmann_zhang.binary import Training
from rampion.experiments.samples import EARLY

SIX = "PhraseST,ModelOne,LMFirst,LMRest,JumpOut,JumpIn"
SEVEN = f"{SIX},Words"
FLAT = 0.1  # every weight before learning
MARGIN = 1.5  # the paper's margin: plus or minus this many points of BLEU
STRONG = 0.8  # the share of the learnt weights' BLEU that flat weights must reach: 40.0 of 44.9 in Table VI


@dataclass(frozen=True, slots=True)
class Flat:
    """All weights are FLAT: no training."""

    seeded: ClassVar[bool] = False
    features: str


@dataclass(frozen=True, slots=True)
class Dense:
    """Weights learnt from the k best candidates of the dev text. `metric` is the cost, and chooses the iteration."""

    seeded: ClassVar[bool] = True
    features: str
    recipe: Literal["mert", "costmargin-dense", "perceptron-dense"]
    k: int = 1
    metric: Literal["bleu", "wer"] = "bleu"


@dataclass(frozen=True, slots=True)
class Staged:
    """Two stages: the second learns more weights, while the weights of the first stay fixed (S10.12)."""

    seeded: ClassVar[bool] = True
    first: Dense | Training
    second: Dense | Training


METHODS: Mapping[str, Literal["mert", "costmargin-dense", "perceptron-dense"]] = {
    "MERT": "mert", "Costmargin": "costmargin-dense", "perceptron": "perceptron-dense",
}  # fmt: skip
SIZES = (1, 3, 10, 100)

# Averaged dev BLEU, test BLEU, test METEOR; by n.
Numbers = Mapping[str, tuple[tuple[float, float, float], ...]]
TABLE_6: Numbers = {
    "flat": ((26.8, 40.0, 60.8),),
    "MERT": ((32.6, 44.6, 66.7), (32.7, 44.9, 66.6), (32.8, 44.7, 66.7), (32.6, 44.9, 66.8)),
    "Costmargin": ((31.2, 44.0, 67.0), (31.1, 44.7, 66.6), (31.3, 44.0, 67.2), (31.4, 44.5, 67.2)),
    "perceptron": ((30.9, 44.1, 67.0), (30.1, 43.7, 65.5), (30.9, 44.5, 66.3), (30.1, 42.8, 66.5)),
}
TABLE_7: Numbers = {
    "flat": ((29.5, 43.1, 64.7),),
    "MERT": ((30.0, 42.5, 64.5), (30.6, 43.2, 65.7), (31.8, 44.0, 66.7), (31.5, 43.7, 66.3)),
    "Costmargin": ((31.9, 44.8, 66.9), (31.6, 44.6, 67.6), (32.2, 44.9, 68.6), (32.1, 44.3, 68.8)),
    "perceptron": ((31.6, 44.7, 67.0), (31.8, 44.6, 67.2), (32.1, 45.7, 67.8), (32.2, 44.6, 68.7)),
}
# Dev mWER, test BLEU, test METEOR.
TABLE_8: Numbers = {
    "Costmargin": ((38.2, 42.9, 66.3), (37.9, 41.5, 64.4), (38.2, 41.9, 65.4), (38.2, 41.7, 65.2)),
    "perceptron": ((38.0, 45.3, 66.4), (36.4, 44.3, 65.5), (37.8, 44.5, 66.6), (36.7, 44.3, 65.6)),
}
COLUMNS = {"dev": "dev BLEU", "test": "test BLEU", "meteor": "test METEOR"}


def _label(method: str, n: int, more: str) -> str:
    return f"{method} {n}-best, {more}"


def _rows(numbers: Numbers, more: str, features: str, metric: Literal["bleu", "wer"] = "bleu") -> tuple[Row, ...]:
    """The rows of a table; its first column is the metric on dev."""
    names = ("dev" if metric == "bleu" else "dev mWER", "test", "meteor")
    learnt = tuple(
        Row(_label(method, n, more), Dense(features, METHODS[method], n, metric), dict(zip(names, paper, strict=True)))
        for method in numbers
        if method in METHODS
        for n, paper in zip(SIZES, numbers[method], strict=True)
    )
    if "flat" not in numbers:
        return learnt
    return Row(f"equal weights, {more}", Flat(features), dict(zip(names, numbers["flat"][0], strict=True))), *learnt


def _labels(method: str, more: str, sizes: Sequence[int] = SIZES) -> tuple[str, ...]:
    return tuple(_label(method, n, more) for n in sizes)


def _ends(method: str, more: str) -> Close:
    """A claim that 1-best lists are as good as 100-best lists."""
    return close(_label(method, 1, more), _label(method, 100, more), MARGIN)


FEW, ALL, WER = "6 features", "7 features", "7 features, mWER"
FLAT_6, FLAT_7 = f"equal weights, {FEW}", f"equal weights, {ALL}"
MERT_6, MERT_7 = _label("MERT", 1, FEW), _label("MERT", 1, ALL)
CM, PERCEPTRON = _label("Costmargin", 1, ALL), _label("perceptron", 1, ALL)
rows_6, rows_7, rows_8 = _rows(TABLE_6, FEW, SIX), _rows(TABLE_7, ALL, SEVEN), _rows(TABLE_8, WER, SEVEN, "wer")
_BY_LABEL = {row.label: row for row in (*rows_6, *rows_7)}

NOTE = "The paper's margin for test BLEU is 1.5. Its METEOR matches synonyms too, ours equal words and stems."
table_6 = Experiment(
    "tillmann-zhang/table-6",
    "Table VI: six real-valued features, without the length of the target",
    COLUMNS,
    rows_6,
    (
        Relation(
            "X9a", "must", "every training method beats equal weights, on dev and on the test",
            tuple(greater(row.label, FLAT_6, measure) for row in rows_6[1:] for measure in ("dev", "test")),
        ),
        Relation(
            "X9b", "must", "equal weights already reach at least 80 % of the test BLEU of MERT",
            tuple(Ratio(Quantity(FLAT_6), Quantity(label), STRONG, 1.0) for label in _labels("MERT", FEW)),
        ),
        Relation(
            "X9c", "must", "for MERT and Costmargin, 1-best lists are as good as 100-best lists",
            tuple(_ends(method, FEW) for method in ("MERT", "Costmargin")),
        ),
        Relation(
            "X9d", "should", "MERT is best on dev",
            tuple(greater(_label("MERT", n, FEW), _label(other, n, FEW), "dev")
                  for n in SIZES for other in ("Costmargin", "perceptron")),
        ),
        Relation(
            "X9e", "should", "on the test, MERT and Costmargin are about equal",
            tuple(close(_label("MERT", n, FEW), _label("Costmargin", n, FEW), MARGIN) for n in SIZES),
        ),
    ),
    note=NOTE,
)  # fmt: skip

table_7 = Experiment(
    "tillmann-zhang/table-7",
    "Table VII: seven real-valued features",
    COLUMNS,
    (_BY_LABEL[FLAT_6], _BY_LABEL[MERT_6], *rows_7),
    (
        Relation(
            "X10a", "must", "with equal weights, the target length as a feature helps",
            (greater(FLAT_7, FLAT_6),),
        ),
        Relation(
            "X10b", "must", "on 1-best lists, MERT is below equal weights, and below MERT with six features",
            tuple(greater(label, MERT_7) for label in (FLAT_7, MERT_6)),
        ),
        Relation(
            "X10c", "must", "MERT is better on longer lists",
            tuple(greater(label, MERT_7) for label in _labels("MERT", ALL, (10, 100))),
        ),
        Relation(
            "X10d", "must", "for Costmargin and the perceptron, 1-best lists are as good as 100-best lists",
            tuple(_ends(method, ALL) for method in ("Costmargin", "perceptron")),
        ),
        Relation(
            "X10e", "must", "on 1-best lists, Costmargin and the perceptron are better than MERT",
            tuple(greater(label, MERT_7) for label in (CM, PERCEPTRON)),
        ),
        Relation(
            "X10f", "must", "Costmargin and the perceptron are about equal",
            tuple(close(_label("Costmargin", n, ALL), _label("perceptron", n, ALL), MARGIN) for n in SIZES),
        ),
    ),
    note=NOTE,
)  # fmt: skip

table_8 = Experiment(
    "tillmann-zhang/table-8",
    "Table VIII: learnt from word error rate instead of BLEU",
    {"dev mWER": "dev mWER", "test": "test BLEU", "meteor": "test METEOR"},
    (*(row for row in rows_7 if row.label.startswith(tuple(TABLE_8))), *rows_8),
    (
        Relation(
            "X12a", "must", "Costmargin loses at least 1.5 test BLEU",
            (GroupDifference(_labels("Costmargin", ALL), _labels("Costmargin", WER), least=1.5),),
        ),
        Relation(
            "X12b", "must", "the perceptron loses less than 0.5 BLEU",
            (GroupDifference(_labels("perceptron", ALL), _labels("perceptron", WER), most=0.5),),
        ),
    ),
    note=f"{NOTE} Each claim pools lists of all lengths.",
)  # fmt: skip

STAGE_REAL = Dense(SEVEN, "costmargin-dense")
STAGE_BINARY = Training("SWAP", "all")
REAL_FIRST, BINARY_FIRST = "7 features then binary", "binary then 7 features"
table_9 = Experiment(
    "tillmann-zhang/table-9",
    "Table IX: real-valued and binary features, learnt one after the other",
    COLUMNS,
    (
        _BY_LABEL[CM],
        Row(REAL_FIRST, Staged(STAGE_REAL, STAGE_BINARY), {"dev": 31.6, "test": 45.1, "meteor": 67.8}),
        Row(BINARY_FIRST, Staged(STAGE_BINARY, STAGE_REAL), {"dev": 31.7, "test": 45.6, "meteor": 67.8}),
    ),
    (
        Relation(
            "X13a", "should", "binary features do not hurt, before or after the real-valued ones",
            tuple(greater(label, CM) for label in (REAL_FIRST, BINARY_FIRST)),
        ),
        Relation(
            "X13b", "should", "learning the binary features first is better",
            (greater(BINARY_FIRST, REAL_FIRST),),
        ),
    ),
    note=NOTE,
)  # fmt: skip

figures_4_6 = Experiment(
    "tillmann-zhang/figures-4-6",
    "Figures 4 to 6: learning curves of Costmargin, the perceptron and MERT",
    {"test": "test BLEU", "dip": "dip", "recovery": "recovery", "rough": "roughness", "settled": "settled"},
    tuple(_BY_LABEL[label] for label in (CM, PERCEPTRON, MERT_7)),
    (
        Relation(
            "X11a", "should", f"Costmargin dips before iteration {EARLY}, then recovers",
            (InRange(Quantity(CM, "dip"), 0.0), InRange(Quantity(CM, "recovery"), 0.0)),
        ),
        Relation(
            "X11b", "should", "the perceptron's curve is rougher than Costmargin's",
            (greater(PERCEPTRON, CM, "rough"),),
        ),
        Relation(
            "X11c", "should", "MERT's curve is the smoothest, and settles first",
            tuple(greater(label, MERT_7, measure) for measure in ("rough", "settled") for label in (CM, PERCEPTRON)),
        ),
    ),
    note=f"Of test BLEU. Dip: from the first iteration down to the lowest up to the {EARLY}th; recovery: from there to "
    "the end. Roughness: the mean change between iterations, up or down. Settled: as in Figure 3.",
    picture=Picture(
        "BLEU", {f"{label}, {curve}": (label, curve) for label in (CM, PERCEPTRON, MERT_7) for curve in ("dev", "test")}
    ),
)  # fmt: skip

REAL = (table_6, table_7, table_8, table_9, figures_4_6)
