"""Update rules. An update sees no loss. L2 belongs to the solver; an update's memory between steps is its state.

Online, segment by segment, an update is two numbers: step = min(cap, violation / (curvature |df|^2)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rampion.arrays import Reals
from rampion.threads import each

PIECE = 1 << 16  # weights that a thread updates at a time, few enough for its cache


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
        square = float(np.square(gradient).sum())
        if square > 0.0:
            weights -= min(self.cap, max(0.0, value) / square) * gradient


@dataclass(frozen=True, slots=True)
class AdaGrad:
    """weights -= rate * gradient / sqrt(sum of squared gradients); with l1, FOBOS: then shrink towards 0 (S11.3)."""

    rate: float = 1e-2
    l1: float = 0.0

    def start(self, size: int) -> Reals:
        """The initial state: the sums of squared gradients, 0."""
        return np.zeros(size)

    def step(self, weights: Reals, gradient: Reals, value: float, state: Reals) -> None:
        state += gradient * gradient
        rates = self.rate / np.sqrt(state + 1e-8)
        weights -= rates * gradient
        if self.l1:
            weights[:] = np.sign(weights) * np.maximum(0.0, np.abs(weights) - self.l1 * rates)


class RpropState(NamedTuple):
    """The step of every weight, its last gradient (0 after going back), and its value before the last step."""

    steps: Reals
    gradient: Reals
    before: Reals


@dataclass(frozen=True, slots=True)
class Rprop:
    """A step size for every weight, against the sign of its gradient; it grows while the sign stays the same.

    When the sign changes, the step shrinks, the last step is undone, and the next step counts as a
    first one; without this the rule cycles (Riedmiller & Braun 1993; S11.3).
    """

    first: float = 1e-3
    least: float = 1e-7
    most: float = 1.0
    grow: float = 1.2
    shrink: float = 0.5

    def start(self, size: int) -> RpropState:
        return RpropState(np.full(size, self.first), np.zeros(size), np.zeros(size))

    def step(self, weights: Reals, gradient: Reals, value: float, state: RpropState) -> None:
        def move(first: int) -> None:
            span = slice(first, first + PIECE)
            self._step(weights[span], gradient[span], RpropState(*(numbers[span] for numbers in state)))

        each(move, range(0, len(weights), PIECE))

    def _step(self, weights: Reals, gradient: Reals, state: RpropState) -> None:
        sign = np.sign(gradient)
        agreement = sign * np.sign(state.gradient)
        state.steps[agreement > 0] *= self.grow
        state.steps[agreement < 0] *= self.shrink
        np.clip(state.steps, self.least, self.most, out=state.steps)
        moved = np.where(agreement < 0, state.before, weights - sign * state.steps)
        state.before[:] = weights
        state.gradient[:] = np.where(agreement < 0, 0.0, gradient)
        weights[:] = moved
