"""Ranking inside a list: a truth must score above its alternatives by a margin, which costs may weigh (S10.5).

The truth of a list is its candidate of least cost, the alternatives are the others. The loss of a truth s is the worst
over its alternatives m of stake * slack, or stake * slack_+^2, where

    stake = gain_s - gain_m, or 1        slack = margin - (score_s - score_m)        gain = -cost

Online, over packed sets, a step raises s and lowers that m by the stake, times slack_+ if squared: there the constant 2
of the derivative is part of the rate, and gains are those that were recorded (S10.8).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from rampion.arrays import Reals
from rampion.metrics.judging import Stakes
from rampion.protocols import Loss


class PackedLoss(NamedTuple):
    """A loss in numbers, as the kernel of packed sets takes it; sense 0 is least squares, which uses no truths."""

    margin: float
    staked: bool
    squared: bool
    sense: int
    every: bool

    @property
    def apart(self) -> bool:
        """Whether truths are kept out of the alternatives.

        Without a margin, truths are alternatives, too, listed after the bag of blocks. So if weights of 0 make all
        scores equal, the bag is the alternative, and if a truth has the highest score, nothing moves (S10.9).
        """
        return self.margin > 0


@dataclass(frozen=True, slots=True)
class Ranking(Loss):
    """The loss of one alternative for each truth: the one that violates the margin most, or least if sense is -1."""

    margin: float = 1.0
    staked: bool = True  # the stake of an alternative is its gain below that of the truth; without one it is skipped
    squared: bool = True
    sense: Literal[1, -1] = 1
    every: bool = False  # use all truths, each with its own alternative, instead of the best one
    smooth = False

    @property
    def packed(self) -> PackedLoss:
        return PackedLoss(self.margin, self.staked, self.squared, self.sense, self.every)

    @property
    def formula(self) -> str:
        """The loss of a truth; dg and ds are the differences of gains and scores."""
        slack = f"({self.margin:g}-ds)" if self.margin else "-ds"
        return f"{'max' if self.sense > 0 else 'min'} {'dg ' * self.staked}{slack}{'+^2' * self.squared}"

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        total, slopes = 0.0, np.zeros(len(scores))
        for start, end in pairwise(stakes.bounds.tolist()):
            if start < end:
                total += self._rank(stakes.costs[start:end], scores[start:end], slopes[start:end])
        return total, slopes

    def _rank(self, costs: Reals, scores: Reals, slopes: Reals) -> float:
        """Return the loss of one list, and add its slopes to `slopes`."""
        best = np.flatnonzero(costs == costs.min())
        truths, total = best if self.every else best[:1], 0.0
        rivals = np.ones(len(costs), bool)
        rivals[truths] = not self.packed.apart
        for s in truths.tolist():
            stake = costs - costs[s] if self.staked else np.ones(len(costs))
            slack = self.margin - (scores[s] - scores)
            if self.squared:
                slack = np.maximum(slack, 0.0)
            able = np.flatnonzero(rivals & (stake > 0))
            values = stake[able] * (slack[able] ** 2 if self.squared else slack[able])
            if not len(able):
                continue
            m = int(able[(self.sense * values).argmax()])
            step = float(stake[m] * (2 * slack[m] if self.squared else 1.0)) / len(truths)
            total += float(values[able == m][0]) / len(truths)
            slopes[s] -= step
            slopes[m] += step
        return total


@dataclass(frozen=True, slots=True)
class Regression(Loss):
    """Least squares of scores against gains, the mean over all candidates of a list: the idea that S10.5 rejects."""

    smooth = True
    relative = False

    @property
    def packed(self) -> PackedLoss:
        return PackedLoss(0.0, False, True, 0, False)

    @property
    def formula(self) -> str:
        return "(gain-score)^2/2"

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        sizes = np.diff(stakes.bounds)
        away, share = scores + stakes.costs, np.repeat(1.0 / np.maximum(sizes, 1), sizes)
        return float((share * away) @ away) / 2, share * away


COSTMARGIN = Ranking()  # eq. 7
FIXED = Ranking(squared=False)  # Table II with the sign of its selection mended
LITERAL = Ranking(squared=False, sense=-1)  # Table II as printed
PERCEPTRON = Ranking(margin=0.0, staked=False, squared=False)  # Table III: truth and rival are both of the set
ALWAYS = Ranking(staked=False, squared=False)  # truths outside of the set, so that no visit leaves the weights alone
