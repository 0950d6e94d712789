"""Many strings as one block of UTF-8 bytes with bounds: cheap to slice, to map from disk, and to hand to a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """String i is blob[bounds[i]:bounds[i + 1]]."""

    blob: NDArray[np.uint8]
    bounds: NDArray[np.int64]

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> Texts:
        encoded = [string.encode() for string in strings]
        bounds = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(piece) for piece in encoded], out=bounds[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, index: int) -> str:
        return self.raw(index).decode()

    def raw(self, index: int) -> bytes:
        return self.blob[self.bounds[index] : self.bounds[index + 1]].tobytes()

    def __iter__(self) -> Iterator[str]:
        whole = self.blob.tobytes()
        return (whole[start:end].decode() for start, end in pairwise(self.bounds.tolist()))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Texts)
            and np.array_equal(self.bounds, other.bounds)
            and np.array_equal(self.blob, other.blob)
        )

    def take(self, rows: NDArray[np.int64]) -> Texts:
        """The strings at `rows`, in that order."""
        spans = np.stack([self.bounds[:-1][rows], self.bounds[1:][rows]], axis=1)
        bounds = np.empty(len(rows) + 1, np.int64)
        blob = np.empty(int((spans[:, 1] - spans[:, 0]).sum()), np.uint8)
        _kernels.cut(self.blob, spans, 0, blob, bounds)
        return Texts(blob, bounds)

    def part(self, first: int, last: int) -> Texts:
        """The strings from first to last - 1, over the same bytes."""
        start, end = self.bounds[[first, last]]
        return Texts(self.blob[start:end], self.bounds[first : last + 1] - start)

    @classmethod
    def join(cls, parts: Sequence[Texts]) -> Texts:
        """All strings of all parts, in order."""
        lengths = [np.diff(part.bounds) for part in parts]
        bounds = np.zeros(sum(map(len, lengths)) + 1, np.int64)
        if parts:
            np.cumsum(np.concatenate(lengths), out=bounds[1:])
        blobs = [part.blob[part.bounds[0] : part.bounds[-1]] for part in parts]
        return cls(np.concatenate(blobs) if blobs else np.zeros(0, np.uint8), bounds)


@dataclass(frozen=True, slots=True)
class References:
    """References of every segment: those of segment s are texts[bounds[s]:bounds[s + 1]], at least one each."""

    texts: Texts
    bounds: NDArray[np.int64]

    @classmethod
    def from_lists(cls, segments: Iterable[Sequence[str]]) -> References:
        lists = [list(segment) for segment in segments]
        bounds = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(strings) for strings in lists], out=bounds[1:])
        return cls(Texts.from_strings(string for strings in lists for string in strings), bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def take(self, segments: NDArray[np.int64]) -> References:
        """The references of these segments, in that order."""
        counts = np.diff(self.bounds)[segments]
        bounds = np.zeros(len(segments) + 1, np.int64)
        np.cumsum(counts, out=bounds[1:])
        rows = np.arange(bounds[-1]) + np.repeat(self.bounds[:-1][segments] - bounds[:-1], counts)
        return References(self.texts.take(rows), bounds)

    def __getitem__(self, segment: int) -> list[str]:
        return [self.texts[row] for row in range(self.bounds[segment], self.bounds[segment + 1])]
