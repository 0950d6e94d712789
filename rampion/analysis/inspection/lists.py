"""Findings about lists and their texts: sizes, repetition, diversity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rampion.analysis.inspection.findings import ENOUGH, Finding, count, where
from rampion.arrays import Integers, span_of_each
from rampion.store.candidates import Candidates
from rampion.store.names import Names


@dataclass(frozen=True, slots=True)
class Counts:
    """Sizes of the lists. `distinct` counts the different texts within lists."""

    segments: int
    candidates: int
    distinct: int
    shortest: int
    median: float
    longest: int
    dense: int
    sparse: int


@dataclass(frozen=True, slots=True)
class Diversity:
    """Means over lists: the share of distinct texts, and the word edit distance (0 to 1) of first to others."""

    distinct: float
    distance: float | None


def counts_of(candidates: Candidates, distinct: Integers) -> Counts:
    sizes, features = np.diff(candidates.bounds), candidates.features
    return Counts(
        len(sizes),
        candidates.size,
        int(distinct.sum()),
        int(sizes.min()),
        float(np.median(sizes)),
        int(sizes.max()),
        features.width,
        len(features) - features.width,
    )


def diversity_of(lists: Candidates, distinct: Integers) -> Diversity:
    return Diversity(float((distinct / np.diff(lists.bounds)).mean()), _distance(lists))


def text_ids(lists: Candidates) -> Integers:
    """An id for the text of every candidate; equal texts have equal ids."""
    return Names().intern_all(lists.texts)


def distinct_of(lists: Candidates, ids: Integers) -> Integers:
    """The number of different texts of every list."""
    size = len(ids)
    return np.bincount(np.unique(_owners(lists) * size + ids) // size, minlength=len(lists.segments))


def _owners(lists: Candidates) -> Integers:
    return span_of_each(lists.bounds)


def _distance(lists: Candidates, sample: int = 200, others: int = 4) -> float | None:
    """The mean edit distance of first texts to `others` texts, over a seeded sample of lists."""
    from rapidfuzz.distance import Levenshtein

    rng = np.random.default_rng(0)
    distances = []
    for s in rng.permutation(np.flatnonzero(np.diff(lists.bounds) > 1))[:sample].tolist():
        start, end = lists.bounds[s : s + 2].tolist()
        first = lists.texts[start].split()
        for i in rng.integers(start + 1, end, others).tolist():
            distances.append(Levenshtein.normalized_distance(first, lists.texts[i].split()))
    return float(np.mean(distances)) if distances else None


def of_lists(candidates: Candidates, lists: Candidates, ids: Integers, distinct: Integers) -> Iterator[Finding]:
    """Findings about sizes and metric columns. `lists` are the candidates without empty lists."""
    empty = np.flatnonzero(np.diff(candidates.bounds) == 0)
    if len(empty):
        yield Finding(
            "empty lists",
            f"{count(empty, 'segment has', 'segments have')} no candidates; decode again, or leave them out",
            candidates.segments[int(empty[0])],
        )
    if not len(lists.features):
        yield Finding("no features", "there are no features, so there is nothing to weigh; add some (rampion features)")
    blank = [i for i in np.flatnonzero(np.diff(lists.texts.bounds) < ENOUGH).tolist() if not lists.texts[i].strip()]
    if blank:
        yield Finding(
            "empty hypotheses",
            f"{count(blank, 'hypothesis is', 'hypotheses are')} empty; remove them, or mend the decoder",
            *where(lists, blank[0]),
        )
    yield from _ragged(lists)
    yield from _repeated(lists, ids, distinct)
    for name, column in lists.metrics.items():
        unknown = np.flatnonzero(np.isnan(column))
        if len(unknown):
            yield Finding(
                "unlabelled",
                f"{len(unknown)} of {len(column)} candidates have no {name}; they are reranked, but nothing is learnt "
                "from them",
                *where(lists, int(unknown[0])),
            )


def _ragged(lists: Candidates) -> Iterator[Finding]:
    sizes = np.diff(lists.bounds)
    single, usual = np.flatnonzero(sizes == 1), float(np.median(sizes))
    if len(single):
        yield Finding(
            "ragged lists",
            f"{len(single)} of {count(sizes, 'list', 'lists')} hold one candidate, so nothing can be chosen or learnt "
            "there; ask the decoder for more",
            lists.segments[int(single[0])],
        )
    short = np.flatnonzero((sizes > 1) & (sizes * 10 <= usual))
    if len(short) * 20 > len(sizes):
        yield Finding(
            "ragged lists",
            f"{len(short)} of {len(sizes)} lists have at most a tenth of the usual {usual:g} candidates; "
            "check that they are not cut off",
            lists.segments[int(short[0])],
        )


def _repeated(lists: Candidates, ids: Integers, distinct: Integers) -> Iterator[Finding]:
    """Findings about repeated candidates and poor lists. Equal features have equal scores under any weights."""
    sizes = np.diff(lists.bounds)
    scores = lists.score(np.random.default_rng(0).standard_normal(len(lists.features)))
    keys = np.stack([_owners(lists), ids, scores])
    order = np.lexsort(keys[::-1])
    repeated = order[1:][(np.diff(keys[:, order]) == 0).all(axis=0)]
    if len(repeated):
        yield Finding(
            "repeated candidates",
            f"{count(repeated, 'candidate repeats', 'candidates repeat')} the text and the features of another of the "
            "same list and only cost time; remove them",
            *where(lists, int(repeated.min())),
        )
    poor = np.flatnonzero(distinct * 2 < sizes)
    if len(poor) * 2 > len(sizes):
        yield Finding(
            "few texts",
            f"in {len(poor)} of {len(sizes)} lists fewer than half of the candidates differ in text; "
            "ask the decoder for distinct lists",
            lists.segments[int(poor[0])],
        )
