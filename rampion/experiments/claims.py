"""Claims: conditions on intervals of measured numbers, which decide whether a relation holds.

    Greater            holds if the whole interval of the difference is above 0 or a bound, fails if it is below
    NotLess            fails if the whole interval of the difference is below 0, and holds otherwise
    Close              holds if the interval of the difference lies between two bounds around 0, fails if it is outside
    Ratio              the same for the quotient and two bounds
    GainsMoreOnTuning  as Greater, for the difference on the tuning text minus the difference on the test
    MoreSpread         as Greater, for the spread of the runs of some rows minus that of the runs of others
    InRange            as Close, for one number and two bounds
    GroupDifference    as Close, for the difference between all runs of some rows and all runs of others
    AlwaysZero         holds if the quantity is 0 in every unit
    NearlyParallel     holds if the weight vectors of all runs have nearly the same direction
    SameWeights        holds if two runs end with the same weights, bit for bit

If the interval does not decide a claim, it is within noise; if it would not decide the paper's own difference either,
the verdict is "cannot tell at this size". A relation of several claims holds if all of them do, and does not hold if
one of them does not. Intervals are those of the paired bootstrap over the units of the two samples (S12.2), at 95 %.
Two samples of different units, or curves of different lengths, are independent, and the bounds of their difference
follow from their own intervals:  d - sqrt((a - low_a)^2 + (high_b - b)^2)  and so on. A difference of scores of the
same segments also has a p-value, of approximate randomisation (S12.1) of the means over runs: it is about other
segments, and runs that end alike count once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rampion.analysis.significance import Interval, Scored, bootstrap, paired_bootstrap, randomisation
from rampion.experiments.samples import MEASURES, Outcomes, rows

TRIALS = 2_000  # trials of approximate randomisation
Verdict = Literal["holds", "does not hold", "within noise", "cannot tell at this size"]
WEIGHTIEST: tuple[Verdict, ...] = ("does not hold", "within noise", "cannot tell at this size")


class Quantity(NamedTuple):
    """A measured number: the row's label and the name of the measure."""

    row: str
    measure: str = "test"

    def __str__(self) -> str:
        return f"{self.row}, {self.measure}"


class Judged(NamedTuple):
    """A judged claim: its text, the measured value with its interval, the verdict, and p."""

    text: str
    value: float
    low: float
    high: float
    verdict: Verdict
    p: float | None = None


class Claim(Protocol):
    """A condition on the numbers of rows."""

    @property
    def quantities(self) -> tuple[Quantity, ...]: ...

    def judge(self, outcomes: Outcomes) -> Judged: ...


@dataclass(frozen=True, slots=True)
class Two:
    """The base of claims about two quantities."""

    first: Quantity
    second: Quantity

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self.first, self.second


@dataclass(frozen=True, slots=True)
class Greater(Two):
    """The first quantity is greater than the second, by more than `by`."""

    by: float = 0.0

    def judge(self, outcomes: Outcomes) -> Judged:
        found = difference(self.first, self.second, outcomes)
        p = chance(self.first, self.second, outcomes)
        text = f"{_minus(self.first, self.second)}, {_asked(self.by, math.inf)}"
        return Judged(text, *found, decided(found, self.by, math.inf), p)


def greater(first: str, second: str, measure: str = "test", by: float = 0.0) -> Greater:
    """The claim that a measure of the first row is greater than that of the second, by more than `by`."""
    return Greater(Quantity(first, measure), Quantity(second, measure), by)


@dataclass(frozen=True, slots=True)
class NotLess(Two):
    """The first quantity is not clearly less than the second."""

    def judge(self, outcomes: Outcomes) -> Judged:
        found = difference(self.first, self.second, outcomes)
        p = chance(self.first, self.second, outcomes)
        text = f"{_minus(self.first, self.second)}, expected not below 0"
        return Judged(text, *found, "does not hold" if found.high < 0 else "holds", p)


def not_less(first: str, second: str, measure: str = "test") -> NotLess:
    """The claim that a measure of the first row is not clearly less than that of the second."""
    return NotLess(Quantity(first, measure), Quantity(second, measure))


@dataclass(frozen=True, slots=True)
class GainsMoreOnTuning:
    """The first row's gain over the second is greater on the tuning text than on the test."""

    first: str
    second: str

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(Quantity(row, name) for row in (self.first, self.second) for name in ("tune", "test"))

    def judge(self, outcomes: Outcomes) -> Judged:
        one, two = (
            difference(Quantity(self.first, name), Quantity(self.second, name), outcomes) for name in ("tune", "test")
        )
        found = apart(one, two)
        text = f"{self.first} − {self.second}, gain in tune − gain in test, {_asked(0.0, math.inf)}"
        return Judged(text, *found, decided(found, 0.0, math.inf))


