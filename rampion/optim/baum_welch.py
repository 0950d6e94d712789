"""Growth transformations of probability tables (extended Baum-Welch; He & Deng 2012; S11.4).

The score of a candidate has a part weight * log p(entry) for every use of an entry of a table. What is minimised is
loss + tau * sum over rows of KL(start || p), by  p <- (weight * use + tau * start + D p) / (their sum over the row),
where use is -d loss / d (score of one use more), and D damps: the greater, the smaller the step, and the surer. All
tables move at once, and with them every entry of a row that is used, used itself or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import covers, ends
from rampion.errors import InputError, RecipeError
from rampion.metrics.judging import Batch
from rampion.protocols import Loss, Solver, Watch
from rampion.store.features import Features

Reals = NDArray[np.float64]
Offsets = NDArray[np.int64]

UNUSED = -1  # in place of a feature
SMALLEST = 1e-300  # a probability never is 0: its logarithm is a score
MOST_DOUBLINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Distributions, a row each: entries with the probabilities of the count model and the features that count uses."""

    bounds: Offsets
    start: Reals
    features: Offsets  # UNUSED for an entry that no list uses
    weight: float = 1.0  # of log p in the model

    def __post_init__(self) -> None:
        if not covers(self.bounds, len(self.start)) or len(self.features) != len(self.start):
            raise InputError(
                f"the rows of a table do not cover its {len(self.start)} probabilities and {len(self.features)} "
                "features; expected bounds from 0 to the end, and a feature for every probability"
            )
        if not self.weight > 0:
            raise InputError(f"the weight of a table is {self.weight}; expected a positive number, log p being a score")
        sums = self.sums(self.start)
        wrong = (np.diff(self.bounds) > 0) & ~(np.abs(sums - 1) < 1e-6)
        wrong |= self.sums(~(self.start > 0)) > 0
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"row {row} of a table has probabilities that sum to {sums[row]:.6g}, or are not above 0; expected 1 "
                "(an entry without a feature may have what is missing)"
            )

    @classmethod
    def of(cls, rows: Mapping[str, Mapping[str, float]], features: Features, weight: float = 1.0) -> Self:
        """Rows of probabilities by the names of features; names that the lists do not have are unused entries."""
        found = [(features.ids.get(name, UNUSED), p) for row in rows.values() for name, p in row.items()]
        ids, start = (np.array([pair[place] for pair in found]) for place in (0, 1))
        return cls(ends(np.array([len(row) for row in rows.values()])), start, ids.astype(np.int64), weight)

    def sums(self, numbers: Reals | NDArray[np.bool_]) -> Reals:
        """Over every row."""
        return np.bincount(self.rows, numbers, len(self.bounds) - 1).astype(np.float64, copy=False)

    def only(self, rows: NDArray[np.bool_]) -> Table:
        """The marked rows: those that no list uses stay as they are, and need not be there."""
        kept, sizes = rows[self.rows], np.diff(self.bounds)[rows]
        return Table(ends(sizes), self.start[kept], self.features[kept], self.weight)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which rows have an entry that lists use."""
        return np.asarray(self.sums(self.features != UNUSED) > 0)

    @property
    def rows(self) -> Offsets:
        """Of every entry."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


class Grown(NamedTuple):
    """Where a step led: the regularised loss, every table, what their features weigh, and how the step was damped."""

    value: float
    tables: tuple[Reals, ...]
    weights: Reals  # of the features: the sum of weight * log(p / start) over all tables
    moved: int  # entries of rows that are used
    doublings: int


@dataclass(frozen=True, slots=True, eq=False)
class Growth(Solver[Batch, Reals]):
    """Steps from the count model: a row's D is the sum of what pulls its entries down, doubled until all are above 0.

    Monotone, all are doubled until the regularised loss does not rise; when nothing helps, the steps end.
    """

    tables: tuple[Table, ...]
    tau: float = 0.0
    steps: int = 40
    monotone: bool = True

    def check(self, loss: Loss) -> None:
        if loss.scope == "corpus" or not loss.smooth:
            raise RecipeError(f"Growth needs a smooth loss; {type(loss).__name__} has no gradient to grow along")

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        """What the features of the tables weigh is added to `weights`; the pull is towards the count model."""
        self.check(loss)
        fixed, answer = batch.upon(batch.candidates.score(weights)), weights
        for step, grown in enumerate(self.grow(loss, fixed), 1):
            answer = weights + grown.weights
            if watch:
                watch(step, answer)
        return answer

    def grow(self, loss: Loss, batch: Batch) -> Iterator[Grown]:
        """One step after the other; scores of the batch are those with the count model."""
        at = tuple(table.start for table in self.tables)
        value, slopes = self.value(loss, batch, at)
        for _ in range(self.steps):
            use = -batch.form.gather(slopes)
            fall = batch.candidates.gather(np.maximum(slopes, 0.0))
            damping = [_damping(table, use, fall) for table in self.tables]
            for doublings in range(MOST_DOUBLINGS):  # noqa: B007
                new = tuple(map(self._moved, self.tables, at, [use] * len(at), damping))
                new_value, new_slopes = self.value(loss, batch, new)
                if new_value <= value or not self.monotone:
                    break
                damping = [2 * strength for strength in damping]
            else:
                return
            at, value, slopes = new, new_value, new_slopes
            moved = sum(
                int((strength > 0)[table.rows].sum()) for table, strength in zip(self.tables, damping, strict=True)
            )
            yield Grown(value, at, self.weights(at, len(use)), moved, doublings)

    def value(self, loss: Loss, batch: Batch, tables: tuple[Reals, ...]) -> tuple[float, Reals]:
        """The regularised loss, and the slopes of the loss alone."""
        scores = batch.form.score(self.weights(tables, len(batch.candidates.features)))
        if batch.offset is not None:
            scores += batch.offset
        value, slopes = loss.slopes(batch.stakes, scores)
        distance = sum(
            float((table.start * np.log(table.start / p)).sum()) for table, p in zip(self.tables, tables, strict=True)
        )
        return value + self.tau * distance, slopes

    def weights(self, tables: tuple[Reals, ...], size: int) -> Reals:
        """Of so many features, beside the count model: the sum of weight * log(p / start) over the tables."""
        total = np.zeros(size)
        for table, p in zip(self.tables, tables, strict=True):
            used = table.features != UNUSED
            worth = table.weight * np.log(p[used] / table.start[used])
            total += np.bincount(table.features[used], worth, size)
        return total

    def _moved(self, table: Table, p: Reals, use: Reals, damping: Reals) -> Reals:
        """The table after a step; rows that nothing uses stay as they are, to the bit."""
        rows, strength = table.rows, damping.copy()
        pulls = _per_entry(table, use) + self.tau / table.weight * table.start
        while True:
            grown = pulls + strength[rows] * p
            low = (table.sums(grown <= 0) > 0) & (strength > 0)
            if not low.any():
                break
            strength[low] *= 2
        sums = table.sums(grown)
        return np.where((strength > 0)[rows], np.maximum(grown / np.where(sums > 0, sums, 1.0)[rows], SMALLEST), p)


def _per_entry(table: Table, numbers: Reals) -> Reals:
    """What is known of features, for the entries that they count; 0 for the others."""
    return np.append(numbers, 0.0)[table.features]


def _damping(table: Table, use: Reals, fall: Reals) -> Reals:
    """Of every row: the sum of what pulls down, or of what pulls up if nothing does; 0 if nothing uses the row."""
    down, up = table.sums(_per_entry(table, fall)), table.sums(np.abs(_per_entry(table, use)))
    return np.where(down > 0, down, up)
