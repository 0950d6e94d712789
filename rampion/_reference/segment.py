"""What every kernel over a store does with one segment: scores out of local weights, slopes into a local gradient.

Twin: rampion/_core/segment.pxd, where the order of summation is defined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.store.lists import Lists


class Plain:
    """The arrays of a store as plain Python lists."""

    def __init__(self, lists: Lists) -> None:
        self.width = lists.width
        self.bounds, self.feature_bounds = lists.bounds.tolist(), lists.feature_bounds.tolist()
        self.entry_bounds, self.entries = lists.entry_bounds.tolist(), lists.entries.tolist()
        self.features, self.dense = lists.features.tolist(), lists.dense.tolist()
        self.values = lists.values.tolist() or [1.0] * len(self.entries)

    def local_features(self, s: int) -> list[int]:
        return [*range(self.width), *self.features[self.feature_bounds[s] : self.feature_bounds[s + 1]]]

    def scores(self, s: int, local: list[float]) -> list[float]:
        start, end, width = self.bounds[s], self.bounds[s + 1], self.width
        entries, values = self.entries, self.values
        scores = [0.0] * (end - start)
        for j in range(width):
            weight = local[j]
            column = start * width + j * (end - start)
            for i in range(end - start):
                scores[i] += weight * self.dense[column + i]
        if not entries:
            return scores
        sparse = local[width:]
        for i in range(start, end):
            lanes = [0.0, 0.0, 0.0, 0.0]
            first, last = self.entry_bounds[i], self.entry_bounds[i + 1]
            for lane in range(4):
                total = 0.0
                for e in range(first + lane, last, 4):
                    total += sparse[entries[e]] * values[e]
                lanes[lane] = total
            scores[i - start] += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
        return scores

    def gradient(self, s: int, slopes: list[float]) -> list[float]:
        start, end, width = self.bounds[s], self.bounds[s + 1], self.width
        gradient = [0.0] * (width + self.feature_bounds[s + 1] - self.feature_bounds[s])
        for i in range(start, end):
            slope = slopes[i - start]
            if slope == 0.0:
                continue
            for j in range(width):
                gradient[j] += slope * self.dense[start * width + j * (end - start) + i - start]
            for e in range(self.entry_bounds[i], self.entry_bounds[i + 1]):
                gradient[width + self.entries[e]] += slope * self.values[e]
        return gradient
