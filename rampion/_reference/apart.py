"""In what the candidates of a pair differ: the rows of a sparse matrix.

Twin: rampion/_core/apart.pyx
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.arrays import Ids, Offsets, Reals
    from rampion.store.lists import Lists


def apart(
    lists: Lists, owners: Offsets, better: Offsets, worse: Offsets, sums: Reals, bounds: Offsets, ids: Ids, found: Reals
) -> None:
    """Fill ids[bounds[p]:bounds[p + 1]] and found with the features of pair p's better candidate minus the worse one's.

    owners are the segments of the pairs; sums are 0, one for every feature that a segment has.
    """
    cells: list[tuple[int, float]] = []
    bounds[0] = 0
    for p, (s, j, k) in enumerate(zip(owners.tolist(), better.tolist(), worse.tolist(), strict=True)):
        start, end = lists.bounds[s : s + 2].tolist()
        dense = lists.dense[lists.width * start : lists.width * end].reshape(lists.width, end - start)
        gaps = dict(enumerate((dense[:, j - start] - dense[:, k - start]).tolist()))
        features = lists.features[lists.feature_bounds[s] : lists.feature_bounds[s + 1]].tolist()
        for candidate, sign in ((j, 1.0), (k, -1.0)):
            first, last = lists.entry_bounds[candidate : candidate + 2].tolist()
            values = lists.values[first:last].tolist() if len(lists.values) else [1.0] * (last - first)
            for entry, value in zip(lists.entries[first:last].tolist(), values, strict=True):
                gaps[features[entry]] = gaps.get(features[entry], 0.0) + sign * value
        cells += [(feature, gap) for feature, gap in gaps.items() if gap != 0.0]
        bounds[p + 1] = len(cells)
    for place, (feature, gap) in enumerate(cells):
        ids[place], found[place] = feature, gap
