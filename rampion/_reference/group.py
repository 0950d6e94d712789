"""Features of a segment that stand in the same candidates equally often become groups (S11.2): candidates hold groups.

Twin: rampion/_core/group.pyx
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.arrays import Ids, Offsets
    from rampion.store.grouped import Places
    from rampion.store.lists import Lists


def group(
    lists: Lists,
    work: Offsets,
    features: Ids,
    feature_bounds: Offsets,
    groups: Places,
    group_bounds: Offsets,
    entries: Places,
    owners: Places,
    entry_bounds: Offsets,
) -> None:
    """Fill features that tell candidates of a segment apart, their groups, and by which groups candidates differ."""
    bounds, spans, dictionaries = lists.bounds.tolist(), lists.entry_bounds.tolist(), lists.feature_bounds.tolist()
    held, known = lists.entries.tolist(), lists.features.tolist()
    feature_ends, group_ends, entry_ends = [0], [0], [0]
    kept: list[int] = []
    belongs: list[int] = []
    whose: list[int] = []
    filled: list[int] = []
    for s, (start, end) in enumerate(pairwise(bounds)):
        counts: list[list[int]] = [[0] * (end - start) for _ in range(dictionaries[s], dictionaries[s + 1])]
        for i in range(start, end):
            for j in held[spans[i] : spans[i + 1]]:
                counts[j][i - start] += 1
        numbers: dict[tuple[int, ...], int] = {}
        for j, pattern in enumerate(map(tuple, counts)):
            if len(set(pattern)) > 1:
                belongs.append(numbers.setdefault(pattern, len(numbers)))
                kept.append(known[dictionaries[s] + j])
        usual = [sorted(pattern)[(end - start - 1) // 2] for pattern in numbers]  # the lower median
        for i in range(end - start):
            differences = [(g, pattern[i] - usual[g]) for pattern, g in numbers.items()]
            for g, more in differences:
                filled += [g] * more
            for g, more in differences:
                filled += [len(numbers) + g] * -more
            whose += [i] * (len(filled) - len(whose))
        entry_ends.append(len(filled))
        feature_ends.append(len(kept))
        group_ends.append(group_ends[-1] + len(numbers))
    features[: len(kept)], groups[: len(kept)], entries[: len(filled)], owners[: len(filled)] = (
        kept,
        belongs,
        filled,
        whose,
    )
    feature_bounds[:], group_bounds[:], entry_bounds[:] = feature_ends, group_ends, entry_ends
