"""Expectation losses: what the model's own distribution over each list, p = softmax(score / temperature), costs.

Their gradients vanish where p is uniform and where it is one candidate, so scale matters: `effective` tells (S16).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.errors import RecipeError, TuningError
from rampion.protocols import Loss
from rampion.stakes import Stakes
from rampion.threads import each

Reals = NDArray[np.float64]

SEGMENTS = 4096  # work for a thread


class Expectation(Loss):
    """A loss of E_p[cost] of every list; empty lists have none."""

    __slots__ = ()
    smooth = True
    temperature: float

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise RecipeError(f"the temperature is {self.temperature}; expected a positive number")

    def expect(self, stakes: Stakes, scores: Reals, warmth: float = 0.0) -> tuple[Reals, Reals, Reals]:
        """E_p[cost] and H(p) of every list, and the slopes of the sum of E_p[cost] - warmth H(p)."""
        segments = len(stakes.bounds) - 1
        means, entropies, slopes = (np.empty(n) for n in (segments, segments, len(scores)))

        def fill(first: int) -> None:
            span, bounds = slice(first, first + SEGMENTS), stakes.bounds[first : first + SEGMENTS + 1]
            _kernels.expect(
                scores, stakes.costs, bounds, self.temperature, warmth, means[span], entropies[span], slopes
            )

        each(fill, range(0, segments, SEGMENTS))
        return means, entropies, slopes

    def effective(self, stakes: Stakes, scores: Reals) -> float:
        """exp H(p), the number of candidates that p is spread over: the geometric mean over the lists that have any."""
        _, entropies, _ = self.expect(stakes, scores)
        return float(np.exp(entropies.sum() / max(1, stakes.filled)))


@dataclass(frozen=True, slots=True)
class Risk(Expectation):
    """Bayes risk: sum over segments of E_p[cost] - warmth H(p) (S3, S3.1, S8)."""

    temperature: float = 1.0
    warmth: float = 0.0

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        means, entropies, slopes = self.expect(stakes, scores, self.warmth)
        return float(means.sum() - self.warmth * entropies.sum()), slopes


@dataclass(frozen=True, slots=True)
class ExpectedBleu(Expectation):
    """-log of the mean over segments of E_p[1 - cost]; an empty list counts as 0 (S11.1, S1 C5)."""

    temperature: float = 1.0

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        means, _, slopes = self.expect(stakes, scores)
        total = stakes.filled - float(means.sum())
        if not total > 0:
            raise TuningError(
                f"the expected score of a segment is {total / max(1, len(means)):g}, which has no logarithm; this loss "
                "needs alpha=1 and a metric that gives some candidate more than 0"
            )
        slopes /= total
        return -log(total / len(means)), slopes
