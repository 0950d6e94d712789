"""Numbers that came with every candidate (a neural metric, a label, counts of errors) as a metric: [value, 1].

A column whose name suggests an error rate needs a stated direction, as in `metric:cer,lower`, because the values do not
show whether less of them is better.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.errors import InputError, RecipeError, meant
from rampion.metrics.base import NO_COLUMNS, Columns, Metric, rate
from rampion.store.text import References, Texts

# Words in names of columns that suggest errors.
_ERRORS = re.compile(
    r"cer|wer|h?ter|mer|eer|der|errs?|[a-z]*errors?|[a-z]*loss|losses|costs?|nll|ppl|perplexity|latency|dist|distances?|edits|regret"
    r"|penalty|mistakes?|wrong|fails|failed|failures?|toxicity|mse|mae|rmse"
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DIRECTIONS = {"lower": False, "higher": True}


def counts_errors(name: str) -> bool:
    """Whether the name of a column suggests that less is better: `cer`, `val_loss`, `editDistance`.

    Examples
    --------
    >>> from rampion.metrics.column import counts_errors
    >>> [name for name in ("cer", "test_loss", "editDistance", "is_correct", "reward") if counts_errors(name)]
    ['cer', 'test_loss', 'editDistance']
    """
    return any(_ERRORS.fullmatch(word.lower()) for word in _WORDS.findall(name))


def column_metric(spec: str) -> Column | Ratio:
    """The metric of COLUMN, or of COLUMN/COLUMN, with `,lower` or `,higher` behind it."""
    name, comma, last = spec.rpartition(",")
    stated = _DIRECTIONS.get(last) if comma and name else None
    name = spec if stated is None else name
    over, slash, under = name.partition("/")
    if slash and over and under:
        return Ratio(over, under, not counts_errors(over) if stated is None else stated)
    if stated is None and counts_errors(name):
        raise RecipeError(
            f"less of a column called {name!r} is better, it seems: write metric:{name},lower, or metric:{name},higher "
            "if more is better"
        )
    return Column(name, stated is not False)


def reads_columns(metric: Metric) -> bool:
    """Whether a metric reads numbers that came with the candidates, and neither texts nor references."""
    return isinstance(metric, OfColumns)


def _values(column: str, bounds: NDArray[np.int64], columns: Columns) -> NDArray[np.float64]:
    """A column, which every candidate must have."""
    if column not in columns:
        known = ", ".join(columns) or "none"
        raise InputError(f"the candidates have no metric column {column!r}; they have: {known}{meant(column, columns)}")
    values = columns[column]
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        s = int(np.searchsorted(bounds, wrong[0], side="right")) - 1
        raise InputError(
            f"metric column {column!r} is {values[wrong[0]]} for candidate {wrong[0] - bounds[s]} "
            f"of segment {s} (both counted from 0); give every candidate a finite value"
        )
    return values


class OfColumns(Metric):
    """A metric of numbers that came with the candidates: it reads neither texts nor references."""

    def score(self, hypotheses: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]) -> float:
        """Raise InputError: columns belong to candidates of lists, not to strings.

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
        raise InputError(f"the metric column {self.name!r} comes with candidates; strings have none to score by")

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        return self.segments(totals)


@dataclass(frozen=True, slots=True)
class Column(OfColumns):
    """A number that came with every candidate; the score is the mean of the column, on its own scale.

    Parameters
    ----------
    column : str
        The name of the column.
    higher_is_better : bool
        False for error rates.

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
        values = _values(self.column, bounds, columns)
        return np.stack([values, np.ones_like(values)], axis=1)

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = statistics[:, 0] / statistics[:, 1]
        return values

    def signature(self, references: References) -> str:
        return f"column:{self.column}|mean"


@dataclass(frozen=True, slots=True)
class Ratio(OfColumns):
    """The sum of one column divided by the sum of another: errors by words, rewards by tokens.

    Parameters
    ----------
    over, under : str
        The names of the columns.
    higher_is_better : bool
        False for error rates.

    Examples
    --------
    >>> rampion.metric("errors/words")
    Ratio(over='errors', under='words', higher_is_better=False)
    """

    over: str
    under: str
    higher_is_better: bool = True

    @property
    def name(self) -> str:
        """The names of the columns."""
        return f"{self.over}/{self.under}"

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[np.float64]:
        return np.stack([_values(column, bounds, columns) for column in (self.over, self.under)], axis=1)

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        return rate(statistics[:, 0], statistics[:, 1])

    def signature(self, references: References) -> str:
        return f"columns:{self.name}|sum/sum"
