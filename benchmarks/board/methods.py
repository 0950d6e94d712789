"""Ways to choose among candidates: from lists to learn from, the weights or scores by which others are chosen."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise as pairwise_of
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.losses.contrast import MODEL
from rampion.metrics.judging import Batch
from rampion.store.units import Units
from rampion.training.recipes import Recipe
from rampion.training.reranking import scores_of
from rampion.training.task import Task
from rampion.training.validation import Ground, Parts, axes, best_single

Reals = NDArray[np.float64]
Chooser = Callable[[Task, Batch, Batch], Reals]  # lists to learn from, judged, and others: a score for each candidate

PAIRS, TRIALS = 20_000, 200


def ours(recipe: Recipe | None) -> Chooser:
    """A recipe of the table, or the default."""

    def choose(task: Task, here: Batch, there: Batch) -> Reals:
        metric = METRICS[id(task)]
        tuned = task.choose(metric) if recipe is None else task.tune(recipe.set(metric=metric))
        return there.candidates.score(tuned.weights.vector)

    return choose


def bending(task: Task, here: Batch, there: Batch) -> Reals:
    """The default that may bend."""
    bent = Task(task.lists.lists, task.lists.references, bends=True)
    return scores_of(there.candidates, bent.choose(METRICS[id(task)]).weights)


METRICS: dict[int, str] = {}  # the metric that a task is to be tuned towards


def listed(task: Task, here: Batch, there: Batch) -> Reals:
    return np.zeros(there.candidates.size)


def single(task: Task, here: Batch, there: Batch) -> Reals:
    ground = Ground(here, Parts.of(here.candidates.segments, 0, None))
    best = best_single(ground, ground.single(axes(here)))
    weights = np.zeros(len(here.candidates.features))
    if best:
        weights[best.feature] = best.sign
    return there.candidates.score(weights)


def matrix(batch: Batch) -> Reals:
    """The dense features of every candidate, a row each."""
    lists = batch.candidates.lists
    blocks = [
        lists.dense[lists.width * start : lists.width * end].reshape(lists.width, end - start).T
        for start, end in pairwise_of(lists.bounds)
    ]
    return np.vstack(blocks)


def relative(batch: Batch) -> Reals:
    """The dense features, and how far each is from the mean and the greatest of its list."""
    found, bounds = matrix(batch), batch.candidates.bounds
    parts = [
        np.hstack([rows, rows - rows.mean(axis=0), rows - rows.max(axis=0)])
        for start, end in pairwise_of(bounds)
        if len(rows := found[start:end])
    ]
    return np.vstack(parts)


def pairs(task: Task, here: Batch, there: Batch) -> Reals:
    """scikit-learn's logistic regression on differences of pairs of different costs, each divided by its spread."""
    from sklearn.linear_model import LogisticRegression

    random, rows, bounds = np.random.default_rng(0), matrix(here), here.candidates.bounds
    segment = random.integers(len(bounds) - 1, size=PAIRS)
    sizes = np.diff(bounds)[segment]
    one, two = (bounds[segment] + (random.random(PAIRS) * sizes).astype(np.int64) for _ in range(2))
    kept = here.stakes.costs[one] != here.stakes.costs[two]
    one, two = one[kept], two[kept]
    apart = rows[one] - rows[two]
    spread = np.maximum(apart.std(axis=0), 1e-12)
    model = LogisticRegression(fit_intercept=False).fit(apart / spread, here.stakes.costs[one] < here.stakes.costs[two])
    return matrix(there) @ (model.coef_[0] / spread)


def grades(batch: Batch) -> Any:
    """The place of a candidate's cost among 5 equal steps from its list's greatest to the least."""
    costs = batch.stakes.costs
    low, high = costs.min(), costs.max()
    return np.rint(4 * (high - costs) / max(high - low, 1e-12)).astype(int)


def lambdarank(task: Task, here: Batch, there: Batch) -> Reals:
    import lightgbm

    model = lightgbm.LGBMRanker(
        n_estimators=100, num_leaves=15, min_child_samples=10, n_jobs=1, verbose=-1, random_state=0
    )
    model.fit(relative(here), grades(here), group=np.diff(here.candidates.bounds))
    return np.asarray(model.predict(relative(there)), np.float64)


def pairwise(task: Task, here: Batch, there: Batch) -> Reals:
    import xgboost

    model = xgboost.XGBRanker(objective="rank:pairwise", n_estimators=100, max_depth=4, n_jobs=1, random_state=0)
    sizes = np.diff(here.candidates.bounds)
    model.fit(relative(here), grades(here), qid=np.repeat(np.arange(len(sizes)), sizes))
    return np.asarray(model.predict(relative(there)), np.float64)


def _height(batch: Batch, weights: Reals) -> float:
    sign = 1.0 if batch.metric.higher_is_better else -1.0
    return sign * batch.corpus_score(MODEL.picks(batch.stakes, batch.candidates.score(weights)))


def searched(task: Task, here: Batch, there: Batch) -> Reals:
    """The best of random weights of features in units."""
    units, random = Units.of(here.candidates), np.random.default_rng(0)
    drawn = [units.outward(random.standard_normal(len(units.sizes))) for _ in range(TRIALS)]
    return there.candidates.score(max(drawn, key=lambda weights: _height(here, weights)))


def powell(task: Task, here: Batch, there: Batch) -> Reals:
    """SciPy's Powell on the score itself, over features in units."""
    from scipy.optimize import minimize

    units = Units.of(here.candidates)
    first = np.random.default_rng(0).standard_normal(len(units.sizes)) / 10
    if len(first) > 40:
        raise ValueError("too many features for Powell")
    found = minimize(
        lambda at: -_height(here, units.outward(at)), first, method="Powell", options={"maxfev": 10 * TRIALS}
    )
    return there.candidates.score(units.outward(found.x))


PEERS: dict[str, Chooser] = {
    "LR on pairs": pairs, "LightGBM lambdarank": lambdarank, "XGBoost pairwise": pairwise, "random search": searched,
    "Powell": powell,
}  # fmt: skip