@dataclass(frozen=True, slots=True)
class Close(Two):
    """The two quantities differ by less than `by`."""

    by: float

    def judge(self, outcomes: Outcomes) -> Judged:
        found = difference(self.first, self.second, outcomes)
        p = chance(self.first, self.second, outcomes)
        text = f"{_minus(self.first, self.second)}, {_asked(-self.by, self.by)}"
        return Judged(text, *found, decided(found, -self.by, self.by), p)


def close(first: str, second: str, by: float, measure: str = "test") -> Close:
    """The claim that a measure of two rows differs by less than `by`."""
    return Close(Quantity(first, measure), Quantity(second, measure), by)


@dataclass(frozen=True, slots=True)
class Ratio(Two):
    """The first quantity divided by the second lies between the bounds."""

    least: float
    most: float

    def judge(self, outcomes: Outcomes) -> Judged:
        logs = difference(self.first, self.second, outcomes, logarithmic=True)
        found = Interval(*map(math.exp, logs))
        text = f"{self.first} / {self.second}, {_asked(self.least, self.most)}"
        return Judged(text, *found, decided(found, self.least, self.most))


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """The first rows' mean minus the second rows' mean, each over all runs, lies between the bounds."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    least: float = -math.inf
    most: float = math.inf
    measure: str = "test"

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(Quantity(row, self.measure) for row in (*self.first, *self.second))

    def judge(self, outcomes: Outcomes) -> Judged:
        one, two = (np.concatenate([rows(outcomes[row], self.measure) for row in group])
                    for group in (self.first, self.second))  # fmt: skip
        found = Interval(*paired_bootstrap(MEASURES[self.measure].score, two, one)[:3])
        named = (", ".join(group) for group in (self.first, self.second))
        text = f"{' − '.join(f'({names})' for names in named)}, {self.measure}, {_asked(self.least, self.most)}"
        return Judged(text, *found, decided(found, self.least, self.most))


@dataclass(frozen=True, slots=True)
class InRange:
    """The quantity lies between the bounds."""

    quantity: Quantity
    least: float = -math.inf
    most: float = math.inf

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return (self.quantity,)

    def judge(self, outcomes: Outcomes) -> Judged:
        found = bootstrap(
            MEASURES[self.quantity.measure].score, rows(outcomes[self.quantity.row], self.quantity.measure)
        )
        text = f"{self.quantity}, {_asked(self.least, self.most)}"
        return Judged(text, *found, decided(found, self.least, self.most))


@dataclass(frozen=True, slots=True)
class AlwaysZero:
    """The quantity is 0 in every unit of the sample; the share of other units is reported."""

    quantity: Quantity

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return (self.quantity,)

    def judge(self, outcomes: Outcomes) -> Judged:
        found = rows(outcomes[self.quantity.row], self.quantity.measure)
        share = float(MEASURES[self.quantity.measure].score.scores(found.sum(axis=(0, 1))[np.newaxis])[0])
        text = f"{self.quantity}, expected 0 in each of {found.shape[0] * found.shape[1]}"
        return Judged(text, share, share, share, "does not hold" if share else "holds")


@dataclass(frozen=True, slots=True)
class MoreSpread:
    """The runs of the first rows have a greater spread than those of the second: standard deviation, or range."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    by: Literal["sd", "range"]
    measure: str = "test"

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(Quantity(row, self.measure) for row in (*self.first, *self.second))

    def judge(self, outcomes: Outcomes) -> Judged:
        one, two = (np.concatenate([rows(outcomes[row], self.measure) for row in group])
                    for group in (self.first, self.second))  # fmt: skip
        spreads = Spreads(MEASURES[self.measure].score, len(one), len(one) + len(two), self.by)
        found = bootstrap(spreads, np.hstack([*one, *two]))
        spread = {"sd": "standard deviation", "range": "range"}[self.by]
        named = (" and ".join(group) for group in (self.first, self.second))
        text = f"{spread} of {' − that of '.join(named)}, {self.measure}, {_asked(0.0, math.inf)}"
        return Judged(text, *found, decided(found, 0.0, math.inf))


@dataclass(frozen=True, slots=True)
class NearlyParallel:
    """The weights of any two runs of these rows have a cosine of at least `least`."""

    rows: tuple[str, ...]
    least: float

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(map(Quantity, self.rows))

    def judge(self, outcomes: Outcomes) -> Judged:
        vectors = [_vector(one.weights) for row in self.rows for one in outcomes[row]]
        least = min(float(a @ b / np.sqrt((a @ a) * (b @ b))) for a, b in combinations(vectors, 2))
        text = f"smallest cosine between weights of {' and '.join(self.rows)}, expected {self.least:g} or more"
        return Judged(text, least, least, least, "holds" if least >= self.least else "does not hold")


