"""Blocks: pairs of a source and a target phrase, with their counts and real-valued features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.jumps import Jumps

from rampion.arrays import Ids, KeyRow, Offsets, Singles, crowded, ends, fingerprint, span_of_each, taken
from rampion.errors import InputError, StoreError
from rampion.formats import container
from rampion.formats.files import FilePath, Origin
from rampion.schema import Found, Row, Rule, Schema, below, ids_of, pieces, singles, strings
from rampion.store.names import Names
from rampion.store.text import Texts

# Fixed ids: words 0 to 2; phrases and blocks 0 (IDENTITY: an unknown word, which is copied) and 1 (the boundary).
UNKNOWN, START, END = range(3)
SPECIAL = ("<unk>", "<s>", "</s>")
IDENTITY, BOUNDARY = range(2)

LAYOUT = 1

COLUMNS = (
    "PhraseST", "PhraseTS", "LexST", "LexTS", "ModelOne",
    "BackM", "BackS", "BackD", "ForeM", "ForeS", "ForeD",
)  # fmt: skip
LEARNT = (  # columns of a condensed set (decoder/search/condense.py): sums of learnt weights
    "LearntPairs", "LearntWords", "LearntT1", "LearntT2",
    "LearntBackM", "LearntBackS", "LearntBackD", "LearntForeM", "LearntForeS", "LearntForeD",
)  # fmt: skip


class Blocks(NamedTuple):
    """Blocks as arrays for kernels. Block b joins source phrase sources[b] and target phrase targets[b].

    The words of source phrase p are source_words[source_bounds[p]:source_bounds[p + 1]]; its blocks are firsts[p] to
    firsts[p + 1], the most frequent first. values[b] are log-probabilities, a column each of COLUMNS; in a condensed
    set columns of LEARNT follow. slots is a table of source phrases with open addressing: 0 is empty, otherwise
    phrase + 1; the table does not contain IDENTITY and BOUNDARY.
    """

    source_words: Ids
    source_bounds: Offsets
    target_words: Ids
    target_bounds: Offsets
    firsts: Offsets
    sources: Ids
    targets: Ids
    counts: Ids
    values: Singles
    slots: Ids

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of values."""
        return (*COLUMNS, *LEARNT)[: self.values.shape[1]]


class Vocabularies(NamedTuple):
    """The words of both sides; their first three are SPECIAL."""

    source: Names
    target: Names

    @classmethod
    def special(cls) -> Vocabularies:
        """Only the special words."""
        both = cls(Names(), Names())
        for names in both:
            names.intern_all(Texts.from_strings(SPECIAL))
        return both


class Phrases:
    """Distinct sequences of words, numbered by first appearance: like Names, with words in place of bytes."""

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
        """The ids of the phrases tokens[start:start + size]. New phrases get new ids."""
        ids, done = np.empty(len(starts), np.uint32), 0
        while (done := _kernels.number(tokens, starts, sizes, done, self, ids)) < len(starts):
            self._grow()
        return ids

    def _grow(self) -> None:
        """Double the array that is full: that of phrases, or that of their words."""
        if crowded(self.slots):
            raise InputError(
                f"more than 500 of {len(self):,} phrases fall on one place of the table of phrases, as phrases do that "
                "were made to collide; is this a text to trust?"
            )
        if len(self) < len(self.bounds) - 1:
            self.words = np.concatenate([self.words, np.zeros_like(self.words)])
            return
        self.bounds = np.concatenate([self.bounds, np.zeros(len(self.bounds) - 1, np.int64)])
        self.slots = np.zeros(2 * len(self.slots), np.uint32)
        _kernels.index(self.words, self.bounds[: len(self) + 1], 0, self.slots)


class Side(NamedTuple):
    """Distinct phrases: words[bounds[p]:bounds[p + 1]]."""

    words: Ids
    bounds: Offsets

    def take(self, rows: Offsets) -> Side:
        """The phrases at `rows`, in that order."""
        places, bounds = taken(self.bounds, rows)
        return Side(self.words[places], bounds)

    def collated(self, names: Names) -> Offsets:
        """The ids of the phrases, sorted by their texts, word by word."""
        texts = list(names.texts())
        ranks = np.empty(len(texts), np.uint32)
        ranks[np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)] = np.arange(1, len(texts) + 1)
        sizes = np.diff(self.bounds)
        cells = np.zeros((int(sizes.max(initial=1)), len(sizes)), np.uint32)
        for place, row in enumerate(cells):
            row[sizes > place] = ranks[self.words[self.bounds[:-1][sizes > place] + place]]
        return np.lexsort(cells[::-1])


