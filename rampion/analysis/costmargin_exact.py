"""Costmargin solved exactly where all candidates can be enumerated: the laws behind relevant sets (S10.5, S10.13).

Q(w) is the mean, over the pairs of a segment and one of its K truths z, of the greatest psi(w, z, z') over the
alternatives z', plus l2 ||w||^2, where psi = gap * slack_+^2 as in `rampion.losses.ranking`, with the gradient
-2 gap slack_+ (F(z) - F(z')). Online, the rate stands for rate * 2, in the step of the loss and in that of l2, so that
l2 means the same in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf, log2
from typing import NamedTuple

import numpy as np

from rampion.arrays import Integers, Mask, Reals
from rampion.errors import InputError, RecipeError, TuningError

EXACT = 1e-12  # the largest error of a minimum, relative to 1 or to the objective, whichever is greater
ROUNDING = 4e-15  # a pull (of unit vectors) up to this is rounding error
SAME = 1e-8  # two values of psi this close are both the greatest
SLACK = 1e-7  # the rounding error that a checked inequality may have


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Rows of (truth, alternative). A pair is a segment and one of its truths; its rows follow one another."""

    differences: Reals  # [rows, features]: F(z) - F(z')
    gaps: Reals  # Bl(z) - Bl(z'), at least 0
    pairs: Integers  # the number of every row's pair, ascending from 0
    candidates: Integers  # z', numbered through all segments
    bounds: Integers  # candidates of segment s: bounds[s] .. bounds[s + 1]
    truths: int
    l2: float

    @classmethod
    def build(cls, features: Reals, gains: Reals, bounds: Integers, truths: int, l2: float) -> Problem:
        """A problem whose truths are the candidates of greatest gain (in case of ties the first), in each segment."""
        if not 0 < l2 < inf:
            raise RecipeError(f"l2 is {l2}; without a regulariser there may be no unique minimum: give one above 0")
        if wrong := np.flatnonzero(~(np.isfinite(gains) & np.isfinite(features).all(axis=1))).tolist():
            raise InputError(f"candidate {wrong[0]} has a feature or a gain that is not finite: leave it out")
        rows: list[tuple[Integers, Integers]] = []
        for s, (first, end) in enumerate(pairwise(bounds)):
            if not 1 <= truths < end - first:
                raise RecipeError(
                    f"segment {s} has {end - first} candidates for {truths} truths: "
                    "expected one truth or more, and one candidate more than truths"
                )
            order = first + np.argsort(-gains[first:end], kind="stable")
            others = np.sort(order[truths:])
            rows += [(np.full(len(others), truth), others) for truth in order[:truths]]
        better, worse = (np.concatenate(side) for side in zip(*rows, strict=True))
        pairs = np.repeat(np.arange(len(rows)), [len(others) for _, others in rows])
        return cls(features[better] - features[worse], gains[better] - gains[worse], pairs, worse, bounds, truths, l2)

    def psi(self, weights: Reals) -> Reals:
        """The loss of every row: gap * slack_+^2 (eq. 4)."""
        return np.asarray(self.gaps * self._slacks(weights) ** 2)

    def slopes(self, weights: Reals) -> Reals:
        """The gradient of every row's psi."""
        return np.asarray((-2 * self.gaps * self._slacks(weights))[:, np.newaxis] * self.differences)

    def _slacks(self, weights: Reals) -> Reals:
        return np.maximum(1 - self.differences @ weights, 0)

    def greatest(self, weights: Reals, relevant: Mask | None = None) -> Reals:
        """The greatest psi of every pair over its relevant alternatives (None: over all); 0 if it has none."""
        losses = self.psi(weights)
        if relevant is not None:
            losses *= relevant[self.candidates]
        return np.asarray(np.maximum.reduceat(losses, np.searchsorted(self.pairs, np.arange(self.pairs[-1] + 1))))

    def objective(self, weights: Reals, relevant: Mask | None = None) -> float:
        """Q, or the objective over the relevant alternatives only (eq. 5)."""
        return float(self.greatest(weights, relevant).mean() + self.l2 * weights @ weights)

    def minimum(self, relevant: Mask | None = None) -> Reals:
        """The weights of the least objective; the dual problem certifies that its error is at most EXACT.

        With u = sqrt(gap) (F(z) - F(z')) and h = sqrt(gap), psi is (h - u.w)_+^2. Of n pairs then, the objective is
        ||x||^2 for x = (sqrt(l2) w, xi / sqrt(n)), and the least such x with u.w + xi >= h in every row is the
        residual of a non-negative least squares (Lawson & Hanson 1974, chapter 23).
        """
        rows = np.arange(len(self.gaps)) if relevant is None else np.flatnonzero(relevant[self.candidates])
        width, pairs = self.differences.shape[1], int(self.pairs[-1]) + 1
        if not len(rows):
            return np.zeros(width)
        needed = np.sqrt(self.gaps[rows])
        sides = np.zeros((len(rows), width + pairs))
        sides[:, :width] = needed[:, np.newaxis] * self.differences[rows] / np.sqrt(self.l2)
        sides[np.arange(len(rows)), width + self.pairs[rows]] = np.sqrt(pairs)
        system = np.vstack([sides.T, needed])
        target = np.append(np.zeros(width + pairs), 1)
        shares = _nonnegative(system, target)
        dual = shares / (1 - needed @ shares)
        point = dual @ sides
        weights: Reals = point[:width] / np.sqrt(self.l2)
        reached = self.objective(weights, relevant)
        above = reached - (2 * needed @ dual - point @ point)
        if not above <= EXACT * max(1.0, reached):
            raise TuningError(
                f"the objective may be {above:.1e} above its minimum, expected {EXACT:g}: "
                f"l2 = {self.l2:g} is too small for features of this size, raise it"
            )
        return weights

    def relevant(self, weights: Reals) -> Mask:
        """A mask of the candidates whose psi is the greatest of a pair (Lemma 1)."""
        mask = np.zeros(self.bounds[-1], np.bool_)
        mask[self.candidates[self.psi(weights) >= self.greatest(weights)[self.pairs] - SAME]] = True
        return mask

    def worst(self, weights: Reals) -> Integers:
        """Every pair's row of greatest psi, in case of ties the first."""
        found = np.flatnonzero(self.psi(weights) == self.greatest(weights)[self.pairs])
        return found[np.unique(self.pairs[found], return_index=True)[1]]


