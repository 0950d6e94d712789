"""The features of candidates as arrays: lists of segments, as kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Ids, Offsets, Reals, ends, taken
from rampion.schema import Found, Row, below, bounds, pieces, reals, rising

PIECE = 1 << 22  # entries compared at a time
LARGEST_COUNT = 64  # a count n is stored as n entries of 4 bytes; an entry with its value takes 12


class Lists(NamedTuple):
    """The arrays that kernels read. The dense block of segment s is dense[width * bounds[s]:], feature by feature.

    A store without values holds counts: an entry counts 1, and one that counts 3 stands three times.
    """

    bounds: Offsets
    dense: Reals
    width: int
    features: Ids
    feature_bounds: Offsets
    entries: Ids
    entry_bounds: Offsets
    values: Reals

    @property
    def local_size(self) -> int:
        """The most features of one segment."""
        return self.width + int(np.diff(self.feature_bounds).max(initial=0))

    @property
    def longest(self) -> int:
        """The most candidates of one segment."""
        return int(np.diff(self.bounds).max(initial=0))

    def columns(self) -> tuple[Offsets, Offsets]:
        """Where dense features stand: feature f of candidate i at dense[heads[i] + f * strides[i]]."""
        lengths = np.diff(self.bounds)
        heads = np.arange(self.bounds[-1]) + np.repeat((self.width - 1) * self.bounds[:-1], lengths)
        return heads, np.repeat(lengths, lengths)

    def cuts(self, size: int | None = None) -> Offsets:
        """The first segments of parts with about `size` values each, and the end: pieces of work for threads."""
        sizes = self.entry_bounds[self.bounds[1:]] + self.width * self.bounds[1:]
        return np.unique([0, *np.flatnonzero(np.diff(sizes // (size or PIECE))) + 1, len(sizes)])

    def part(self, first: int, last: int) -> Lists:
        """Segments first to last, over the same arrays."""
        (start, end), dictionary = self.bounds[[first, last]], self.feature_bounds[[first, last]]
        entries = slice(*self.entry_bounds[[start, end]])
        return Lists(
            self.bounds[first : last + 1] - start,
            self.dense[self.width * start : self.width * end],
            self.width,
            self.features[slice(*dictionary)],
            self.feature_bounds[first : last + 1] - dictionary[0],
            self.entries[entries],
            self.entry_bounds[start : end + 1] - entries.start,
            self.values[entries],
        )

    def keep(self, kept: NDArray[np.bool_]) -> Lists:
        """Only the marked candidates; dictionaries keep only the features of these."""
        sizes, marks = np.diff(self.entry_bounds), np.empty(len(self.dense), bool)
        heads, strides = self.columns()
        for f in range(self.width):
            marks[heads + f * strides] = kept
        bounds, filled, entry_bounds = ends(kept)[self.bounds], np.repeat(kept, sizes), ends(sizes[kept])
        counts = np.diff(entry_bounds[bounds])
        places = self.entries[filled] + np.repeat(self.feature_bounds[:-1], counts)
        used = np.zeros(len(self.features), bool)
        used[places] = True
        numbers = ends(used)
        feature_bounds = numbers[self.feature_bounds]
        return Lists(
            bounds,
            self.dense[marks],
            self.width,
            self.features[used],
            feature_bounds,
            (numbers[places] - np.repeat(feature_bounds[:-1], counts)).astype(np.uint32),
            entry_bounds,
            self.values[filled] if len(self.values) else self.values,
        ).counted()

    def reordered(self, order: Offsets) -> Lists:
        """The same candidates in another order inside their lists; order[i] is the candidate that moves to place i."""
        (heads, strides), dense = self.columns(), np.empty_like(self.dense)
        for f in range(self.width):
            dense[heads + f * strides] = self.dense[heads[order] + f * strides]
        places, entry_bounds = taken(self.entry_bounds, order)
        return self._replace(
            dense=dense,
            entries=self.entries[places],
            entry_bounds=entry_bounds,
            values=self.values[places] if len(self.values) else self.values,
        )

    def counted(self, most: float = LARGEST_COUNT) -> Lists:
        """The lists without values, if all values are counts of at most `most`."""
        values = self.values
        if not len(values):
            return self
        if values.min() < 1 or values.max() > most or (values != np.floor(values)).any():
            return self
        if values.max() == 1:
            return self._replace(values=np.zeros(0))
        counts = values.astype(np.int64)
        return self._replace(
            entries=np.repeat(self.entries, counts), entry_bounds=ends(counts)[self.entry_bounds], values=np.zeros(0)
        )

    def valued(self) -> Lists:
        """The lists with a value for every entry, each entry once."""
        if len(self.values) or not len(self.entries):
            return self
        fresh = np.concatenate([[True], self.entries[1:] != self.entries[:-1]])
        fresh[self.entry_bounds[:-1][np.diff(self.entry_bounds) > 0]] = True
        starts = np.flatnonzero(fresh)
        entry_bounds = ends(fresh)[self.entry_bounds]
        values = np.diff(np.concatenate([starts, [len(self.entries)]])).astype(np.float64)
        return self._replace(entries=self.entries[starts], entry_bounds=entry_bounds, values=values)


class Scratch(NamedTuple):
    """Work arrays of a pass over lists, each an allocation of its own, so that a sanitizer sees any overrun."""

    local: Reals  # the weights of the segment's features
    gradient: Reals  # the gradient of the same
    scores: Reals  # the scores of its candidates
    slopes: Reals
    spare: Reals

    @classmethod
    def of(cls, lists: Lists) -> Scratch:
        features, candidates = lists.local_size, lists.longest
        return cls(np.empty(features), np.empty(features), *(np.empty(candidates) for _ in range(3)))


def entries_fit(found: Found) -> str | None:
    """What is wrong with the entries; the bounds and dictionaries have been checked before."""
    arrays, entries, values = found.arrays, found.sizes["entries"], found.sizes["values"]
    if found.sizes["width"] > found.sizes["features"]:
        return f"{found.sizes['width']:,} of {found.sizes['features']:,} features are dense"
    if values not in (0, entries):
        return f"it has {values:,} values for {entries:,} entries"
    if entries:
        starts = arrays["entry_bounds"][arrays["bounds"]]
        filled = np.flatnonzero(starts[1:] != starts[:-1])
        highest = np.maximum.reduceat(arrays["entries"], starts[:-1][filled])
        sizes = arrays["feature_bounds"][1:] - arrays["feature_bounds"][:-1]
        if (highest >= sizes[filled]).any():
            return "an entry points outside its segment's dictionary"
    return rising("entry_bounds", strictly=values > 0)(found, "entries") and "a candidate's entries are not in order"


def _sparse(found: Found, name: str) -> str | None:
    """Features below the width are dense."""
    features, width = found.arrays[name], found.sizes["width"]
    return "holds a dense feature" if any(int(piece.min()) < width for piece in pieces(features)) else None


# The arrays of Lists except its bounds, which span the candidates.
LISTS = {
    "dense": reals("width*candidates"),
    "feature_bounds": bounds("segments", "features"),
    "features": Row("<u4", ("dictionaries",), (below("features"), _sparse, rising("feature_bounds"))),
    "entry_bounds": bounds("candidates", "entries"),
    "entries": Row("<u4", ("entries",)),
    "values": reals("values"),
}
