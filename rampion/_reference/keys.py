"""Many keys at once through the feature table.

Twin: rampion/_core/keys.pyx (and keys.pxd)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = (1 << 64) - 1


def enter(
    keys: NDArray[np.uint64],
    start: int,
    limit: int,
    slots: NDArray[np.void],
    counts: NDArray[np.uint32],
    size: NDArray[np.int64],
    ids: NDArray[np.uint32],
) -> int:
    """Count every key from `start` on, new ones under the ids from size[0] on; return how many are done.

    All are, unless the table holds `limit` keys and meets another.
    """
    table, known = slots["key"].tolist(), slots["id"].tolist()
    for at, key in enumerate(keys.tolist()[start:], start):
        slot = seek(table, key)
        if table[slot] == 0:
            if size[0] == limit:
                return at
            table[slot], known[slot] = key, int(size[0])
            slots["key"][slot], slots["id"][slot] = key, known[slot]
            size[0] += 1
        ids[at] = known[slot]
        counts[known[slot]] += 1
    return len(keys)


def locate(keys: NDArray[np.uint64], slots: NDArray[np.void], absent: int, ids: NDArray[np.uint32]) -> None:
    """The id of every key, or `absent`."""
    table, known = slots["key"].tolist(), slots["id"].tolist()
    for at, key in enumerate(keys.tolist()):
        slot = seek(table, key)
        ids[at] = known[slot] if table[slot] else absent


def weigh(keys: NDArray[np.uint64], slots: NDArray[np.void], weights: NDArray[np.float32]) -> None:
    """The weight of every key, 0 for those not in the table."""
    table, known = slots["key"].tolist(), slots["weight"].tolist()
    weights[:] = [known[seek(table, key)] for key in keys.tolist()]


def refresh(weights: NDArray[np.float32], slots: NDArray[np.void]) -> None:
    """Give every slot the weight of its id."""
    fresh = weights.tolist()
    for slot, (key, _, index) in enumerate(slots.tolist()):
        if key:
            slots["weight"][slot] = fresh[index]


def settle(old: NDArray[np.void], places: NDArray[np.uint32], absent: int, slots: NDArray[np.void]) -> None:
    """Put the old table's keys, weights and ids, renamed by places, into empty slots; leave out the `absent`."""
    table, renamed = slots["key"].tolist(), places.tolist()
    for key, weight, index in old.tolist():
        if key and renamed[index] != absent:
            slot = seek(table, key)
            table[slot] = key
            slots[slot] = key, weight, renamed[index]


def listed(slots: NDArray[np.void], keys: NDArray[np.uint64]) -> None:
    """The keys in the order of their ids."""
    for key, _, index in slots.tolist():
        if key:
            keys[index] = key


def home(size: int, key: int) -> int:
    """The slot where the search for key begins."""
    mixed = key * 0x9E3779B97F4A7C15 & WORD
    mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93 & WORD
    return mixed * size >> 64


def seek(table: Sequence[int], key: int) -> int:
    """The slot that holds key, or the free one where it belongs."""
    slot = home(len(table), key)
    while table[slot] not in (key, 0):
        slot = (slot + 1) % len(table)
    return slot
