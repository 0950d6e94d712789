"""Expectation losses: functions of the expected cost under the model's distribution, p = softmax(score / temperature).

Their gradients vanish where p is uniform and where it is one candidate, so the scale matters (S16).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import NamedTuple, Self

import numpy as np

from rampion import _kernels
from rampion.arrays import Reals
from rampion.errors import RecipeError, TuningError
from rampion.metrics.judging import Stakes
from rampion.protocols import Loss
from rampion.threads import each

SEGMENTS = 4096  # segments that a thread works on at a time


class Sums(NamedTuple):
    """Sums over some lists: of E_p[cost] and of H(p); how many lists have candidates, and how many there are.

    A list of weight w counts w times.
    """

    costs: float
    entropies: float
    filled: float
    lists: float

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """The sums over the lists of all parts, added in the order of the parts."""
        costs = entropies = 0.0
        filled: float = 0
        lists: float = 0
        for part in parts:
            costs, entropies = costs + part.costs, entropies + part.entropies
            filled, lists = filled + part.filled, lists + part.lists
        return cls(costs, entropies, filled, lists)

    @property
    def effective(self) -> float:
        """The effective number of candidates, exp H(p), as a geometric mean over the lists that are not empty."""
        return float(np.exp(self.entropies / max(1, self.filled)))


class Expectation(Loss):
    """A function of the sum of E_p[cost] - warmth H(p) over all lists; an empty list adds nothing to the sum.

    The sums over parts of the lists can be computed apart, on any machine; `whole` makes the loss of their total.
    """

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

    def sums(self, stakes: Stakes, scores: Reals) -> tuple[Sums, Reals]:
        """The sums over the lists of `stakes`, and the slopes of the sum of E_p[cost] - warmth H(p)."""
        means, entropies, slopes = self.expect(stakes, scores, self.entropic)
        weights = stakes.weights
        if weights is None:
            return Sums(float(means.sum()), float(entropies.sum()), stakes.filled, len(means)), slopes
        means, slopes = stakes.weighted(means, slopes)
        filled = float(weights[np.diff(stakes.bounds) > 0].sum())
        return Sums(float(means.sum()), float((weights * entropies).sum()), filled, float(weights.sum())), slopes

    @property
    def entropic(self) -> float:
        """The weight of H(p) in the loss."""
        return 0.0

    @abstractmethod
    def whole(self, sums: Sums) -> tuple[float, float]:
        """The loss of the sums over all lists, and a divisor: the slopes of the sum / divisor are those of the loss."""

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        sums, slopes = self.sums(stakes, scores)
        value, divisor = self.whole(sums)
        slopes /= divisor
        return value, slopes

    def effective(self, stakes: Stakes, scores: Reals) -> float:
        """The effective number of candidates, exp H(p), as a geometric mean over lists."""
        return self.sums(stakes, scores)[0].effective


@dataclass(frozen=True, slots=True)
class Risk(Expectation):
    """Bayes risk: sum over segments of E_p[cost] - warmth H(p) (S3, S3.1, S8)."""

    temperature: float = 1.0
    warmth: float = 0.0

    @property
    def entropic(self) -> float:
        return self.warmth

    def whole(self, sums: Sums) -> tuple[float, float]:
        return sums.costs - self.warmth * sums.entropies, 1.0


@dataclass(frozen=True, slots=True)
class ExpectedBleu(Expectation):
    """-log of the mean over segments of E_p[1 - cost]; an empty list counts as 0 (S11.1, S1 C5)."""

    temperature: float = 1.0

    def whole(self, sums: Sums) -> tuple[float, float]:
        total = sums.filled - sums.costs
        if not total > 0:
            raise TuningError(
                f"the expected score of a segment is {total / max(1, sums.lists):g}, which has no logarithm; this loss "
                "needs alpha=1 and a metric that gives some candidate more than 0"
            )
        return -log(total / sums.lists), total


EXPECTATIONS: dict[str, type[Expectation]] = {"Risk": Risk, "ExpectedBleu": ExpectedBleu}
