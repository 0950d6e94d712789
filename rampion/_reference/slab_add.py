"""The working form of relevant sets gains candidates: one pass, segment by segment, by partition refinement (S10.8).

How a segment does, with an example: slab_add.h
Twin: rampion/_core/slab_add.pyx
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from rampion._reference.slab import SLAB, Blob, Chunk

if TYPE_CHECKING:
    from rampion.arrays import Ids, Offsets
    from rampion.sets.packed import Fresh, Slabs, _Room

FILTER = 13  # the kernel's work array `filter` has 2 ** FILTER bytes


def slab_add(
    slabs: Slabs,
    fresh: Fresh,
    places: Ids,
    renamed: Ids,
    awake: int,
    common: bool,
    first: int,
    room: _Room,
    starts: Offsets,
    blob: Ids,
) -> int:
    """Write the segments from `first` on, old places renamed, fresh candidates added, till one does not fit blob.

    Return how many are done; segment s begins at starts[s], and the blob at starts[first].
    """
    bounds, old_starts = slabs.bounds.tolist(), slabs.starts.tolist()
    fresh_bounds, id_bounds = fresh.bounds.tolist(), fresh.id_bounds.tolist()
    s, size = first, 0
    while s < len(bounds) - 1:
        had = bounds[s + 1] - bounds[s]
        masks = decoded(slabs.blob[old_starts[s] : old_starts[s + 1]].tolist(), renamed)
        for i in range(fresh_bounds[s], fresh_bounds[s + 1]):
            counts = Counter(places[fresh.ids[id_bounds[i] : id_bounds[i + 1]]].tolist())
            for place, count in counts.items():
                levels = masks[place]
                levels.sort(reverse=True)  # level 1 is in every candidate that level 2 is in
                levels += [0] * (count - len(levels))
                levels[:count] = [mask | 1 << had for mask in levels[:count]]
            had += 1
        words = encoded(masks, had, awake, common)
        if size + len(words) > len(blob):
            break
        blob[size : size + len(words)] = words
        size += len(words)
        s += 1
        starts[s] = starts[first] + size
    return s


def decoded(words: list[int], renamed: Ids) -> defaultdict[int, list[int]]:
    """The masks of every place, one a level: which candidates have it at least so often."""
    masks: defaultdict[int, list[int]] = defaultdict(list)
    blob = Blob.read(words)
    for mask, places, _ in blob.chunks + blob.dormant:
        for place in places:
            masks[int(renamed[place])].append(mask)
    return masks


def encoded(masks: dict[int, list[int]], candidates: int, awake: int, common: bool) -> list[int]:
    """The one blob of these masks (S10.8)."""
    everyone = (1 << candidates) - 1
    active: defaultdict[int, list[int]] = defaultdict(list)
    dormant: defaultdict[int, list[int]] = defaultdict(list)
    for place in sorted(masks):
        for mask in masks[place]:
            (active if place <= awake and (common or mask != everyone) else dormant)[mask].append(place)
    chunks = [Chunk(mask, ids[i : i + SLAB]) for mask, ids in sorted(active.items()) for i in range(0, len(ids), SLAB)]
    chunks.sort(key=lambda chunk: -len(chunk.places))
    return Blob(chunks, [Chunk(mask, ids) for mask, ids in sorted(dormant.items())]).written(candidates)
