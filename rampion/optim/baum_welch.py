"""Growth transformations of probability tables (extended Baum-Welch; He & Deng 2012; S11.4).

The score of a candidate has a term weight * log p(entry) for every use of an entry of a table. The objective is
loss + tau * sum over rows of KL(start || p), by  p <- (weight * use + tau * start + D p) / (their sum over the row),
where use is -d loss / d (score of one more use), and D damps the step: a greater D makes it smaller and safer. All
tables move together. In a row that lists use, all entries move, including those that no list uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Offsets, Reals, covers, ends, span_of_each
from rampion.errors import InputError, RecipeError
from rampion.metrics.judging import Batch
from rampion.protocols import Loss, Solver, Watch
from rampion.store.features import Features

UNUSED = -1  # stands in place of a feature
SMALLEST = 1e-300  # the least probability, because logarithms of probabilities are scores
MOST_DOUBLINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Probability distributions, one a row.

    An entry has its probability in the count model, and the feature that counts its uses.
    """

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
        """A table of rows, which map names of features to probabilities. Entries that the lists lack are unused."""
        found = [(features.ids.get(name, UNUSED), p) for row in rows.values() for name, p in row.items()]
        ids, start = (np.array([pair[place] for pair in found]) for place in (0, 1))
        return cls(ends(np.array([len(row) for row in rows.values()])), start, ids.astype(np.int64), weight)

    def sums(self, numbers: Reals | NDArray[np.bool_]) -> Reals:
        """The sum over each row of numbers that are given for every entry."""
        return np.bincount(self.rows, numbers, len(self.bounds) - 1).astype(np.float64, copy=False)

    def only(self, rows: NDArray[np.bool_]) -> Table:
        """The table of the marked rows. Rows that no list uses never change, and need not be in it."""
        kept, sizes = rows[self.rows], np.diff(self.bounds)[rows]
        return Table(ends(sizes), self.start[kept], self.features[kept], self.weight)

    @property
    def used(self) -> NDArray[np.bool_]:
        """A mask of the rows with an entry that lists use."""
        return np.asarray(self.sums(self.features != UNUSED) > 0)

    @property
    def rows(self) -> Offsets:
        """The row of every entry."""
        return span_of_each(self.bounds)


class Grown(NamedTuple):
    """The result of a step: the regularised loss, every table, the weights of their features, and the damping."""

    value: float
    tables: tuple[Reals, ...]
    weights: Reals  # of the features: the sum of weight * log(p / start) over all tables
    moved: int  # entries of rows that are used
    doublings: int


@dataclass(frozen=True, slots=True, eq=False)
class Growth(Solver[Batch, Reals]):
    """Steps from the count model. A row's D is the sum of its negative uses, doubled until all p are above 0.

    With `monotone`, every D is doubled until the regularised loss does not rise; if it still rises, the steps end.
    """

    tables: tuple[Table, ...]
    tau: float = 0.0
    steps: int = 40
    monotone: bool = True

    def check(self, loss: Loss) -> None:
        if loss.scope == "corpus" or not loss.smooth:
            raise RecipeError(f"Growth needs a smooth loss; {type(loss).__name__} has no gradient to grow along")

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        """`weights` plus the learnt weights of the tables' features. Regularisation pulls towards the count model."""
        self.check(loss)
        fixed, answer = batch.upon(batch.candidates.score(weights)), weights
        for step, grown in enumerate(self.grow(loss, fixed), 1):
            answer = weights + grown.weights
            if watch:
                watch(step, answer)
        return answer

    def grow(self, loss: Loss, batch: Batch) -> Iterator[Grown]:
        """Yield the result of each step. The scores of the batch are those under the count model."""
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
        """The weights of `size` features, relative to the count model: sums of weight * log(p / start)."""
        total = np.zeros(size)
        for table, p in zip(self.tables, tables, strict=True):
            used = table.features != UNUSED
            worth = table.weight * np.log(p[used] / table.start[used])
            total += np.bincount(table.features[used], worth, size)
        return total

    def _moved(self, table: Table, p: Reals, use: Reals, damping: Reals) -> Reals:
        """The probabilities after a step. Rows that no list uses keep every bit."""
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
    """The number of each entry's feature; 0 for an unused entry."""
    return np.append(numbers, 0.0)[table.features]


def _damping(table: Table, use: Reals, fall: Reals) -> Reals:
    """D of every row: the sum of its negative uses; if there are none, of its positive uses; 0 if the row is unused."""
    down, up = table.sums(_per_entry(table, fall)), table.sums(np.abs(_per_entry(table, use)))
    return np.where(down > 0, down, up)
