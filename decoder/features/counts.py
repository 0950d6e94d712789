"""Count features (S9.3): frequent word pairs and n-grams of a parallel text, and triggers of high mutual information.

    pair/das/the       a link between das and the, inside a block of the derivation
    gram/of_the        an n-gram of the translation; <s> and </s> count as words if n >= 2
    trigger/if/then    an occurrence of `then` in the translation after an `if`

A file has one line for each: KIND TAB WORDS TAB COUNT TAB BITS. Words are divided by blanks; only triggers have bits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.alignment.links import Alignment, Words
from rampion.decoder.features.templates import escaped
from rampion.decoder.models import extract
from rampion.decoder.models.blocks import END, START, Vocabularies, packed
from rampion.decoder.models.extract import WORDS, AlignedText, Runs, Watch, unpacked

from rampion.arrays import Ids, KeyRow, Offsets, Reals, span_of_each
from rampion.errors import FormatError, InputError, RecipeError
from rampion.formats.files import FilePath, lines, replacing, shown
from rampion.store.text import Texts

KINDS: Mapping[str, tuple[int, ...]] = {"pair": (2,), "gram": (1, 2, 3), "trigger": (2,)}  # numbers of words, by kind
_PIECE = 1 << 18  # words of a text whose pairs of words are in memory together
_BITS = 21


@dataclass(frozen=True, slots=True)
class Settings:
    """The number of features of each kind. The defaults are those of Gimpel and Smith (2012).

    least     the minimum count of a trigger
    itself    whether a word may trigger itself
    longest   the most words of a phrase, on either side
    """

    pairs: int = 1000
    unigrams: int = 200
    bigrams: int = 1000
    trigrams: int = 1000
    triggers: int = 4000
    least: int = 3
    itself: bool = False
    longest: int = 7

    def __post_init__(self) -> None:
        for name in ("pairs", "unigrams", "bigrams", "trigrams", "triggers"):
            if getattr(self, name) < 0:
                raise RecipeError(f"{name} {getattr(self, name)}: expected 0 features or more")
        if self.least < 1:
            raise RecipeError(f"least {self.least}: a trigger must have fired once at least")
        _ = self.rules

    @property
    def rules(self) -> extract.Settings:
        """The extraction settings of the phrase pairs whose links are counted."""
        return extract.Settings(self.longest, loose=False)


class Chosen(NamedTuple):
    """One feature: its words, its count in the text, and the mutual information of a trigger, in bits."""

    kind: str
    words: tuple[str, ...]
    times: int
    bits: float = 0.0

    @property
    def name(self) -> str:
        """The feature's name in lists and weights."""
        return f"{self.kind}/{('_' if self.kind == 'gram' else '/').join(map(escaped, self.words))}"


@dataclass(frozen=True, slots=True)
class CountFeatures:
    """Features by kind; those of a kind are sorted by count, triggers by mutual information."""

    features: tuple[Chosen, ...]

    def __len__(self) -> int:
        return len(self.features)

    @property
    def names(self) -> Texts:
        return Texts.from_strings(feature.name for feature in self.features)

    @classmethod
    def choose(
        cls,
        source: Texts,
        target: Texts,
        alignment: Alignment,
        settings: Settings | None = None,
        watch: Watch | None = None,
    ) -> CountFeatures:
        """Choose the features of texts that are aligned line by line. Ties are broken by the order of the words."""
        settings = settings or Settings()
        vocabularies = Vocabularies.special()
        sides = [Words(*names.tokens(texts)) for names, texts in zip(vocabularies, (source, target), strict=True)]
        for side, names in vocabularies._asdict().items():
            if len(names) > WORDS:
                raise InputError(f"the {side} side has {len(names)} different words; at most {WORDS} have feature keys")
        spelt = [list(names.texts()) for names in vocabularies]
        linked = _pairs(AlignedText(sides[0], sides[1], alignment, settings.rules, watch))
        found = _first("pair", settings.pairs, *linked, None, spelt)
        for size, many in enumerate((settings.unigrams, settings.bigrams, settings.trigrams), 1):
            found += _first("gram", many, *_ngrams(sides[1], size), None, [spelt[1]] * size)
        if settings.triggers:
            told = _triggers(sides[1], settings, len(vocabularies.target), watch)
            found += _first("trigger", settings.triggers, *told, [spelt[1]] * 2)
        return cls(tuple(found))

    @classmethod
    def read(cls, path: FilePath) -> CountFeatures:
        """Read the features of a file."""
        found = dict[tuple[str, tuple[str, ...]], Chosen]()
        for line, text in lines(path):
            feature = _parsed(path, line, text)
            if feature[:2] in found:
                raise FormatError.at(shown(path), line, f"{feature.name} appears here for the second time; keep one")
            found[feature[:2]] = feature
        if not found:
            raise FormatError(f"{shown(path)}: has no features; expected lines KIND TAB WORDS TAB COUNT TAB BITS")
        return cls(tuple(found.values()))

    def write(self, path: FilePath) -> None:
        """Write all features, or no file."""
        with replacing(path) as file:
            file.writelines(
                f"{kind}\t{' '.join(words)}\t{times}\t{bits!r}\n".encode() for kind, words, times, bits in self.features
            )


