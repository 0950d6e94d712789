"""PRO: draw pairs, fit a linear classifier to their differences, move part of the way (Hopkins & May 2011; S6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Reals
from rampion.errors import RecipeError
from rampion.losses.pairwise import Drawn, Pairs, logistic
from rampion.metrics.judging import Batch
from rampion.optim.solvers import minimised
from rampion.protocols import Loss, Solver, Watch
from rampion.store.candidates import Candidates

STEPS = 500  # of L-BFGS
LEAST = 1e-3  # the least curvature of a weight without L2, so that units are bounded


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
                fit = self._fit(pairs, batch, fit)
                weights = self.psi * fit + (1 - self.psi) * weights
            if watch:
                watch(round_ + 1, weights)
        return weights

    def _fit(self, pairs: Drawn, batch: Batch, start: Reals) -> Reals:
        """The weights of the classifier; with L2, weights of features in which no pair differs are 0.

        L-BFGS works with weights in units that give them equal curvature at the start, which saves two thirds of the
        steps.
        """
        from scipy.sparse import csr_array

        bounds, ids, values = differences(pairs, batch.candidates)
        known = np.zeros(len(start), bool)
        known[ids] = True
        used, numbers = np.flatnonzero(known), np.cumsum(known, dtype=np.int32) - np.int32(1)
        apart = csr_array((values, numbers[ids], bounds), shape=(len(pairs.better), len(used)))
        across = apart.T.tocsr()
        fixed = 0.0 if batch.offset is None else batch.offset[pairs.better] - batch.offset[pairs.worse]
        pulls = logistic(apart @ start[used] + fixed)[1]
        bends = -pulls * (1 + pulls / 2)
        if pairs.weights is not None:
            bends *= pairs.weights
        squares = csr_array((np.square(across.data), across.indices, across.indptr), shape=across.shape)
        units = 1 / np.sqrt(squares @ bends + max(self.l2, LEAST))

        def value(scaled: Reals) -> tuple[float, Reals]:
            weights = units * scaled
            loss, slopes = logistic(apart @ weights + fixed, pairs.weights)
            gradient = units * (across @ slopes + self.l2 * weights)
            return loss + self.l2 / 2 * float(np.square(weights).sum()), gradient

        fit = np.zeros(len(start)) if self.l2 else start.copy()
        fit[used] = units * minimised(value, start[used] / units, STEPS)
        return fit


def differences(pairs: Drawn, candidates: Candidates) -> tuple[NDArray[np.int64], NDArray[np.uint32], Reals]:
    """The features in which each pair differs, better minus worse: the rows of a matrix, as bounds, ids and values."""
    lists, better, worse = candidates.lists, pairs.better, pairs.worse
    owners = np.searchsorted(lists.bounds, better, "right") - 1
    sizes = np.diff(lists.entry_bounds)
    most = int((sizes[better] + sizes[worse]).sum()) + lists.width * len(better)
    bounds, ids, values = np.empty(len(better) + 1, np.int64), np.empty(most, np.uint32), np.empty(most)
    _kernels.apart(lists, owners, better, worse, np.zeros(lists.local_size), bounds, ids, values)
    return bounds, ids[: bounds[-1]], values[: bounds[-1]]
