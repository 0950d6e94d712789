"""The working form of fixed lists (S11.2): features of the same candidates stand together; what is usual is left out.

A candidate holds only what it has oftener, or not as often, as more than half of its list. So scores are those of the
store but for a number of the list's own, and a feature that tells no candidates apart has no gradient, not even one of
rounding, whose sign Rprop would follow. Parts go to threads; each sums up into its own groups, and every feature is
added up in the order of the lists, so that neither the number of threads nor the size of the parts changes a bit.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Ids, Offsets, Reals
from rampion.errors import InputError
from rampion.store.candidates import Candidates
from rampion.store.lists import Lists
from rampion.threads import each, processors

Places = NDArray[np.uint16]  # candidates and groups are numbered inside their list

MOST = np.iinfo(np.uint16).max
WORK = 15  # rows of the kernel's work
WAVE = 64  # parts that are summed up before their sums move on to the features


class Part(NamedTuple):
    """Some segments as kernels see them: groups[f] of features[f]; by which groups candidates differ from the usual.

    Of a segment's n groups, the entry g stands for once more of group g, n + g for once less; owners are candidates.
    """

    bounds: Offsets
    dense: Reals
    width: int
    features: Ids
    feature_bounds: Offsets
    groups: Places
    group_bounds: Offsets
    entries: Places
    owners: Places
    entry_bounds: Offsets

    @property
    def size(self) -> int:
        """Of the dense features and groups of all segments."""
        return self.width * (len(self.bounds) - 1) + int(self.group_bounds[-1])

    @property
    def room(self) -> int:
        """For the dense features of the widest segment, and for its groups twice."""
        return self.width + 2 * int(np.diff(self.group_bounds).max(initial=0))


def fits(lists: Lists) -> bool:
    """Whether lists have a working form: they hold counts, and numbers of 16 bits are enough for each of them."""
    known = int(np.diff(lists.feature_bounds).max(initial=0))
    return not len(lists.values) and len(lists.entries) > 0 and max(lists.longest, 2 * known) <= MOST


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Candidates that answer to weights and slopes again and again."""

    parts: list[Part]
    starts: list[int]  # the first candidate of every part, and the end
    edges: list[int]  # between ranges of features that are met equally often
    size: int

    @classmethod
    def of(
        cls, candidates: Candidates, folder: str | PathLike[str] | None = None, threads: int | None = None
    ) -> Grouped:
        """A folder will hold the parts, in files without names, so that memory need not."""
        lists = candidates.lists
        cuts = lists.cuts()
        parts = each(lambda span: _grouped(lists.part(*span), folder), pairwise(cuts.tolist()), threads)
        starts = lists.bounds[cuts].tolist()
        return cls(parts, starts, _edges(parts, len(candidates.features)), len(candidates.features))

    def score(self, weights: Reals, threads: int | None = None) -> Reals:
        """weights . f of every candidate, but for what all candidates of its list have alike."""
        scores = np.empty(self.starts[-1])

        def fill(place: int) -> None:
            part = self.parts[place]
            span = slice(self.starts[place], self.starts[place + 1])
            _kernels.tally(part, weights, np.empty(part.room), scores[span])

        each(fill, range(len(self.parts)), threads)
        return scores

    def gather(self, slopes: Reals, threads: int | None = None) -> Reals:
        """The gradient: sum of slope * f over all candidates; slopes of a list sum to 0."""
        gradient = np.zeros(self.size)

        def pooled(place: int) -> Reals:
            part = self.parts[place]
            sums = np.empty(part.size)
            _kernels.pool(part, slopes[self.starts[place] : self.starts[place + 1]], np.empty(part.room), sums)
            return sums

        for wave in range(0, len(self.parts), WAVE):
            places = range(wave, min(wave + WAVE, len(self.parts)))
            sums = each(pooled, places, threads)

            def move(span: tuple[int, int], places: range = places, sums: list[Reals] = sums) -> None:
                for place, part_sums in zip(places, sums, strict=True):
                    _kernels.scatter(self.parts[place], part_sums, *span, gradient)

            each(move, pairwise(self.edges), threads)
        return gradient


def _grouped(lists: Lists, folder: str | PathLike[str] | None) -> Part:
    known = len(lists.features)
    work = np.empty((WORK, 1 + int(np.diff(lists.feature_bounds).max(initial=0))), np.int64)
    features, groups = np.empty(known, np.uint32), np.empty(known, np.uint16)
    entries, owners = np.empty(len(lists.entries), np.uint16), np.empty(len(lists.entries), np.uint16)
    feature_bounds, group_bounds, entry_bounds = (np.empty_like(lists.bounds) for _ in range(3))
    _kernels.group(lists, work, features, feature_bounds, groups, group_bounds, entries, owners, entry_bounds)
    kept, filled = feature_bounds[-1], entry_bounds[-1]
    part = Part(
        lists.bounds, lists.dense, lists.width, features[:kept].copy(), feature_bounds, groups[:kept].copy(),
        group_bounds, entries[:filled].copy(), owners[:filled].copy(), entry_bounds,
    )  # fmt: skip
    return part if folder is None else _filed(part, folder)


def _edges(parts: list[Part], size: int) -> list[int]:
    """A range for each processor; a sample of the features tells where they are."""
    sample = np.concatenate([part.features[:: 1 + len(part.features) // 1024] for part in parts])
    inner = np.quantile(sample, np.linspace(0, 1, processors() + 1)[1:-1]) if len(sample) else []
    return [0, *(int(edge) for edge in inner), size]


def _filed(part: Part, folder: str | PathLike[str]) -> Part:
    """The part, its arrays mapped from a file without a name, which lasts as long as somebody reads it."""
    arrays = {name: array for name, array in part._asdict().items() if isinstance(array, np.ndarray)}
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            for array in arrays.values():
                file.write(bytes(-file.tell() % 8))
                file.write(array.data)
            file.flush()
            whole, at, mapped = np.memmap(file, np.uint8, "r"), 0, dict[str, Any]()
    except OSError as error:
        raise InputError(
            f"{folder}: cannot hold the working form: {error.strerror}; free some space or name another folder"
        ) from error
    for name, array in arrays.items():
        at += -at % 8
        mapped[name] = whole[at : at + array.nbytes].view(array.dtype)
        at += array.nbytes
    return part._replace(**mapped)
