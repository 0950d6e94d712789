"""Expectation losses: the mean cost under the model's own distribution over each list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rampion.losses import MODEL
from rampion.protocols import Loss
from rampion.stakes import Stakes

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Risk(Loss):
    """Bayes risk: sum over segments of E_p[cost], p the softmax of score / temperature (S3, S3.1)."""

    temperature: float = 1.0
    smooth = True

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        p = MODEL.soft(self.temperature).mass(stakes, scores)
        sizes = np.diff(stakes.bounds)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        risks = np.bincount(owner, p * stakes.costs, len(sizes))
        return float(risks.sum()), p * (stakes.costs - risks[owner]) / self.temperature
