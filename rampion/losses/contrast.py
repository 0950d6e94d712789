"""Contrast losses. A loss sees scores and costs, and returns slopes (d loss / d score). It never sees a feature.

The ramp family is data. A contrast raises one side of a list and lowers another; a side is a (soft) maximum of
score + tilt * cost over the candidates that may stand on it:  L = -A_up(s + tilt c) + A_down(s + tilt c)  (S3).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Reals
from rampion.errors import RecipeError
from rampion.metrics.judging import Stakes
from rampion.protocols import Loss

Where = Literal["anywhere", "reference", "oracle", "worst"]


class Stance(NamedTuple):
    """A side of a loss on given lists, as kernels take it: a handicap and a tilt for every candidate, and a softness.

    A candidate that may not stand on the side has the handicap -inf. It still has a tilt, which is finite.
    """

    handicap: Reals
    softness: float
    tilt: Reals

    def upon(self, offset: Reals) -> Stance:
        """The side when `offset` is added to every score, that is, to the handicaps. A fixed mass does not change."""
        if self.softness < 0:
            return self
        return Stance(self.handicap + offset, self.softness, self.tilt + offset)


@dataclass(frozen=True, slots=True)
class Side:
    """A (soft) maximum of score + tilt * cost; softness 0 picks one candidate, T gives T log sum exp(. / T)."""

    tilt: float = 0.0
    softness: float = 0.0
    where: Where = "anywhere"

    def __post_init__(self) -> None:
        if self.softness < 0:
            raise RecipeError(f"a side's softness is {self.softness}; expected 0 (pick one) or a positive temperature")

    def soft(self, temperature: float = 1.0) -> Side:
        return replace(self, softness=temperature)

    def stance(self, stakes: Stakes) -> Stance:
        tilt = self.tilt * stakes.costs if self.tilt else np.zeros(len(stakes.costs))
        handicap = tilt if self.where == "anywhere" else np.where(_standing(self.where, stakes), tilt, -np.inf)
        return Stance(handicap, self.softness, tilt)

    def mass(self, stakes: Stakes, scores: Reals) -> Reals:
        """The derivative of the side: one winner a segment, or the softmax."""
        values, masses = np.empty(len(stakes.bounds) - 1), np.empty(len(scores))
        _kernels.side(scores, self.stance(stakes), stakes.bounds, np.empty(stakes.longest), values, masses)
        return masses

    def picks(self, stakes: Stakes, scores: Reals) -> NDArray[np.int64]:
        """The winner of every segment that has one."""
        return np.flatnonzero(replace(self, softness=0.0).mass(stakes, scores))


HOPE, MODEL, FEAR = Side(tilt=-1.0), Side(), Side(tilt=+1.0)
REFERENCE, ORACLE, WORST = Side(where="reference"), Side(where="oracle"), Side(where="worst")


def _standing(where: Where, stakes: Stakes) -> NDArray[np.bool_]:
    """A mask of the candidates that reach a reference, or of those of least (greatest) cost in their list."""
    if where == "reference":
        return stakes.reached
    sizes = np.diff(stakes.bounds)
    filled = sizes > 0
    extreme = np.minimum if where == "oracle" else np.maximum
    best = extreme.reduceat(stakes.costs, stakes.bounds[:-1][filled]) if filled.any() else stakes.costs
    return np.asarray(stakes.costs == np.repeat(best, sizes[filled]))


class Sided(Loss):
    """A loss of two sides: -up + down. Segments where either side is empty (no reference reached) take no part."""

    __slots__ = ()
    down: Side

    @abstractmethod
    def stances(self, stakes: Stakes) -> tuple[Stance, Stance]:
        """The side to raise and the side to lower, over the lists of `stakes`."""

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        up, down = self.stances(stakes)
        values, slopes = np.empty(len(stakes.bounds) - 1), np.empty(len(scores))
        _kernels.contrast(scores, up, down, stakes.bounds, np.empty(stakes.longest), values, slopes)
        values, slopes = stakes.weighted(values, slopes)
        return float(values.sum()), slopes


@dataclass(frozen=True, slots=True)
class Contrast(Sided):
    """Raise one side, lower another."""

    up: Side
    down: Side

    @property
    def smooth(self) -> bool:
        return self.up.softness > 0 and self.down.softness > 0

    def stances(self, stakes: Stakes) -> tuple[Stance, Stance]:
        return self.up.stance(stakes), self.down.stance(stakes)

    def pinned(self, stakes: Stakes, scores: Reals) -> Pinned:
        """The concave side made linear at these scores: the convex loss of one CCCP round (S4, S4.1)."""
        return Pinned(self.up.mass(stakes, scores), self.down)


@dataclass(frozen=True, slots=True, eq=False)
class Pinned(Sided):
    """A contrast whose up side is a fixed mass over the candidates: convex, and smooth if its down side is."""

    mass: Reals
    down: Side

    @property
    def smooth(self) -> bool:
        return self.down.softness > 0

    def stances(self, stakes: Stakes) -> tuple[Stance, Stance]:
        return Stance(self.mass, -1.0, self.mass), self.down.stance(stakes)
