"""Minimum error rate training (Och 2003): the score of the corpus, maximised by exact searches along lines (S5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Reals
from rampion.errors import RecipeError, TuningError
from rampion.losses.contrast import MODEL
from rampion.metrics.judging import Batch, Stakes
from rampion.protocols import Loss, Solver, Watch
from rampion.store.candidates import Candidates
from rampion.threads import in_order, processors

NARROWEST = 1e-4  # narrower intervals of a line are ignored (S5.1)
FARTHEST = 10.0  # the longest step, in units of the largest initial weight or of 1; beyond it only the scale grows


@dataclass(frozen=True, slots=True)
class CorpusScore(Loss):
    """The corpus metric of the candidates that the model chooses: no sum over segments, and flat between its jumps.

    `slopes` sees costs only. It returns the cost of the choices, and their slopes, which are 0 almost everywhere.
    """

    smooth = False
    scope = "corpus"

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]:
        picks = MODEL.picks(stakes, scores)
        costs = stakes.costs[picks]
        if stakes.weights is not None:
            costs = costs * stakes.weights[np.diff(stakes.bounds) > 0]
        return float(costs.sum()), np.zeros(len(scores))


@dataclass(frozen=True, slots=True)
class LineSearch(Solver[Batch, Reals]):
    """Exact searches along lines. Each step goes to the best corpus score of a line, from several starting points.

    powell      searches along all axes and some random directions, then goes to the best point of all
    sequential  searches along them one by one, and goes to each better point at once
    random      searches along random directions, until `patience` of them in succession gained nothing

    The axes are the dense features, and the sparse ones if they are few, such as indicators; of many sparse ones only
    the most frequent, if any. Other weights stay as they are. L2 counts against the score, in points of the metric:
    l2 / 2 |weights - origin|^2 at the point that stands for an interval.
    """

    search: Literal["powell", "sequential", "random"] = "powell"
    restarts: int = 20
    historic: bool = False  # start also from the final weights of every earlier decoding iteration
    around: bool = False  # draw random points from [w - 1, w + 1] around the initial weights w; otherwise from [-1, 1]
    directions: int = 0
    patience: int = 50
    few: int = 100  # if there are at most this many sparse features, all become axes
    sparse: int = 0  # if there are more, this many of the most frequent become axes
    gain: float = 1e-6  # the least gain that counts, as a share of the score
    l2: float = 0.0
    seed: int = 0
    threads: int = 0  # 0: one for each processor; the result is the same for any number

    def __post_init__(self) -> None:
        if self.search not in ("powell", "sequential", "random"):
            raise RecipeError(f"search is {self.search!r}; expected 'powell', 'sequential' or 'random'")
        for name in ("restarts", "directions", "patience", "few", "sparse", "gain", "l2", "seed", "threads"):
            if getattr(self, name) < 0:
                raise RecipeError(f"{name} is {getattr(self, name)}; expected 0 or more")

    def check(self, loss: Loss) -> None:
        if loss.scope != "corpus":
            raise RecipeError(
                f"LineSearch maximises the score of the whole corpus, which {type(loss).__name__} is not; "
                "use CorpusScore(), or a solver that follows slopes"
            )

    def axes(self, candidates: Candidates) -> NDArray[np.int64]:
        """The features to search along: the dense ones, and the most frequent sparse ones, of equals the first."""
        lists = candidates.lists
        shifts = np.repeat(lists.feature_bounds[:-1], np.diff(lists.entry_bounds[lists.bounds]))
        counts = np.bincount(lists.features[lists.entries + shifts], minlength=len(candidates.features))
        there = int(np.count_nonzero(counts))
        frequent = np.argsort(-counts, kind="stable")[: there if there <= self.few else min(self.sparse, there)]
        axes = np.concatenate([np.arange(lists.width), frequent])
        if not len(axes):
            raise TuningError(
                f"the lists have no dense features to search along, and {there} sparse ones, which are many; search "
                "along the most frequent ones (--set sparse=100)"
            )
        return axes

    def unmoved(self, candidates: Candidates) -> int:
        """The number of features whose weights stay as they are."""
        return len(candidates.features) - len(self.axes(candidates))

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        self.check(loss)
        ground = _Ground(batch, self.axes(batch.candidates), weights, origin, self.l2)

        known = [weights, *(batch.history if self.historic else ())]

        def walked(turn: int) -> tuple[float, Reals]:
            drawn = max(0, turn - len(known) + 1)
            random, first = np.random.default_rng([self.seed, drawn]), (weights if drawn else known[turn]).copy()
            if drawn:
                first[ground.axes] = random.uniform(-1, 1, len(ground.axes)) + self.around * weights[ground.axes]
            walk = _Walk(self, ground, random, first)
            getattr(walk, self.search)()
            return walk.value, walk.weights

        best, answer = -np.inf, weights
        starts = range(len(known) + self.restarts)
        for turn, (value, reached) in enumerate(in_order(walked, starts, self.threads or processors()), 1):
            if value > best:
                best, answer = value, reached
                if watch:
                    watch(turn, reached)
        return answer


class _Line(NamedTuple):
    """A direction over the axes, the candidates' slopes along it, and each list's candidates of extreme slopes."""

    direction: Reals
    slopes: Reals
    flattest: NDArray[np.int64]
    steepest: NDArray[np.int64]


class _Ground:
    """The data that all walks share: the lists, the axes, and the metric as a height (higher is better)."""

    def __init__(self, batch: Batch, axes: NDArray[np.int64], weights: Reals, origin: Reals, l2: float) -> None:
        self.batch, self.axes, self.l2, self.origin = batch, axes, l2, origin
        self.reach = FARTHEST * max(1.0, float(np.abs(weights).max()))
        self.statistics = np.ascontiguousarray(batch.statistics, np.float64)  # sums of integers stay exact
        self.sorting: Literal["quicksort", "stable"] = "stable" if batch.statistics.dtype.kind == "f" else "quicksort"
        self.lines = [self.line(direction) for direction in np.eye(len(axes))]

    def line(self, direction: Reals) -> _Line:
        ahead = np.zeros(len(self.origin))
        ahead[self.axes] = direction
        slopes = self.batch.candidates.score(ahead)
        return _Line(direction, slopes, *self.extremes(slopes))

    def extremes(self, values: Reals) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The candidates of least and of greatest value in every list."""
        bounds = self.batch.candidates.bounds
        least, most = np.empty((2, len(bounds) - 1), np.int64)
        _kernels.extremes(values, bounds, least, most)
        return least, most

    def height(self, totals: Reals) -> Reals:
        """The metric of sums of statistics, higher is better."""
        scores = self.batch.metric.scores(totals)
        return scores if self.batch.metric.higher_is_better else -scores

    def penalty(self, weights: Reals) -> float:
        return self.l2 / 2 * float(np.square(weights - self.origin).sum())

    def penalties(self, weights: Reals, direction: Reals, spots: Reals) -> Reals:
        """The penalty at weights + spot * direction."""
        away = (weights - self.origin)[self.axes]
        tilt, bend = float((away * direction).sum()), float(np.square(direction).sum()) / 2
        return self.penalty(weights) + self.l2 * spots * (tilt + spots * bend)

    def value(self, weights: Reals, scores: Reals) -> float:
        picks = MODEL.picks(self.batch.stakes, scores)
        return float(self.height(self.statistics[picks].sum(axis=0)[np.newaxis])[0]) - self.penalty(weights)


