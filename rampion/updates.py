"""How to move. An update knows no loss; L2 belongs to the solver.

Online, segment by segment, an update is two numbers: step = min(cap, violation / (curvature |df|^2)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sgd:
    """weights -= rate * gradient."""

    rate: float = 1e-4

    @property
    def cap(self) -> float:
        return self.rate

    @property
    def curvature(self) -> float:
        return 0.0

    def start(self, size: int) -> None:
        return None

    def step(self, weights: Reals, gradient: Reals, value: float, state: None) -> None:
        weights -= self.rate * gradient


@dataclass(frozen=True, slots=True)
class Mira:
    """Passive-aggressive: weights -= min(cap, value / |gradient|^2) * gradient (S4.3, S7.1)."""

    cap: float = 0.01

    @property
    def curvature(self) -> float:
        return 1.0

    def start(self, size: int) -> None:
        return None

    def step(self, weights: Reals, gradient: Reals, value: float, state: None) -> None:
        square = float(gradient @ gradient)
        if square > 0.0:
            weights -= min(self.cap, max(0.0, value) / square) * gradient
