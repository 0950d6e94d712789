"""What `tune` does without a recipe: the mean of a few fits, some of which are held near a simple choice.

With few lists it matters which weights L2 pulls to. If the features can express the listed order, or if there are
initial weights, all fits are pulled to these. Otherwise some are pulled to 0 and others to the best single feature.
The mean of the fits is the first option; another option must beat it clearly in the folds (benchmarks/board).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rampion.arrays import Reals
from rampion.errors import TuningError
from rampion.losses.contrast import MODEL
from rampion.metrics.judging import Batch, Forms
from rampion.protocols import Loss
from rampion.store.bends import plain
from rampion.store.features import Weights
from rampion.store.units import spread
from rampion.training.loop import Held, Record, ignore, learn
from rampion.training.recipes import METRIC, RECIPES, Recipe
from rampion.training.validation import Ground, Parts, axes, best_single

STAKE = 5.0  # the typical difference of costs in a list for the fits, and of the scores of the weights that pull them
KNOWN = 0.8  # the share of the listed order's variance that the features must explain
FEW = 20  # the best single feature counts as much as this number of lists
STEPS = 100  # of conjugate gradients
ZERO, NEAR, SINGLE = "", "near", "single"  # what L2 pulls a fit to: 0, earlier weights, the best single feature
LINEAR = "linear"  # or what the first option learns without bends


class Fit(NamedTuple):
    """A recipe of the table, a strength of L2, and the weights that L2 pulls to."""

    name: str
    l2: float
    anchor: str = ZERO

    def recipe(self, metric: str, alpha: float) -> Recipe:
        return RECIPES[self.name].set(metric=metric, alpha=alpha, l2=self.l2)


RAMP, STRONG_RAMP, LOG, STRONG_LOG = (Fit(name, l2) for name in ("soft-ramp3", "oracle-log") for l2 in (1.0, 10.0))
OPTIONS: dict[str, tuple[Fit, ...]] = {
    "mean of fits": (RAMP, LOG, RAMP._replace(anchor=SINGLE), STRONG_LOG._replace(anchor=SINGLE)),
    "soft-ramp3, l2 1": (RAMP,),
    "oracle-log, l2 1": (LOG,),
    "oracle-log, l2 10": (STRONG_LOG,),
    "oracle-log, l2 10, near the best single feature": (STRONG_LOG._replace(anchor=SINGLE),),
}
ORDERED: dict[str, tuple[Fit, ...]] = {
    "soft-ramp3, l2 10, near {}": (STRONG_RAMP._replace(anchor=NEAR),),
    "mean of fits near {}": (STRONG_RAMP._replace(anchor=NEAR), STRONG_LOG._replace(anchor=NEAR)),
    "soft-ramp3, l2 1, near {}": (RAMP._replace(anchor=NEAR),),
    "oracle-log, l2 1, near {}": (LOG._replace(anchor=NEAR),),
}
WITH_BENDS = "with bends"
BENT = {WITH_BENDS: (STRONG_RAMP._replace(anchor=LINEAR), STRONG_LOG._replace(anchor=LINEAR))}


def default() -> Recipe:
    """The first recipe of the default, for lists that are not read yet."""
    return RAMP.recipe(METRIC, STAKE)


class _Views(NamedTuple):
    """Lists with and without their bends."""

    bent: Batch
    straight: Batch


class Automatic:
    """The options of the default for some lists; each can learn from all of the lists or from a part.

    Lists and weights are in units. The weights of the listed order need no labels, so they are made once for all folds.
    """

    def __init__(self, metric: str, seen: Batch, start: Reals) -> None:
        self.width = plain(seen.candidates.features)
        self.bent = self.width < seen.candidates.features.width
        seen = self._straight(seen)
        typical = spread(seen.stakes.costs, seen.stakes.bounds)
        self.metric, self.alpha = metric, STAKE / typical if typical > 0 else STAKE
        self.start, self.features = start, seen.candidates.features
        self.near = scaled(start if start.any() else listed_weights(seen), seen)
        known = "the initial weights" if start.any() else "the listed order"
        rows = {row.format(known): fits for row, fits in ORDERED.items()} if self.near.any() else OPTIONS
        self.options: Mapping[str, tuple[Fit, ...]] = rows | BENT if self.bent else rows
        self._last: tuple[Batch, _Views, dict[Fit, Reals]] | None = None

    @property
    def recipe(self) -> Recipe:
        """The recipe of the first fit."""
        return next(iter(self.options.values()))[0].recipe(self.metric, self.alpha).stepwise

    def learn(self, label: str, batch: Batch, record: Record = ignore, held: Held | None = None) -> Reals:
        """Learn the weights of an option. The first fit's rounds are recorded. Only directions of fits count."""
        if self._last is None or self._last[0] is not batch or record is not ignore:
            priced = replace(batch, stakes=batch.priced(self.alpha))
            self._last = batch, _Views(priced, self._straight(priced)), {}
        _, views, known = self._last
        fits, total, size = self.options[label], np.zeros(len(self.start)), 0.0
        for fit in fits:
            seen = views.bent if fit.anchor == LINEAR else views.straight
            if fit not in known:
                known[fit] = self._fitted(fit, seen, ignore if known else record, held)
            share = min(1.0, FEW / len(seen.candidates)) if fit.anchor == SINGLE and len(fits) > 1 else 1.0
            size += share
            total += share * scaled(known[fit], seen)
        if not total.any():
            raise TuningError("training ended with all weights zero; give more lists, or other initial weights")
        return total / size

    def learnt(self, label: str, batch: Batch) -> Reals:
        """The same, or the initial weights if nothing is learnt."""
        try:
            return self.learn(label, batch)
        except TuningError:
            return self.start

    def _fitted(self, fit: Fit, batch: Batch, record: Record, held: Held | None) -> Reals:
        """The weights of a fit; if it learns nothing, the weights that it is pulled to."""
        recipe = fit.recipe(self.metric, self.alpha).stepwise
        anchor = self._anchor(fit, batch, recipe.loss)
        there = Weights(self.features, anchor)
        try:
            return learn(recipe, batch, there, there, record, held=held).vector
        except TuningError:
            return anchor

    def _straight(self, batch: Batch) -> Batch:
        """The lists without bends."""
        if not self.bent:
            return batch
        return replace(batch, candidates=batch.candidates.narrowed(self.width), forms=Forms())

    def _anchor(self, fit: Fit, batch: Batch, loss: Loss) -> Reals:
        if fit.anchor == LINEAR and self._last is not None:
            return self.learnt(next(iter(self.options)), self._last[0])
        if fit.anchor == SINGLE:
            return single_weights(loss, batch)
        if fit.anchor == NEAR and (self.start.any() or helps(batch, self.near)):
            return self.near
        return np.zeros(len(self.start))


