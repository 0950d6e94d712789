"""Missing values: they become the mean of the list, and a feature marks them.

A cell that is empty or null is missing, and so is a feature that a row of a table does not have. Negative infinity
becomes the lowest finite value of the feature. In lists with sparse features an absent feature counts 0; a notice
reports absent features that look like missing values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Offsets, Reals, ends, span_of_each
from rampion.errors import InputError
from rampion.store.lists import LARGEST_COUNT
from rampion.store.names import Names
from rampion.store.rows import Rows

MARK = ":missing"
MOST = 1 << 23  # values of features that some candidates lack, unless a twentieth of them is there


def filled(runs: list[Rows], names: Names, whole: Set[str]) -> tuple[list[Rows], list[str]]:
    """The rows of a file without missing values, and notices about them. `whole` features are missing where absent.

    Every candidate gets a value of a feature that any lacks. Raise InputError if most of a large table is missing.
    """
    if not runs:
        return runs, []
    size, known = sum(len(rows.texts) for rows in runs), list(names.texts())
    present = _summed(runs, len(known), lambda rows: np.ones(len(rows.ids), np.bool_))
    lost = _summed(runs, len(known), lambda rows: np.isnan(rows.values))
    floored = _summed(runs, len(known), lambda rows: np.isneginf(rows.values))
    wanted = np.array([name in whole for name in known], np.bool_)
    partial = wanted & (present < size)
    gapped = np.flatnonzero((lost > 0) | partial)
    notices = list(_absent(runs, known, present, size, wanted))
    if (cells := size * len(gapped)) > max(MOST, 20 * int(present[gapped].sum())):
        raise InputError(
            f"{len(gapped):,} features, such as {known[gapped[0]][:60]}, have no number in most of {size:,} "
            f"candidates, and would take {cells:,} values; write them into feats of JSONL lists, where what is "
            "left out counts 0"
        )
    lowest = np.zeros(len(known))
    if floored.any():
        lowest = _lowest(runs, (present < size) & ~wanted)
        notices += [
            f"the feature {known[f]} is -inf in {floored[f]} candidates; {lowest[f]:g} takes its place"
            for f in np.flatnonzero(floored).tolist()
        ]
    if not len(gapped):
        return [_above(rows, lowest) for rows in runs] if floored.any() else runs, notices
    columns = [_columns(rows, gapped, wanted[gapped]) for rows in runs]
    every = np.concatenate(columns)
    finite = np.isfinite(every)
    missing = np.isnan(every)
    means = np.where(finite, every, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    for place, f in enumerate(gapped.tolist()):
        if count := int(missing[:, place].sum()):
            notices.append(
                f"the feature {known[f]} is missing in {count} of {size} candidates; the mean of the list takes its "
                f"place, and {known[f]}{MARK} marks it"
            )
    marks = {place: names.intern(known[f] + MARK) for place, f in enumerate(gapped.tolist()) if missing[:, place].any()}
    found = []
    for rows, column in zip((_above(rows, lowest) for rows in runs), columns, strict=True):
        holes = np.isnan(column)
        found.append(_replaced(rows, gapped, _with_means(rows.bounds, column, lowest[gapped], means), holes, marks))
    return found, notices


def floored(runs: list[Rows], names: Names) -> tuple[list[Rows], list[str]]:
    """The rows of lists in which an absent feature counts 0, without negative infinities."""
    if not any(np.isneginf(rows.values).any() for rows in runs):
        return runs, []
    rows, notices = filled(runs, names, frozenset())
    return rows, [notice for notice in notices if "-inf" in notice]


def weights_told(rows: Rows) -> list[str]:
    """Notices about the weights of segments; raise InputError unless each weight is one number of 0 or more."""
    if "weight" not in rows.fields:
        return []
    said = rows.fields["weight"]
    firsts = np.repeat(rows.bounds[:-1], np.diff(rows.bounds))
    for i in np.flatnonzero(said.codes != said.codes[firsts])[:1].tolist():
        segment = rows.segments[int(np.searchsorted(rows.bounds, i, "right")) - 1]
        raise InputError(f"segment {segment} has two weights; give all its candidates the same")
    for value in said.values:
        try:
            weight = float(value or 1)
        except ValueError:
            weight = np.nan
        if not 0 <= weight < np.inf:
            raise InputError(f"the weight of a segment is {value[:60]!r}; expected a number of 0 or more")
    filled = rows.bounds[:-1][np.diff(rows.bounds) > 0]
    without = np.array([not value for value in said.values], np.bool_)[said.codes[filled]]
    if not without.any():
        return []
    return [f"{int(without.sum())} of {len(filled)} segments have no weight, and count 1"]


def imputed(bounds: Offsets, column: Reals) -> tuple[Reals, NDArray[np.bool_]]:
    """A feature with missing values replaced, and the mask of the replaced ones."""
    known = column[np.isfinite(column)]
    mean, low = (known.mean(), known.min()) if len(known) else (0.0, 0.0)
    whole = _with_means(bounds, column[:, None], np.array([low]), np.array([mean]))
    return whole[:, 0], np.isnan(column)


def _summed(runs: list[Rows], size: int, marks: Callable[[Rows], NDArray[np.bool_]]) -> NDArray[np.int64]:
    """The number of marked places of every feature."""
    total = np.zeros(size, np.int64)
    for rows in runs:
        total += np.bincount(rows.ids[marks(rows)], minlength=size)
    return total


def _lowest(runs: list[Rows], sparse: NDArray[np.bool_]) -> Reals:
    """The lowest finite value of every feature, which is 0 at most where a sparse one is absent; 0 if there is none."""
    lowest = np.where(sparse, 0.0, np.inf)
    for rows in runs:
        finite = np.isfinite(rows.values)
        np.minimum.at(lowest, rows.ids[finite], rows.values[finite])
    return np.where(np.isfinite(lowest), lowest, 0.0)


def _above(rows: Rows, lowest: Reals) -> Rows:
    """The rows without negative infinities."""
    return rows._replace(values=np.where(np.isneginf(rows.values), lowest[rows.ids], rows.values))


def _absent(
    runs: list[Rows], known: list[str], present: NDArray[np.int64], size: int, wanted: NDArray[np.bool_]
) -> Iterator[str]:
    """Features that most candidates have and that are no counts: the others probably lack them by mistake."""
    some, odd = (present < size) & (2 * present > size) & ~wanted, np.zeros(len(known), np.int64)
    for rows in runs:
        counts = (rows.values >= 1) & (rows.values <= LARGEST_COUNT) & (rows.values == np.floor(rows.values))
        odd += np.bincount(rows.ids[~counts & np.isfinite(rows.values)], minlength=len(known))
    found = [f"{known[f]} in {size - present[f]}" for f in np.flatnonzero(some & (odd > 0)).tolist()]
    if found:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        yield (
            f"some of {size} candidates lack a feature that most have; it counts 0 there: {', '.join(found[:3])}"
            f"{more}; write null where it is missing"
        )


def _columns(rows: Rows, gapped: NDArray[np.int64], wanted: NDArray[np.bool_]) -> Reals:
    """The gapped features of every candidate: NaN where one is missing, 0 where a sparse one is absent."""
    places = np.full(int(max(gapped.max(), rows.ids.max(initial=0))) + 1, -1)
    places[gapped] = np.arange(len(gapped))
    owners, at = span_of_each(rows.entry_bounds), places[rows.ids]
    columns = np.where(wanted, np.nan, 0.0) * np.ones((len(rows.texts), 1))
    columns[owners[at >= 0], at[at >= 0]] = rows.values[at >= 0]
    return columns


def _with_means(bounds: Offsets, column: Reals, lowest: Reals, means: Reals) -> Reals:
    column = np.where(np.isneginf(column), lowest, column)
    holes, owner = np.isnan(column), span_of_each(bounds)
    sums, counts = np.zeros((len(bounds) - 1, column.shape[1])), np.zeros((len(bounds) - 1, column.shape[1]))
    np.add.at(sums, owner, np.where(holes, 0.0, column))
    np.add.at(counts, owner, ~holes)
    own = np.where(counts > 0, sums / np.maximum(counts, 1), means)
    return np.where(holes, own[owner], column)


def _replaced(
    rows: Rows, gapped: NDArray[np.int64], column: Reals, holes: NDArray[np.bool_], marks: dict[int, int]
) -> Rows:
    """The rows with these values of the gapped features, and with their marks."""
    n, kept = len(rows.texts), ~np.isin(rows.ids, gapped)
    owners = [span_of_each(rows.entry_bounds)[kept], np.repeat(np.arange(n), len(gapped))]
    ids: list[NDArray[np.integer[Any]]] = [rows.ids[kept], np.tile(gapped, n)]
    values = [rows.values[kept], column.ravel()]
    for place, mark in marks.items():
        there = np.flatnonzero(holes[:, place])
        owners.append(there)
        ids.append(np.full(len(there), mark))
        values.append(np.ones(len(there)))
    order = np.argsort(np.concatenate(owners), kind="stable")
    return rows._replace(
        entry_bounds=ends(np.bincount(np.concatenate(owners), minlength=n)),
        ids=np.concatenate(ids)[order].astype(np.uint32),
        values=np.concatenate(values)[order],
    )
