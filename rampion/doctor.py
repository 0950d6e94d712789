"""The doctor: what n-best lists can give a reranker, and what is wrong with them. Pure functions; nothing is printed.

Quality is the metric turned so that higher is better; correlations are with it, within lists: both sides are centred
on the mean of their list, because a reranker compares candidates of one list only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.candidates import Candidates
from rampion.errors import InputError
from rampion.losses import MODEL, ORACLE, WORST
from rampion.metrics import Bleu, Chrf, Column, Metric, Ter
from rampion.metrics.tokens import mapped, rounds
from rampion.stakes import Batch, Judge, Stakes
from rampion.text import References, Texts
from rampion.vocab import Names

Reals = NDArray[np.float64]
Rows = NDArray[np.int64]

DEPTHS = (1, 5, 10, 50)
KINDS = (  # worst first
    "transposed references",
    "misaligned references",
    "empty references",
    "collapsed weights",
    "not finite",
    "leak",
    "nothing to learn",
    "casing",
    "tokenisation",
    "one-sided features",
    "scales",
    "empty hypotheses",
    "empty lists",
    "identical references",
    "constant features",
    "repeated candidates",
    "few texts",
    "ragged lists",
)

ENOUGH = 10  # segments, or degrees of freedom: with fewer, chance decides
WATCHED = 5000  # segments whose references are tried elsewhere
COLUMNS = 8  # references of a segment that are tried one by one
LEAK = 0.98  # correlation within lists: no honest feature comes near it
HUGE, APART = 1e6, 1e4  # a mean, and a ratio of standard deviations, that gradient methods do not survive


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: one sentence with the next move, and where it stands first (candidates count from 0)."""

    kind: str
    sentence: str
    segment: str | None = None
    candidate: int | None = None
    feature: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """`distinct` counts the different texts of every list."""

    segments: int
    candidates: int
    distinct: int
    shortest: int
    median: float
    longest: int
    dense: int
    sparse: int