def _parsed(path: FilePath, line: int, text: str) -> Chosen:
    """Parse a line."""
    cells = text.split("\t")
    if len(cells) != 4 or cells[0] not in KINDS:
        what = "four cells KIND TAB WORDS TAB COUNT TAB BITS, KIND being one of " + ", ".join(KINDS)
        raise FormatError.at(shown(path), line, f"{text[:60]!r} is no feature; expected {what}")
    kind, words = cells[0], tuple(cells[1].split(" "))
    if len(words) not in KINDS[kind] or not all(words):
        sizes = " or ".join(map(str, KINDS[kind]))
        raise FormatError.at(shown(path), line, f"the {kind} {cells[1][:60]!r} should have {sizes} words")
    try:
        count, bits = int(cells[2]), float(cells[3])
    except ValueError:
        count = -1
    if count < 0 or not isfinite(bits):
        wrong = " and ".join(repr(cell[:30]) for cell in cells[2:])
        raise FormatError.at(shown(path), line, f"{wrong} are not a count and a number of bits")
    return Chosen(kind, words, count, bits)


def _first(
    kind: str, most: int, columns: Sequence[Ids], counts: Offsets, bits: Reals | None, spelt: Sequence[list[str]]
) -> list[Chosen]:
    """The first `most` features, sorted by bits if they are given, or else by counts."""
    ranks: NDArray[Any] = counts if bits is None else bits
    if not most:
        return []
    rows = np.flatnonzero(ranks >= np.partition(ranks, -most)[-most]) if most < len(ranks) else np.arange(len(ranks))
    words = [[texts[word] for word in column[rows].tolist()] for texts, column in zip(spelt, columns, strict=True)]
    values = np.zeros(len(rows)) if bits is None else bits[rows]
    rest = zip(counts[rows].tolist(), values.tolist(), strict=True)
    found = [Chosen(kind, said, *numbers) for said, numbers in zip(zip(*words, strict=True), rest, strict=True)]
    return sorted(found, key=lambda one: (-one.bits, -one.times, one.words))[:most]


def _pairs(text: AlignedText) -> tuple[tuple[Ids, Ids], Offsets]:
    """Pairs of linked words, and the number of their links that lie in an extractable phrase pair."""
    inside = np.zeros(len(text.source.words) + 1, np.int32)
    for spans in text.spans("linking"):
        if len(spans.codes):
            starts, ends = spans.source_starts, spans.source_starts + spans.source_sizes
            low, high = int(starts.min()), int(ends.max()) + 1
            inside[low:high] += np.bincount(starts - low, minlength=high - low).astype(np.int32)
            inside[low:high] -= np.bincount(ends - low, minlength=high - low).astype(np.int32)
    np.cumsum(inside, out=inside)
    owners = span_of_each(text.alignment.bounds)
    sources = text.source.bounds[owners] + text.alignment.sources
    targets = text.target.bounds[owners] + text.alignment.targets
    used = inside[sources] > 0
    keys, counts = np.unique(
        packed(text.source.words[sources[used]], text.target.words[targets[used]]), return_counts=True
    )
    return unpacked(keys), counts