def sorted_sides(
    vocabularies: Vocabularies, tables: tuple[Phrases, Phrases], pairs: tuple[Ids, Ids]
) -> tuple[tuple[Side, Side], tuple[Ids, Ids]]:
    """The phrases of the pairs, sorted by their texts, and the index there of every phrase of the tables.

    The index of a phrase that is in no pair is the number of phrases.
    """
    sides, places = [], []
    for names, table, ids in zip(vocabularies, tables, pairs, strict=True):
        used = np.zeros(len(table), np.bool_)
        used[ids] = True
        rows = np.flatnonzero(used)
        side = Side(table.words, table.bounds).take(rows)
        order = side.collated(names)
        sides.append(side.take(order))
        places.append(np.full(len(table), len(rows), np.uint32))
        places[-1][rows[order]] = np.arange(len(order))
    return (sides[0], sides[1]), (places[0], places[1])


def packed(high: Ids, low: Ids) -> KeyRow:
    return high.astype(np.uint64) << np.uint64(32) | low


def ranked(sources: Ids, counts: Ids) -> Offsets:
    """The order of the pairs by source phrase, and then by falling count; equal ones keep their order."""
    return np.argsort(packed(sources, ~counts), kind="stable")


def assembled(sides: tuple[Side, Side], pairs: tuple[Ids, Ids], counts: Ids, values: Singles) -> Blocks:
    """The fixed blocks, then the blocks of the pairs. Phrases that are in no pair are left out."""
    kept = []
    columns = []
    for side, ids in zip(sides, pairs, strict=True):
        used = np.zeros(len(side.bounds) - 1, np.bool_)
        used[ids] = True
        words, bounds = side.take(np.flatnonzero(used))
        words = np.concatenate([np.array([UNKNOWN, START], np.uint32), words])
        kept.append(Side(words, np.concatenate([np.arange(2), bounds + 2])))
        columns.append((np.cumsum(used) + 1).astype(np.uint32)[ids])
    order = np.argsort(packed(*columns))
    order = order[ranked(columns[0][order], counts[order])]
    fixed = np.array([IDENTITY, BOUNDARY], np.uint32)
    sources, targets = (np.concatenate([fixed, column[order]]) for column in columns)
    rows = np.zeros((len(sources), len(COLUMNS)), np.float32)
    np.take(values, order, axis=0, out=rows[2:], mode="clip")
    slots = np.zeros(2 << len(kept[0].bounds).bit_length(), np.uint32)
    _kernels.index(*kept[0], 2, slots)
    return Blocks(
        *kept[0], *kept[1],
        np.searchsorted(sources, np.arange(len(kept[0].bounds))),
        sources, targets,
        np.concatenate([np.zeros(2, np.uint32), counts[order]]),
        rows,
        slots,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class BlockSet:
    """Blocks with their vocabularies, and facts about their origin."""

    vocabularies: Vocabularies
    blocks: Blocks
    jumps: Jumps
    meta: Mapping[str, Any]
    origin: Origin | None = None  # the file that it is mapped from

    @classmethod
    def of(cls, entries: Iterable[tuple[str, str, int, Mapping[str, float]]]) -> BlockSet:
        """Blocks from (source phrase, target phrase, count, the values of COLUMNS that are not 0)."""
        listed = list(entries)
        vocabularies = Vocabularies.special()
        tables, pairs = (Phrases(), Phrases()), []
        spelt = [[source for source, *_ in listed], [target for _, target, *_ in listed]]
        for side, names, table in zip(spelt, vocabularies, tables, strict=True):
            tokens, bounds = names.tokens(Texts.from_strings(side))
            pairs.append(table.number(tokens, bounds[:-1], np.diff(bounds).astype(np.uint8)))
        counts = np.array([count for _, _, count, _ in listed], np.uint32)
        values = np.array([[given.get(name, 0.0) for name in COLUMNS] for *_, given in listed], np.float32)
        sides, places = sorted_sides(vocabularies, tables, (pairs[0], pairs[1]))
        ids = places[0][pairs[0]], places[1][pairs[1]]
        blocks = assembled(sides, ids, counts, values.reshape(-1, len(COLUMNS)))
        return cls(vocabularies, blocks, Jumps.none(len(vocabularies.source)), {})

    @property
    def fingerprint(self) -> str:
        """Changes with the blocks, but not with where they stand."""
        words = (part for names in self.vocabularies for part in names.texts().arrays)
        return fingerprint(*self.blocks, *self.jumps, *words)

    def text(self, block: int) -> tuple[str, str]:
        """The source and the target phrase of a block."""
        blocks, (source, target) = self.blocks, self.vocabularies
        words = blocks.source_words[slice(*blocks.source_bounds[blocks.sources[block] :][:2])]
        others = blocks.target_words[slice(*blocks.target_bounds[blocks.targets[block] :][:2])]
        return " ".join(map(source.name, words.tolist())), " ".join(map(target.name, others.tolist()))

    def write(self, path: FilePath) -> None:
        """Write one file, with checksums of all bytes. Bounds, and the sources of blocks, are stored as sizes."""
        arrays = self.blocks._asdict() | self.jumps._asdict()
        del arrays["sources"]
        for name, kind in SIZES.items():
            arrays[name] = np.diff(arrays[name]).astype(kind)
        for side, names in self.vocabularies._asdict().items():
            texts = names.texts()
            arrays |= {f"{side}_blob": texts.blob, f"{side}_blob_bounds": texts.bounds}
        container.write(path, SCHEMA.kind, arrays, {**self.meta, "layout": LAYOUT})

    @classmethod
    def read(cls, path: FilePath) -> BlockSet:
        """The set, mapped from the file after checks of all bytes, bounds and ids."""
        arrays, meta = container.read(path, SCHEMA)
        if (layout := meta.pop("layout")) != LAYOUT:
            raise StoreError(f"{path}: has block layout {layout}, this Rampion reads {LAYOUT}; build the blocks again")
        for name in SIZES:
            arrays[name] = ends(arrays[name])
        arrays["sources"] = span_of_each(arrays["firsts"]).astype(np.uint32)
        blocks = Blocks(*(arrays[name] for name in Blocks._fields))
        texts = [Texts(arrays[f"{side}_blob"], arrays[f"{side}_blob_bounds"]) for side in Vocabularies._fields]
        vocabularies = Vocabularies(*map(Names.of, texts))
        if [*map(len, vocabularies)] != [*map(len, texts)]:
            raise StoreError(f"{path}: a word appears twice in a vocabulary; build the blocks again")
        return cls(vocabularies, blocks, Jumps(arrays["out"], arrays["into"]), meta, Origin.of(path))


SIZES = {"source_bounds": "u1", "target_bounds": "u1", "firsts": "u4"}  # the types of sizes in a file


def _sums(of: str, least: int) -> Rule:
    """Sizes, none below the least, add up to the length of another array."""

    def rule(found: Found, name: str) -> str | None:
        end = found.size(of)
        if any(int(piece.min()) < least for piece in pieces(found.arrays[name])):
            return f"holds a size below {least}"
        total = sum(int(piece.sum(dtype=np.uint64)) for piece in pieces(found.arrays[name]))
        return None if total == end else f"adds up to {total:,}, expected {end:,}"

    return rule


def _table(found: Found, name: str) -> str | None:
    """A power of two of slots, so that every search ends: at least one is free."""
    slots = found.arrays[name]
    held = len(slots) & (len(slots) - 1) == 0 and any(not piece.all() for piece in pieces(slots))
    return None if held else "is not a table with free slots"


def _fixed(found: Found) -> str | None:
    """What is wrong with what every set has: the special words, two phrases of one of them each, and two blocks."""
    arrays, width, reach = found.arrays, found.sizes["columns"], found.sizes["jumps"]
    for side in Vocabularies._fields:
        words = Texts(arrays[f"{side}_blob"], arrays[f"{side}_blob_bounds"])
        if len(words) < len(SPECIAL) or any(words.raw(word) != name.encode() for word, name in enumerate(SPECIAL)):
            return f"its first {side} words are not {', '.join(SPECIAL)}"
        if [*arrays[f"{side}_bounds"][:2]] != [1, 1] or [*arrays[f"{side}_words"][:2]] != [UNKNOWN, START]:
            return f"its first {side} phrases are not the fixed ones"
    if [*arrays["firsts"][:2]] != [1, 1] or [*arrays["targets"][:2]] != [IDENTITY, BOUNDARY]:
        return "its first blocks are not the fixed ones"
    if width not in (len(COLUMNS), len(COLUMNS) + len(LEARNT)):
        return f"it has {width} columns of values, expected {len(COLUMNS)} or {len(COLUMNS) + len(LEARNT)}"
    return None if reach % 2 else f"it has {reach} jumps, expected as many forwards as backwards"


SCHEMA = Schema(
    "blocks",
    {
        **strings("source words", "source_blob", "source_blob_bounds"),
        **strings("target words", "target_blob", "target_blob_bounds"),
        "source_words": ids_of("places of source words", "source words"),
        "target_words": ids_of("places of target words", "target words"),
        "source_bounds": Row("|u1", ("source phrases",), (_sums("places of source words", 1),)),
        "target_bounds": Row("|u1", ("target phrases",), (_sums("places of target words", 1),)),
        "targets": ids_of("blocks", "target phrases"),
        "firsts": Row("<u4", ("source phrases",), (_sums("blocks", 0),)),
        "counts": Row("<u4", ("blocks",)),
        "values": singles("blocks", "columns"),
        "slots": Row("<u4", ("slots",), (_table, below("source phrases+1"))),
        "out": singles("source words", "jumps"),
        "into": singles("source words", "jumps"),
    },
    {"layout": int},
    "build the blocks again",
    _fixed,
)
