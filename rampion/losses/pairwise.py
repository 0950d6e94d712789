"""Ranking pairs of candidates: PRO as a loss (Hopkins & May 2011; S6)."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from rampion import _kernels
from rampion.arrays import Integers, Reals
from rampion.errors import RecipeError
from rampion.metrics.judging import Stakes
from rampion.protocols import Loss


@dataclass(frozen=True, slots=True, eq=False)
class Drawn(Loss):
    """Sum over fixed pairs of 2 log(1 + exp(-gap)), where gap is the better candidate's score minus the worse one's.

    The factor is 2 because PRO's classifier gets each pair in both orientations: f - f' is good, f' - f is bad. A pair
    of equal features adds a constant, and has no gradient.
    """

    better: Integers
    worse: Integers
    weights: Reals | None = None  # of the pairs: the weights of their segments
    smooth = True

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        value, pulls = logistic(scores[self.better] - scores[self.worse], self.weights)
        slopes = np.zeros(len(scores))
        slopes -= np.bincount(self.worse, pulls, len(scores))
        slopes += np.bincount(self.better, pulls, len(scores))
        return value, slopes


def logistic(gaps: Reals, weights: Reals | None = None) -> tuple[float, Reals]:
    """The loss of pairs by their gaps, and its derivatives."""
    losses = np.logaddexp(0.0, -gaps)
    slopes = 2.0 * np.expm1(-losses)
    if weights is None:
        return 2.0 * float(losses.sum()), slopes
    return 2.0 * float((weights * losses).sum()), weights * slopes


@dataclass(frozen=True, slots=True)
class Pairs(Loss):
    """Logistic loss on random pairs: in each segment, the widest of the drawn pairs whose costs differ by `margin`.

    The margin is in units of cost; with alpha = 1 that is 0.05 of a metric's 0..1 (S6).
    """

    draws: int = 5000
    kept: int = 50
    margin: float = 0.05
    seed: int = 0
    smooth = True

    def __post_init__(self) -> None:
        for name, least in (("draws", 1), ("kept", 1), ("margin", 0), ("seed", 0)):
            if getattr(self, name) < least:
                raise RecipeError(f"{name} of the pairs is {getattr(self, name)}; expected at least {least}")

    def drawn(self, stakes: Stakes, round_: int = 0) -> Drawn:
        """The pairs of a round, widest first in each segment; the same for the same seed, lists and round."""
        known = _DRAWN.setdefault(stakes, {})
        if (self, round_) not in known:
            known[self, round_] = self._drawn(stakes, round_)
        return known[self, round_]

    def _drawn(self, stakes: Stakes, round_: int) -> Drawn:
        segments = len(stakes.bounds) - 1
        key = np.random.SeedSequence((self.seed, round_)).generate_state(1, np.uint64).astype(np.uint64)
        counts, gaps = np.empty(segments, np.int64), np.empty(self.kept)
        better, worse = np.empty((2, segments, self.kept), np.int64)
        _kernels.pairs(stakes.costs, stakes.bounds, key, self.draws, self.margin, gaps, counts, better, worse)
        filled = np.arange(self.kept) < counts[:, np.newaxis]
        weights = None if stakes.weights is None else np.repeat(stakes.weights, counts)
        return Drawn(better[filled], worse[filled], weights)

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        """The loss and the slopes for the pairs of the first round."""
        return self.drawn(stakes).slopes(stakes, scores)


_DRAWN: WeakKeyDictionary[Stakes, dict[tuple[Pairs, int], Drawn]] = WeakKeyDictionary()  # because it is needed often
