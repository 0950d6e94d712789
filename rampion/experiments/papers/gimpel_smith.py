"""Gimpel & Smith's experiments with a decoder in the loop. The numbers are from S9.

BLEU of the tuning text and of the test is corpus BLEU of the decoder's output with the final weights. The
paper's numbers are means over its languages and tests, so only relations can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import ClassVar

import numpy as np

from rampion.arrays import Reals, ends
from rampion.experiments import Experiment, Picture, Relation, Row, Scatter
from rampion.experiments.claims import (
    GainsMoreOnTuning,
    MoreSpread,
    NearlyParallel,
    Quantity,
    Ratio,
    SameWeights,
    close,
    greater,
    not_less,
)
from rampion.experiments.papers import laws
from rampion.experiments.papers.laws import Checks, lawful
from rampion.experiments.samples import Outcome
from rampion.losses.contrast import MODEL, Contrast, Side
from rampion.losses.expectation import Risk
from rampion.losses.table import LOSSES
from rampion.metrics import Bleu
from rampion.metrics.bleu import ORDER
from rampion.metrics.judging import Batch, Stakes
from rampion.optim.solvers import Lbfgs, objective
from rampion.protocols import Loss
from rampion.store.candidates import Candidates
from rampion.store.names import Names
from rampion.store.rows import Rows
from rampion.store.text import Texts, blank
from rampion.training.recipes import RECIPES


@dataclass(frozen=True, slots=True)
class Tuning:
    """Weights tuned in a loop with the decoder, which decodes the tuning text again in every iteration."""

    recipe: str | None  # None: no tuning, the initial weights
    features: str = "fourteen"
    start: int = 0  # the usual weights, or the number of a draw around them (S9.2)
    change: str = ""  # a changed setting of the recipe, name=value
    again: int = 0  # the number of a repetition

    @property
    def seeded(self) -> bool:
        """Whether the recipe uses random numbers."""
        return self.recipe is not None and RECIPES[self.recipe].settings().get("seed") is not None


UNTUNED, PRO, MERT, RAMPION = "untuned", "PRO", "MERT", "RAMPION"
NAMES = {UNTUNED: None, MERT: "mert", PRO: "pro", RAMPION: "rampion"}
COLUMNS = {"tune": "tuning BLEU", "test": "test BLEU"}

# Table 1: UR08, UR09, ZH02, ZH05, AR05, AR08nw, AR08wb; those of MERT and PRO are means of three runs.
TABLE_1: Mapping[str, tuple[float, ...]] = {
    MERT: (24.5, 24.6, 35.7, 34.2, 55.0, 49.8, 32.6),
    PRO: (24.2, 24.2, 36.3, 34.5, 55.6, 49.6, 31.7),
    RAMPION: (24.5, 24.6, 36.4, 34.7, 55.5, 49.8, 32.1),
}
# Table 2, more features: UR and ZH tuning text; UR08, UR09, ZH02, ZH05.
TABLE_2: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    PRO: ((29.4, 40.9), (22.3, 23.0, 35.7, 33.6)),
    RAMPION: ((27.8, 38.8), (24.2, 24.6, 36.2, 34.3)),
}


def _row(name: str, start: int = 0, paper: Mapping[str, float] | None = None) -> Row:
    return Row(_label(name, start), Tuning(NAMES[name], start=start), paper or {})


def _label(name: str, start: int) -> str:
    return f"{name}, draw {start}" if start else name


TUNED = (MERT, PRO, RAMPION)
AGAIN = "RAMPION again"

table_1 = Experiment(
    "gimpel-smith/table-1",
    "Table 1: MERT, PRO and RAMPION with fourteen features",
    COLUMNS | {"decoding": "seconds decoding", "learning": "seconds learning"},
    (
        _row(UNTUNED),
        *(_row(name, paper={"test": round(fmean(TABLE_1[name]), 1)}) for name in TUNED),
        Row(AGAIN, Tuning("rampion", again=1)),
    ),
    (
        Relation(
            "X1a", "must", "MERT, PRO and RAMPION are within 1 BLEU of each other",
            tuple(close(one, two, 1.0) for one, two in combinations(TUNED, 2)),
        ),
        Relation(
            "X1b", "must", "each of them is better than the initial weights",
            tuple(greater(name, UNTUNED) for name in TUNED),
        ),
        Relation(
            "X1c", "should", "test BLEU varies more between runs of MERT than of PRO",
            (MoreSpread((MERT,), (PRO,), "sd"),),
        ),
        Relation("X1d", "should", "a second run of RAMPION gives the same weights", (SameWeights(RAMPION, AGAIN),)),
        Relation(
            "X1e", "should", "RAMPION is at most 0.3 BLEU below MERT and PRO",
            tuple(greater(RAMPION, other, by=-0.3) for other in (MERT, PRO)),
        ),
        Relation(
            "X1f", "report", "learning takes at most a tenth of an iteration's time",
            tuple(Ratio(Quantity(name, "learning"), Quantity(name, "loop"), 0.0, 0.1) for name in TUNED),
        ),
    ),
    note="The paper's numbers are means of seven tests in Urdu, Chinese and Arabic. Seconds are those of an iteration.",
    picture=Picture("BLEU of the tuning text", {name: (name, "tune") for name in TUNED}),
)  # fmt: skip


STARTS = (0, 1, 2)  # the second draw begins 3 BLEU or more below the usual start, on the toy corpus and on the Bible
BY_NAME = {name: tuple(_label(name, start) for start in STARTS) for name in NAMES}

figure_3 = Experiment(
    "gimpel-smith/figure-3",
    "Figure 3: three initial weights, several seeds",
    COLUMNS,
    tuple(_row(name, start) for name in NAMES for start in STARTS),
    (
        Relation(
            "X2a", "must", "over all initial weights, BLEU varies less for RAMPION than for MERT and PRO",
            tuple(MoreSpread(BY_NAME[name], BY_NAME[RAMPION], "range") for name in (MERT, PRO)),
        ),
        Relation(
            "X2b", "must", "RAMPION's final weights are nearly parallel, whatever the initial weights",
            (NearlyParallel(BY_NAME[RAMPION], 0.95),),
        ),
        Relation(
            "X2c", "should", "from the same initial weights, BLEU varies less for PRO than for MERT",
            tuple(MoreSpread((mert,), (pro,), "sd") for mert, pro in zip(BY_NAME[MERT], BY_NAME[PRO], strict=True)),
        ),
        Relation(
            "X2d", "should", "over all initial weights, BLEU varies more for PRO than for MERT",
            (MoreSpread(BY_NAME[PRO], BY_NAME[MERT], "range"),),
        ),
        Relation(
            "X2e", "report", "the last random initial weights are at least 3 BLEU worse than the usual ones",
            (greater(UNTUNED, BY_NAME[UNTUNED][-1], "tune", 3.0),),
        ),
        Relation(
            "X2f", "report", "the final weights of MERT and of PRO are nearly parallel, too",
            tuple(NearlyParallel(BY_NAME[name], 0.95) for name in (MERT, PRO)),
        ),
    ),
    note="The paper's figure is of Chinese: BLEU between 35 and 36 on the tuning text, 34 and 36 on the tests.",
    picture=Scatter("tune", "test", tuple(label for name in TUNED for label in BY_NAME[name])),
)  # fmt: skip


SOFT = ("soft ramp 1", "soft ramp 2", "soft ramp 3")
OTHERS = {"ramp 1": "ramp1", "ramp 2": "ramp2"} | {name: name.replace(" ramp ", "-ramp") for name in SOFT}

losses = Experiment(
    "gimpel-smith/losses",
    "Sec. 4, footnote: the other ramp losses",
    COLUMNS,
    (_row(UNTUNED), _row(RAMPION), *(Row(name, Tuning(recipe)) for name, recipe in OTHERS.items())),
    (
        Relation(
            "X3a", "must", "ramp 1 is worst, and worse than no tuning",
            tuple(
                greater(name, "ramp 1", measure)
                for measure in ("tune", "test") for name in (UNTUNED, RAMPION, "ramp 2", *SOFT)
            ),
        ),
        Relation(
            "X3b", "must", "no soft ramp is better than ramp 3 on the test",
            tuple(not_less(RAMPION, soft) for soft in SOFT),
        ),
        Relation(
            "X3c", "should", "ramp 2 is no worse than ramp 3 on the tuning text, and worse on the test",
            (not_less("ramp 2", RAMPION, "tune"), greater(RAMPION, "ramp 2")),
        ),
        Relation(
            "X3d", "should", "soft ramps are within 0.5 BLEU of ramp 3",
            tuple(close(RAMPION, soft, 0.5) for soft in SOFT),
        ),
    ),
    note="Ramp 3 is RAMPION's loss. The paper gives no numbers here.",
)  # fmt: skip


COUNTS = "counts"
MORE = f"fourteen,{COUNTS}"
RAMPION_MORE, PRO_MORE, REGULARISED = "RAMPION, more", "PRO, more", "PRO regularised, more"


def _more(name: str) -> dict[str, float]:
    """The paper's means with more features."""
    return dict(zip(COLUMNS, (round(fmean(part), 1) for part in TABLE_2[name]), strict=True))


