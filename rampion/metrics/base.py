"""What a metric is: additive statistics of candidates, a score of their sum, and a value of each on its own (S2.8)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rampion.store.text import References, Texts

Statistics = NDArray[np.int64] | NDArray[np.float64]
Columns = Mapping[str, NDArray[np.float64]]

NO_COLUMNS: Columns = MappingProxyType({})


class Metric(Protocol):
    """The candidates of segment s are texts[bounds[s]:bounds[s + 1]]; `columns` are numbers that came with them."""

    @property
    def name(self) -> str: ...

    @property
    def higher_is_better(self) -> bool: ...

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[Any]:
        """One row per candidate; the rows of the chosen candidates add up to the statistics of a system."""
        ...

    def score(self, total: NDArray[Any]) -> float:
        """The reported score of a sum of rows, on the metric's usual scale (BLEU 0..100)."""
        ...

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        """The same for many sums of rows at once, one a row."""
        ...

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        """The value of every row on its own, on a scale where 1 is perfect (an error metric: 0)."""
        ...

    def signature(self, references: References) -> str:
        """How the score came about, as sacrebleu writes it."""
        ...


def rate(edits: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.float64]:
    """Edits per reference word; against an empty reference any edit is an error rate of 1."""
    return np.where(lengths > 0, edits / np.where(lengths > 0, lengths, 1), edits > 0)
