"""The working form of relevant sets: per segment, features of the same candidates stand together (S10.8).

A feature that counts c in some candidate is c elements, its levels: level l belongs to the candidates that count it l
times or more. Elements with the same candidates form a group, whose weights are added up once for all of them. Groups
are cut into chunks of at most 16 ids, and 16 chunks side by side make a slab. Training skips what is dormant: rare
features (S10.2) and, unless asked for, groups of all candidates, which cancel in differences of scores.

The words of a segment are its blob; _core/slab.h describes the layout, _reference/slab.py reads it in Python. A blob
is a function of the candidates and the numbering alone: places rise inside a group; chunks stand by falling size,
then by rising mask; dormant groups by rising mask.
"""

from __future__ import annotations

import mmap
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Ids, Offsets, Reals, Singles, covers
from rampion.errors import InputError
from rampion.system import private

Words = NDArray[np.uint64]

FREQUENT = 4  # features with at least this count are ranked, so that their weights share cache lines
PIECE = 64 << 20  # bytes of the blob that are written at a time


class Fresh(NamedTuple):
    """New candidates of all segments; ids rise inside a candidate, and an id with count 3 occurs three times."""

    bounds: Offsets
    id_bounds: Offsets
    ids: Ids
    gains: Reals
    offsets: Reals
    values: Reals


