"""Batch MIRA with BLEU in the context of a pseudo-corpus (Cherry & Foster 2012; S2.9, S7.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from rampion import _kernels
from rampion.arrays import Reals
from rampion.errors import RecipeError
from rampion.losses.contrast import Contrast
from rampion.metrics import Bleu
from rampion.metrics.bleu import ORDER
from rampion.metrics.judging import Batch
from rampion.optim.solvers import visits
from rampion.protocols import Loss, Solver, Watch
from rampion.store.lists import Scratch


@dataclass(frozen=True, slots=True)
class BatchMira(Solver[Batch, Reals]):
    """Passive-aggressive steps on a contrast whose cost is minus the gain in BLEU of a decaying pseudo-corpus.

    The result of an epoch is the mean of the weights after every visit to a segment since the first epoch.
    """

    cap: float = 0.01
    epochs: int = 60
    decay: float = 0.999
    background: Literal["hope", "model"] = "hope"  # the candidate whose statistics are added to the pseudo-corpus
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.decay <= 1:
            raise RecipeError(f"the background's decay is {self.decay}; expected a share from 0 to 1")
        if self.background not in ("hope", "model"):
            raise RecipeError(f"background is {self.background!r}; expected 'hope' or 'model'")

    def check(self, loss: Loss) -> None:
        if not isinstance(loss, Contrast):
            raise RecipeError(f"BatchMira needs a contrast of two sides; {type(loss).__name__} is none")
        for side in (loss.up, loss.down):
            if side.softness or side.where != "anywhere":
                raise RecipeError(
                    f"BatchMira weighs scores against BLEU, with sides such as HOPE, MODEL and FEAR; for {side} use "
                    "Descent(Mira(), averaged=True)"
                )

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        self.check(loss)
        if not isinstance(batch.metric, Bleu):
            raise RecipeError(
                f"the pseudo-corpus of BatchMira is made for BLEU, not for {batch.metric.name}; use the recipe "
                "mira-sentence, which takes any metric"
            )
        if batch.offset is not None:
            raise RecipeError("BatchMira takes no fixed part of the scores; use the recipe mira-sentence")
        contrast, lists = cast(Contrast, loss), batch.candidates.lists
        tilts = -contrast.up.tilt, -contrast.down.tilt, 1.0 if self.background == "hope" else 0.0
        statistics = np.ascontiguousarray(batch.unweighted[:, : 2 + 2 * ORDER], np.float64)
        background, weights, total = np.ones(statistics.shape[1]), weights.copy(), np.zeros(len(weights))
        work = Scratch.of(lists)
        shuffle, segments = np.random.default_rng(self.seed), len(lists.bounds) - 1
        mean, visited = weights, 0
        for epoch in range(self.epochs):
            order = visits(shuffle.permutation(segments), batch.stakes.weights, shuffle)
            _kernels.mira(lists, order, statistics, tilts, (self.cap, self.decay), background, weights, total, work)
            visited += len(order)
            mean = total / max(1, visited)
            if watch:
                watch(epoch + 1, mean)
        return mean
