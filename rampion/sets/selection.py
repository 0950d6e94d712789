"""Select what training uses of recorded candidates, and keep the packed sets of a range of segments as a run grows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from rampion.arrays import Ids, Reals, Singles, ends, span_of_each
from rampion.losses.ranking import PackedLoss
from rampion.sets.files import TRUTHS
from rampion.sets.packed import Fresh, Slabs
from rampion.sets.records import Records

FIRST = "000"  # the name of the records of bags of blocks, or of the first seed


class Numbers(NamedTuple):
    """The places of ids; those above `awake` do not learn. `foreign` are the weights of ids in the base, if any."""

    places: Ids
    awake: int
    foreign: Singles

    @classmethod
    def none(cls) -> Self:
        return cls(np.zeros(0, np.uint32), 0, np.zeros(0, np.float32))

    def renamed(self, before: Numbers) -> Ids:
        """The new places of ids that had other places before."""
        if before is self:
            return np.arange(len(self.places) + 1, dtype=np.uint32)
        renamed = np.zeros(len(before.places) + 1, np.uint32)
        renamed[before.places] = self.places[: len(before.places)]
        return renamed


@dataclass(frozen=True, slots=True)
class Packing:
    """How to pack records: the loss to prepare for, the real-valued features, and the frozen weights."""

    loss: PackedLoss
    names: tuple[str, ...]
    own: Mapping[str, float]
    binary: bool  # whether binary features learn

    def told(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return {"loss": self.loss, "names": self.names, "own": list(self.own.items()), "binary": self.binary}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        return cls(PackedLoss(*told["loss"]), tuple(told["names"]), dict(told["own"]), told["binary"])

    @property
    def free(self) -> list[str]:
        """The real-valued features whose weights are learnt."""
        return [name for name in self.names if name not in self.own]

    def ordered(self, parts: Iterable[str]) -> list[str]:
        """The order in which the parts of a run are packed."""
        return sorted(parts, key=lambda name: (name != FIRST or self.loss.apart, name != TRUTHS))

    def used(self, name: str, records: Records) -> Records:
        """The candidates to learn from: of the truths only the first of greatest gain, unless all are used."""
        return records if self._all(name) else leading(records)

    def count(self, name: str, records: Records) -> int:
        """The number of candidates that are used."""
        return len(records.gains) if self._all(name) else int(np.count_nonzero(np.diff(records.bounds)))

    def _all(self, name: str) -> bool:
        return name != TRUTHS or self.loss.every

    def fresh(self, records: Records, foreign: Singles) -> Fresh:
        """The candidates in the form that learning needs."""
        ids, id_bounds = records.ids, records.id_bounds
        if not self.binary:
            ids, id_bounds = ids[:0], np.zeros_like(id_bounds)
        values = records.values[:, [self.names.index(name) for name in self.free]]
        return Fresh(records.bounds, id_bounds, ids, records.gains, self._offsets(records, foreign), values)

    def _offsets(self, records: Records, foreign: Singles) -> Reals:
        """The scores of candidates under the frozen weights."""
        scores = np.zeros(len(records.gains))
        for name, weight in self.own.items():
            scores += weight * records.values[:, self.names.index(name)]
        if len(foreign):
            owners = span_of_each(records.id_bounds)
            scores += np.bincount(owners, foreign[records.ids], len(scores))
        return scores


class Packed:
    """The packed sets of the segments from `first` to `last` - 1; in files of a folder, if one is given."""

    def __init__(self, packing: Packing, span: tuple[int, int], folder: str | PathLike[str] | None = None) -> None:
        self.packing, self.span, self.numbers = packing, span, Numbers.none()
        self.slabs = Slabs.start(span[1] - span[0], len(packing.free), folder=folder)

    def take(self, name: str, records: Records, numbers: Numbers) -> None:
        """Add the next part of a run; features get these numbers."""
        packing, records = self.packing, self.packing.used(name, records.cut(*self.span))
        if name == TRUTHS and packing.loss.apart:
            truths = np.diff(records.bounds).astype(np.int32)
            self.slabs = Slabs.start(len(truths), self.slabs.width, truths, self.slabs.folder)
        self.slabs = self.slabs.refined(
            packing.fresh(records, numbers.foreign), numbers.places, numbers.renamed(self.numbers), numbers.awake,
            common=not packing.loss.sense,
        )  # fmt: skip
        self.numbers = numbers


def leading(records: Records) -> Records:
    """The first candidate of greatest gain of every segment."""
    segments = span_of_each(records.bounds)
    order = np.lexsort((-records.gains, segments))  # stable
    kept = np.zeros(len(order), bool)
    kept[order[records.bounds[:-1][np.diff(records.bounds) > 0]]] = True
    lengths = np.diff(records.id_bounds)
    ids = records.ids[np.repeat(kept, lengths)]
    return Records(
        ends(kept)[records.bounds],
        ends(lengths[kept]),
        ids,
        records.values[kept],
        records.gains[kept],
        records.prints[kept],
    )