def _four(name: str) -> dict[str, float]:
    """The paper's mean with fourteen features, over the tests that Table 2 has too."""
    return {"test": round(fmean(TABLE_1[name][:4]), 1)}


table_2 = Experiment(
    "gimpel-smith/table-2",
    "Table 2: thousands of count features in addition to the fourteen",
    COLUMNS,
    (
        _row(PRO, paper=_four(PRO)),
        _row(RAMPION, paper=_four(RAMPION)),
        Row(PRO_MORE, Tuning("pro", MORE), _more(PRO)),
        Row(RAMPION_MORE, Tuning("rampion", MORE), _more(RAMPION)),
        Row(REGULARISED, Tuning("pro-regularised", MORE)),
    ),
    (
        Relation(
            "X4a", "must", "PRO is better than RAMPION on the tuning text, and worse on the test",
            (greater(PRO_MORE, RAMPION_MORE, "tune"), greater(RAMPION_MORE, PRO_MORE)),
        ),
        Relation("X4b", "must", "with more features PRO is worse on the test", (greater(PRO, PRO_MORE),)),
        Relation(
            "X4c", "must", "with more features RAMPION changes by less than 1 BLEU",
            (close(RAMPION, RAMPION_MORE, 1.0),),
        ),
        Relation(
            "X4d", "should", "regularisation narrows the gap between PRO's tuning text and test",
            (GainsMoreOnTuning(PRO_MORE, REGULARISED),),
        ),
    ),
    note="The paper's numbers are the means of two tuning texts and four tests, in Urdu and Chinese.",
)  # fmt: skip


