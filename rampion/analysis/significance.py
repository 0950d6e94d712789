"""Intervals of scores, and significance of differences: segments are resampled from cached statistics (S12).

A system's statistics are [segments, width], or [runs, segments, width] for several runs of it (seeds of its optimiser).
Runs are pooled: a system's score is that of all rows of all its runs. Whatever the test, p counts the trials that reach
the observed difference, itself among them: it is never 0, and 1 for two systems that are the same.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rampion._kernels import deal, draw
from rampion.arrays import Reals
from rampion.errors import InputError, RecipeError

# Two differences this close, relative to the scores, are one difference that was summed in two orders.
TIE = 1e-10


class Scored(Protocol):
    """A metric, or any other score that is a function of sums over units."""

    def scores(self, totals: NDArray[Any]) -> Reals: ...


class Spread(NamedTuple):
    """The scores of the runs of a system; the standard deviation is the sample's, and NaN for one run."""

    mean: float
    sd: float
    min: float
    max: float
    median: float


class Interval(NamedTuple):
    """A score with the bounds of its percentile interval."""

    score: float
    low: float
    high: float


class Bootstrapped(NamedTuple):
    """The second system's score minus the first's, its percentile interval, and two p-values of no gain.

    p counts the samples whose gain lies as far from the samples' mean gain as the observed one from 0: two-sided.
    folded uses absolute gains in the mean, too, as Riezler & Maxwell (2005), Moses and sacrebleu do; for a
    clear gain it is half of p, and it does not rise above about 0.4 unless the systems are the same.
    """

    score: float
    low: float
    high: float
    p: float
    folded: float


class Randomised(NamedTuple):
    """The second system's score minus the first's, the two-sided p-value of no gain, and the number of trials."""

    score: float
    p: float
    deals: int
    exact: bool


def spread(metric: Scored, statistics: NDArray[Any]) -> Spread:
    """Mean, standard deviation, extremes and median of the scores of several runs.

    Parameters
    ----------
    metric : Metric
        What makes scores of sums of statistics.
    statistics : numpy.ndarray
        The statistics of a system, [runs, segments, width].

    Returns
    -------
    Spread
        The numbers; sd is NaN for one run.

    Examples
    --------
    >>> from rampion.analysis.significance import spread
    >>> runs = np.array([[[1, 4], [0, 4]], [[2, 4], [2, 4]]])
    >>> spread(rampion.metric("wer"), runs).mean
    31.25
    """
    scores = metric.scores(_runs(statistics).sum(axis=1))
    sd = scores.std(ddof=1) if len(scores) > 1 else np.nan
    return Spread(*map(float, (scores.mean(), sd, scores.min(), scores.max(), np.median(scores))))


