"""Candidates as decoders with keyed features yield them, and as relevant sets store them (S10.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Ids, KeyRow, Offsets, Reals, chained, covers, ends
from rampion.errors import InputError
from rampion.store.keys import Keys
from rampion.store.text import Texts


class Keyed(NamedTuple):
    """Weights for a decoder with keyed features: those of keys in a table, those of real-valued features by name."""

    table: Keys
    own: dict[str, float]


Weighing = Mapping[str, float] | Keyed  # weights by name, or of keys


class DecodedBatch(NamedTuple):
    """Candidates of consecutive segments as a decoder yields them; a key with count 3 occurs three times."""

    bounds: Offsets
    texts: Texts
    values: Reals
    key_bounds: Offsets
    keys: KeyRow
    scores: Reals  # of the decoder, or 0

    @classmethod
    def empty(cls, segments: int, width: int) -> DecodedBatch:
        """A batch of `segments` segments without candidates."""
        bounds, none = np.zeros(segments + 1, np.int64), np.zeros(0)
        return cls(bounds, Texts.from_strings([]), np.zeros((0, width)), bounds[:1], np.zeros(0, np.uint64), none)

    @classmethod
    def join(cls, parts: Sequence[DecodedBatch]) -> DecodedBatch:
        """All segments of the parts, of which there is at least one, in order."""
        return cls(
            chained([part.bounds for part in parts]),
            Texts.join([part.texts for part in parts]),
            np.concatenate([part.values for part in parts]),
            chained([part.key_bounds for part in parts]),
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )


class Records(NamedTuple):
    """Candidates of consecutive segments: ids of a Keys table, rising inside a candidate; count 3 is an id three times.

    Gains are values of the metric; more is better. Prints are 64-bit hashes of the features.
    """

    bounds: Offsets
    id_bounds: Offsets
    ids: Ids
    values: Reals
    gains: Reals
    prints: KeyRow

    def cut(self, first: int, last: int) -> Records:
        """The candidates of the segments from the first to last - 1."""
        start, end = self.bounds[[first, last]].tolist()
        low, high = self.id_bounds[[start, end]].tolist()
        if (low, high) == (0, len(self.ids)) and last - first == len(self.bounds) - 1:
            return self
        bounds, id_bounds = self.bounds[first : last + 1] - start, self.id_bounds[start : end + 1] - low
        values, gains, prints = self.values[start:end], self.gains[start:end], self.prints[start:end]
        return Records(bounds, id_bounds, self.ids[low:high], values, gains, prints)

    @classmethod
    def join(cls, parts: Sequence[Records]) -> Records:
        """All segments of the parts, of which there is at least one, in order."""
        return cls(
            chained([part.bounds for part in parts]),
            chained([part.id_bounds for part in parts]),
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.gains for part in parts]),
            np.concatenate([part.prints for part in parts]),
        )


class Seen:
    """The prints of the candidates that each segment has so far."""

    __slots__ = ("_counts", "_prints")

    def __init__(self, segments: int) -> None:
        self._prints: KeyRow = np.zeros((1, segments), np.uint64)  # a column for each segment; 0 marks a free cell
        self._counts: Offsets = np.zeros(segments, np.int64)

    def admit(self, first: int, bounds: Offsets, prints: KeyRow) -> NDArray[np.bool_]:
        """Mark the candidates of the segments from `first` on that are new to their segment, and store their prints."""
        fresh, lengths = np.zeros(len(prints), bool), np.diff(bounds)
        counts, longest = self._counts[first : first + len(lengths)], int(lengths.max(initial=0))
        while len(self._prints) < counts.max(initial=0) + longest:
            self._prints = np.concatenate([self._prints, np.zeros_like(self._prints)])
        known = self._prints[:, first : first + len(lengths)]
        for rank in range(longest):
            at = np.where(lengths > rank, bounds[:-1] + rank, bounds[0])
            new = (lengths > rank) & (known[: counts.max()] != prints[at]).all(axis=0)
            fresh[at[new]] = True
            known[counts[new], np.flatnonzero(new)] = prints[at[new]]
            counts += new
        return fresh


def recorded(fired: DecodedBatch, gains: Reals, table: Keys, seen: Seen, first: int = 0) -> Records:
    """The new candidates of the segments from `first` on; only their keys are counted."""
    n = len(gains)
    whole = covers(fired.bounds, n) and covers(fired.key_bounds, len(fired.keys))
    if not (whole and n == len(fired.values) == len(fired.key_bounds) - 1):
        raise InputError(
            f"segment {first} and after: the decoder's arrays do not fit together; expected bounds that rise from "
            "0 to the number of candidates, and of keys"
        )
    for what, numbers in (("gain", gains[:, None]), ("value", fired.values)):
        if not np.isfinite(numbers).all():
            i, column = np.argwhere(~np.isfinite(numbers))[0]
            segment = first + int(np.searchsorted(fired.bounds, i, "right")) - 1
            raise InputError(
                f"segment {segment}: {what} {column} of a candidate is {numbers[i, column]}; expected a finite number"
            )
    prints = np.empty(n, np.uint64)
    values = np.add(fired.values, 0.0, order="C").view(np.uint64)  # -0 becomes 0
    _kernels.fingerprints(fired.key_bounds, fired.keys, values, prints)
    new = seen.admit(first, fired.bounds, prints)
    lengths = np.diff(fired.key_bounds)
    ids = table.enter(fired.keys if new.all() else fired.keys[np.repeat(new, lengths)])
    id_bounds = ends(lengths[new])
    for start, end in pairwise(id_bounds.tolist()):
        ids[start:end].sort()
    return Records(ends(new)[fired.bounds], id_bounds, ids, fired.values[new], gains[new], prints[new])
