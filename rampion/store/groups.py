"""From features back to labels with their values: A[0], A[1], … are the group A, unless a feature is called A."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from rampion.arrays import span_of_each
from rampion.errors import InputError
from rampion.store.names import Labels
from rampion.store.rows import Rows
from rampion.store.text import Texts

Group = tuple[str, int, int]


def groups_of(names: Texts) -> list[Group]:
    """The label of every feature's group, the group's first feature, and its size."""
    texts = list(names)
    known, groups = set(texts), list[Group]()
    while (first := len(groups)) < len(texts):
        base, size = texts[first].removesuffix("[0]"), 1
        if base.startswith(Labels.METRIC):
            raise InputError(f"no feature may be called {base}: {Labels.METRIC} marks metric columns; rename it")
        if base and base not in known:
            while first + size < len(texts) and texts[first + size] == f"{base}[{size}]":
                size += 1
        groups += [(base if size > 1 else texts[first], first, size)] * size
    return groups


def grouped(rows: Rows, groups: list[Group]) -> Iterator[list[tuple[str, list[float]]]]:
    """Each candidate's labels with their values, in feature order; a missing value of a group is 0."""
    owners = span_of_each(rows.entry_bounds)
    order = np.lexsort((rows.ids, owners))
    ids, values, bounds = rows.ids[order].tolist(), rows.values[order].tolist(), rows.entry_bounds.tolist()
    for start, end in pairwise(bounds):
        candidate = []
        while start < end:
            label, first, size = groups[ids[start]]
            cells = [0.0] * size
            while start < end and ids[start] < first + size:
                cells[ids[start] - first] = values[start]
                start += 1
            candidate.append((label, cells))
        yield candidate
