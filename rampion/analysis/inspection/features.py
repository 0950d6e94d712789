"""Findings about features: the worth of each within lists, and useless or suspicious ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rampion.analysis.inspection.findings import ENOUGH, Finding
from rampion.arrays import Reals
from rampion.metrics.judging import Batch
from rampion.store.candidates import Candidates
from rampion.store.gaps import MARK

Sums = tuple[Reals, Reals, Reals, Reals, Reals]

LEAK = 0.98  # a correlation within lists that only a feature computed from the references reaches
HUGE, APART = 1e6, 1e4  # a mean, and a ratio of standard deviations, that one should know of
UNITS = "harmless: recipes see features in units of their spread, unless --set scale=none"


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """A row of the table. active: share of candidates that have the feature; within: share of variance within lists."""

    name: str
    dense: bool
    active: float
    mean: float
    variance: float
    within: float | None
    correlation: float | None
    weight: float | None


@dataclass(frozen=True, slots=True)
class Split:
    """Features that occur on one side only: names of the dense ones, and the share of the sparse ones."""

    dense_here: tuple[str, ...]
    dense_there: tuple[str, ...]
    sparse_here: float
    sparse_there: float


class Moments(NamedTuple):
    """For every feature: the number of candidates that have it, its mean, and three sums over all candidates.

    The sums are of squares around the mean; of squares around the mean of each list; and of products of the latter
    differences with the quality, which is centred likewise.
    """

    held: Reals
    mean: Reals
    whole: Reals
    inner: Reals
    joint: Reals
    quality: float

    @property
    def correlation(self) -> Reals:
        """The correlation with quality within lists; nan for features that do not vary there."""
        return _ratio(self.joint, np.sqrt(self.inner * self.quality))

    @property
    def within(self) -> Reals:
        """The share of the variance that lies within lists; nan for features that do not vary."""
        return _ratio(self.inner, self.whole)


def _ratio(part: Reals, whole: Reals) -> Reals:
    """part / whole, and nan where whole is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def moments_of(lists: Candidates, batch: Batch | None = None) -> Moments:
    quality, sizes = np.zeros(lists.size), np.diff(lists.bounds)
    if batch:
        means = np.add.reduceat(batch.stakes.costs, lists.bounds[:-1]) / sizes
        quality = np.repeat(means, sizes) - batch.stakes.costs
    held, mean, whole, inner, joint = map(
        np.concatenate, zip(_dense(lists, quality), _sparse(lists, quality), strict=True)
    )
    return Moments(held, mean, whole, inner, joint, float(quality @ quality))


def _dense(lists: Candidates, quality: Reals) -> Sums:
    store, width, sizes = lists.lists, lists.features.width, np.diff(lists.bounds)
    centres, inner, joint = np.empty((len(sizes), width)), np.zeros(width), np.zeros(width)
    for s, (start, end) in enumerate(zip(lists.bounds[:-1], lists.bounds[1:], strict=True)):
        block = store.dense[width * start : width * end].reshape(width, end - start)
        moved = block - block[:, :1]  # a constant becomes an exact zero
        shift = moved.mean(axis=1, keepdims=True)
        centres[s] = block[:, 0] + shift[:, 0]
        moved -= shift
        inner += (moved * moved).sum(axis=1)
        joint += moved @ quality[start:end]
    mean = sizes @ centres / lists.size
    return np.full(width, float(lists.size)), mean, inner + sizes @ (centres - mean) ** 2, inner, joint


def _sparse(lists: Candidates, quality: Reals) -> Sums:
    store, width, sizes = lists.lists, lists.features.width, np.diff(lists.bounds)
    cells = np.zeros((4, len(store.features)))  # of every list and feature there: count, sum, squares, with quality
    for s, (start, end) in enumerate(zip(lists.bounds[:-1], lists.bounds[1:], strict=True)):
        first, last = store.entry_bounds[start], store.entry_bounds[end]
        part = store._replace(
            entries=store.entries[first:last],
            entry_bounds=store.entry_bounds[start : end + 1] - first,
            values=store.values[first:last],
        ).valued()
        goods = np.repeat(quality[start:end], np.diff(part.entry_bounds))
        span = slice(store.feature_bounds[s], store.feature_bounds[s + 1])
        for cell, factors in zip(cells, (None, part.values, part.values**2, part.values * goods), strict=True):
            cell[span] = np.bincount(part.entries, factors, span.stop - span.start)
    inner = cells[2] - cells[1] ** 2 / np.repeat(sizes, np.diff(store.feature_bounds))
    inner[inner < 1e-12 * cells[2]] = 0.0  # rounding of a constant
    owners, features = store.features - np.uint32(width), len(lists.features) - width
    held, total, squares, joint, inner = (
        np.bincount(owners, cell, features).astype(np.float64) for cell in (*cells, inner)
    )
    return held, total / lists.size, np.maximum(squares - total**2 / lists.size, inner), inner, joint


def rows_of(lists: Candidates, moments: Moments, weights: Reals | None, top: int) -> tuple[FeatureRow, ...]:
    """Rows of all dense features, and of the `top` most frequent sparse ones."""
    width, n = lists.features.width, lists.size
    sparse = width + np.argsort(-moments.held[width:], kind="stable")[:top]
    return tuple(
        FeatureRow(
            lists.features.names[j],
            j < width,
            float(moments.held[j] / n),
            float(moments.mean[j]),
            float(moments.whole[j] / n),
            _number(moments.within[j]),
            _number(moments.correlation[j]),
            None if weights is None else _number(weights[j]),
        )
        for j in [*range(width), *sparse.tolist()]
    )


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def of_features(lists: Candidates, moments: Moments) -> Iterator[Finding]:
    if len(lists.segments) < ENOUGH:
        return
    names, correlation = lists.features.names, moments.correlation
    yield from _constant(lists, moments)
    for j in np.flatnonzero(np.abs(correlation) >= LEAK).tolist():
        yield Finding("leak", _leak(names[j], correlation[j], "the metric"), feature=names[j])


