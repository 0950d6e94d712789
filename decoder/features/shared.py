"""Weights that blocks share: a block of few lists learns from all blocks that look like it.

The weight of a feature P1, H1 or H2 is its own and those of its groups. A group holds the features of the same label
(and the same move) whose blocks have in common

    first, last   the first or last source word; the first or last target word
    sizes         the numbers of words of both sides
    joined        the first words of both sides; the last words of both sides
    phrase        (P1) the source phrase; the target phrase

The moves of H1 and H2 depend on little else (Cherry 2013). A block that no list has shown has its groups' weights, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.features.templates import NAMES, Templates
from rampion.decoder.models.blocks import BOUNDARY, LEARNT, Blocks, BlockSet

from rampion.arrays import Integers, Reals
from rampion.store.text import Texts

SWINGS = 3  # moves of H1, and of H2
NOBODY = -1  # the group of features that are in none
_WIDE = 1 << 32


class Kind(NamedTuple):
    """Groups of one kind: what a block's group depends on, and which labels have such groups."""

    name: str
    labels: tuple[str, ...]
    code: Callable[[Blocks], Integers]


def _end(side: str, last: bool) -> Callable[[Blocks], Integers]:
    """The first or last word of a side of every block."""

    def code(blocks: Blocks) -> Integers:
        words, bounds, phrases = (getattr(blocks, f"{side}{what}") for what in ("_words", "_bounds", "s"))
        ends = bounds[1:] - 1 if last else bounds[:-1]
        filled = np.diff(bounds) > 0
        found = np.full(len(filled), _WIDE - 1, np.int64)
        found[filled] = words[ends[filled]]
        return np.asarray(found[phrases])

    return code


def _sizes(blocks: Blocks) -> Integers:
    source, target = np.diff(blocks.source_bounds)[blocks.sources], np.diff(blocks.target_bounds)[blocks.targets]
    return np.asarray(source * _WIDE + target)


def _both(one: Callable[[Blocks], Integers], other: Callable[[Blocks], Integers]) -> Callable[[Blocks], Integers]:
    return lambda blocks: one(blocks) * _WIDE + other(blocks)


MOVED = ("H1", "H2")
SOURCE_FIRST, SOURCE_LAST, TARGET_FIRST, TARGET_LAST = (
    _end("source", False),
    _end("source", True),
    _end("target", False),
    _end("target", True),
)
KINDS = (
    Kind("source-first", MOVED, SOURCE_FIRST),
    Kind("source-last", MOVED, SOURCE_LAST),
    Kind("target-first", MOVED, TARGET_FIRST),
    Kind("target-last", MOVED, TARGET_LAST),
    Kind("first", MOVED, _both(SOURCE_FIRST, TARGET_FIRST)),
    Kind("last", MOVED, _both(SOURCE_LAST, TARGET_LAST)),
    Kind("sizes", ("P1", *MOVED), _sizes),
    Kind("source", ("P1",), lambda blocks: blocks.sources.astype(np.int64)),
    Kind("target", ("P1",), lambda blocks: blocks.targets.astype(np.int64)),
)


class Table(NamedTuple):
    """The groups of one kind: the codes in their order, the groups of each feature, and how many there are."""

    codes: Integers
    places: Integers
    size: int


def slots(labels: tuple[str, ...]) -> int:
    return sum(1 if label == "P1" else SWINGS for label in labels)


@dataclass(frozen=True, eq=False)
class Shared:
    """The groups of so many features. Weights of groups follow one another, kind by kind."""

    count: int
    kinds: tuple[Kind, ...]
    tables: tuple[Table, ...]

    @classmethod
    def of(cls, blocks: BlockSet, names: Texts, kinds: tuple[Kind, ...] = KINDS) -> Shared:
        """The groups of the features with these names. Names that the block set cannot have fired are in none."""
        keys = Templates(blocks.vocabularies, blocks.blocks, "P1,H1,H2").keys(names, lenient=True)
        label = (keys >> np.uint64(59)).astype(np.int64) - 1  # -1: no feature of these blocks
        block = (keys >> np.uint64(8) & np.uint64(0xFFFFFFFF)).astype(np.int64)
        swing = (keys & np.uint64(0xFF)).astype(np.int64)
        tables = []
        for kind in kinds:
            own = kind.code(blocks.blocks)
            slot, wide = np.full(len(names), NOBODY), slots(kind.labels)
            for one, first in _slots(kind.labels):
                here = label == NAMES.index(one)
                slot[here] = first + (0 if one == "P1" else swing[here])
            taken = slot != NOBODY
            codes, places = np.unique(own[block[taken]], return_inverse=True)
            found = np.full(len(names), len(codes) * wide)
            found[taken] = places * wide + slot[taken]
            tables.append(Table(codes, found, len(codes) * wide))
        return cls(len(names), kinds, tuple(tables))

    def __len__(self) -> int:
        return sum(table.size for table in self.tables)

    def _parts(self, weights: Reals) -> Iterator[tuple[Kind, Table, Reals]]:
        first = 0
        for kind, table in zip(self.kinds, self.tables, strict=True):
            yield kind, table, weights[first : first + table.size]
            first += table.size

    def spread(self, weights: Reals) -> Reals:
        """The sum of the weights of each feature's groups."""
        found = np.zeros(self.count)
        for _, table, part in self._parts(weights):
            found += np.append(part, 0.0)[table.places]
        return found

    def gather(self, slopes: Reals) -> Reals:
        """The slopes of the groups' weights from those of the features' weights."""
        found = [np.bincount(table.places, slopes, table.size + 1)[:-1] for table in self.tables]
        return np.concatenate([np.zeros(0), *found])

    def columns(self, blocks: BlockSet, weights: Reals) -> NDArray[np.float64]:
        """What the groups add to the learnt columns of every block."""
        found = np.zeros((len(blocks.blocks.sources), len(LEARNT)))
        for kind, table, part in self._parts(weights):
            if not table.size:
                continue
            own, wide = kind.code(blocks.blocks), slots(kind.labels)
            at = np.minimum(np.searchsorted(table.codes, own), len(table.codes) - 1)
            known, rows = table.codes[at] == own, part.reshape(-1, wide)
            for one, first in _slots(kind.labels):
                column = {"P1": 0, "H1": 4, "H2": 7}[one]
                count = 1 if one == "P1" else SWINGS
                found[known, column : column + count] += rows[at[known], first : first + count]
        found[BOUNDARY] = 0.0
        return found


def _slots(labels: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    first = 0
    for label in labels:
        yield label, first
        first += 1 if label == "P1" else SWINGS