def _ngrams(text: Words, size: int) -> tuple[tuple[Ids, ...], Offsets]:
    """The n-grams of the text and their counts. From two words on, <s> and </s> surround each sentence."""
    words, owners = text.words, span_of_each(text.bounds)
    if size > 1:
        words = np.insert(words, text.bounds[:-1], START)
        ends = text.bounds[1:] + np.arange(1, len(text.bounds))
        words = np.insert(words, ends, END)
        owners = np.repeat(np.arange(len(text.bounds) - 1), np.diff(text.bounds) + 2)
    count = max(0, len(words) - size + 1)
    keys = np.zeros(count, np.uint64)
    for place in range(size):
        keys = keys << np.uint64(_BITS) | words[place : place + count]
    keys, counts = np.unique(keys[owners[:count] == owners[size - 1 :]], return_counts=True)
    columns = [keys >> np.uint64(_BITS * back) & np.uint64((1 << _BITS) - 1) for back in range(size - 1, -1, -1)]
    return tuple(column.astype(np.uint32) for column in columns), counts


def _triggers(
    text: Words, settings: Settings, vocabulary: int, watch: Watch | None
) -> tuple[tuple[Ids, Ids], Offsets, Reals]:
    """Pairs a, b, the number of places with b after an a, and the mutual information of "b" and "after an a".

    Memory holds only the pairs that can be among the chosen ones, and one run of others.
    """
    words, lengths = text.words, np.diff(text.bounds)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    places = np.unique(packed(owners.astype(np.uint32), words), return_index=True)[
        1
    ]  # the first occurrence of each word in each sentence
    places.sort()
    rest = text.bounds[1:][owners[places]] - 1 - places  # the number of words after them in the sentence
    heard = np.bincount(words[places], rest, vocabulary).astype(np.float64)
    spoken = np.bincount(words, minlength=vocabulary).astype(np.float64)
    keys, counts, bits = np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0)
    with tempfile.TemporaryDirectory(prefix="rampion-") as folder:
        runs = Runs(Path(folder))
        for first in range(0, len(places), _PIECE):
            runs.add(_behind(words, places[first : first + _PIECE], rest[first : first + _PIECE], settings.itself))
            if watch:
                watch("triggers", min(first + _PIECE, len(places)), len(places))
        for found, often in runs.merged():
            found, often = found[often >= settings.least], often[often >= settings.least]
            one, other = unpacked(found)
            told = information(often.astype(np.float64), heard[one], spoken[other], float(len(words)))
            keys, counts = np.concatenate([keys, found]), np.concatenate([counts, often.astype(np.int64)])
            bits = np.concatenate([bits, told])
            if len(bits) > settings.triggers:
                kept = bits >= np.partition(bits, -settings.triggers)[-settings.triggers]
                keys, counts, bits = keys[kept], counts[kept], bits[kept]
    return unpacked(keys), counts, bits


def _behind(words: Ids, places: Offsets, rest: Offsets, itself: bool) -> KeyRow:
    """Keys of the word at each place with each later word of its sentence."""
    parts = [np.zeros(0, np.uint64)]
    for step in range(1, int(rest.max(initial=0)) + 1):
        places, rest = places[rest >= step], rest[rest >= step]
        one, other = words[places], words[places + step]
        keys = packed(one, other)
        parts.append(keys if itself else keys[one != other])
    return np.concatenate(parts)


def information(both: Reals, first: Reals, second: Reals, total: float) -> Reals:
    """The average mutual information of two events in bits (S9.3), from counts of both, of each, and of all places."""
    bits = np.zeros(len(both))
    for a, b, joint in (
        (first, second, both),
        (first, total - second, first - both),
        (total - first, second, second - both),
        (total - first, total - second, total - first - second + both),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            bits += np.where(joint > 0, joint * np.log2(joint * total / (a * b)), 0.0)
    return bits / total
