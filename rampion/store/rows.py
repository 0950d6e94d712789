"""Flat rows: candidates with global feature ids, as readers give them and as packing takes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rampion.arrays import Ids, Offsets, Reals, chained, ends, span_of_each
from rampion.store.coded import Fields, joined
from rampion.store.lists import Lists
from rampion.store.text import Texts


class Rows(NamedTuple):
    """Flat candidates with global feature ids, as a reader gives them: whole segments, features in any order."""

    segments: Texts
    bounds: Offsets
    texts: Texts
    entry_bounds: Offsets
    ids: Ids
    values: Reals
    scores: Reals
    notes: Texts
    metrics: dict[str, Reals]
    fields: Fields = MappingProxyType({})


def flattened(lists: Lists) -> tuple[Offsets, Ids, Reals]:
    """The bounds of every candidate's features in a flat row, their ids and their values."""
    lists, width = lists.valued(), lists.width
    entry_bounds = ends(np.diff(lists.entry_bounds) + width)
    ids, values = np.empty(entry_bounds[-1], np.uint32), np.empty(entry_bounds[-1])
    for first, last in pairwise(lists.cuts().tolist()):
        part, (start, end) = lists.part(first, last), lists.bounds[[first, last]]
        rows = slice(entry_bounds[start], entry_bounds[end])
        dense = entry_bounds[start:end, None] - rows.start + np.arange(width)
        sparse = np.ones(rows.stop - rows.start, bool)
        sparse[dense] = False
        counts = np.diff(part.entry_bounds[part.bounds])
        ids[rows][dense] = np.arange(width)
        ids[rows][sparse] = part.features[np.repeat(part.feature_bounds[:-1], counts) + part.entries]
        values[rows][sparse] = part.values
        heads, strides = part.columns()
        values[rows][dense] = part.dense[heads[:, None] + strides[:, None] * np.arange(width)]
    return entry_bounds, ids, values


def widened(rows: Rows, cells: Reals, first: int) -> Rows:
    """The rows with more features: row i gets cells[i], with ids from `first` on."""
    size, more = cells.shape
    old = np.arange(len(rows.ids)) + more * span_of_each(rows.entry_bounds)
    entry_bounds = rows.entry_bounds + more * np.arange(size + 1)
    new = entry_bounds[1:, None] - more + np.arange(more)
    ids, values = np.empty(entry_bounds[-1], np.uint32), np.empty(entry_bounds[-1])
    ids[old], values[old] = rows.ids, rows.values
    ids[new], values[new] = first + np.arange(more), cells
    return rows._replace(entry_bounds=entry_bounds, ids=ids, values=values)


def columns_joined(parts: Sequence[dict[str, Reals]], lengths: Sequence[int]) -> dict[str, Reals]:
    """The metric columns of all parts, one after another; NaN where a part lacks one."""
    names = dict.fromkeys(name for part in parts for name in part)
    gaps = [np.full(length, np.nan) for length in lengths]
    return {
        name: np.concatenate([part.get(name, gap) for part, gap in zip(parts, gaps, strict=True)]) for name in names
    }


def rows_joined(first: Rows, second: Rows, shift: int) -> Rows:
    """The rows of both. The feature ids of the second grow by `shift`; equal segments are not joined."""
    return Rows(
        Texts.join([first.segments, second.segments]),
        chained([first.bounds, second.bounds]),
        Texts.join([first.texts, second.texts]),
        chained([first.entry_bounds, second.entry_bounds]),
        np.concatenate([first.ids, second.ids + np.uint32(shift)]),
        np.concatenate([first.values, second.values]),
        np.concatenate([first.scores, second.scores]),
        Texts.join([first.notes, second.notes]),
        columns_joined([first.metrics, second.metrics], [len(first.texts), len(second.texts)]),
        joined([first.fields, second.fields], [len(first.texts), len(second.texts)]),
    )
