"""PRO: draw pairs, fit a linear classifier to their differences, move part of the way (Hopkins & May 2011; S6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rampion.errors import RecipeError
from rampion.losses.pairwise import Drawn, Pairs
from rampion.metrics.judging import Batch, Stakes
from rampion.optim.solvers import Lbfgs
from rampion.protocols import Loss, Solver, Watch

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pro(Solver[Batch, Reals]):
    """A round draws pairs, finds w of least loss + (l2 / 2) |w|^2, and sets weights <- psi w + (1 - psi) weights."""

    psi: float = 0.1
    rounds: int = 25
    l2: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.psi <= 1:
            raise RecipeError(f"psi is {self.psi}; expected a share above 0 and at most 1 for the new weights (S6)")
        if self.l2 < 0:
            raise RecipeError(f"the classifier's l2 is {self.l2}; expected 0 or a positive strength")

    def check(self, loss: Loss) -> None:
        if not isinstance(loss, Pairs):
            raise RecipeError(f"Pro learns from pairs; {type(loss).__name__} is no Pairs(): use another solver")

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        self.check(loss)
        fit = weights
        for round_ in range(self.rounds):
            pairs = cast(Pairs, loss).drawn(batch.stakes, round_)
            if len(pairs.better):
                fit = Lbfgs(self.l2, steps=500).solve(*_narrowed(pairs, batch), fit, np.zeros(len(weights)))
                weights = self.psi * fit + (1 - self.psi) * weights
            if watch:
                watch(round_ + 1, weights)
        return weights


def _narrowed(pairs: Drawn, batch: Batch) -> tuple[Drawn, Batch]:
    """The pairs, and of the batch only the candidates that stand in one: the others get no slopes.

    Lists with sparse features stay whole: fewer candidates may stand in another form, whose sums round otherwise.
    """
    if len(batch.candidates.lists.entries):
        return pairs, batch
    kept = np.zeros(batch.candidates.size, bool)
    kept[pairs.better] = kept[pairs.worse] = True
    rows = np.flatnonzero(kept)
    candidates = batch.candidates.keep(kept)
    stakes = Stakes(candidates.bounds, batch.stakes.costs[rows], batch.stakes.reached[rows])
    offset = None if batch.offset is None else batch.offset[rows]
    narrow = Batch(candidates, batch.statistics[rows], stakes, batch.metric, offset)
    return pairs.among(rows), narrow
