"""Phrases to ids, as rampion's intern.pyx does it for strings.

Twin: decoder/_core/phrases.pyx (and rampion/_core/spans.pxd)
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.models.blocks import Phrases

FARTHEST = 1023  # no phrase stands farther from the slot where its search begins


def number(
    tokens: NDArray[np.uint32],
    starts: NDArray[np.int64],
    sizes: NDArray[np.uint8],
    done: int,
    table: Phrases,
    ids: NDArray[np.uint32],
) -> int:
    """Ids of phrases tokens[start:start + size] from number `done` on; return how many are done: all unless full."""
    text, room, places = tokens.tolist(), len(table.words), len(table.slots)
    words, bounds, count = table.words.tolist(), table.bounds.tolist(), int(table.counts[0])
    known = {tuple(words[start:end]): phrase for phrase, (start, end) in enumerate(pairwise(bounds[: count + 1]))}
    slots = table.slots.tolist()
    for row, (start, size) in enumerate(zip(starts.tolist()[done:], sizes.tolist()[done:], strict=True), done):
        phrase = tuple(text[start : start + size])
        if phrase not in known:
            if count == len(bounds) - 1 or bounds[count] + size > room:
                return row
            slot = home(phrase, places)
            while slots[slot]:
                slot = (slot + 1) % places
            if (slot - home(phrase, places)) % places > FARTHEST:
                return row
            table.words[bounds[count] : bounds[count] + size] = phrase
            table.bounds[count + 1] = bounds[count + 1] = bounds[count] + size
            table.slots[slot] = slots[slot] = count + 1
            known[phrase] = count
            table.counts[0] = count = count + 1
        ids[row] = known[phrase]
    return len(starts)


def index(words: NDArray[np.uint32], bounds: NDArray[np.int64], first: int, slots: NDArray[np.uint32]) -> None:
    """Enter the phrases from number `first` on, all of them different."""
    text = words.tolist()
    for phrase, (start, end) in enumerate(pairwise(bounds.tolist()[first:]), first):
        slot = home(tuple(text[start:end]), len(slots))
        while slots[slot]:
            slot = (slot + 1) % len(slots)
        slots[slot] = phrase + 1


def home(phrase: tuple[int, ...], places: int) -> int:
    """The slot where the search for the phrase begins."""
    key = 0xCBF29CE484222325
    for word in phrase:
        key = (key ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return (key ^ (key >> 29) ^ (key >> 47)) % places