def _nonnegative(system: Reals, target: Reals) -> Reals:
    """The x >= 0 of least ||system x - target||, by Lawson & Hanson's active set method.

    scipy.optimize.nnls is not used: it returned wrong answers on about one in a thousand degenerate problems, that is,
    those with equal or linearly dependent columns, which are common here.
    """
    sizes: Reals = np.linalg.norm(system, axis=0)
    x: Reals = np.zeros(len(sizes))
    used, barred = np.zeros((2, len(sizes)), np.bool_)

    def least() -> Reals:
        trial: Reals = np.zeros(len(x))
        trial[used] = np.linalg.lstsq(system[:, used], target, rcond=None)[0]
        return trial

    for _ in range(3 * len(x)):
        pulls = system.T @ (target - system @ x)
        pulls[used | barred] = 0
        new = int(np.argmax(pulls / sizes))
        if pulls[new] <= ROUNDING * sizes[new]:
            break
        used[new] = True
        trial = least()
        if trial[new] <= 0:  # the pull was rounding error
            used[new], barred[new] = False, True
            continue
        while len(below := np.flatnonzero(trial < 0)):
            steps = x[below] / (x[below] - trial[below])
            x += steps.min() * (trial - x)
            used[below[np.argmin(steps)]] = False
            x[~used] = 0
            trial = least()
        x, barred[:] = trial, False
    return x


class Round(NamedTuple):
    """The result of a round of Table X."""

    weights: Reals  # the minimum of the round's objective
    relevant: Mask  # the candidates that have been added as alternatives
    delta: float  # the least Q minus the least value of the round's objective
    distance: float  # of the weights from those of the least Q
    steepest: float  # M: the greatest norm of slope + 2 l2 w over the chosen rows, at the weights before the round
    printed: float  # the greatest norm of slope + l2 w, as Lemma 2 is printed


