"""When a relation holds: by intervals of what was measured, and by nothing else.

    above      holds where the whole interval of the difference is above 0 or another bound, does not where it is below
    unbeaten   does not hold where the whole interval of the difference is below 0, holds otherwise
    near       likewise for the interval of the difference and two bounds around 0
    ratio      likewise for the interval of the quotient and two bounds
    keener     as above, of the difference on the tuning text and that on the test
    wider      as above, of the spread of the runs of some rows and that of the runs of others
    exceeds    likewise for the interval of one number, and a bound
    lies       likewise for the interval of one number, and two bounds
    between    likewise for the interval of the difference of the runs of some rows and those of others, and two bounds
    never      holds if none of the units has it
    alike      holds if the weights of all runs point the same way
    same       holds if two runs end in the same weights, bit for bit

Whatever an interval does not decide is within noise. A relation of several claims holds if all of them do, and does
not hold if one of them does not. Intervals are those of the paired bootstrap over the units of the two samples
(S12.2), at 95 %; two samples of different units, or curves of different lengths, are independent, and the bounds of
their difference are those that their own intervals give:  d - sqrt((a - low_a)^2 + (high_b - b)^2)  and so on. Beside
a difference of scores of segments stands p of approximate randomisation (S12.1), run against run, the greatest of them.
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

TRIALS = 2_000  # of approximate randomisation
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
    p: float | None = None


class Claim(Protocol):
    """Something that numbers of rows decide."""

    @property
    def quantities(self) -> tuple[Quantity, ...]: ...

    def judge(self, outcomes: Outcomes) -> Judged: ...


@dataclass(frozen=True, slots=True)
class Two:
    """What claims about two quantities have in common."""

    first: Quantity
    second: Quantity

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self.first, self.second


@dataclass(frozen=True, slots=True)
class Above(Two):
    """The first quantity is greater than the second, by more than that."""

    by: float = 0.0

    def judge(self, outcomes: Outcomes) -> Judged:
        found = difference(self.first, self.second, outcomes)
        p = chance(self.first, self.second, outcomes)
        said = f"{self.first} − {self.second}" + (f", {_asked(self.by, math.inf)}" if self.by else "")
        return Judged(said, *found, decided(found, self.by, math.inf), p)


@dataclass(frozen=True, slots=True)
class Unbeaten(Two):
    """The second quantity is not clearly greater than the first."""

    def judge(self, outcomes: Outcomes) -> Judged:
        found = difference(self.first, self.second, outcomes)
        p = chance(self.first, self.second, outcomes)
        said = f"{self.first} − {self.second}, expected not below 0"
        return Judged(said, *found, "does not hold" if found.high < 0 else "holds", p)


@dataclass(frozen=True, slots=True)
class Keener:
    """What the first row gains over the second is more on the tuning text than on the test: its gap is wider."""

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
        return Judged(f"{self.first} − {self.second}: tune − test", *found, decided(found, 0.0, math.inf))


@dataclass(frozen=True, slots=True)
class Near(Two):
    """The two quantities differ by less than that."""

    by: float

    def judge(self, outcomes: Outcomes) -> Judged:
        found = difference(self.first, self.second, outcomes)
        p = chance(self.first, self.second, outcomes)
        said = f"{self.first} − {self.second}, expected {-self.by:g} to {self.by:g}"
        return Judged(said, *found, decided(found, -self.by, self.by), p)


@dataclass(frozen=True, slots=True)
class Ratio(Two):
    """The first quantity is as many times the second as the bounds say."""

    least: float
    most: float

    def judge(self, outcomes: Outcomes) -> Judged:
        logs = difference(self.first, self.second, outcomes, logarithmic=True)
        found = Interval(*map(math.exp, logs))
        said = f"{self.first} / {self.second}, {_asked(self.least, self.most)}"
        return Judged(said, *found, decided(found, self.least, self.most))


@dataclass(frozen=True, slots=True)
class Between:
    """The first rows have more than the second, all runs of each together, by something between the bounds."""

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
        said = f"{' − '.join(f'({names})' for names in named)}, {self.measure}, {_asked(self.least, self.most)}"
        return Judged(said, *found, decided(found, self.least, self.most))


@dataclass(frozen=True, slots=True)
class Lies:
    """The quantity is something between the bounds."""

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
        said = f"{self.quantity}, {_asked(self.least, self.most)}"
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
class Wider:
    """The runs of the first rows are spread wider than those of the second: standard deviation, or range."""

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
        named = (" and ".join(group) for group in (self.first, self.second))
        return Judged(f"{self.by} of {' − of '.join(named)}, {self.measure}", *found, decided(found, 0.0, math.inf))


@dataclass(frozen=True, slots=True)
class Alike:
    """The least cosine of the weights of two runs of these rows."""

    rows: tuple[str, ...]
    least: float

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(map(Quantity, self.rows))

    def judge(self, outcomes: Outcomes) -> Judged:
        vectors = [_vector(one.weights) for row in self.rows for one in outcomes[row]]
        least = min(float(a @ b / np.sqrt((a @ a) * (b @ b))) for a, b in combinations(vectors, 2))
        said = f"least cosine of {' and '.join(self.rows)}, expected {self.least:g}"
        return Judged(said, least, least, least, "holds" if least >= self.least else "does not hold")


@dataclass(frozen=True, slots=True)
class Same:
    """The first runs of two rows end in the same weights."""

    first: str
    second: str

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return Quantity(self.first), Quantity(self.second)

    def judge(self, outcomes: Outcomes) -> Judged:
        one, two = (outcomes[row][0].weights for row in (self.first, self.second))
        apart = float(np.abs(_vector(one) - _vector(two)).max()) if one.keys() == two.keys() else math.inf
        said = f"{self.first} and {self.second}: greatest difference of a weight"
        return Judged(said, apart, apart, apart, "does not hold" if apart else "holds")


def _vector(weights: Mapping[str, float]) -> NDArray[np.float64]:
    """In the order of the names."""
    return np.array([weights[name] for name in sorted(weights)])


@dataclass(frozen=True, slots=True)
class Spreads:
    """How much wider the scores of the first runs are spread than those of the others; rows of all, side by side.

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
    if one == two and samples[0].shape[2] == samples[1].shape[2]:
        return Interval(*paired_bootstrap(scored[0], samples[1], samples[0])[:3])
    return apart(*(bootstrap(score, sample) for score, sample in zip(scored, samples, strict=True)))


