"""Exact feature keys and their dense ids: one growable table that counts features and holds their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Ids, KeyRow
from rampion.errors import InputError

SLOT = np.dtype([("key", np.uint64), ("weight", np.float32), ("id", np.uint32)])
ABSENT = 0xFFFFFFFF  # the id of a key that is not in the table
MOST = ABSENT  # keys of a table
FREQUENT = 4  # features with at least this count are ranked: their weights are neighbours in memory


class Keys:
    """Distinct 64-bit keys other than 0, numbered by first appearance, each with its count and its weight.

    Four of five slots are in use when the table is full: 24 bytes a feature in all. Kernels read `slots`, where a
    key, its weight and its id share a cache line.
    """

    __slots__ = ("_size", "counts", "edition", "slots")

    def __init__(self, capacity: int = 1 << 12) -> None:
        self.slots: NDArray[Any] = np.zeros(max(capacity, 1) * 5 // 4 + 1, SLOT)
        self.counts: Ids = np.zeros(max(capacity, 1), np.uint32)
        self._size: NDArray[np.int64] = np.zeros(1, np.int64)
        self.edition = 0  # changes with the weights; new features have weight 0, as unknown ones do

    @classmethod
    def of(cls, keys: KeyRow, counts: Ids) -> Keys:
        """The table in which keys[i] has the id i and counts[i]: those that `listed` and `counts` of a table gave."""
        table = cls(len(keys))
        table.enter(keys)
        if len(table) < len(keys):
            raise InputError(f"{len(keys) - len(table):,} of {len(keys):,} feature keys appear twice; expected none to")
        table.counts[: len(keys)] = counts
        return table

    @classmethod
    def weighed(cls, slots: NDArray[Any], size: int) -> Keys:
        """A table for reading weights: the slots of another table, perhaps mapped from a file."""
        table = cls(0)
        table.slots, table._size = slots, np.array([size], np.int64)
        return table

    def __len__(self) -> int:
        return int(self._size[0])

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes + self.counts.nbytes

    def enter(self, keys: KeyRow) -> Ids:
        """The id of every key, new ones for those not seen before; each is counted once more."""
        if not keys.all():
            raise InputError(f"feature key {int(np.argmin(keys))} is 0, which marks a free slot; give it another")
        ids, done = np.empty(len(keys), np.uint32), 0
        while True:
            done = _kernels.enter(keys, done, len(self.counts), self.slots, self.counts, self._size, ids)
            if done == len(keys):
                return ids
            if len(self) >= MOST:
                raise InputError(f"there are more than {MOST:,} different features; ids have no room for more")
            self._rebuild(min(len(self) * 3 // 2 + 1, MOST), np.arange(len(self), dtype=np.uint32))

    def find(self, keys: KeyRow) -> Ids:
        """The id of every key, or ABSENT."""
        ids = np.empty(len(keys), np.uint32)
        _kernels.locate(keys, self.slots, ABSENT, ids)
        return ids

    def weigh(self, keys: KeyRow) -> NDArray[np.float32]:
        """The weight of every key, 0 for those not in the table."""
        weights = np.empty(len(keys), np.float32)
        _kernels.weigh(keys, self.slots, weights)
        return weights

    def set_weights(self, weights: NDArray[np.floating[Any]]) -> None:
        """Give feature i the weight weights[i], rounded to single precision."""
        if len(weights) != len(self):
            raise InputError(f"{len(weights):,} weights for {len(self):,} features; expected one each, in id order")
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(weights, np.float32)
        if not np.isfinite(single).all():
            index = int(np.argmin(np.isfinite(single)))
            raise InputError(f"the weight of feature {index} is {weights[index]}; expected a finite number")
        _kernels.refresh(single, self.slots)
        self.edition += 1

    def listed(self) -> KeyRow:
        """All keys in id order."""
        keys = np.empty(len(self), np.uint64)
        _kernels.listed(self.slots, keys)
        return keys

    def settle(self, least: int = 1) -> Ids:
        """Drop features counted fewer than `least` times (S10.2), rank the others and fit the table to them.

        Features counted FREQUENT times or more come first, by falling count; equals, and all others, keep their order.
        Return the new id of every old one, or ABSENT.
        """
        counts = self.counts[: len(self)]
        frequent = np.flatnonzero((counts >= FREQUENT) & (counts >= least))
        frequent = frequent[np.argsort(ABSENT - counts[frequent], kind="stable")]
        order = np.concatenate([frequent, np.flatnonzero((counts < FREQUENT) & (counts >= least))])
        places = np.full(len(self), ABSENT, np.uint32)
        places[order] = np.arange(len(order), dtype=np.uint32)
        self._rebuild(len(order), places)
        self.edition += 1
        return places

    def _rebuild(self, capacity: int, places: Ids) -> None:
        """Move to a table of that capacity, with new ids."""
        old, counts, edition = self.slots, self.counts[: len(self)], self.edition
        kept = places != ABSENT
        self.__init__(capacity)  # type: ignore[misc]
        self.edition = edition
        self._size[0] = np.count_nonzero(kept)
        self.counts[places[kept]] = counts[kept]
        _kernels.settle(old, places, ABSENT, self.slots)