def _changed(setting: str, value: int) -> Row:
    return Row(f"RAMPION, {setting} {value}", Tuning("rampion", change=f"{setting}={value}"))


ROUNDS, ALPHAS, STRENGTHS = (
    tuple(_changed(setting, value) for value in values)
    for setting, values in (("rounds", (1, 50)), ("alpha", (1, 5)), ("l2", (0, 10)))
)

hyper_parameters = Experiment(
    "gimpel-smith/hyper-parameters",
    "Footnote 12: T' (rounds), alpha and C (l2) of RAMPION, which are 10, 10 and 1 otherwise",
    COLUMNS,
    (_row(RAMPION), *ROUNDS, *ALPHAS, *STRENGTHS),
    (
        Relation(
            "X5a", "should", "1 or 10 rounds on the same lists are no worse than 50",
            tuple(not_less(few, ROUNDS[1].label) for few in (RAMPION, ROUNDS[0].label)),
        ),
        Relation(
            "X5b", "should", "alpha makes almost no difference",
            tuple(close(RAMPION, row.label, 0.5) for row in ALPHAS),
        ),
        Relation(
            "X5c", "should", "C makes almost no difference",
            tuple(close(RAMPION, row.label, 0.5) for row in STRENGTHS),
        ),
    ),
    note="The paper gives no numbers here. Almost no difference: less than 0.5 BLEU.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Family:
    """A law of the losses, checked on random lists; every second list has one candidate that reaches the reference."""

    seeded: ClassVar[bool] = True
    law: str
    problems: int = 20


SEGMENTS, LONGEST, WIDTH = 16, 8, 3
EXACT = 1e-8  # rounding
STRENGTH = 0.1  # of L2: without it, separable lists have no finite optimum


def problem(random: np.random.Generator) -> Batch:
    """Random lists; every second one has a candidate that is the reference."""
    sizes = random.integers(2, LONGEST + 1, SEGMENTS)
    bounds = ends(sizes)
    count, names = int(bounds[-1]), Names()
    ids = np.tile(names.intern_all(Texts.from_strings(f"feature {j}" for j in range(WIDTH))).astype(np.uint32), count)
    reached = np.zeros(count, bool)
    reached[bounds[:-1:2]] = True
    rows = Rows(
        Texts.from_strings(map(str, range(SEGMENTS))), bounds, Texts.from_strings(map(str, range(count))),
        np.arange(count + 1) * WIDTH,
        ids, random.normal(size=count * WIDTH), np.full(count, np.nan), blank(count), {},
    )  # fmt: skip
    (lists,) = Candidates.from_rows(names, [[rows]])
    stakes = Stakes(bounds, random.uniform(0, 2, count), reached)
    return Batch(lists, np.zeros((count, 2 + 2 * ORDER)), stakes, Bleu())


def value(loss: Loss | str, stakes: Stakes, scores: Reals) -> float:
    return (LOSSES[loss] if isinstance(loss, str) else loss).slopes(stakes, scores)[0]


def ramps(batch: Batch, random: np.random.Generator) -> Checks:
    """F1 to F4 and F6 (S3.2)."""
    stakes, scores = batch.stakes, batch.scores(3 * random.normal(size=WIDTH))
    one, two, three = (value(f"ramp{n}", stakes, scores) for n in (1, 2, 3))
    soft = [value(f"soft-ramp{n}", stakes, scores) for n in (1, 2, 3)]
    said, risk = stakes.costs[MODEL.picks(stakes, scores)].sum(), value(Risk(), stakes, scores)
    dear = replace(stakes, costs=10 * stakes.costs)
    yield np.abs([three - one - two, soft[2] - soft[0] - soft[1]]) > EXACT
    yield np.diff([0.0, two, said, one, three]) < -EXACT
    yield np.diff([soft[1], risk, soft[0]]) < -EXACT
    yield np.abs([value("ramp3", dear, scores) - 10 * value("ramp3", stakes, scores / 10)]) > EXACT


def gamma(batch: Batch, random: np.random.Generator) -> Checks:
    """F5: with a cost that outweighs all scores, ramp loss is the perceptron loss of the oracle."""
    stakes, scores = batch.stakes, batch.scores(3 * random.normal(size=WIDTH))
    dear, oracle = Contrast(Side(tilt=-1e9), MODEL), LOSSES["kbest-perceptron"]
    yield np.abs(dear.slopes(stakes, scores)[1] - oracle.slopes(stakes, scores)[1]) > EXACT


def unreached(batch: Batch, random: np.random.Generator) -> Checks:
    """Losses of the reference have no slopes on a list that lacks it."""
    stakes, scores = batch.stakes, batch.scores(3 * random.normal(size=WIDTH))
    within = np.logical_or.reduceat(stakes.reached, stakes.bounds[:-1])
    without = ~np.repeat(within, np.diff(stakes.bounds))
    for name in ("perceptron", "hinge", "softmax-margin", "log", "latent-log"):
        slopes = LOSSES[name].slopes(stakes, scores)[1]
        yield slopes[without] != 0
        yield np.array([not slopes[~without].any()])


def convex(batch: Batch, random: np.random.Generator) -> Checks:
    """Convex losses end at one value from three starts."""
    solver, origin = Lbfgs(STRENGTH, steps=500), np.zeros(WIDTH)
    for name in ("log", "softmax-margin", "latent-log", "och-ney"):
        loss = LOSSES[name]
        if isinstance(loss, Contrast) and not loss.smooth:
            loss = loss.pinned(batch.stakes, np.zeros(batch.candidates.size))
        starts = 3 * random.normal(size=(3, WIDTH))
        reached = [solver.solve(loss, batch, start, origin) for start in starts]
        ends = [objective(loss, batch, weights, origin, STRENGTH)[0] for weights in reached]
        yield np.array([np.ptp(ends) > 1e-5 * max(1.0, abs(ends[0]))])


LAWS = {"convex": convex, "no reference": unreached, "large gamma": gamma, "ramps": ramps}


def prove(family: Family, seed: int) -> Outcome:
    """Check the law on random lists."""
    return laws.prove(lambda random: LAWS[family.law](problem(random), random), family.problems, seed)


family = Experiment(
    "gimpel-smith/family",
    "Sec. 3: relations between the losses, on random lists; half of the lists contain their reference",
    laws.COLUMNS,
    tuple(Row(name, Family(name)) for name in LAWS),
    (
        lawful("X6a", "convex", "convex losses reach the same value from three starts"),
        lawful("X6b", "no reference", "losses that raise the reference learn nothing from lists without it"),
        lawful("X6c", "large gamma", "with a very large gamma, ramp loss is the perceptron loss towards the oracle"),
        lawful(
            "X6d", "ramps",
            "ramp 3 is ramp 1 plus ramp 2; the cost lies between the two, the risk between the soft ones",
        ),
    ),
)  # fmt: skip

EXPERIMENTS = (table_1, figure_3, losses, table_2, hyper_parameters, family)
