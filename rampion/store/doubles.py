"""Duplicates: candidates of one segment with the same words and the same features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Offsets, Reals, span_of_each, taken
from rampion.store.lists import PIECE, Lists
from rampion.store.names import Names
from rampion.store.text import Texts


def first_of_equals(
    lists: Lists, texts: Texts, scores: Reals, seen: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Which candidates are the first of their kind in their segment, and the latest iteration of each kind.

    Equal candidates have equal scores under any weights. So only candidates with equal scores under random weights are
    compared.
    """
    owner = span_of_each(lists.bounds)
    words = Names().intern_all(_single_spaced(texts)) + len(texts) * owner
    order = np.lexsort((scores, words))
    opens = np.ones(len(texts), bool)
    opens[1:] = (scores[order[1:]] != scores[order[:-1]]) | (words[order[1:]] != words[order[:-1]])
    groups = np.cumsum(opens) - 1
    first, rest = order[opens][groups], order
    kept, seen = np.ones(len(texts), bool), seen.copy()
    while len(rest := rest[(later := first != rest)]):
        first, groups = first[later], groups[later]
        equal = _same_features(lists, rest, first, owner)
        kept[rest[equal]] = False
        np.maximum.at(seen, first[equal], seen[rest[equal]])
        rest, groups = rest[~equal], groups[~equal]
        _, begins, groups = np.unique(groups, return_index=True, return_inverse=True)
        first = rest[begins][groups]
    return kept, seen


def _single_spaced(texts: Texts) -> Texts:
    """The texts with single blanks between words."""
    spaces = texts.blob == ord(" ")
    if not (spaces[1:] & spaces[:-1]).any() and not np.isin(texts.blob, [9, 10, 11, 12, 13]).any():
        return texts
    return Texts.from_strings(" ".join(text.split()) for text in texts)


def _same_features(lists: Lists, left: Offsets, right: Offsets, owner: Offsets) -> NDArray[np.bool_]:
    """Whether candidates left[n] and right[n] of one segment have the same features; -0.0 equals 0.0."""
    starts, sizes = lists.bounds[owner[left]], np.diff(lists.bounds)[owner[left]]
    same = np.ones(len(left), bool)
    for f in range(lists.width):
        column = lists.width * starts + f * sizes - starts
        same &= lists.dense[column + left] == lists.dense[column + right]
    counts = np.diff(lists.entry_bounds)
    same &= counts[left] == counts[right]
    filled = np.flatnonzero(same & (counts[left] > 0))
    for some in np.array_split(filled, 1 + counts[left[filled]].sum() // PIECE):
        (here, bounds), (there, _) = (taken(lists.entry_bounds, side[some]) for side in (left, right))
        alike = lists.entries[here] == lists.entries[there]
        if len(lists.values):
            alike &= lists.values[here] == lists.values[there]
        same[some] = np.logical_and.reduceat(alike, bounds[:-1]) if len(some) else True
    return same
