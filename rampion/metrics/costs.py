"""From statistics to one cost per candidate (S2.3, S2.8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.metrics.base import Metric


def costs(metric: Metric, statistics: NDArray[Any], alpha: float = 10.0) -> NDArray[np.float64]:
    """alpha * (1 - value) for a metric where higher is better, alpha * value for an error metric."""
    values = metric.segments(statistics)
    return alpha * (1 - values if metric.higher_is_better else values)
