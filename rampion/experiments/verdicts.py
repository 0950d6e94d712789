"""When a relation holds: by intervals of what was measured, and by nothing else.

    above      holds where the whole interval of the difference is above 0, does not hold where it is below
    ratio      likewise for the interval of the quotient and two bounds
    never      holds if none of the units has it

Whatever an interval does not decide is within noise. A relation of several claims holds if all of them do, and does
not hold if one of them does not. Intervals are those of the paired bootstrap over the units of the two samples
(S12.2), at 95 %; two samples of different units are independent, and the bounds of their difference are those that
their own intervals give:  d - sqrt((a - low_a)^2 + (high_b - b)^2)  and so on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rampion.experiments.samples import MEASURES, Outcomes, rows
from rampion.significance import Interval, Scored, bootstrap, paired_bootstrap

Verdict = Literal["holds", "does not hold", "within noise"]


class Quantity(NamedTuple):
    """A number of a row."""

    row: str
    measure: str = "test"

    def __str__(self) -> str:
        return f"{self.row}, {self.measure}"


class Judged(NamedTuple):
    """What a claim is about, by how much, and whether it holds."""

    said: str
    value: float
    low: float
    high: float
    verdict: Verdict


class Claim(Protocol):
    """Something that numbers of rows decide."""

    @property
    def quantities(self) -> tuple[Quantity, ...]: ...

    def judge(self, outcomes: Outcomes) -> Judged: ...


@dataclass(frozen=True, slots=True)
class Above:
    """The first quantity is greater than the second."""

    first: Quantity
    second: Quantity

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self.first, self.second

    def judge(self, outcomes: Outcomes) -> Judged:
        found = difference(self.first, self.second, outcomes)
        return Judged(f"{self.first} − {self.second}", *found, decided(found, 0.0, math.inf))


@dataclass(frozen=True, slots=True)
class Ratio:
    """The first quantity is as many times the second as the bounds say."""

    first: Quantity
    second: Quantity
    least: float
    most: float

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self.first, self.second

    def judge(self, outcomes: Outcomes) -> Judged:
        logs = difference(self.first, self.second, outcomes, logarithmic=True)
        found = Interval(*map(math.exp, logs))
        said = f"{self.first} / {self.second}, expected {self.least:g} to {self.most:g}"
        return Judged(said, *found, decided(found, self.least, self.most))


@dataclass(frozen=True, slots=True)
class Never:
    """No unit of the sample has it; its share is given."""

    quantity: Quantity

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return (self.quantity,)

    def judge(self, outcomes: Outcomes) -> Judged:
        found = rows(outcomes[self.quantity.row], self.quantity.measure)
        share = float(MEASURES[self.quantity.measure].score.scores(found.sum(axis=(0, 1))[np.newaxis])[0])
        said = f"{self.quantity}, of {found.shape[0] * found.shape[1]}"
        return Judged(said, share, share, share, "does not hold" if share else "holds")


@dataclass(frozen=True, slots=True)
class Log:
    """The logarithm of a score: a difference of two is that of a quotient."""

    of: Scored

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        logs: NDArray[np.float64] = np.log(self.of.scores(totals))
        return logs


def difference(first: Quantity, second: Quantity, outcomes: Outcomes, logarithmic: bool = False) -> Interval:
    """How much the first is above the second, and the interval of that."""
    one, two = MEASURES[first.measure], MEASURES[second.measure]
    scored = [Log(each.score) if logarithmic else each.score for each in (one, two)]
    samples = [rows(outcomes[each.row], each.measure) for each in (first, second)]
    if one == two:
        return Interval(*paired_bootstrap(scored[0], samples[1], samples[0])[:3])
    a, b = (bootstrap(score, sample) for score, sample in zip(scored, samples, strict=True))
    below, above = math.hypot(a.score - a.low, b.high - b.score), math.hypot(a.high - a.score, b.score - b.low)
    return Interval(a.score - b.score, a.score - b.score - below, a.score - b.score + above)


def decided(found: Interval, least: float, most: float) -> Verdict:
    """Whether an interval lies between the bounds, outside of them, or across one."""
    if least < found.low and found.high < most:
        return "holds"
    return "does not hold" if found.high < least or found.low > most else "within noise"


def together(judged: Iterable[Judged]) -> Verdict:
    """The verdict on all claims."""
    verdicts = {each.verdict for each in judged}
    if "does not hold" in verdicts:
        return "does not hold"
    return "within noise" if "within noise" in verdicts else "holds"
