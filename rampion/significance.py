"""How sure a score is: resampling of segments over cached statistics (S12.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.metrics.base import Metric


class Interval(NamedTuple):
    """A score with the bounds of its percentile interval."""

    score: float
    low: float
    high: float


def bootstrap(
    metric: Metric, statistics: NDArray[Any], samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """The corpus score of one row of statistics a segment, and its interval over resampled segments."""
    return _interval(metric.score(statistics.sum(axis=0)), _resampled(metric, statistics, samples, seed), level)


def paired_bootstrap(
    metric: Metric, first: NDArray[Any], second: NDArray[Any], samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """How much the second scores above the first, both resampled with the same segments."""
    gains = _resampled(metric, second, samples, seed) - _resampled(metric, first, samples, seed)
    return _interval(metric.score(second.sum(axis=0)) - metric.score(first.sum(axis=0)), gains, level)


def _resampled(metric: Metric, statistics: NDArray[Any], samples: int, seed: int) -> NDArray[np.float64]:
    """A multinomial count a segment is a resample with replacement."""
    n = len(statistics)
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=samples)
    return np.array([metric.score(total) for total in counts @ statistics])


def _interval(score: float, resampled: NDArray[np.float64], level: float) -> Interval:
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Interval(score, float(low), float(high))