class _Walk:
    """One walk: its weights, their height, and work arrays for the kernels."""

    def __init__(self, solver: LineSearch, ground: _Ground, random: np.random.Generator, weights: Reals) -> None:
        self.solver, self.ground, self.source = solver, ground, random
        candidates, (n, width) = ground.batch.candidates, ground.statistics.shape
        self.kept, self.winners = np.empty(candidates.lists.longest, np.int64), np.empty(n, np.int64)
        self.starts, self.spots = np.empty(n), np.empty(n)
        self.total, self.totals = np.empty(width), np.empty((width, n))
        self.stand(weights)

    def stand(self, weights: Reals) -> None:
        self.weights, self.scores = weights, self.ground.batch.scores(weights)
        self.highest = self.ground.extremes(self.scores)[1]
        self.value = self.ground.value(weights, self.scores)

    def look(self, line: _Line) -> tuple[float, float]:
        """The height and the distance of the best interval of a line; of equals, the nearest one."""
        bounds, room = self.ground.batch.candidates.bounds, (self.kept, self.starts, self.winners)
        count = _kernels.envelope(self.scores, *line[1:], self.highest, bounds, *room)
        order = np.argsort(self.starts[:count], kind=self.ground.sorting)
        within, out = (NARROWEST, self.ground.reach), (self.total, self.spots, self.totals)
        count = _kernels.sweep(self.starts, self.winners, order, self.ground.statistics, *within, *out)
        if not count:
            return -np.inf, 0.0
        spots, heights = self.spots[:count], self.ground.height(self.totals[:, :count].T)
        if self.ground.l2:
            heights = heights - self.ground.penalties(self.weights, line.direction, spots)
        best = np.flatnonzero(heights == heights.max())
        place = best[np.argmin(np.abs(spots[best]))]
        return float(heights[place]), float(spots[place])

    def go(self, line: _Line, height: float, spot: float) -> bool:
        """Move there if the height gains; return whether it did."""
        least = self.solver.gain * abs(self.value)
        if not height > self.value + least:
            return False
        before = self.weights, self.scores, self.highest, self.value
        weights = self.weights.copy()
        weights[self.ground.axes] += spot * line.direction
        self.stand(weights)
        if self.value > before[-1] + least:
            return True
        self.weights, self.scores, self.highest, self.value = before
        return False

    def random_line(self) -> _Line:
        direction = self.source.standard_normal(len(self.ground.axes))
        return self.ground.line(direction / np.sqrt(np.square(direction).sum()))

    def lines(self) -> Sequence[_Line]:
        return [*self.ground.lines, *(self.random_line() for _ in range(self.solver.directions))]

    def powell(self) -> None:
        lines = self.lines()
        while lines:
            height, spot, best = max(((*self.look(line), line) for line in lines), key=lambda look: look[0])
            gained = self.go(best, height, spot)
            lines = [line for line in self.lines() if line is not best] if gained else []  # the top of `best`

    def sequential(self) -> None:
        gained = True
        while gained:
            gained = sum(self.go(line, *self.look(line)) for line in self.lines()) > 0

    def random(self) -> None:
        failures = 0
        while failures < self.solver.patience:
            line = self.random_line()
            failures = 0 if self.go(line, *self.look(line)) else failures + 1
