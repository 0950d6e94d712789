"""Names and their dense ids: one growable table whose arrays the kernels read and extend."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import crowded
from rampion.errors import InputError
from rampion.store.text import Texts

_Cell = TypeVar("_Cell", bound=np.generic)


MOST = 1 << 31  # names of a table: the slots of twice as many hold an id + 1 in 32 bits


class Names:
    """Distinct byte strings, numbered by first appearance.

    Name i is blob[bounds[i]:bounds[i + 1]]; counts[0] is how many there are. The slots are a hash table with open
    addressing: 0 is empty, otherwise id + 1. A kernel that finds the table full stops, returns how far it
    came, and is called again after `grow`.
    """

    __slots__ = ("blob", "bounds", "counts", "slots")

    def __init__(self, capacity: int = 1024) -> None:
        """`capacity` must be a power of two."""
        self.slots: NDArray[np.uint32] = np.zeros(2 * capacity, np.uint32)
        self.blob: NDArray[np.uint8] = np.zeros(16 * capacity, np.uint8)
        self.bounds: NDArray[np.int64] = np.zeros(capacity + 1, np.int64)
        self.counts: NDArray[np.int64] = np.zeros(1, np.int64)

    @classmethod
    def of(cls, texts: Texts) -> Names:
        """The table of these texts; equal texts share a name."""
        names = cls(1 << max(len(texts) - 1, 1).bit_length())
        names.blob = np.zeros(max(int(texts.bounds[-1] - texts.bounds[0]), 1), np.uint8)
        names.intern_all(texts)
        return names

    def __len__(self) -> int:
        return int(self.counts[0])

    def grow(self) -> None:
        """Double what is full: the arrays of names, or else the array of their bytes."""
        if crowded(self.slots):
            raise InputError(
                f"more than 500 of {len(self):,} names, such as {self.texts().raw(len(self) - 1)[:60]!r}, fall on one "
                "place of the table of names, as names do that were made to collide; is this a file to trust?"
            )
        if len(self) < len(self.bounds) - 1:
            self.blob = np.concatenate([self.blob, np.zeros_like(self.blob)])
            return
        if len(self) >= MOST:
            raise InputError(f"there are more than {MOST:,} different names; ids have no room for more")
        old = self.texts()
        self.__init__(2 * (len(self.bounds) - 1))  # type: ignore[misc]
        self.intern_all(old)

    def intern_all(self, texts: Texts) -> NDArray[np.int64]:
        """The id of every text, new ones for those not seen before."""
        ids, done = np.empty(len(texts), np.int64), 0
        while (done := _kernels.intern(texts.blob, texts.bounds, done, self, ids)) < len(texts):
            self.grow()
        return ids

    def find_all(self, texts: Texts) -> NDArray[np.int64]:
        """The id of every text, -1 for those that are no names."""
        ids = np.empty(len(texts), np.int64)
        _kernels.find(texts.blob, texts.bounds, self, ids)
        return ids

    def intern(self, name: bytes | str) -> int:
        """The id of the name, a new one if it was not seen before."""
        return int(self.intern_all(_one(name))[0])

    def find(self, name: bytes | str) -> int | None:
        """The id of the name, or None."""
        found = int(self.find_all(_one(name))[0])
        return None if found < 0 else found

    def name(self, index: int) -> str:
        return self.texts()[index]

    def texts(self) -> Texts:
        """All names in id order."""
        return Texts(self.blob[: self.bounds[len(self)]], self.bounds[: len(self) + 1])

    def tokens(self, texts: Texts) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The words between ASCII whitespace, as ids: those of text i are tokens[bounds[i]:bounds[i + 1]]."""
        bounds = np.zeros(len(texts) + 1, np.int64)
        tokens = np.empty((int(texts.bounds[-1] - texts.bounds[0]) + len(texts)) // 2, np.uint32)
        done = 0
        while (done := _kernels.words(texts.blob, texts.bounds, done, self, tokens, bounds)) < len(texts):
            self.grow()
        return tokens[: bounds[-1]].copy(), bounds

    def find_tokens(self, texts: Texts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same without new names: -1 for unknown words."""
        local = Names()
        tokens, bounds = local.tokens(texts)
        return self.find_all(local.texts())[tokens], bounds


class Labels:
    """Labels of values and the features they head: TM with two values is TM[0] and TM[1], LM with one value is LM.

    The values of all labels have consecutive slots: those of label i are firsts[i] to firsts[i] + sizes[i] - 1, where
    sizes[i] is 0 until the label is first met with values. Label 0 heads values without a label. The label metric:x
    heads the metric column x, no feature.
    """

    METRIC = "metric:"
    UNNAMED = "F"

    def __init__(self, features: Names, capacity: int = 1024) -> None:
        self.features = features
        self.names = Names(capacity)
        self.names.intern(self.UNNAMED)
        self.metrics: dict[int, str] = {}
        self.total: NDArray[np.int64] = np.zeros(1, np.int64)
        self.sizes: NDArray[np.int64] = np.zeros(0, np.int64)
        self.firsts: NDArray[np.int64] = np.zeros(0, np.int64)
        self.slot_ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._owned: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.fit()

    def fit(self) -> None:
        """Make the arrays as long as the table of names."""
        room = len(self.names.bounds) - 1
        if len(self.sizes) < room:
            self.sizes, self.firsts = _padded(self.sizes, room), _padded(self.firsts, room)

    def meet(self, name: str, size: int) -> tuple[int, int]:
        """The first slot and the number of values of the label; a new label gets `size` values."""
        label = self.names.intern(name)
        self.fit()
        if self.sizes[label] == 0:
            self.sizes[label], self.firsts[label] = size, self.total[0]
            self.total[0] += size
        return int(self.firsts[label]), int(self.sizes[label])

    def settle(self, where: str) -> None:
        """Number the features of labels met since the last call: slot i holds feature slot_ids[i], -1 for a metric."""
        done, count = len(self.slot_ids), len(self.names)
        if done == self.total[0]:
            return
        fresh = np.flatnonzero((self.firsts[:count] >= done) & (self.sizes[:count] > 0))
        fresh = fresh[np.argsort(self.firsts[fresh])]
        names: list[str] = []
        for name, size in zip(self.names.texts().take(fresh), self.sizes[fresh].tolist(), strict=True):
            if name.startswith(self.METRIC):
                if size != 1:
                    raise InputError(f"{where}: {name} has {size} values in one candidate; a metric has one")
                self.metrics[done + len(names)] = name.removeprefix(self.METRIC)
            names += [name] if size == 1 else [f"{name}[{place}]" for place in range(size)]
        ids = np.full(len(names), -1)
        features = np.array([slot for slot in range(len(names)) if done + slot not in self.metrics], np.int64)
        ids[features] = self.features.intern_all(Texts.from_strings(names[slot] for slot in features.tolist()))
        self._owned = _padded(self._owned, len(self.features.bounds) - 1)
        repeated = np.ones(len(features), np.bool_)
        repeated[np.unique(ids[features], return_index=True)[1]] = False
        for slot in features[self._owned[ids[features]] | repeated].tolist():
            raise InputError(f"{where}: two labels lead to the feature {names[slot]}; give one of them another name")
        self._owned[ids[features]] = True
        self.slot_ids = np.concatenate([self.slot_ids, ids])


def _padded(cells: NDArray[_Cell], size: int) -> NDArray[_Cell]:
    """The cells, and zeros up to `size`."""
    return np.concatenate([cells, np.zeros(size - len(cells), cells.dtype)])


def _one(name: bytes | str) -> Texts:
    raw = name.encode() if isinstance(name, str) else name
    return Texts(np.frombuffer(raw, np.uint8), np.array([0, len(raw)], np.int64))