@dataclass(frozen=True, slots=True)
class SameWeights:
    """The first runs of two rows end with the same weights."""

    first: str
    second: str

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return Quantity(self.first), Quantity(self.second)

    def judge(self, outcomes: Outcomes) -> Judged:
        one, two = (outcomes[row][0].weights for row in (self.first, self.second))
        apart = float(np.abs(_vector(one) - _vector(two)).max()) if one.keys() == two.keys() else math.inf
        text = f"greatest difference between weights of {self.first} and {self.second}, expected 0"
        return Judged(text, apart, apart, apart, "does not hold" if apart else "holds")


def _vector(weights: Mapping[str, float]) -> NDArray[np.float64]:
    """The weights as a vector, in the order of their names."""
    return np.array([weights[name] for name in sorted(weights)])


@dataclass(frozen=True, slots=True)
class Spreads:
    """A metric for resampling: the spread of the first runs' scores minus that of the others. Rows hold all runs.

    A single run has no spread.
    """

    of: Scored
    first: int
    all: int
    by: Literal["sd", "range"]

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        scores = self.of.scores(totals.reshape(len(totals) * self.all, -1)).reshape(len(totals), -1)
        spreads = [np.ptp(part, axis=1) if self.by == "range" else part.std(axis=1, ddof=min(1, part.shape[1] - 1))
                   for part in (scores[:, : self.first], scores[:, self.first :])]  # fmt: skip
        wider: NDArray[np.float64] = spreads[0] - spreads[1]
        return wider


@dataclass(frozen=True, slots=True)
class Log:
    """The logarithm of a score, so that a difference of two is the logarithm of a quotient."""

    of: Scored

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        logs: NDArray[np.float64] = np.log(self.of.scores(totals))
        return logs


def difference(first: Quantity, second: Quantity, outcomes: Outcomes, logarithmic: bool = False) -> Interval:
    """The first quantity minus the second, with its interval."""
    one, two = MEASURES[first.measure], MEASURES[second.measure]
    scored = [Log(each.score) if logarithmic else each.score for each in (one, two)]
    samples = [rows(outcomes[each.row], each.measure) for each in (first, second)]
    if one == two and samples[0].shape[2] == samples[1].shape[2]:
        return Interval(*paired_bootstrap(scored[0], samples[1], samples[0])[:3])
    return apart(*(bootstrap(score, sample) for score, sample in zip(scored, samples, strict=True)))


def apart(a: Interval, b: Interval) -> Interval:
    """The difference of two numbers that were measured on different units, with its interval."""
    below, above = math.hypot(a.score - a.low, b.high - b.score), math.hypot(a.high - a.score, b.score - b.low)
    return Interval(a.score - b.score, a.score - b.score - below, a.score - b.score + above)


def chance(first: Quantity, second: Quantity, outcomes: Outcomes) -> float | None:
    """The p-value of no difference between the means over runs, where both are scores of the same segments."""
    measure = MEASURES[first.measure]
    if measure != MEASURES[second.measure] or not measure.units.endswith("segments"):
        return None
    one, two = (rows(outcomes[each.row], each.measure) for each in (first, second))
    if one.shape[2] != two.shape[2]:
        return None
    return randomisation(measure.score, two.mean(axis=0), one.mean(axis=0), TRIALS).p


def decided(found: Interval, least: float, most: float) -> Verdict:
    """Whether an interval lies between the bounds, outside of them, or across one."""
    if least < found.low and found.high < most:
        return "holds"
    return "does not hold" if found.high < least or found.low > most else "within noise"


def _minus(first: Quantity, second: Quantity) -> str:
    """A difference in words; what both quantities share is said once."""
    if first.measure == second.measure:
        return f"{first.row} − {second.row}, {first.measure}"
    if first.row == second.row:
        return f"{first.row}, {first.measure} − {second.measure}"
    return f"{first} − {second}"


def _asked(least: float, most: float) -> str:
    """The bounds in words."""
    if math.isinf(most):
        return f"expected above {least:g}"
    return f"expected below {most:g}" if math.isinf(least) else f"expected {least:g} to {most:g}"


def powered(judged: Judged, paper: float | None) -> Judged:
    """The claim, for which the paper has found this much, or nothing that is known.

    A difference that is not as large as half the interval is not told from 0. If the paper's is not, nothing follows
    from the interval.
    """
    if judged.verdict != "within noise" or paper is None or abs(paper) >= (judged.high - judged.low) / 2:
        return judged
    return judged._replace(verdict="cannot tell at this size")


def together(judged: Iterable[Judged]) -> Verdict:
    """The verdict on all claims."""
    verdicts = {each.verdict for each in judged}
    return next((verdict for verdict in WEIGHTIEST if verdict in verdicts), "holds")