def scaled(weights: Reals, batch: Batch) -> Reals:
    """The weights scaled to a typical difference of scores within lists."""
    typical = spread(batch.candidates.score(weights), batch.stakes.bounds)
    return weights * (STAKE / typical) if typical > 0 else np.zeros(len(weights))


def helps(batch: Batch, weights: Reals) -> bool:
    """Whether the first candidates by these weights score better than the last ones."""
    ground, scores = Ground(batch, Parts.of(batch.candidates.segments, 0, None)), batch.candidates.score(weights)
    first, last = (ground.height(MODEL.picks(batch.stakes, sign * scores)) for sign in (1.0, -1.0))
    return first > last


def single_weights(loss: Loss, batch: Batch) -> Reals:
    """Weights of only the best single feature, with the weight of least loss; all 0 if no feature differs."""
    from scipy.optimize import minimize_scalar

    ground = Ground(batch, Parts.of(batch.candidates.segments, 0, None))
    weights, best = np.zeros(len(batch.candidates.features)), best_single(ground, ground.single(axes(batch)))
    if best is not None:
        weights[best.feature] = best.sign
        scores = batch.candidates.score(weights)
        found = minimize_scalar(
            lambda t: loss.slopes(batch.stakes, t * scores)[0] + t * t / 20, bounds=(0.0, 4 * STAKE), method="bounded"
        )
        weights *= found.x
    return weights


def listed_weights(batch: Batch) -> Reals:
    """Weights whose scores resemble the decoder's, or fall with the place in the list; 0 if features cannot express it.

    They are found by least squares within lists with a little L2, by conjugate gradients. The explained variance is
    adjusted for the number of features, so that many features on few lists explain nothing.
    """
    candidates = batch.candidates
    lengths = np.diff(candidates.bounds)
    owners, sizes = np.repeat(np.arange(len(lengths)), lengths), np.maximum(lengths, 1)

    def centred(values: Reals) -> Reals:
        return values - (np.bincount(owners, values, len(lengths)) / sizes)[owners]

    wanted = candidates.scores
    if not np.isfinite(wanted).all() or not spread(wanted, candidates.bounds):
        wanted = -np.concatenate([np.arange(length, dtype=np.float64) for length in lengths])
    wanted = centred(wanted)
    variance = float(np.square(wanted).sum())
    weights = np.zeros(len(candidates.features))
    if not variance:
        return weights
    wanted *= np.sqrt(len(wanted) / variance)
    left = candidates.gather(wanted)
    apart = len(wanted) - int(np.count_nonzero(lengths))
    free = apart - int(np.count_nonzero(left))
    way, size = left.copy(), float(left @ left)
    for _ in range(STEPS):
        if size <= 1e-12:
            break
        bent = candidates.gather(centred(candidates.score(way))) + way
        step = size / float(way @ bent)
        weights, left = weights + step * way, left - step * bent
        size, before = float(left @ left), size
        way = left + size / before * way
    unsaid = float(np.square(wanted - centred(candidates.score(weights))).mean())
    return weights if free > 0 and 1 - unsaid * apart / free >= KNOWN else np.zeros(len(weights))
