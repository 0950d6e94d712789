"""Names and their dense ids: one growable table whose arrays the kernels read and extend."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.text import Texts


class Names:
    """Distinct byte strings, numbered by first appearance.

    Name i is blob[bounds[i]:bounds[i + 1]]; counts[0] is how many there are. The slots are a hash table with open
    addressing: 0 is empty, otherwise id + 1. A kernel that finds the table full stops, says how far it came, and is
    called again after `grow`.
    """

    __slots__ = ("blob", "bounds", "counts", "slots")

    def __init__(self, capacity: int = 1024) -> None:
        """`capacity` must be a power of two."""
        self.slots: NDArray[np.uint32] = np.zeros(2 * capacity, np.uint32)
        self.blob: NDArray[np.uint8] = np.zeros(16 * capacity, np.uint8)
        self.bounds: NDArray[np.int64] = np.zeros(capacity + 1, np.int64)
        self.counts: NDArray[np.int64] = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self.counts[0])

    def grow(self) -> None:
        """Double what is full: the room for names, or else the room for their bytes."""
        if len(self) < len(self.bounds) - 1:
            self.blob = np.concatenate([self.blob, np.zeros_like(self.blob)])
            return
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


def _one(name: bytes | str) -> Texts:
    raw = name.encode() if isinstance(name, str) else name
    return Texts(np.frombuffer(raw, np.uint8), np.array([0, len(raw)], np.int64))
