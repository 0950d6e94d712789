"""Ranking inside relevant sets: a truth and its alternatives, told apart by a margin that the metric may stake (S10.5).

The loss of a truth s is the worst over the alternatives m of stake * slack, or stake * slack_+^2, where

    stake = gain_s - gain_m, or 1        slack = margin - (score_s - score_m)

and a step raises s and lowers that m by the stake, times slack_+ if squared (the constant 2 is part of the rate).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Ranking:
    """One alternative a truth: the most violating one, or for sense = -1 the least."""

    margin: float = 1.0
    staked: bool = True  # alternatives that gain no less than the truth are passed over, others weigh what they lack
    squared: bool = True
    sense: Literal[1, -1] = 1
    every: bool = False  # all truths, each against its own alternative, instead of the best one


@dataclass(frozen=True, slots=True)
class Regression:
    """Least squares of scores against gains, over all candidates: the idea that S10.5 rejects."""


COSTMARGIN = Ranking()  # eq. 7
FIXED = Ranking(squared=False)  # Table II with the sign of its selection mended
LITERAL = Ranking(squared=False, sense=-1)  # Table II as printed
PERCEPTRON = Ranking(margin=0.0, staked=False, squared=False)  # Table III
