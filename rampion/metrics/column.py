"""A number that came with every candidate (a neural metric, a human judgement) as a metric: [value, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.errors import InputError
from rampion.metrics.base import NO_COLUMNS, Columns, Metric
from rampion.store.text import References, Texts


@dataclass(frozen=True, slots=True)
class Column(Metric):
    """A number that came with every candidate; the score is the mean of the column, on its own scale.

    Parameters
    ----------
    column : str
        The name of the column.
    higher_is_better : bool
        False of error rates.

    Examples
    --------
    >>> rampion.metric("metric:is_correct")
    Column(column='is_correct', higher_is_better=True)
    """

    column: str
    higher_is_better: bool = True

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[np.float64]:
        if self.column not in columns:
            raise InputError(
                f"the candidates have no metric column {self.column!r}; they have: {', '.join(columns) or 'none'}"
            )
        values = columns[self.column]
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            s = int(np.searchsorted(bounds, wrong[0], side="right")) - 1
            raise InputError(
                f"metric column {self.column!r} is {values[wrong[0]]} for candidate {wrong[0] - bounds[s]} "
                f"of segment {s} (both counted from 0); give every candidate a finite value"
            )
        return np.stack([values, np.ones_like(values)], axis=1)

    def score(self, hypotheses: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]) -> float:
        """Not to be had: a column belongs to candidates of lists, not to strings.

        Parameters
        ----------
        hypotheses, references : sequence of str
            Of no use.

        Returns
        -------
        float
            Nothing.

        Raises
        ------
        InputError
            Always.

        Examples
        --------
        >>> rampion.metric("metric:comet").score(["a"], ["a"])
        Traceback (most recent call last):
        rampion.errors.InputError: the metric column 'comet' comes with candidates; strings have none to score by
        """
        raise InputError(f"the metric column {self.column!r} comes with candidates; strings have none to score by")

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        return self.segments(totals)

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = statistics[:, 0] / statistics[:, 1]
        return values

    def signature(self, references: References) -> str:
        return f"column:{self.column}|mean"
