"""Segments of a working form as kernels see them (S10.5): scores out, steps in. Bodies and layout are in slab.h.

score of c = offset + scale * (own . values + what its places weigh), a double but for the last part, a single float.
Twin: rampion/_core/slab.pxd
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rampion.sets.packed import Slabs

SLAB = 16  # chunks in a slab, and the most places of a chunk
HEAD = 6  # words
EMPTY = (0, 0, 0, 0, HEAD, 0)  # the blob of a segment without candidates


def single(number: float) -> float:
    """Rounded to single precision; of a sum of two single floats this is their sum as single floats."""
    return float(np.float32(number))


class Chunk(NamedTuple):
    """Places with the same candidates: a mask and at most SLAB places."""

    mask: int
    places: list[int]
    rows: int = 0  # of its slab

    def weigh(self, weights: Sequence[float]) -> float:
        padded = self.places + [0] * (self.rows - len(self.places))
        total = weights[padded[0]]
        for place in padded[1:]:
            total = single(total + weights[place])
        return total


class Blob(NamedTuple):
    """What the blob of a segment holds; its layout stands in slab.h."""

    chunks: list[Chunk]  # with those that fill up the last slab
    dormant: list[Chunk]  # of any number of places

    @classmethod
    def read(cls, words: list[int]) -> Self:
        _, slabs, wide, dormant, at, _ = words[:HEAD]
        count, halves = SLAB * slabs, 2 * wide
        sizes = b"".join(word.to_bytes(4, "little") for word in words[HEAD : HEAD + count // 4])
        masks = HEAD + count // 4
        row = masks + count * halves
        found = cls([], [])
        for k in range(count):
            rows, lane = sizes[k - k % SLAB], k % SLAB
            mask = number(words[masks + k * halves : masks + (k + 1) * halves])
            found.chunks.append(Chunk(mask, [words[row + SLAB * r + lane] for r in range(sizes[k])], rows))
            row += SLAB * rows if lane == SLAB - 1 else 0
        for _ in range(dormant):
            size, begin = words[at + halves], at + halves + 2
            found.dormant.append(Chunk(number(words[at : at + halves]), words[begin : begin + size]))
            at = begin + size + size % 2
        return found

    def written(self, candidates: int) -> list[int]:
        """The words of these chunks and dormant groups, which stand in order; chunks that fill up are added."""
        wide, pads = (candidates + 63) // 64, -len(self.chunks) % SLAB
        sizes = bytes(len(chunk.places) for chunk in self.chunks) + bytes(pads)
        words = [int.from_bytes(sizes[i : i + 4], "little") for i in range(0, len(sizes), 4)]
        for chunk in self.chunks:
            words += digits(chunk.mask, wide)
        words += [0] * (pads * 2 * wide)
        for first in range(0, len(self.chunks), SLAB):
            slab = [chunk.places for chunk in self.chunks[first : first + SLAB]]
            for r in range(len(slab[0])):
                words += [places[r] if r < len(places) else 0 for places in slab] + [0] * (SLAB - len(slab))
        head = [len(self.chunks), len(sizes) // SLAB, wide, len(self.dormant), HEAD + len(words), 0]
        for mask, places, _ in self.dormant:
            words += [*digits(mask, wide), len(places), 0, *places, *[0] * (len(places) % 2)]
        return head + words


def number(words: list[int]) -> int:
    return sum(word << 32 * i for i, word in enumerate(words))


def digits(mask: int, wide: int) -> list[int]:
    return [mask >> 32 * i & 0xFFFFFFFF for i in range(2 * wide)]


class Segment:
    """A segment of a working form as plain Python lists."""

    def __init__(self, slabs: Slabs, s: int) -> None:
        self.first, self.end = slabs.bounds[s : s + 2].tolist()
        width = len(slabs.values) // max(1, len(slabs.offsets))
        self.values = slabs.values[self.first * width : self.end * width].reshape(-1, max(1, width)).tolist()
        self.offsets: list[float] = slabs.offsets[self.first : self.end].tolist()
        words = slabs.blob[slabs.starts[s] : slabs.starts[s + 1]].tolist() if self.offsets else [*EMPTY]
        self.chunks = Blob.read(words).chunks

    def scores(self, weights: Sequence[float], own: Sequence[float], scale: float) -> list[float]:
        sums = [chunk.weigh(weights) for chunk in self.chunks]
        scores = []
        for c, offset in enumerate(self.offsets):
            parts = [0.0, 0.0]
            for k, chunk in enumerate(self.chunks):
                if chunk.mask >> c & 1:
                    parts[k % 2] = single(parts[k % 2] + sums[k])
            score = 0.0
            for j, weight in enumerate(own):
                score += weight * self.values[c][j]
            scores.append(offset + scale * (score + single(parts[0] + parts[1])))
        return scores

    def move(self, steps: list[float], weights: list[float], own: list[float]) -> None:
        """Add steps[c] times the features of candidate c for all c: a double each, their sums in single floats."""
        touched = [c for c, step in enumerate(steps) if step != 0.0]
        for j in range(len(own)):
            total = 0.0
            for c in touched:
                total += steps[c] * self.values[c][j]
            own[j] += total
        for chunk in self.chunks:
            delta = 0.0
            for c in touched:
                if chunk.mask >> c & 1:
                    delta = single(delta + single(steps[c]))
            if delta != 0.0:
                for place in chunk.places:
                    weights[place] = single(weights[place] + delta)


def fold(weights: list[float], own: list[float], scale: float) -> None:
    """Multiply by the scale what is stored."""
    weights[:] = [single(scale * weight) for weight in weights]
    own[:] = [scale * weight for weight in own]
