"""Segments of a working form as kernels see them (S10.5): scores out, steps in. The C bodies are in slab.h.

score of c = offset + scale * (own . values + what its places weigh), a double but for the last part, a single float.
Twin: rampion/_core/slab.pxd
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rampion.sets.packed import Slabs

SLAB = 16  # chunks in a slab


def single(number: float) -> float:
    """Rounded to single precision; of a sum of two single floats this is their sum as single floats."""
    return float(np.float32(number))


class Chunk:
    """Places with the same candidates: a mask and at most SLAB places."""

    def __init__(self, mask: int, places: list[int], rows: int) -> None:
        self.mask, self.places = mask, places
        self.padded = places + [0] * (rows - len(places))

    def weigh(self, weights: Sequence[float]) -> float:
        total = weights[self.padded[0]]
        for place in self.padded[1:]:
            total = single(total + weights[place])
        return total


class Segment:
    """A segment's blob, read by the layout of rampion/sets/packed.py."""

    def __init__(self, slabs: Slabs, s: int) -> None:
        self.first, self.end = slabs.bounds[s : s + 2].tolist()
        width = len(slabs.values) // max(1, len(slabs.offsets))
        self.values = slabs.values[self.first * width : self.end * width].reshape(-1, max(1, width)).tolist()
        self.offsets: list[float] = slabs.offsets[self.first : self.end].tolist()
        self.chunks: list[Chunk] = []
        if self.first == self.end:
            return
        words = slabs.blob[slabs.starts[s] : slabs.starts[s + 1]].tolist()
        chunks, halves = SLAB * words[1], 2 * words[2]
        sizes = [words[6 + k // 4] >> 8 * (k % 4) & 255 for k in range(chunks)]
        masks = 6 + chunks // 4
        at = masks + chunks * halves
        for k in range(chunks):
            mask = sum(half << 32 * i for i, half in enumerate(words[masks + k * halves : masks + (k + 1) * halves]))
            rows, lane = sizes[k - k % SLAB], k % SLAB
            self.chunks.append(Chunk(mask, [words[at + SLAB * row + lane] for row in range(sizes[k])], rows))
            if lane == SLAB - 1:
                at += SLAB * rows

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
    weights[:] = [single(scale * weight) for weight in weights]
    own[:] = [scale * weight for weight in own]
