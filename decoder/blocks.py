"""Blocks: pairs of a source and a target phrase, with their counts and what the real-valued features say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decoder import _kernels
from rampion.text import Texts
from rampion.vocab import Names

Offsets = NDArray[np.int64]
Ids = NDArray[np.uint32]
Reals = NDArray[np.float32]

# Fixed ids: words 0 to 2; phrases and blocks 0 (an unknown word, said as it is) and 1 (the boundary).
UNKNOWN, START, END = range(3)
SPECIAL = ("<unk>", "<s>", "</s>")
IDENTITY, BOUNDARY = range(2)

COLUMNS = (
    "PhraseST", "PhraseTS", "LexST", "LexTS", "ModelOne",
    "BackM", "BackS", "BackD", "ForeM", "ForeS", "ForeD",
)  # fmt: skip


class Blocks(NamedTuple):
    """What kernels see. Block b joins source phrase sources[b] and target phrase targets[b].

    The words of source phrase p are source_words[source_bounds[p]:source_bounds[p + 1]]; its blocks are firsts[p] to
    firsts[p + 1], the most frequent first. values[b] are log-probabilities, a column each of COLUMNS. slots is a
    table of source phrases with open addressing: 0 is empty, otherwise phrase + 1; IDENTITY and BOUNDARY are not there.
    """

    source_words: Ids
    source_bounds: Offsets
    target_words: Ids
    target_bounds: Offsets
    firsts: Offsets
    sources: Ids
    targets: Ids
    counts: Ids
    values: Reals
    slots: Ids


class Vocabularies(NamedTuple):
    """The words of both sides; their first three are SPECIAL."""

    source: Names
    target: Names


class Phrases:
    """Distinct sequences of words, numbered by first appearance; Names, with words for bytes."""

    __slots__ = ("bounds", "counts", "slots", "words")

    def __init__(self, capacity: int = 1024) -> None:
        """`capacity` must be a power of two."""
        self.slots: Ids = np.zeros(2 * capacity, np.uint32)
        self.words: Ids = np.zeros(4 * capacity, np.uint32)
        self.bounds: Offsets = np.zeros(capacity + 1, np.int64)
        self.counts: Offsets = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self.counts[0])

    def number(self, tokens: Ids, starts: Offsets, sizes: NDArray[np.uint8]) -> Ids:
        """The ids of the phrases tokens[start:start + size], new ones for those not seen before."""
        ids, done = np.empty(len(starts), np.uint32), 0
        while (done := _kernels.number(tokens, starts, sizes, done, self, ids)) < len(starts):
            self._grow()
        return ids

    def _grow(self) -> None:
        """Double what is full: the room for phrases, or else the room for their words."""
        if len(self) < len(self.bounds) - 1:
            self.words = np.concatenate([self.words, np.zeros_like(self.words)])
            return
        self.bounds = np.concatenate([self.bounds, np.zeros(len(self.bounds) - 1, np.int64)])
        self.slots = np.zeros(2 * len(self.slots), np.uint32)
        _kernels.index(self.words, self.bounds[: len(self) + 1], 0, self.slots)


def collated(words: Ids, bounds: Offsets, names: Names) -> Offsets:
    """The phrases in the order of their texts, word by word."""
    ranks = np.empty(len(names), np.uint32)
    texts = list(names.texts())
    ranks[np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)] = np.arange(1, len(texts) + 1)
    sizes = np.diff(bounds)
    cells = np.zeros((int(sizes.max(initial=1)), len(sizes)), np.uint32)
    for place, row in enumerate(cells):
        row[sizes > place] = ranks[words[bounds[:-1][sizes > place] + place]]
    return np.lexsort(cells[::-1])


def assembled(
    vocabularies: Vocabularies, sources: Phrases, targets: Phrases, pairs: tuple[Ids, Ids], counts: Ids, values: Reals
) -> Blocks:
    """Blocks of the pairs, the fixed ones before; phrases in the order of their texts, without those of no pair."""
    words_of, bounds_of, columns = [], [], []
    for phrases, ids, names in zip((sources, targets), pairs, vocabularies, strict=True):
        used = np.unique(ids).astype(np.int64)
        words, bounds = _taken(phrases.words, phrases.bounds, used)
        order = collated(words, bounds, names)
        words, bounds = _taken(words, bounds, order)
        renamed = np.zeros(len(phrases), np.uint32)
        renamed[used[order]] = np.arange(2, len(order) + 2)
        words_of.append(np.concatenate([np.array([UNKNOWN, START], np.uint32), words]))
        bounds_of.append(np.concatenate([[0, 1], bounds + 2]))
        columns.append(renamed[ids])
    order = np.lexsort((columns[1], -counts.astype(np.int64), columns[0]))
    fixed = np.array([IDENTITY, BOUNDARY], np.uint32)
    source_ids, target_ids = (np.concatenate([fixed, column[order]]) for column in columns)
    slots = np.zeros(2 << len(bounds_of[0]).bit_length(), np.uint32)
    _kernels.index(words_of[0], bounds_of[0], 2, slots)
    return Blocks(
        words_of[0],
        bounds_of[0],
        words_of[1],
        bounds_of[1],
        np.searchsorted(source_ids, np.arange(len(bounds_of[0]))),
        source_ids,
        target_ids,
        np.concatenate([np.zeros(2, np.uint32), counts[order]]),
        np.concatenate([np.zeros((2, len(COLUMNS)), np.float32), values[order]]),
        slots,
    )


def _taken(words: Ids, bounds: Offsets, rows: Offsets) -> tuple[Ids, Offsets]:
    """The phrases at `rows`, in that order."""
    sizes = bounds[rows + 1] - bounds[rows]
    edges = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(sizes, out=edges[1:])
    return words[np.arange(edges[-1]) + np.repeat(bounds[rows] - edges[:-1], sizes)], edges


@dataclass(frozen=True, slots=True, eq=False)
class BlockSet:
    """Blocks with the words they are made of, and where they come from."""

    vocabularies: Vocabularies
    blocks: Blocks
    meta: Mapping[str, Any]

    @classmethod
    def of(cls, entries: Iterable[tuple[str, str, int, Mapping[str, float]]]) -> BlockSet:
        """Blocks by hand: source phrase, target phrase, count, and the values of COLUMNS that are not 0."""
        listed = list(entries)
        vocabularies = Vocabularies(special(), special())
        phrases, pairs = (Phrases(), Phrases()), []
        sides = [[source for source, *_ in listed], [target for _, target, *_ in listed]]
        for side, names, table in zip(sides, vocabularies, phrases, strict=True):
            tokens, bounds = names.tokens(Texts.of(side))
            pairs.append(table.number(tokens, bounds[:-1], np.diff(bounds).astype(np.uint8)))
        counts = np.array([count for _, _, count, _ in listed], np.uint32)
        values = np.array([[given.get(name, 0.0) for name in COLUMNS] for *_, given in listed], np.float32)
        blocks = assembled(vocabularies, *phrases, (pairs[0], pairs[1]), counts, values.reshape(-1, len(COLUMNS)))
        return cls(vocabularies, blocks, {})

    def text(self, block: int) -> tuple[str, str]:
        """The source and the target phrase of a block."""
        blocks, (source, target) = self.blocks, self.vocabularies
        words = blocks.source_words[slice(*blocks.source_bounds[blocks.sources[block] :][:2])]
        others = blocks.target_words[slice(*blocks.target_bounds[blocks.targets[block] :][:2])]
        return " ".join(map(source.name, words.tolist())), " ".join(map(target.name, others.tolist()))


def special() -> Names:
    """A vocabulary of the special words."""
    names = Names()
    names.intern_all(Texts.of(SPECIAL))
    return names
