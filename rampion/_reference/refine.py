"""The working form of relevant sets gains candidates: one pass, segment by segment, by partition refinement (S10.8).

Twin: rampion/_core/refine.pyx
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.sets.packed import Fresh, Ids, Offsets, Slabs, _Room

LANES, HEAD = 16, 6


def refine(
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
    chunks, slabs, width, dormant, at, _ = words[:HEAD]
    sizes = b"".join(word.to_bytes(4, "little") for word in words[HEAD : HEAD + 4 * slabs])
    masks: defaultdict[int, list[int]] = defaultdict(list)
    row = HEAD + 4 * slabs + 2 * width * LANES * slabs
    for k in range(chunks):
        begin = HEAD + 4 * slabs + 2 * width * k
        for r in range(sizes[k]):
            masks[int(renamed[words[row + r * LANES + k % LANES]])].append(number(words[begin : begin + 2 * width]))
        row += LANES * sizes[k - k % LANES] if k % LANES == LANES - 1 else 0
    for _ in range(dormant):
        begin = at + 2 * width + 2
        for place in words[begin : begin + words[begin - 2]]:
            masks[int(renamed[place])].append(number(words[at : at + 2 * width]))
        at = begin + words[begin - 2] + words[begin - 2] % 2
    return masks


def encoded(masks: dict[int, list[int]], candidates: int, awake: int, common: bool) -> list[int]:
    """The one blob of these masks (S10.8)."""
    width, everyone = (candidates + 63) // 64, (1 << candidates) - 1
    active: defaultdict[int, list[int]] = defaultdict(list)
    dormant: defaultdict[int, list[int]] = defaultdict(list)
    for place in sorted(masks):
        for mask in masks[place]:
            (active if place <= awake and (common or mask != everyone) else dormant)[mask].append(place)
    chunks = [(mask, ids[i : i + LANES]) for mask, ids in sorted(active.items()) for i in range(0, len(ids), LANES)]
    chunks.sort(key=lambda chunk: -len(chunk[1]))
    slabs = [chunks[i : i + LANES] for i in range(0, len(chunks), LANES)]
    sizes = [len(ids) for _, ids in chunks] + [0] * (-len(chunks) % LANES)
    words = [int.from_bytes(bytes(sizes[i : i + 4]), "little") for i in range(0, len(sizes), 4)]
    for mask, _ in chunks:
        words += digits(mask, width)
    words += [0] * (-len(chunks) % LANES * 2 * width)
    for slab in slabs:
        for r in range(len(slab[0][1])):
            words += [ids[r] if r < len(ids) else 0 for _, ids in slab] + [0] * (LANES - len(slab))
    head = [len(chunks), len(slabs), width, len(dormant), HEAD + len(words), 0]
    for mask, ids in sorted(dormant.items()):
        words += [*digits(mask, width), len(ids), 0, *ids, *[0] * (len(ids) % 2)]
    return head + words


def number(words: list[int]) -> int:
    return sum(word << 32 * i for i, word in enumerate(words))


def digits(mask: int, width: int) -> list[int]:
    return [mask >> 32 * i & 0xFFFFFFFF for i in range(2 * width)]
