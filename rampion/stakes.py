"""What a loss may know of the lists besides the scores, and the judge who knows it: a metric with its references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.candidates import Candidates
from rampion.errors import InputError
from rampion.metrics.base import Metric
from rampion.text import References

Reals = NDArray[np.float64]


class Stakes(NamedTuple):
    """Where the lists begin, the cost of every candidate, and which candidates reach a reference."""

    bounds: NDArray[np.int64]
    costs: Reals
    reached: NDArray[np.bool_]

    @property
    def longest(self) -> int:
        """The most candidates of one segment."""
        return int(np.diff(self.bounds).max(initial=0))


@dataclass(frozen=True, slots=True)
class Batch:
    """Candidates with their judgement: what a solver works on."""

    candidates: Candidates
    statistics: NDArray[np.generic]
    stakes: Stakes
    metric: Metric

    def corpus_score(self, picks: NDArray[np.int64]) -> float:
        """The metric of the corpus made of the picked candidates, one a segment."""
        return float(self.metric.score(self.statistics[picks].sum(axis=0)))


@dataclass(frozen=True, slots=True)
class Judge:
    """Prices candidates: cost = alpha (1 - metric), or alpha times an error metric (S2.3, S2.8)."""

    metric: Metric
    references: References | None
    alpha: float = 10.0
    column: str | None = None