def apart(a: Interval, b: Interval) -> Interval:
    """The difference of what has been measured on different units."""
    below, above = math.hypot(a.score - a.low, b.high - b.score), math.hypot(a.high - a.score, b.score - b.low)
    return Interval(a.score - b.score, a.score - b.score - below, a.score - b.score + above)


def chance(first: Quantity, second: Quantity, outcomes: Outcomes) -> float | None:
    """The p-value of no difference, where both are scores of the same segments: the greatest of all pairs of runs."""
    measure = MEASURES[first.measure]
    if measure != MEASURES[second.measure] or not measure.units.endswith("segments"):
        return None
    one, two = (rows(outcomes[each.row], each.measure) for each in (first, second))
    if one.shape[2] != two.shape[2]:
        return None
    runs = range(max(len(one), len(two)))
    return max(randomisation(measure.score, two[r % len(two)], one[r % len(one)], TRIALS).p for r in runs)


def decided(found: Interval, least: float, most: float) -> Verdict:
    """Whether an interval lies between the bounds, outside of them, or across one."""
    if least < found.low and found.high < most:
        return "holds"
    return "does not hold" if found.high < least or found.low > most else "within noise"


def _asked(least: float, most: float) -> str:
    """The bounds in words."""
    if math.isinf(most):
        return f"expected above {least:g}"
    return f"expected below {most:g}" if math.isinf(least) else f"expected {least:g} to {most:g}"


def together(judged: Iterable[Judged]) -> Verdict:
    """The verdict on all claims."""
    verdicts = {each.verdict for each in judged}
    if "does not hold" in verdicts:
        return "does not hold"
    return "within noise" if "within noise" in verdicts else "holds"