class _Room(NamedTuple):
    """Work arrays of the kernel for the largest segment; see slab_add.h. Each is an allocation of its own, so that a
    sanitizer sees any overrun."""

    masks: Words
    begin: Ids
    spare_masks: Words
    spare_begin: Ids
    ids: Ids
    first: Ids
    second: Ids
    order: Words
    slots: Words
    filter: NDArray[np.uint8]
    bits: int

    @classmethod
    def of(cls, slabs: Slabs, fresh: Fresh) -> _Room:
        # A segment has no more ids than its blob has words and its fresh candidates have ids. Two more: `begin` also
        # says where the last group ends, and what moves behind the ids keeps one place away from them.
        most = int((np.diff(slabs.starts) + np.diff(fresh.id_bounds[fresh.bounds])).max(initial=0)) + 2
        candidates = int((np.diff(slabs.bounds) + np.diff(fresh.bounds)).max(initial=0))
        # No group is empty, so there are no more groups than ids; each has a mask of 64 bits for every 64 candidates.
        masks = most * max(1, (candidates + 63) // 64)
        # A table that is at most an eighth full: 2 ** bits is more than 8 times the ids of the longest candidate.
        bits = 3 + int(np.diff(fresh.id_bounds).max(initial=0)).bit_length()
        return cls(
            masks=np.empty(masks, np.uint64),
            begin=np.empty(most, np.uint32),
            spare_masks=np.empty(masks, np.uint64),
            spare_begin=np.empty(most, np.uint32),
            ids=np.empty(most, np.uint32),
            first=np.empty(most, np.uint32),
            second=np.empty(most, np.uint32),
            # A run is two words, there are no more runs than ids, and merging needs them twice.
            order=np.empty(4 * most, np.uint64),
            slots=np.zeros(1 << bits, np.uint64),
            filter=np.zeros(1 << _kernels.FILTER, np.uint8),
            bits=bits,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Slabs:
    """Packed candidates of all segments. Slabs are immutable: `refined` makes new ones. Candidates keep their numbers.

    The first truths[s] candidates of segment s are truths and no alternatives; 0: its best is, and all are. Places
    count from 1, those above `awake` sleep; `known` is the highest that may stand in the blob.
    """

    bounds: Offsets
    truths: NDArray[np.int32]
    gains: Reals
    offsets: Reals
    values: Reals
    width: int
    starts: Offsets
    blob: Ids
    awake: int = 0
    known: int = 0
    folder: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        for array in (self.bounds, self.truths, self.gains, self.offsets, self.values, self.starts, self.blob):
            array.flags.writeable = False

    @classmethod
    def start(
        cls,
        segments: int,
        width: int = 0,
        truths: NDArray[np.int32] | None = None,
        folder: str | PathLike[str] | None = None,
    ) -> Slabs:
        """Slabs without candidates. If a folder is given, the blob is kept in an unnamed file there, not in memory."""
        truths = np.zeros(segments, np.int32) if truths is None else np.array(truths, np.int32)
        if len(truths) != segments:
            raise InputError(f"{len(truths):,} numbers of truths for {segments:,} segments; expected one each")
        blob = np.tile(np.array(_kernels.EMPTY, np.uint32), segments)
        none, starts = np.zeros(0), np.arange(segments + 1) * len(_kernels.EMPTY)
        return cls(np.zeros(segments + 1, np.int64), truths, none, none, none, width, starts, blob, 0, 0, folder)

    def __len__(self) -> int:
        return int(self.bounds[-1])

    @property
    def nbytes(self) -> int:
        arrays = self.bounds, self.truths, self.gains, self.offsets, self.values, self.starts, self.blob
        return sum(array.nbytes for array in arrays)

    def refined(self, fresh: Fresh, places: Ids, renamed: Ids, awake: int, common: bool = False) -> Slabs:
        """Add fresh candidates after those of each segment; id i gets places[i], the old place p becomes renamed[p].

        With `common`, groups that all candidates have stay active.
        """
        fresh = _proved(fresh, len(self.bounds) - 1, self.width)
        _prove_numbering(self, fresh, places, renamed)
        bounds = self.bounds + fresh.bounds
        if (short := np.diff(bounds) < self.truths).any():
            s = int(np.argmax(short))
            raise InputError(
                f"segment {s} has {bounds[s + 1] - bounds[s]} candidates, of which {self.truths[s]} are to be truths"
            )
        behind = np.zeros(int(bounds[-1]), bool)
        counts = np.diff(fresh.bounds)
        behind[np.arange(len(fresh.gains)) + np.repeat(self.bounds[1:], counts)] = True

        def laid(old: Reals, new: Reals, width: int = 1) -> Reals:
            merged = np.empty((len(behind), width))
            merged[~behind] = old.reshape(-1, width)
            merged[behind] = new.reshape(-1, width)
            return merged.ravel()

        gains, offsets = laid(self.gains, fresh.gains), laid(self.offsets, fresh.offsets)
        values = laid(self.values, fresh.values, self.width) if self.width else np.zeros(0)
        starts, blob = self._refined(fresh, places, renamed, awake, common)
        return Slabs(
            bounds, self.truths, gains, offsets, values, self.width, starts, blob, awake, len(places), self.folder
        )  # fmt: skip

    def scores(self, weights: Singles, own: Reals) -> Reals:
        """The score of every candidate. Weights are by place: a 0, then those of the awake places."""
        self._prove_lengths(len(weights), len(own))
        scores = np.empty(len(self))
        _kernels.slab_scores(self, weights, own, scores)
        return scores

    def gather(self, slopes: Reals) -> Reals:
        """The gradient by place: the sum of slope times feature over all candidates; 0 for place 0."""
        if len(slopes) != len(self):
            raise InputError(f"{len(slopes):,} slopes for {len(self):,} candidates; expected one each")
        gradient = np.zeros(self.awake + 1)
        _kernels.slab_gradient(self, slopes, gradient)
        return gradient

    def _prove_lengths(self, weights: int, own: int) -> None:
        if (weights, own) != (self.awake + 1, self.width):
            raise InputError(
                f"{weights:,} weights by place and {own} of real values; expected {self.awake + 1:,} and {self.width}"
            )

    def _refined(self, fresh: Fresh, places: Ids, renamed: Ids, awake: int, common: bool) -> tuple[Offsets, Ids]:
        """The new blob, written where it is to stay, and the offsets of its segments."""
        room, starts, segments = _Room.of(self, fresh), np.zeros_like(self.starts), len(self.truths)
        guess = len(self.blob) + 2 * len(fresh.ids)
        sink = _Memory(guess) if self.folder is None else _File(self.folder)
        done = 0
        while done < segments:
            before, space = done, sink.space()
            done = _kernels.slab_add(self, fresh, places, renamed, awake, common, done, room, starts, space)
            del space
            sink.take(int(starts[done] - starts[before]), done < segments)
        return starts, sink.whole()


class _Memory:
    """Words in memory that grow in place: the system remaps pages without copying, and allocates them on first use."""

    def __init__(self, words: int) -> None:
        self._words = 0
        self._map = self._mapped(4 * max(words, 1))

    def space(self) -> Ids:
        return np.frombuffer(self._map, np.uint32, offset=4 * self._words)

    def take(self, words: int, more: bool) -> None:
        self._words += words
        if more:
            size = len(self._map) // 16 * 20 + PIECE
            try:
                self._map.resize(size)
            except OSError as error:
                raise self._told(size, error) from error
            except (AttributeError, SystemError):  # this system cannot remap pages
                grown = self._mapped(size)
                grown.write(memoryview(self._map)[: 4 * self._words])
                self._map = grown

    def whole(self) -> Ids:
        with suppress(AttributeError, SystemError):
            self._map.resize(4 * max(self._words, 1))
        return np.frombuffer(self._map, np.uint32, self._words)

    def _mapped(self, size: int) -> mmap.mmap:
        try:
            return private(size)
        except OSError as error:
            raise self._told(size, error) from error

    def _told(self, size: int, error: OSError) -> InputError:
        return InputError(
            f"the working form needs {size >> 20:,} MiB of memory: {error.strerror}; free some, or name a folder"
        )


class _File:
    """Words in an unnamed file, which disappears when it is closed; only a part of it is in memory."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._folder, self._piece = folder, np.empty(PIECE // 4, np.uint32)
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._told(error) from error

    def space(self) -> Ids:
        return self._piece

    def take(self, words: int, more: bool) -> None:
        rest = self._piece[:words].view(np.uint8).data
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._file.close()
            raise self._told(error) from error
        if more and not words:
            self._piece = np.empty(2 * len(self._piece), np.uint32)

    def whole(self) -> Ids:
        with self._file:
            return np.frombuffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ), np.uint32)

    def _told(self, error: OSError) -> InputError:
        return InputError(
            f"{self._folder}: cannot hold the working form: {error.strerror}; free some space or name another folder"
        )


def numbering(counts: Ids, least: int = 2) -> tuple[Ids, int]:
    """The place of every id, and the number of awake ones: frequent ids by falling count, others >= least, the rest.

    Equals, and all others, keep the order of their ids.
    """
    frequent = np.flatnonzero(counts >= max(FREQUENT, least))
    frequent = frequent[np.argsort(~counts[frequent], kind="stable")]
    others = np.flatnonzero((counts >= least) & (counts < FREQUENT))
    places, awake = np.empty(len(counts), np.uint32), len(frequent) + len(others)
    places[frequent] = np.arange(1, len(frequent) + 1, dtype=np.uint32)
    places[others] = np.arange(len(frequent) + 1, awake + 1, dtype=np.uint32)
    places[counts < least] = np.arange(awake + 1, len(counts) + 1, dtype=np.uint32)
    return places, awake


def _proved(fresh: Fresh, segments: int, width: int) -> Fresh:
    """Check lengths and numbers, and convert the arrays to the types of the kernels."""
    bounds, id_bounds = (np.ascontiguousarray(row, np.int64) for row in (fresh.bounds, fresh.id_bounds))
    ids = np.ascontiguousarray(fresh.ids, np.uint32)
    gains, offsets, values = (np.ascontiguousarray(row, np.float64) for row in fresh[3:])
    n = len(gains)
    _prove_bounds("segments", bounds, segments, n)
    _prove_bounds("candidates", id_bounds, n, len(ids))
    for what, row, size in (("offsets", offsets, n), ("values", values, n * width)):
        if row.size != size:
            raise InputError(f"{row.size:,} {what} for {n:,} fresh candidates; expected {size:,}")
    for what, row in (("gain", gains), ("offset", offsets), ("value", values)):
        if not (finite := np.isfinite(row.ravel())).all():
            i = int(np.argmin(finite)) * n // row.size
            s = int(np.searchsorted(bounds, i, "right")) - 1
            raise InputError(
                f"segment {s}: fresh candidate {i - bounds[s]} has the {what} {row.ravel()[np.argmin(finite)]}; "
                "expected a finite number"
            )
    return Fresh(bounds, id_bounds, ids, gains, offsets, values)


def _prove_bounds(what: str, bounds: Offsets, count: int, end: int) -> None:
    if len(bounds) != count + 1 or not covers(bounds, end):
        raise InputError(f"the bounds of {count:,} {what} do not rise from 0 to {end:,}; expected {count + 1:,}")


def _prove_numbering(slabs: Slabs, fresh: Fresh, places: Ids, renamed: Ids) -> None:
    known = slabs.known
    if int(fresh.ids.max(initial=0)) >= max(len(places), 1) or len(fresh.ids) > 0 == len(places):
        raise InputError(f"feature {fresh.ids.max()} has no place; there are places for {len(places):,}")
    if len(renamed) <= known or renamed[0] != 0:
        raise InputError(f"{len(renamed):,} new places for the {known:,} old ones; expected one each behind a 0")
    for what, row in (("places", places), ("renamed", renamed[1 : known + 1])):
        if len(row) and not (row.min() >= 1 and row.max() <= len(places)):
            raise InputError(f"{what} go from {row.min()} to {row.max()}; expected places from 1 to {len(places)}")