@dataclass(frozen=True, slots=True)
class Depth:
    """The best and the worst corpus that the first k candidates of every list can make; k None is all of them."""

    k: int | None
    oracle: float
    worst: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where an order puts the best candidate of a list, counted from 1, and how often it stands first."""

    order: str
    mean: float
    median: float
    first: float


@dataclass(frozen=True, slots=True)
class Scores:
    """Corpus scores; `chance` is the score of each list's mean statistics."""

    metric: str
    signature: str
    higher_is_better: bool
    listed: float
    chosen: float | None
    chance: float
    depths: tuple[Depth, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Diversity:
    """Mean share of different texts in a list; word edit distance of the first candidate to others, 0 equal, 1 nothing alike."""

    distinct: float
    distance: float | None


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """`active`: share of candidates that have it; `within`: share of the variance that lies within lists."""

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
    """Features seen on one side only: how many dense and what share of the sparse."""

    dense_here: tuple[str, ...]
    dense_there: tuple[str, ...]
    sparse_here: float
    sparse_there: float


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found; findings stand worst first."""

    counts: Counts
    scores: Scores | None
    diversity: Diversity
    features: tuple[FeatureRow, ...]
    split: Split | None
    findings: tuple[Finding, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(
    candidates: Candidates,
    judge: Judge | None,
    weights: Reals | None = None,
    other: Candidates | None = None,
    top: int = 10,
) -> Examination:
    """Examine lists, with their references and weights if there are any, and against the features of other lists.

    Every dense feature gets a row, and the `top` sparse ones that most candidates have.
    """
    full = np.diff(candidates.bounds) > 0
    if not full.any():
        raise InputError("the lists hold no candidates; give lists with at least one")
    lists = candidates if full.all() else candidates[np.flatnonzero(full)]
    references = None if judge is None else _references(judge, lists)
    batch = None if judge is None else judge.batch(lists)
    texts = _Texts.of(lists)
    moments = _moments(lists, batch)
    rows = _feature_rows(lists, moments, weights, top)
    split = None if other is None else _split(lists, other)
    findings = [
        *_of_lists(candidates, lists, texts),
        *_of_columns(lists),
        *_of_features(lists, moments, rows),
        *(_of_weights(lists, weights) if weights is not None else ()),
        *(_of_stakes(lists, batch.stakes) if batch else ()),
        *(_of_references(judge.metric, lists, references) if judge and references else ()),
        *(_of_split(split) if split else ()),
    ]
    return Examination(
        Counts(
            len(candidates.segments),
            len(candidates),
            int(texts.distinct.sum()),
            int(np.diff(candidates.bounds).min()),
            float(np.median(np.diff(candidates.bounds))),
            int(np.diff(candidates.bounds).max()),
            lists.features.width,
            len(lists.features) - lists.features.width,
        ),
        _scores(judge, batch, weights) if judge and batch else None,
        Diversity(float((texts.distinct / np.diff(lists.bounds)).mean()), _distance(lists)),
        rows,
        split,
        tuple(sorted(findings, key=lambda finding: KINDS.index(finding.kind))),
    )


def _references(judge: Judge, lists: Candidates) -> References | None:
    """The references of the lists; None for a metric column that came without any."""
    counts = set(np.diff(judge.references.bounds).tolist())
    if len(judge.references) != len(judge.segments) and counts == {len(judge.segments)}:
        raise InputError(
            f"the references look transposed: {len(judge.references)} lists of {len(judge.segments)} strings for "
            f"{len(judge.segments)} segments; give one list of references for every segment"
        )
    references = judge.references_of(lists)
    return None if isinstance(judge.metric, Column) and not len(references.texts.blob) else references


# Scores


def _scores(judge: Judge, batch: Batch, weights: Reals | None) -> Scores:
    stakes, candidates = batch.stakes, batch.candidates
    rank, sizes = candidates.rank(), np.diff(stakes.bounds)
    depths = [k for k in DEPTHS if k < stakes.longest]
    places = [_place("listed", -rank.astype(np.float64), stakes)]
    chosen = None
    if weights is not None:
        scores = candidates.score(weights)
        chosen = judge.corpus_score(batch, MODEL.picks(stakes, scores))
        places.append(_place("weights", scores, stakes))
    means = np.add.reduceat(batch.statistics, stakes.bounds[:-1]) / sizes[:, np.newaxis]
    return Scores(
        judge.metric.name,
        judge.metric.signature(judge.references),
        judge.metric.higher_is_better,
        judge.corpus_score(batch, stakes.bounds[:-1]),
        chosen,
        float(judge.metric.score(means.sum(axis=0))),
        tuple(_depth(judge, batch, rank, k) for k in [*depths, None]),
        tuple(places),
    )


def _depth(judge: Judge, batch: Batch, rank: Rows, k: int | None) -> Depth:
    kept = np.flatnonzero(rank < k) if k else np.arange(len(rank))
    bounds = np.searchsorted(kept, batch.stakes.bounds)
    stakes, scores = Stakes(bounds, batch.stakes.costs[kept], batch.stakes.reached[kept]), np.zeros(len(kept))
    oracle, worst = (judge.corpus_score(batch, kept[side.picks(stakes, scores)]) for side in (ORACLE, WORST))
    return Depth(k, oracle, worst)


def _place(name: str, scores: Reals, stakes: Stakes) -> Place:
    """The first place of a candidate of least cost when the list is sorted by scores."""
    starts, sizes = stakes.bounds[:-1], np.diff(stakes.bounds)
    costs = stakes.costs[np.lexsort((-scores, _owners(stakes.bounds)))]
    best = costs == np.repeat(np.minimum.reduceat(costs, starts), sizes)
    ranks = np.arange(1, len(costs) + 1) - np.repeat(starts, sizes)
    places = np.minimum.reduceat(np.where(best, ranks, stakes.longest), starts)
    return Place(name, float(places.mean()), float(np.median(places)), float((places == 1).mean()))


def _owners(bounds: Rows) -> Rows:
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


# Lists and their texts


class _Texts(NamedTuple):
    """A number for every different text, and how many different ones every list holds."""

    ids: Rows
    distinct: Rows

    @classmethod
    def of(cls, lists: Candidates) -> _Texts:
        names = Names()
        ids, owner = names.intern_all(lists.texts), _owners(lists.bounds)
        different = np.unique(owner * len(names) + ids) // len(names)
        return cls(ids, np.bincount(different, minlength=len(lists.segments)))


def _distance(lists: Candidates, sample: int = 200, others: int = 4) -> float | None:
    """Mean over a seeded sample of lists."""
    from rapidfuzz.distance import Levenshtein

    rng = np.random.default_rng(0)
    long = np.flatnonzero(np.diff(lists.bounds) > 1)
    distances = []
    for s in rng.permutation(long)[:sample].tolist():
        start, end = lists.bounds[s : s + 2].tolist()
        first = lists.texts[start].split()
        for i in rng.integers(start + 1, end, others).tolist():
            distances.append(Levenshtein.normalized_distance(first, lists.texts[i].split()))
    return float(np.mean(distances)) if distances else None


def _of_lists(candidates: Candidates, lists: Candidates, texts: _Texts) -> Iterator[Finding]:
    empty = np.flatnonzero(np.diff(candidates.bounds) == 0)
    if len(empty):
        yield Finding(
            "empty lists",
            f"{_count(empty, 'segment has', 'segments have')} no candidates; decode again or leave them out",
            candidates.segments[int(empty[0])],
        )
    blank = [i for i in np.flatnonzero(np.diff(lists.texts.bounds) < ENOUGH).tolist() if not lists.texts[i].strip()]
    if blank:
        yield Finding(
            "empty hypotheses",
            f"{_count(blank, 'hypothesis is', 'hypotheses are')} empty; remove them, or mend the decoder",
            *_where(lists, blank[0]),
        )
    sizes = np.diff(lists.bounds)
    single, usual = np.flatnonzero(sizes == 1), float(np.median(sizes))
    if len(single):
        yield Finding(
            "ragged lists",
            f"{_count(single, 'list', 'lists')} of {len(sizes)} hold one candidate, so nothing can be chosen or learnt "
            "there; ask the decoder for more",
            lists.segments[int(single[0])],
        )
    short = np.flatnonzero(sizes * 10 <= usual)
    if len(short) * 20 > len(sizes):
        yield Finding(
            "ragged lists",
            f"{len(short)} of {len(sizes)} lists are ten times shorter than the usual {usual:g} candidates; "
            "check that no list is cut off",
            lists.segments[int(short[0])],
        )
    owner, scores = _owners(lists.bounds), lists.score(np.random.default_rng(0).standard_normal(len(lists.features)))
    order = np.lexsort((scores, texts.ids, owner))
    same = (np.diff(owner[order]) == 0) & (np.diff(texts.ids[order]) == 0) & (np.diff(scores[order]) == 0)
    repeated = order[1:][same]
    if len(repeated):
        yield Finding(
            "repeated candidates",
            f"{_count(repeated, 'candidate repeats', 'candidates repeat')} the text and the features of another of the "
            "same list; remove them, for they only cost time",
            *_where(lists, int(repeated.min())),
        )
    poor = np.flatnonzero((texts.distinct * 2 < sizes) & (sizes > 1))
    if len(poor) * 2 > len(sizes):
        yield Finding(
            "few texts",
            f"in {len(poor)} of {len(sizes)} lists fewer than half of the candidates differ in text; "
            "ask the decoder for distinct lists",
            lists.segments[int(poor[0])],
        )


def _of_columns(lists: Candidates) -> Iterator[Finding]:
    for name, column in lists.metrics.items():
        wrong = np.flatnonzero(~np.isfinite(column))
        if len(wrong):
            yield Finding(
                "not finite",
                f"metric column {name!r} is {column[wrong[0]]} first, and not a finite number for {len(wrong)} of "
                f"{len(column)} candidates; compute them again before using metric:{name}",
                *_where(lists, int(wrong[0])),
            )


def _of_weights(lists: Candidates, weights: Reals) -> Iterator[Finding]:
    wrong = np.flatnonzero(~np.isfinite(weights))
    if len(wrong):
        name = lists.features.names[int(wrong[0])]
        yield Finding("collapsed weights", f"the weight of {name!r} is {weights[wrong[0]]}; tune again", feature=name)
    elif not weights.any():
        yield Finding("collapsed weights", "all weights are zero, so they choose what is listed first; tune again")


def _of_stakes(lists: Candidates, stakes: Stakes) -> Iterator[Finding]:
    starts, sizes = stakes.bounds[:-1], np.diff(stakes.bounds)
    equal = np.maximum.reduceat(stakes.costs, starts) == np.minimum.reduceat(stakes.costs, starts)
    equal &= sizes > 1
    if equal.sum() * 2 > (sizes > 1).sum():
        yield Finding(
            "nothing to learn",
            f"in {equal.sum()} of {(sizes > 1).sum()} lists all candidates have the same cost, so there is nothing to "
            "learn; check the references, or choose a finer metric",
            lists.segments[int(np.flatnonzero(equal)[0])],
        )


def _where(lists: Candidates, i: int) -> tuple[str, int]:
    """The segment of candidate i, and its place there."""
    s = int(np.searchsorted(lists.bounds, i, side="right")) - 1
    return lists.segments[s], i - int(lists.bounds[s])


def _count(things: Any, one: str, many: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else many}"


# Features


class _Moments(NamedTuple):
    """Of every feature: candidates that have it, mean, variance, share of it within lists, sd there, correlation."""

    held: Rows
    mean: Reals
    variance: Reals
    within: Reals
    spread: Reals
    correlation: Reals


def _moments(lists: Candidates, batch: Batch | None) -> _Moments:
    store, width, n = lists.lists, lists.features.width, len(lists)
    bounds, sizes = store.bounds, np.diff(store.bounds)
    quality = np.zeros(n)
    if batch:
        means = np.add.reduceat(batch.stakes.costs, bounds[:-1]) / sizes
        quality = np.repeat(means, sizes) - batch.stakes.costs
    centres, inner, joint = np.empty((len(sizes), width)), np.zeros(width), np.zeros(width)
    cells = np.zeros((4, len(store.features)))  # of every list and sparse feature: count, sum, squares, with quality
    for s, (start, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        block = store.dense[width * start : width * end].reshape(width, end - start)
        moved = block - block[:, :1]  # constants become exact zeros
        shift = moved.mean(axis=1)
        centres[s] = block[:, 0] + shift
        moved -= shift[:, np.newaxis]
        inner += (moved * moved).sum(axis=1)
        joint += moved @ quality[start:end]
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
    mean = sizes @ centres / n
    outer = sizes @ (centres - mean) ** 2
    held, total, squares, sparse_joint = (_summed(cell, lists) for cell in cells)
    cell_inner = cells[2] - cells[1] ** 2 / np.repeat(sizes, np.diff(store.feature_bounds))
    sparse_inner = _summed(np.where(cell_inner > 1e-12 * cells[2], cell_inner, 0.0), lists)
    inner, joint = np.concatenate([inner, sparse_inner]), np.concatenate([joint, sparse_joint])
    whole = np.concatenate([inner[:width] + outer, squares - total**2 / n])
    whole = np.maximum(whole, inner)
    with np.errstate(invalid="ignore", divide="ignore"):
        within, correlation = inner / whole, joint / np.sqrt(inner * (quality @ quality))
    correlation[inner == 0] = np.nan
    return _Moments(
        np.concatenate([np.full(width, n), held]).astype(np.int64),
        np.concatenate([mean, total / n]),
        whole / n,
        within,
        np.sqrt(inner / n),
        correlation,
    )


def _summed(cells: Reals, lists: Candidates) -> Reals:
    """Sums over lists, for every sparse feature."""
    width = lists.features.width
    summed: Reals = np.bincount(lists.lists.features - width, cells, len(lists.features) - width)
    return summed


def _feature_rows(lists: Candidates, moments: _Moments, weights: Reals | None, top: int) -> tuple[FeatureRow, ...]:
    width = lists.features.width
    sparse = width + np.argsort(-moments.held[width:], kind="stable")[:top]
    return tuple(
        FeatureRow(
            lists.features.names[j],
            j < width,
            float(moments.held[j]) / len(lists),
            float(moments.mean[j]),
            float(moments.variance[j]),
            _number(moments.within[j]),
            _number(moments.correlation[j]),
            _number(weights[j]) if weights is not None else None,
        )
        for j in [*range(width), *sparse.tolist()]
    )


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _of_features(lists: Candidates, moments: _Moments, rows: Iterable[FeatureRow]) -> Iterator[Finding]:
    width, names = lists.features.width, lists.features.names
    if len(lists) - len(lists.segments) < ENOUGH:
        return
    for j in np.flatnonzero(moments.spread[:width] == 0).tolist():
        yield Finding(
            "constant features",
            f"feature {names[j]!r} has one value within every list, so no weight of it can change a choice; leave it out",
            feature=names[j],
        )
    idle = np.flatnonzero((moments.spread[width:] == 0) & (moments.held[width:] > 0))
    if len(idle) * 2 > len(names) - width:
        yield Finding(
            "constant features",
            f"{len(idle)} of {len(names) - width} sparse features have one value within every list, so no weight of "
            "them can change a choice; leave them out",
            feature=names[width + int(idle[0])],
        )
    for j in np.flatnonzero(np.abs(moments.correlation) >= LEAK).tolist():
        yield Finding(
            "leak",
            f"feature {names[j]!r} correlates {moments.correlation[j]:+.3f} with the metric within lists: it seems to "
            "know the references, which no test will have; leave it out",
            feature=names[j],
        )
    for j in np.flatnonzero(np.abs(moments.mean) > HUGE).tolist():
        yield Finding(
            "scales",
            f"feature {names[j]!r} has the mean {moments.mean[j]:.3g}; bring it near 1, or no step size fits",
            feature=names[j],
        )
    varied = np.flatnonzero(moments.spread[:width] > 0)
    if len(varied):
        small, large = (int(varied[pick(moments.spread[varied])]) for pick in (np.argmin, np.argmax))
        if moments.spread[large] > APART * moments.spread[small]:
            yield Finding(
                "scales",
                f"within lists feature {names[large]!r} spreads {moments.spread[large] / moments.spread[small]:.2g} times "
                f"as widely as {names[small]!r}; scale them alike, or no step size fits both",
                feature=names[large],
            )


def _split(lists: Candidates, other: Candidates) -> Split:
    (dense_here, all_here), (dense_there, all_there) = _presence(lists), _presence(other)
    sparse_here, sparse_there = all_here - dense_here, all_there - dense_there
    return Split(
        tuple(sorted(dense_here - all_there)),
        tuple(sorted(dense_there - all_here)),
        len(sparse_here - all_there) / max(len(sparse_here), 1),
        len(sparse_there - all_here) / max(len(sparse_there), 1),
    )


def _presence(lists: Candidates) -> tuple[set[str], set[str]]:
    """The features of every candidate, and those of any: stores that share a table may call dense ones sparse."""
    names, store = list(lists.features.names), lists.lists
    present = set(names[: lists.features.width]) | {names[j] for j in np.unique(store.features).tolist()}
    sparse = store.valued()
    span = np.repeat(store.feature_bounds[:-1], np.diff(sparse.entry_bounds[store.bounds]))
    held = np.bincount(store.features[span + sparse.entries], minlength=len(names))
    held[: lists.features.width] = len(lists)
    return {names[j] for j in np.flatnonzero(held == len(lists)).tolist()}, present


def _of_split(split: Split) -> Iterator[Finding]:
    for names, here, there in ((split.dense_here, "these", "the other"), (split.dense_there, "the other", "these")):
        if names:
            yield Finding(
                "one-sided features",
                f"{here} lists have the dense {'feature' if len(names) == 1 else 'features'} {', '.join(names)}, which "
                f"{there} lists lack; weights carry over only between lists of one system",
                feature=names[0],
            )
    for share, here, there in ((split.sparse_here, "these", "the other"), (split.sparse_there, "the other", "these")):
        if share > 0.5:
            yield Finding(
                "one-sided features",
                f"{share:.0%} of the sparse features of {here} lists never occur in {there}; "
                "use features that recur, or tune on lists nearer to the test",
            )


# References


def _of_references(metric: Metric, lists: Candidates, references: References) -> Iterator[Finding]:
    first = lists.texts.take(lists.bounds[:-1])
    yield from _empty_references(lists, references)
    yield from _transposed(references)
    yield from _misaligned(first, references, lists.segments)
    yield from _identical(references)
    if not getattr(metric, "lowercase", isinstance(metric, Ter) and not metric.cased):
        yield from _casing(first, references, getattr(metric, "tokeniser", "none"))
    if getattr(metric, "tokeniser", "none") == "none":
        yield from _tokenisation(first, references)


def _empty_references(lists: Candidates, references: References) -> Iterator[Finding]:
    short = np.flatnonzero(np.diff(references.texts.bounds) < ENOUGH)
    empty = [r for r in short.tolist() if not references.texts[r].strip()]
    if empty:
        s = int(np.searchsorted(references.bounds, empty[0], side="right")) - 1
        yield Finding(
            "empty references",
            f"{_count(empty, 'reference is', 'references are')} empty, which spoils lengths and error rates; "
            "mend the files or leave the segments out",
            lists.segments[s],
        )


def _fits(texts: Texts, others: Texts, rows: Rows) -> Reals:
    """chrF of text s with others[rows[s]]: like words of like language give about 0.15, translations 0.3 and more."""
    chrf, count = Chrf(), len(texts)
    bounds = np.arange(0, rows.size + 1, rows.shape[1])
    statistics = chrf.statistics(others.take(rows.ravel()), bounds, References(texts, np.arange(count + 1)))
    return chrf.segments(statistics).reshape(rows.shape)


def _transposed(references: References) -> Iterator[Finding]:
    """With as many references as segments both ways round are possible: references of one segment must be alike."""
    count = len(references)
    if not 2 <= count <= 100 or set(np.diff(references.bounds).tolist()) != {count}:
        return
    square = np.arange(count * count).reshape(count, count)
    neighbours = np.stack([np.roll(square, -1, axis).ravel() for axis in (1, 0)], axis=1)
    along, across = _fits(references.texts, references.texts, neighbours).mean(axis=0)
    if across > 1.5 * along and across > along + 0.1:
        yield Finding(
            "transposed references",
            f"the references look transposed: those of one segment have chrF {100 * along:.0f} with each other, those "
            f"at one place of different segments {100 * across:.0f}; give one list of references for every segment",
        )


def _misaligned(first: Texts, references: References, segments: Texts) -> Iterator[Finding]:
    """One finding for all references that stand wrong in the same way."""
    watched = min(len(first), WATCHED)
    if watched < ENOUGH:
        return
    first = first.take(np.arange(watched))
    wrong: dict[tuple[int, int, int], list[int]] = {}
    columns = [rows[:watched] for _, rows in zip(range(COLUMNS), rounds(references), strict=False)]
    for c, rows in enumerate(columns):
        if (found := _displacement(first, references.texts, rows)) is not None:
            wrong.setdefault(found, []).append(c + 1)
    for (shift, start, end), numbers in wrong.items():
        which = "the references" if len(numbers) == len(columns) else f"the references no. {', '.join(map(str, numbers))}"
        if shift:
            sentence = (
                f"{which} of the segments {segments[start]} to {segments[end - 1]} fit their hypotheses only when moved by "
                f"{shift:+d}: hypothesis and reference of one line do not belong together; look for a missing or additional "
                f"line near segment {segments[start]}"
            )
        else:
            sentence = (
                f"{which} fit the hypotheses hardly better than those of other segments; "
                "check that the files belong together and are in one order"
            )
        yield Finding("misaligned references", sentence, segments[start])


def _displacement(first: Texts, texts: Texts, rows: Rows) -> tuple[int, int, int] | None:
    """(shift, start, end) of the longest wrong part, shift 0 if no shift mends it; None if all is well.

    A shift is believed if the chrF it gains over the segments in a row, 0.05 taken off each, adds up to 1.
    """
    shifts, n = (-2, -1, 1, 2), len(rows)
    elsewhere = np.random.default_rng(0).permutation(n)
    fits = _fits(first, texts, np.stack([rows, rows[elsewhere], *(np.roll(rows, -shift) for shift in shifts)], axis=1))
    own, random = fits[:, 0], fits[:, 1]
    found = max((*_heaviest(fits[:, 2 + d] - own - 0.05), shift) for d, shift in enumerate(shifts))
    gain, start, end, shift = found
    if gain > 1 and end - start >= ENOUGH // 2:
        return shift, start, end
    better = own - random
    certain = better.mean() > 3 * better.std() / np.sqrt(n)
    return None if certain and own.mean() > 1.2 * random.mean() else (0, 0, n)


def _heaviest(gains: Reals) -> tuple[float, int, int]:
    """The greatest sum of gains[start:end], with start and end (Kadane)."""
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    rises = sums - np.minimum.accumulate(sums)
    end = int(rises.argmax())
    return float(rises[end]), int(sums[: end + 1].argmin()), end


def _identical(references: References) -> Iterator[Finding]:
    counts = np.diff(references.bounds)
    ids = Names().intern_all(references.texts)
    columns = list(zip(range(min(COLUMNS, int(counts.min(initial=0)))), rounds(references), strict=False))
    for (a, one), (b, two) in combinations(columns, 2):
        same = ids[one] == ids[two]
        if same.sum() * 10 >= 9 * len(same) >= 9:
            yield Finding(
                "identical references",
                f"references no. {a + 1} and {b + 1} are equal in {same.sum()} of {len(same)} segments; "
                "check that no file was given twice",
            )


def _bleu(first: Texts, references: References, tokeniser: str = "none") -> float:
    metric = Bleu(tokeniser=tokeniser)
    return metric.score(metric.statistics(first, np.arange(len(first) + 1), references).sum(axis=0))


def _casing(first: Texts, references: References, tokeniser: str) -> Iterator[Finding]:
    lowered = References(mapped(str.lower, references.texts), references.bounds)
    plain = _bleu(first, references, tokeniser)
    for side, other, bleu in (
        ("references", "hypotheses", _bleu(first, lowered, tokeniser)),
        ("hypotheses", "references", _bleu(mapped(str.lower, first), references, tokeniser)),
    ):
        if bleu > plain + max(1.0, 0.05 * plain):
            yield Finding(
                "casing",
                f"the {side} are cased where the {other} are not: in lower case they raise BLEU from {plain:.1f} to "
                f"{bleu:.1f}; bring both to one case, or ignore case (bleu:lc)",
            )


_LOOSE = re.compile(r"(?<!\S)[.,!?;:](?!\S)")
_TIGHT = re.compile(r"(?<=\w)[.,!?;:](?!\S)")
_PIECE = re.compile(r"@@(?!\S)|(?<!\S)▁")


def _tokenisation(first: Texts, references: References) -> Iterator[Finding]:
    """Punctuation that stands alone on one side and at its word on the other; subword marks on one side."""
    sides = {"hypotheses": "\n".join(first), "references": "\n".join(references.texts)}
    loose, tight, pieces = (
        {side: sum(1 for _ in mark.finditer(text)) for side, text in sides.items()} for mark in (_LOOSE, _TIGHT, _PIECE)
    )
    for side, other in (("hypotheses", "references"), ("references", "hypotheses")):
        marks, others = loose[side] + tight[side], loose[other] + tight[other]
        if min(marks, others) >= ENOUGH and loose[side] / marks > loose[other] / others + 0.5:
            yield Finding(
                "tokenisation",
                f"the {side} are tokenised and the {other} are not: {loose[side] / marks:.0%} and {loose[other] / others:.0%} "
                "of the punctuation stands alone; bring both to one form, or let the metric tokenise (bleu:13a)",
            )
        if pieces[side] * 100 > len(sides[side].split()) and not pieces[other]:
            yield Finding(
                "tokenisation",
                f"the {side} are in subword pieces (@@ or ▁) and the {other} are not; join the pieces before scoring",
            )
