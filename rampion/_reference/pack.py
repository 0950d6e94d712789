"""Flat rows of features become the segments of a store: dense block, own dictionary, entries in dictionary order.

Twin: rampion/_core/pack.pyx
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.arrays import Ids, Offsets
    from rampion.store.lists import Lists
    from rampion.store.packing import Work
    from rampion.store.rows import Rows


def pack(rows: Rows, picks: Offsets, places: Ids, lists: Lists, work: Work) -> None:
    """Fill lists with the rows picks, ids renamed by places: those below lists.width are dense, other zeros dropped.

    lists.bounds is given; lists.dense comes zeroed, the other arrays at least long enough. work holds a zeroed stamp
    for every feature, and for the largest segment: column starts, a cursor a candidate, (candidate, value) an entry.
    """
    row_bounds, ids, row_values = rows.entry_bounds.tolist(), rows.ids.tolist(), rows.values.tolist()
    ranks, picked, width, dense = places.tolist(), picks.tolist(), lists.width, lists.dense.tolist()
    features: list[int] = []
    entries: list[int] = []
    values: list[float] = []
    feature_bounds, entry_bounds = [0], [0]
    for start, end in pairwise(lists.bounds.tolist()):
        segment = []
        for i in range(start, end):
            sparse = []
            for e in range(row_bounds[picked[i]], row_bounds[picked[i] + 1]):
                f = ranks[ids[e]]
                if f < width:
                    dense[start * width + f * (end - start) + i - start] = row_values[e]
                elif row_values[e] != 0.0:
                    sparse.append((f, row_values[e]))
            segment.append(sorted(sparse, key=lambda entry: entry[0]))
        dictionary = sorted({f for sparse in segment for f, _ in sparse})
        local = {f: j for j, f in enumerate(dictionary)}
        features += dictionary
        feature_bounds.append(len(features))
        for sparse in segment:
            entries += [local[f] for f, _ in sparse]
            values += [value for _, value in sparse]
            entry_bounds.append(len(entries))
    lists.dense[:] = dense
    lists.features[: len(features)] = features
    lists.feature_bounds[:] = feature_bounds
    lists.entries[: len(entries)] = entries
    lists.values[: len(values)] = values
    lists.entry_bounds[:] = entry_bounds
