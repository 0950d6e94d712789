"""Whole strings to ids of a name table.

Twin: rampion/_core/intern.pyx (and spans.pxd)
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rampion.store.names import Names

FARTHEST = 1023  # no name stands farther from the slot where its search begins


def intern(text: NDArray[np.uint8], bounds: NDArray[np.int64], start: int, table: Names, ids: NDArray[np.int64]) -> int:
    """Fill ids with the ids of the strings from `start` on; return how many are done: all, unless the table is full."""
    known: dict[bytes, int] = {}
    edges, whole = bounds.tolist(), text.tobytes()
    for row in range(start, len(edges) - 1):
        ids[row] = intern_one(whole[edges[row] : edges[row + 1]], table, known)
        if ids[row] < 0:
            return row
    return len(edges) - 1


def find(text: NDArray[np.uint8], bounds: NDArray[np.int64], table: Names, ids: NDArray[np.int64]) -> None:
    """Fill ids with the id of every string, -1 for those not in the table."""
    edges, whole = bounds.tolist(), text.tobytes()
    for row, (first, last) in enumerate(pairwise(edges)):
        ids[row] = int(table.slots[slot_of(whole[first:last], table)]) - 1


def home_of(name: bytes, table: Names) -> int:
    """The slot where the search begins."""
    key = 0xCBF29CE484222325
    for byte in name:
        key = (key ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return (key ^ (key >> 29) ^ (key >> 47)) & (len(table.slots) - 1)


def slot_of(name: bytes, table: Names) -> int:
    """The slot that holds the name, or the empty one where it belongs."""
    slot = home_of(name, table)
    while place := int(table.slots[slot]):
        if table.blob[table.bounds[place - 1] : table.bounds[place]].tobytes() == name:
            break
        slot = (slot + 1) & (len(table.slots) - 1)
    return slot


def intern_one(name: bytes, table: Names, known: dict[bytes, int]) -> int:
    """The id of the name, a new one if need be; -1 if the table is full, or crowded. `known` remembers answers."""
    if (answer := known.get(name)) is not None:
        return answer
    slot, count = slot_of(name, table), int(table.counts[0])
    if table.slots[slot]:
        known[name] = int(table.slots[slot]) - 1
        return known[name]
    start = int(table.bounds[count])
    if count == len(table.bounds) - 1 or start + len(name) > len(table.blob):
        return -1
    if (slot - home_of(name, table)) % len(table.slots) > FARTHEST:
        return -1
    table.blob[start : start + len(name)] = list(name)
    table.bounds[count + 1] = start + len(name)
    table.counts[0] = count + 1
    table.slots[slot] = count + 1
    known[name] = count
    return count
