"""Packing: flat rows become the arrays of a store."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Ids, Offsets, Reals, ends
from rampion.store.coded import Coded
from rampion.store.features import Features
from rampion.store.lists import Lists
from rampion.store.rows import Rows
from rampion.store.text import Texts


class Packed(NamedTuple):
    """The fields of `Candidates`, in their order."""

    lists: Lists
    features: Features
    segments: Texts
    texts: Texts
    scores: Reals
    notes: Texts
    metrics: dict[str, Reals]
    seen: NDArray[np.int32]
    fields: dict[str, Coded]


class Work(NamedTuple):
    """What the kernel needs while it packs a segment."""

    stamps: Ids
    starts: Offsets
    cursors: Offsets
    owners: Ids
    values: Reals


def dense_first(counts: NDArray[np.int64], total: int) -> tuple[Offsets, int]:
    """The order of features with the dense ones first, which all candidates have, and the number of dense ones."""
    dense = (counts == total) & (total > 0)
    return np.concatenate([np.flatnonzero(dense), np.flatnonzero(~dense)]), int(dense.sum())


def pack(rows: Rows, picks: Offsets, bounds: Offsets, segments: Texts, places: Ids, features: Features) -> Packed:
    """The store of rows[picks], feature ids renamed by places."""
    width, n = features.width, len(picks)
    counts = np.diff(rows.entry_bounds)[picks]
    largest = int(np.diff(ends(counts)[bounds]).max(initial=0))
    longest = int(np.diff(bounds).max(initial=0))
    room = int(counts.sum())
    lists = Lists(
        np.ascontiguousarray(bounds, np.int64),
        np.zeros(width * n),
        width,
        np.empty(room, np.uint32),
        np.empty(len(bounds), np.int64),
        np.empty(room, np.uint32),
        np.empty(n + 1, np.int64),
        np.empty(room),
    )
    work = Work(
        np.zeros(len(features), np.uint32),
        np.empty(largest + 1, np.int64),
        np.empty(longest, np.int64),
        np.empty(largest, np.uint32),
        np.empty(largest),
    )
    _kernels.pack(rows, np.ascontiguousarray(picks, np.int64), places, lists, work)
    entries, dictionary = int(lists.entry_bounds[-1]), int(lists.feature_bounds[-1])
    return Packed(
        lists._replace(
            features=lists.features[:dictionary].copy(),
            entries=lists.entries[:entries].copy(),
            values=lists.values[:entries].copy(),
        ).counted(),
        features,
        segments,
        rows.texts.take(picks),
        rows.scores[picks],
        rows.notes.take(picks),
        {name: column[picks] for name, column in rows.metrics.items()},
        np.zeros(n, np.int32),
        {name: strings.take(picks) for name, strings in rows.fields.items()},
    )
