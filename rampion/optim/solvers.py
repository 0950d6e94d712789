"""Solvers: Descent, a (sub)gradient loop; Lbfgs, through SciPy; and Cccp, Best, Annealed, which call another solver.

All minimise  sum of losses + (l2 / 2) |weights - origin|^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar, cast

import numpy as np

from rampion import _kernels
from rampion.arrays import Integers, Reals
from rampion.errors import RecipeError
from rampion.losses.contrast import MODEL, Contrast, Pinned, Sided
from rampion.metrics.judging import Batch
from rampion.protocols import Loss, Pace, Solver, Update, Watch
from rampion.store.lists import Scratch

Steps = tuple[float, float, float]  # cap, curvature, decay
S = TypeVar("S", bound=Solver[Any, Any])

HALVINGS = 12  # tries of an epoch at half the rate
CREEP = 1e-6  # a smaller relative rise of the objective is ignored: learning begins at a kink of the maximum


@dataclass(frozen=True, slots=True)
class Descent(Solver[Batch, Reals]):
    """(Sub)gradient descent: a step after every segment (Algorithm 1's SSD), in any order, or after all.

    With `averaged`, the result is the mean of the weights after every visit to a segment, with or without a step.
    With `careful`, an epoch that raises the objective is undone and tried again at half the rate; after a successful
    epoch the rate doubles. So the objective never rises from epoch to epoch.
    """

    update: Update
    epochs: int = 5
    after: Literal["segment", "all"] = "segment"
    l2: float = 0.0
    seed: int | None = None  # None: corpus order
    averaged: bool = False
    careful: bool = False

    def __post_init__(self) -> None:
        if self.careful and self.averaged:
            raise RecipeError("careful steps compare the last weights, and averaged=True returns others")
        if self.after not in ("segment", "all"):
            raise RecipeError(f"after is {self.after!r}; expected 'segment' or 'all'")

    def check(self, loss: Loss) -> None:
        _refuse_corpus(loss)
        if self.after == "all":
            if self.averaged:
                raise RecipeError(
                    "only the weights after every segment are averaged; use Descent(..., after='segment')"
                )
            return
        if not isinstance(self.update, Pace):
            raise RecipeError(f"{_name(self.update)} cannot step after every segment; use Descent(..., after='all')")
        if not isinstance(loss, Sided):
            raise RecipeError(f"{_name(loss)} is not a contrast of two sides; use Descent(..., after='all') or LBFGS()")
        if self.update.curvature and self.l2:
            raise RecipeError(f"{_name(self.update)} has no L2: its cap is the regulariser (S4.3); set l2=0")

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        self.check(loss)
        return (self._online if self.after == "segment" else self._batch)(loss, batch, weights, origin, watch)

    def _online(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None) -> Reals:
        up, down = cast(Sided, loss).stances(batch.stakes)
        if batch.offset is not None:
            up, down = up.upon(batch.offset), down.upon(batch.offset)
        cap, curvature = cast(Pace, self.update).cap, cast(Pace, self.update).curvature
        lists = batch.candidates.lists
        segments = np.arange(len(lists.bounds) - 1)
        weights_of, often = batch.stakes.weights, float(len(segments))
        if weights_of is not None:
            often = float(weights_of.sum())
        decay = cap * self.l2 / max(1.0, often) if self.l2 else 0.0
        if decay >= 1:
            raise RecipeError(f"the L2 pull of one step is {decay:g} of the distance; use a smaller rate or l2")
        movement = weights - origin
        total = np.zeros(len(weights) if self.averaged else 0)
        answer = weights
        work = Scratch.of(lists)
        shuffle = np.random.default_rng(self.seed or 0)
        pace = cap, curvature, decay

        def visit(order: Integers, movement: Reals, pace: Steps) -> None:
            _kernels.epoch(lists, order, up, down, pace, origin, movement, total, work)

        def height(movement: Reals) -> float:
            value = loss.slopes(batch.stakes, batch.scores(origin + movement))[0]
            return value + self.l2 / 2 * float(np.square(movement).sum())

        visited = 0
        for epoch in range(self.epochs):
            order = visits(segments if self.seed is None else shuffle.permutation(segments), weights_of, shuffle)
            visited += len(order)
            if self.careful:
                movement, pace = _braked(partial(visit, order), height, movement, pace)
            else:
                visit(order, movement, pace)
            answer = origin + (total / max(1, visited) if self.averaged else movement)
            if watch:
                watch(epoch + 1, answer)
        return answer

    def _batch(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None) -> Reals:
        weights, update = weights.copy(), self.update
        state = update.start(len(weights))
        value, gradient = objective(loss, batch, weights, origin, self.l2)
        for epoch in range(self.epochs):
            before = weights.copy() if self.careful else weights
            update.step(weights, gradient, value, state)
            if self.careful or epoch + 1 < self.epochs:
                found = objective(loss, batch, weights, origin, self.l2)
                if self.careful and _whole(update, found[0], weights) > _whole(update, value, before):
                    weights, update = before, paced(update, 0.5)
                else:
                    value, gradient = found
                    update = paced(update, 2.0) if self.careful else update
            if watch:
                watch(epoch + 1, weights)
        return weights


def visits(order: Integers, weights: Reals | None, random: np.random.Generator) -> Integers:
    """An epoch's visits: a segment of weight 2 is visited twice in succession, one of 2.5 twice or three times."""
    if weights is None:
        return order
    often = np.floor(weights[order])
    between = np.flatnonzero(weights[order] > often)
    often[between] += random.random(len(between)) < (weights[order] - often)[between]
    return np.repeat(order, often.astype(np.int64))


def _braked(
    visit: Callable[[Reals, Steps], None], height: Callable[[Reals], float], movement: Reals, pace: Steps
) -> tuple[Reals, Steps]:
    """Run an epoch, halving the rate until the objective does not rise; the next epoch has twice that rate."""
    highest = height(movement)
    highest += CREEP * abs(highest)
    for _ in range(HALVINGS):
        tried = movement.copy()
        visit(tried, pace)
        if height(tried) <= highest:
            return tried, pace if pace[2] > 0.25 else _times(pace, 2.0)
        pace = _times(pace, 0.5)
    return movement, pace


def _times(pace: Steps, factor: float) -> Steps:
    return factor * pace[0], pace[1], factor * pace[2]


@dataclass(frozen=True, slots=True)
class Cccp(Solver[Batch, Reals]):
    """Each round makes the concave (up) side linear at the present weights; the inner solver minimises that (S4)."""

    inner: Solver[Batch, Reals]
    rounds: int = 10

    def check(self, loss: Loss) -> None:
        if not isinstance(loss, Contrast):
            raise RecipeError(f"Cccp needs a loss with an up side to pin; {_name(loss)} has none: use its solver alone")
        self.inner.check(Pinned(np.zeros(0), loss.down))

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        self.check(loss)
        for round_ in range(self.rounds):
            pinned = cast(Contrast, loss).pinned(batch.stakes, batch.scores(weights))
            weights = self.inner.solve(pinned, batch, weights, origin)
            if watch:
                watch(round_ + 1, weights)
        return weights


@dataclass(frozen=True, slots=True)
class Best(Solver[Batch, Reals]):
    """The best round of the inner solver: the first whose choices score highest on the training lists (S7.2)."""

    inner: Solver[Batch, Reals]

    def check(self, loss: Loss) -> None:
        if self.inner.form != self.form:
            raise RecipeError(f"Best scores lists, and {_name(self.inner)} has none: use {_name(self.inner)} alone")
        self.inner.check(loss)

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        sign = 1.0 if batch.metric.higher_is_better else -1.0
        best, chosen = -np.inf, weights

        def keep(round_: int, found: Reals) -> None:
            nonlocal best, chosen
            score = sign * batch.corpus_score(MODEL.picks(batch.stakes, batch.scores(found)))
            if score > best:
                best, chosen = score, found.copy()
            if watch:
                watch(round_, found)

        last = self.inner.solve(loss, batch, weights, origin, keep)
        return chosen if best > -np.inf else last


@dataclass(frozen=True, slots=True)
class Annealed(Solver[Batch, Reals]):
    """Runs of the inner solver in which one parameter of the loss falls geometrically to its own value (S8).

    `warmth` is Smith & Eisner's cooling of the entropy term; `temperature` their quenching, gamma = 1 / temperature.
    """

    inner: Solver[Batch, Reals]
    anneal: Literal["warmth", "temperature"] = "warmth"
    hot: float = 1.0
    cooling: float = 0.5
    rounds: int = 5

    def check(self, loss: Loss) -> None:
        if not hasattr(loss, self.anneal):
            raise RecipeError(f"Annealed lowers the {self.anneal} of a loss; {_name(loss)} has none: use Risk")
        if not (self.hot >= 0 and 0 < self.cooling < 1):
            raise RecipeError(f"hot is {self.hot} and cooling {self.cooling}; expected hot >= 0 and 0 < cooling < 1")
        self.inner.check(loss)

    def levels(self, coldest: float) -> list[float]:
        """The values of the parameter: from `coldest` + hot down to `coldest`."""
        return [coldest + self.hot * self.cooling**round_ for round_ in range(self.rounds - 1)] + [coldest]

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        self.check(loss)
        for round_, level in enumerate(self.levels(getattr(loss, self.anneal))):
            warm = replace(cast(Any, loss), **{self.anneal: level})
            weights = self.inner.solve(warm, batch, weights, origin)
            if watch:
                watch(round_ + 1, weights)
        return weights


@dataclass(frozen=True, slots=True)
class Lbfgs(Solver[Batch, Reals]):
    """SciPy's L-BFGS-B, for smooth losses."""

    l2: float = 1.0
    steps: int = 100
    memory: int = 20

    def check(self, loss: Loss) -> None:
        _refuse_corpus(loss)
        if not loss.smooth:
            raise RecipeError(
                f"Lbfgs needs a smooth loss; {_name(loss)} picks single candidates: soften its sides or use Descent"
            )

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        self.check(loss)
        rounds = iter(range(1, self.steps + 1))
        told = (lambda at: watch(next(rounds), at)) if watch else None
        return minimised(lambda at: objective(loss, batch, at, origin, self.l2), weights, self.steps, self.memory, told)


def minimised(
    value: Callable[[Reals], tuple[float, Reals]], start: Reals, steps: int, memory: int = 20,
    told: Callable[[Reals], None] | None = None,
) -> Reals:  # fmt: skip
    """The minimum of a function with gradient, by SciPy's L-BFGS-B."""
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # more threads would be no faster, and would sum in another order
        found = minimize(
            value, start, jac=True, method="L-BFGS-B", callback=told, options={"maxiter": steps, "maxcor": memory}
        )
    return np.asarray(found.x)


def careful(solver: S) -> S:
    """The solver with `careful` steps, which cannot raise the objective, if its steps have a given length.

    Averaged steps stay, because their result is a mean, and so do the steps of RPROP, which follow signs.
    """
    if isinstance(solver, Descent):
        fits = isinstance(solver.update, Pace) or hasattr(solver.update, "rate")
        return replace(solver, careful=True) if fits and not solver.averaged else solver
    inner = getattr(solver, "inner", None)
    return solver if inner is None else replace(cast(Any, solver), inner=careful(inner))


def paced(update: Update, times: float) -> Update:
    """The update with its rate multiplied by a factor."""
    return cast(Update, replace(cast(Any, update), rate=times * cast(Any, update).rate))


def _whole(update: Update, value: float, weights: Reals) -> float:
    """The objective with the L1 that the update handles."""
    l1 = getattr(update, "l1", 0.0)
    return value + l1 * float(np.abs(weights).sum()) if l1 else value


def objective(loss: Loss, batch: Batch, weights: Reals, origin: Reals, l2: float) -> tuple[float, Reals]:
    """The regularised loss and its (sub)gradient."""
    value, gradient = batch.gradient(loss, weights)
    if l2:
        away = weights - origin
        value += l2 / 2 * float(np.square(away).sum())
        gradient += l2 * away
    return value, gradient


def _refuse_corpus(loss: Loss) -> None:
    if loss.scope == "corpus":
        raise RecipeError(f"{_name(loss)} is flat between its jumps and has no slope to follow; use LineSearch()")


def _name(part: object) -> str:
    return type(part).__name__