def leaks(lists: Candidates, labels: Reals) -> Iterator[str]:
    """What to say of each dense feature that was computed from the labels, it seems."""
    owners = np.repeat(np.arange(len(lists)), np.diff(lists.bounds))

    def centred(column: Reals) -> Reals:
        counts = np.maximum(np.bincount(owners, minlength=len(lists)), 1)
        return np.asarray(column - (np.bincount(owners, column, len(lists)) / counts)[owners])

    quality = centred(labels)
    if np.count_nonzero(np.bincount(owners, quality * quality, len(lists)) > 0) < ENOUGH:
        return
    for j in range(lists.features.width):
        alone = np.zeros(len(lists.features))
        alone[j] = 1.0
        values = centred(lists.score(alone))
        spread = float(values @ values) * float(quality @ quality)
        if spread > 0 and abs(found := float(values @ quality) / spread**0.5) >= LEAK:
            yield _leak(lists.features.names[j], found, "the target")


def _leak(name: str, correlation: float, goal: str) -> str:
    return (
        f"feature {name!r} correlates {correlation:+.3f} with {goal} within lists: it seems to use the references or "
        "labels, which no test will have; leave it out"
    )


def notes_of(lists: Candidates, moments: Moments) -> Iterator[str]:
    """What looks odd and does no harm: recipes see features in units of their spread within lists."""
    names = lists.features.names
    for j in (j for j, name in enumerate(names) if name.endswith(MARK)):
        yield (
            f"feature {names[j].removesuffix(MARK)!r} is missing in {moments.mean[j]:.1%} of the candidates: the mean "
            "of the list stands in its place"
        )
    for j in np.flatnonzero(np.abs(moments.mean) > HUGE).tolist():
        yield f"feature {names[j]!r} has the mean {moments.mean[j]:.3g}; {UNITS}"
    spread = np.sqrt(moments.inner[: lists.features.width])
    varied = np.flatnonzero(spread)
    if len(varied):
        small, large = int(varied[spread[varied].argmin()]), int(spread.argmax())
        if spread[large] > APART * spread[small]:
            yield (
                f"within lists feature {names[large]!r} spreads {spread[large] / spread[small]:.2g} times as widely as "
                f"{names[small]!r}; {UNITS}"
            )


def _constant(lists: Candidates, moments: Moments) -> Iterator[Finding]:
    """Features that are constant within every list: each dense one; sparse ones only if most are."""
    names, width, constant = lists.features.names, lists.features.width, moments.inner == 0
    useless = "one value within every list, so no weight can change a choice; leave"
    for j in np.flatnonzero(constant[:width]).tolist():
        yield Finding("constant features", f"feature {names[j]!r} has {useless} it out", feature=names[j])
    seen = moments.held[width:] > 0
    idle = np.flatnonzero(constant[width:] & seen)
    if len(idle) * 2 > seen.sum():
        yield Finding(
            "constant features",
            f"{len(idle)} of {seen.sum()} sparse features have {useless} them out",
            feature=names[width + int(idle[0])],
        )


def of_weights(lists: Candidates, weights: Reals) -> Iterator[Finding]:
    wrong = np.flatnonzero(~np.isfinite(weights))
    if len(wrong):
        name = lists.features.names[int(wrong[0])]
        yield Finding("collapsed weights", f"the weight of {name!r} is {weights[wrong[0]]}; tune again", feature=name)
    elif not weights.any():
        yield Finding("collapsed weights", "all weights are zero, so they choose what is listed first; tune again")


def split_of(lists: Candidates, moments: Moments, others: Candidates) -> Split:
    """Compare the features of two stores. A feature of every candidate counts as dense, even if stored as sparse."""
    (all_here, any_here), (all_there, any_there) = _presence(lists, moments), _presence(others, moments_of(others))
    sparse_here, sparse_there = any_here - all_here, any_there - all_there
    return Split(
        tuple(sorted(all_here - any_there)),
        tuple(sorted(all_there - any_here)),
        len(sparse_here - any_there) / max(len(sparse_here), 1),
        len(sparse_there - any_here) / max(len(sparse_there), 1),
    )


def _presence(lists: Candidates, moments: Moments) -> tuple[set[str], set[str]]:
    """The names of the features that every candidate has, and of those that any candidate has."""
    names = list(lists.features.names)
    everywhere, anywhere = np.flatnonzero(moments.held == lists.size), np.flatnonzero(moments.held)
    return {names[j] for j in everywhere.tolist()}, {names[j] for j in anywhere.tolist()}


def of_split(split: Split) -> Iterator[Finding]:
    for names, here, there in ((split.dense_here, "these", "the other"), (split.dense_there, "the other", "these")):
        if names:
            yield Finding(
                "one-sided features",
                f"every candidate of {here} lists has {', '.join(names)}, and none of {there}; "
                "weights carry over only between lists of one system",
                feature=names[0],
            )
    for share, here, there in ((split.sparse_here, "these", "the other"), (split.sparse_there, "the other", "these")):
        if share > 0.5:
            yield Finding(
                "one-sided features",
                f"{share:.0%} of the sparse features of {here} lists never occur in {there}; "
                "use features that recur, or tune on lists nearer to the test",
            )
