"""The working form of fixed lists (S11.2): features of the same candidates form a group, and usual counts are left out.

A candidate holds only the groups that it has more or less often than usual, that is, than more than half of its list.
So scores equal those of the store up to a number that all candidates of a list share, and the gradient of a feature
that all of them have alike is exactly 0; Rprop would follow the sign of a rounding error. Threads work on parts. Each
part sums into its own groups, and the sums are added to the features in the order of the lists, so that neither the
number of threads nor the size of the parts changes a bit.
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
WORK = 15  # rows of the kernel's work array
WAVE = 64  # parts that are summed up before their sums are added to the features


class Part(NamedTuple):
    """Some segments as kernels read them: features[f] belongs to groups[f], and entries are differences from the usual.

    In a segment with n groups, the entry g means one more of group g than usual, and n + g one less. Owners are the
    candidates.
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
        """The number of dense features and groups of all segments."""
        return self.width * (len(self.bounds) - 1) + int(self.group_bounds[-1])

    @property
    def room(self) -> int:
        """The size of work arrays: the dense features of the widest segment, and twice its groups."""
        return self.width + 2 * int(np.diff(self.group_bounds).max(initial=0))


def fits(lists: Lists) -> bool:
    """Whether lists have a working form: they hold counts, and numbers of 16 bits are enough for each of them."""
    known = int(np.diff(lists.feature_bounds).max(initial=0))
    return not len(lists.values) and len(lists.entries) > 0 and max(lists.longest, 2 * known) <= MOST


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Candidates in the form that computes scores and gradients quickly and repeatedly."""

    parts: list[Part]
    starts: list[int]  # the first candidate of every part, and the end
    edges: list[int]  # bounds of ranges of features that occur equally often
    size: int

    @classmethod
    def of(
        cls, candidates: Candidates, folder: str | PathLike[str] | None = None, threads: int | None = None
    ) -> Grouped:
        """Make the working form. If a folder is given, the parts are kept in unnamed files there, not in memory."""
        lists = candidates.lists
        cuts = lists.cuts()
        parts = each(lambda span: _grouped(lists.part(*span), folder), pairwise(cuts.tolist()), threads)
        starts = lists.bounds[cuts].tolist()
        return cls(parts, starts, _edges(parts, len(candidates.features)), len(candidates.features))

    def score(self, weights: Reals, threads: int | None = None) -> Reals:
        """The score of every candidate, up to a number that all candidates of its list share."""
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
    """A range of features for each processor, found from a sample of the features."""
    sample = np.concatenate([part.features[:: 1 + len(part.features) // 1024] for part in parts])
    inner = np.quantile(sample, np.linspace(0, 1, processors() + 1)[1:-1]) if len(sample) else []
    return [0, *(int(edge) for edge in inner), size]


def _filed(part: Part, folder: str | PathLike[str]) -> Part:
    """The part with its arrays mapped from an unnamed file, which disappears when it is closed."""
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