def bootstrap(
    metric: Scored, statistics: NDArray[Any], samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """The score of a system, and its interval over segments drawn with replacement (Koehn 2004).

    Parameters
    ----------
    metric : Metric
        What makes scores of sums of statistics.
    statistics : numpy.ndarray
        The statistics of the system, [segments, width] or [runs, segments, width].
    samples : int
        How often segments are drawn.
    seed : int
        The seed of the draws.
    level : float
        The share of the samples that the interval holds.

    Returns
    -------
    Interval
        The score and the bounds of its interval.

    Raises
    ------
    InputError
        If the statistics have another shape.

    Examples
    --------
    >>> from rampion.analysis.significance import bootstrap
    >>> found = bootstrap(rampion.metric("wer"), np.array([[1, 4], [0, 4], [2, 4], [1, 4]]))
    >>> found.score, found.low <= found.score <= found.high
    (25.0, True)
    """
    rows = _runs(statistics).sum(axis=0)
    resampled = metric.scores(_drawn(rows, samples, seed))
    return Interval(float(metric.scores(rows.sum(axis=0)[np.newaxis])[0]), *_bounds(resampled, level))


def paired_bootstrap(
    metric: Scored, first: NDArray[Any], second: NDArray[Any], samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Bootstrapped:
    """The gain of the second system over the first, with the same segments in both samples.

    Parameters
    ----------
    metric : Metric
        What makes scores of sums of statistics.
    first, second : numpy.ndarray
        The statistics of the systems, [segments, width] or [runs, segments, width].
    samples : int
        How often segments are drawn.
    seed : int
        The seed of the draws.
    level : float
        The share of the samples that the interval holds.

    Returns
    -------
    Bootstrapped
        The gain, its interval, and two p-values of no gain.

    Raises
    ------
    InputError
        If the statistics do not fit together.

    Examples
    --------
    >>> from rampion.analysis.significance import paired_bootstrap
    >>> first, second = np.array([[2, 4], [1, 4], [2, 2]]), np.array([[1, 4], [1, 4], [0, 2]])
    >>> paired_bootstrap(rampion.metric("wer"), first, second).score
    -30.0
    """
    one, two = _paired(first, second)
    rows = np.hstack([one.sum(axis=0), two.sum(axis=0)])
    totals = np.vstack([rows.sum(axis=0), _drawn(rows, samples, seed)])
    width = one.shape[2]
    gains = metric.scores(totals[:, width:]) - metric.scores(totals[:, :width])
    gain, gains = float(gains[0]), gains[1:]
    p = _p(np.abs(gains - gains.mean()) >= abs(gain))
    folded = _p(np.abs(gains) - np.abs(gains).mean() >= abs(gain))
    return Bootstrapped(gain, *_bounds(gains, level), p, folded)


def randomisation(
    metric: Scored, first: NDArray[Any], second: NDArray[Any], trials: int = 10_000, seed: int = 0
) -> Randomised:
    """The gain of the second system over the first, and its p-value by approximate randomisation (S12.1).

    If there are no more different deals than `trials`, each is tried once, and p is exact.

    Parameters
    ----------
    metric : Metric
        What makes scores of sums of statistics.
    first, second : numpy.ndarray
        The statistics of the systems, [segments, width] or [runs, segments, width]. With unequal numbers of runs the
        means over runs are dealt, so that p is about other segments, not about other runs.
    trials : int
        The number of deals.
    seed : int
        The seed of the deals.

    Returns
    -------
    Randomised
        The gain, the p-value of no gain, the number of deals, and whether they are all there are.

    Raises
    ------
    InputError
        If the statistics do not fit together.

    Examples
    --------
    >>> from rampion.analysis.significance import randomisation
    >>> first, second = np.array([[2, 4], [1, 4], [2, 2]]), np.array([[1, 4], [1, 4], [0, 2]])
    >>> randomisation(rampion.metric("wer"), first, second)
    Randomised(score=-30.0, p=0.5, deals=4, exact=True)
    """
    one, two = _paired(first, second)
    if len(one) != len(two):  # no fair deal of runs: then of their means
        one, two = one.mean(axis=0, keepdims=True), two.mean(axis=0, keepdims=True)
    pools = np.concatenate([one, two]).transpose(1, 0, 2)
    whole, runs = pools.sum(axis=(0, 1)), len(one)
    dealt = (pools != pools[:, :1]).any(axis=(1, 2))  # where all rows are equal, every deal is the same
    ways = comb(2 * runs, runs) ** int(dealt.sum())
    exact = ways <= trials
    totals = _every_deal(pools[dealt]) if exact else _dealt(pools[dealt], trials, seed)
    totals += pools[~dealt].sum(axis=(0, 1)) / 2
    scores = metric.scores(np.stack([one.sum(axis=(0, 1)), two.sum(axis=(0, 1))]))
    gains = metric.scores(whole - totals) - metric.scores(totals)
    gain = float(scores[1] - scores[0])
    reached = np.abs(gains) >= abs(gain) - TIE * np.abs(scores).sum()
    return Randomised(gain, float(reached.mean()) if exact else _p(reached), len(gains), exact)


def _drawn(rows: Reals, samples: int, seed: int) -> Reals:
    """For each sample, the sum of len(rows) rows that are drawn with replacement."""
    streams, totals = _streams(samples, seed), np.zeros((samples, rows.shape[1]))
    draw(rows, streams, np.empty(len(rows), np.int64), totals)
    return totals


def _dealt(pools: Reals, trials: int, seed: int) -> Reals:
    """For each trial, the sum of a random half of every pool."""
    segments, pool, width = pools.shape
    streams, totals = _streams(trials, seed), np.zeros((trials, width))
    picks = np.empty(segments * pool // 2, np.int64)
    deal(pools.reshape(-1, width), streams, np.empty(pool, np.int64), picks, totals)
    return totals


def _streams(trials: int, seed: int) -> NDArray[np.uint64]:
    """The start of every trial's random stream. That of trial t does not depend on the number of trials."""
    if trials < 1 or seed < 0:
        raise RecipeError(f"{trials} trials with seed {seed}: expected at least 1 trial, and a seed of at least 0")
    return np.random.SeedSequence(seed).generate_state(trials, np.uint64).astype(np.uint64)


def _every_deal(pools: Reals) -> Reals:
    """For each way to choose a half of every pool, the sum of the halves."""
    _, pool, width = pools.shape
    totals = np.zeros((1, width))
    for rows in pools:
        halves = np.array(list(combinations(range(pool), pool // 2)))
        totals = (totals[:, np.newaxis] + rows[halves].sum(axis=1)).reshape(-1, width)
    return totals


def _p(reached: NDArray[np.bool_]) -> float:
    return (1 + int(reached.sum())) / (1 + len(reached))


def _bounds(resampled: Reals, level: float) -> tuple[float, float]:
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _runs(statistics: NDArray[Any]) -> Reals:
    """The statistics as [runs, segments, width], in doubles, in which sums of counts are exact."""
    runs = np.asarray(statistics, np.float64)
    runs = runs[np.newaxis] if runs.ndim == 2 else runs
    if runs.ndim != 3 or 0 in runs.shape:
        raise InputError(
            f"statistics of shape {np.shape(statistics)}: expected [segments, width] or [runs, segments, width], none 0"
        )
    return runs


def _paired(first: NDArray[Any], second: NDArray[Any]) -> tuple[Reals, Reals]:
    one, two = _runs(first), _runs(second)
    if one.shape[1:] != two.shape[1:]:
        raise InputError(
            f"the systems have statistics of {one.shape[1:]} and {two.shape[1:]} segments and columns; "
            "score both on the same segments with the same metric"
        )
    return one, two