def rounds(problem: Problem, count: int) -> list[Round]:
    """Table X: in every round each pair adds the worst alternative of all, then the objective is minimised."""
    best = problem.minimum()
    least = problem.objective(best)
    weights, relevant = np.zeros_like(best), np.zeros(problem.bounds[-1], np.bool_)
    found = []
    for _ in range(count):
        rows = problem.worst(weights)
        slopes, pull = problem.slopes(weights)[rows], problem.l2 * weights
        steepest, printed = (float(np.linalg.norm(slopes + by * pull, axis=1).max()) for by in (2, 1))
        relevant = relevant.copy()
        relevant[problem.candidates[rows]] = True
        weights = problem.minimum(relevant)
        delta = least - problem.objective(weights, relevant)
        found.append(Round(weights, relevant, delta, float(np.linalg.norm(weights - best)), steepest, printed))
    return found


class Theorem(NamedTuple):
    """How the rounds compare with the theory. A law holds where its `excess` is at most SLACK."""

    delta: Reals  # of every round
    bound: Reals  # of delta, by Theorem 1
    excess: dict[str, Reals]  # by law: left side minus right side

    @property
    def violated(self) -> Mask:
        """A mask of the violations, one value for every check of every law."""
        return np.concatenate(list(self.excess.values())) > SLACK


def theorem(problem: Problem, count: int) -> Theorem:
    """Check Lemma 1, Lemma 2 and Theorem 1; the latter two with the M of the proof, and with the M as printed."""
    ran = rounds(problem, count)
    delta, distance = np.array([each.delta for each in ran]), np.array([each.distance for each in ran])
    before = np.append(problem.objective(problem.minimum()), delta[:-1])
    sizes = np.array([np.add.reduceat(each.relevant, problem.bounds[:-1], dtype=np.int64).max() for each in ran])
    excess = {
        "lemma 1": _lemma_1(problem),
        "delta is not negative": -delta,
        "delta never rises": delta - before,
        "lemma 2, distance": distance**2 - delta / problem.l2,
        "truths times rounds": sizes - problem.truths * np.arange(1.0, count + 1),
    }
    steepest = {"": np.array([each.steepest for each in ran]), " as printed": np.array([each.printed for each in ran])}
    bounds = {form: _bound(problem, slopes.max(), count) for form, slopes in steepest.items()}
    for form, slopes in steepest.items():
        excess["lemma 2" + form] = delta - _recursion(before, slopes, problem.l2)
        excess["theorem 1" + form] = delta - bounds[form]
        excess["theorem 1, distance" + form] = distance - np.sqrt(bounds[form] / problem.l2)
    return Theorem(delta, bounds[""], excess)


def _lemma_1(problem: Problem) -> Reals:
    """How far the objective and the weights move if only the relevant alternatives of the minimum are kept."""
    best = problem.minimum()
    kept = problem.relevant(best)
    again = problem.minimum(kept)
    return np.array([abs(problem.objective(again, kept) - problem.objective(best)), np.linalg.norm(again - best)])


def _recursion(before: Reals, steepest: Reals, l2: float) -> Reals:
    """Lemma 2: max(delta / 2, delta - l2 delta^2 / (4 M^2)) of the last round's delta; delta / 2 if M is 0."""
    fall = np.full_like(before, inf)
    np.divide(l2 * before**2, 4 * steepest**2, out=fall, where=steepest > 0)
    return np.asarray(np.maximum(before / 2, before - fall))


def _bound(problem: Problem, steepest: float, count: int) -> Reals:
    """Theorem 1: with A = 2 M^2 / l2, 2 A / (l - l* + 2) from the first round l* on where Q(0) / 2^l is at most A.

    Before l*, delta is at most Q(0) / 2^l, as in the proof of Lemma 3.
    """
    scale, start = 2 * steepest**2 / problem.l2, problem.objective(np.zeros(problem.differences.shape[1]))
    first = max(0, ceil(log2(start / scale))) if scale else 0
    after = np.arange(1, count + 1) - first
    return np.where(after >= 0, 2 * scale / np.maximum(after + 2, 1), start / 2.0 ** np.arange(1, count + 1))


def draw(
    seed: int, l2: float, scale: float = 1.0, truths: int = 2, shape: tuple[int, int, int] = (6, 25, 5)
) -> Problem:
    """A random problem; shape is (segments, candidates of each, features), F ~ scale * N(0, 1), gains ~ U(0, 1)."""
    rng = np.random.default_rng(seed)
    segments, each, width = shape
    features = scale * rng.standard_normal((segments * each, width))
    return Problem.build(features, rng.uniform(size=segments * each), each * np.arange(segments + 1), truths, l2)
