"""Blocks from word-aligned text: extraction in the style of Koehn, Och and Marcu (2003), counts, and features.

Two passes over the text. The first only counts pairs of phrases, as sorted runs of packed ids on disk; the second adds
up orientations and lexical weights of those kept. Memory: the distinct phrases, the pairs kept, and one run.
"""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.alignment.align import FLOOR, Lexicon, model1
from rampion.decoder.alignment.links import Alignment, Words
from rampion.decoder.models import jumps
from rampion.decoder.models.blocks import (
    COLUMNS,
    SPECIAL,
    BlockSet,
    Phrases,
    Side,
    Vocabularies,
    assembled,
    packed,
    ranked,
    sorted_sides,
)
from rampion.decoder.text.tokenised import Tokenised

from rampion.arrays import Ids, KeyRow, Mask, Offsets, Reals, Singles, fingerprint, span_of_each
from rampion.errors import InputError, RecipeError
from rampion.store.text import Texts

Watch = Callable[[str, int, int], None]  # receives the name of the pass, and the sentence pairs done and in all

WORDS = (1 << 19) - 1  # a feature key holds a word + 1 in 19 bits
_SPANS, _RUN = 1 << 20, 1 << 24  # occurrences in memory at a time; occurrences of a run
_ASKED = 1 << 16
_SPECIAL = 2
_SMOOTH = 0.5  # added to each count of an orientation


@dataclass(frozen=True, slots=True)
class Settings:
    """Which blocks to keep.

    longest      words of a phrase, on either side
    loose        whether phrases may begin and end with words that have no link
    least        the minimum count of a block
    top          the number of blocks of a source phrase, the most frequent ones; 0 is all
    ratio        the longer side may have this many times the words of the shorter; 0 is any
    punctuation  whether a phrase of punctuation only may be paired with a phrase of words
    """

    longest: int = 7
    loose: bool = True
    least: int = 1
    top: int = 100
    ratio: float = 0.0
    punctuation: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.longest <= 20:
            raise RecipeError(f"longest {self.longest}: a phrase may have 1 to 20 words")
        if self.least < 1 or self.top < 0:
            raise RecipeError(f"least {self.least}, top {self.top}: expected at least 1, and 0 (all) or more")
        if self.ratio and self.ratio < 1:
            raise RecipeError(f"ratio {self.ratio}: expected 1 or more, or 0 for any")


class Spans(NamedTuple):
    """Occurrences of blocks: first words and lengths on both sides, and 3 * backward + forward orientation (M/S/D)."""

    source_starts: Offsets
    source_sizes: NDArray[np.uint8]
    target_starts: Offsets
    target_sizes: NDArray[np.uint8]
    codes: NDArray[np.uint8]

    @classmethod
    def room(cls, size: int) -> Spans:
        starts, sizes = np.empty((2, size), np.int64), np.empty((3, size), np.uint8)
        return cls(starts[0], sizes[0], starts[1], sizes[1], sizes[2])

    def first(self, count: int) -> Spans:
        """The first `count` occurrences."""
        return Spans(
            self.source_starts[:count],
            self.source_sizes[:count],
            self.target_starts[:count],
            self.target_sizes[:count],
            self.codes[:count],
        )


def build(
    source: Texts | Tokenised, target: Texts | Tokenised, alignment: Alignment, settings: Settings | None = None, *,
    lexicon: Lexicon | None = None, threads: int | None = None, watch: Watch | None = None,
) -> BlockSet:  # fmt: skip
    """Extract the blocks of texts that are aligned line by line.

    The lexicon is that of Model 1, which is trained here if an aligner of the same texts has not done so. Threads are
    for that, and change no bit.
    """
    settings = settings or Settings()
    vocabularies = Vocabularies.special()
    texts = Tokenised.of(source), Tokenised.of(target)
    sides = [Words(own.numbered(names), own.bounds) for names, own in zip(vocabularies, texts, strict=True)]
    for side, names in vocabularies._asdict().items():
        if len(names) > WORDS:
            raise InputError(f"the {side} side has {len(names)} different words; at most {WORDS} have feature keys")
    text = AlignedText(sides[0], sides[1], alignment, settings, watch)
    if lexicon is None:
        given, said = (Words(own.words, own.bounds) for own in (texts[1], texts[0]))
        lexicon = model1(given, said, threads=threads)
    kept, tables = text.counted(vocabularies)
    ordered, places = sorted_sides(vocabularies, tables, kept.pairs)
    kept = kept.renamed(places).best(settings.top)
    values = np.empty((len(kept.counts), len(COLUMNS)), np.float32)
    for column, total in enumerate((kept.target_totals, kept.source_totals)):
        values[:, column] = np.log(kept.counts / total)
    text.weigh(kept, tables, places, values[:, 2:4], values[:, 5:])
    values[:, 4] = generated(_renumbered(ordered, vocabularies, sides, texts), kept.pairs, lexicon)
    meta = {
        "settings": asdict(settings),
        "text": fingerprint(
            *texts[0].texts.arrays, *texts[1].texts.arrays, alignment.bounds, alignment.sources, alignment.targets
        ),
        "sentences": len(source),
        "occurrences": text.occurrences,
    }
    moves = jumps.estimate(sides[0], sides[1], alignment, len(vocabularies.source))
    return BlockSet(vocabularies, assembled(ordered, kept.pairs, kept.counts, values), moves, meta)


def _renumbered(
    phrases: tuple[Side, Side], vocabularies: Vocabularies, sides: Sequence[Words], texts: Sequence[Tokenised]
) -> tuple[Side, Side]:
    """The phrases with the words' ids in the texts, which are those of the lexicon."""
    found = []
    for phrase, names, side, own in zip(phrases, vocabularies, sides, texts, strict=True):
        ids = np.zeros(len(names), np.uint32)
        ids[side.words] = own.words
        found.append(phrase._replace(words=ids[phrase.words]))
    return found[0], found[1]


def generated(sides: tuple[Side, Side], pairs: tuple[Ids, Ids], lexicon: Lexicon) -> Singles:
    """log p(S|T) of every pair by IBM Model 1."""
    values, answers = np.empty(len(pairs[0]), np.float32), np.empty(_ASKED, np.float32)
    asked = np.zeros(_ASKED, np.uint64)
    _kernels.lexical(*sides[0], *sides[1], *pairs, lexicon, FLOOR, asked, answers, values)
    return values


@dataclass(frozen=True, slots=True)
class Kept:
    """Pairs of phrases, ascending, with their counts, and the counts of their sources and targets in all pairs."""

    pairs: tuple[Ids, Ids]
    counts: Ids
    source_totals: Ids
    target_totals: Ids

    def take(self, rows: Offsets, pairs: tuple[Ids, Ids]) -> Kept:
        picked = (pairs[0][rows], pairs[1][rows])
        return Kept(picked, self.counts[rows], self.source_totals[rows], self.target_totals[rows])

    def renamed(self, places: tuple[Ids, Ids]) -> Kept:
        pairs = places[0][self.pairs[0]], places[1][self.pairs[1]]
        return self.take(np.argsort(packed(*pairs)), pairs)

    def best(self, top: int) -> Kept:
        """The `top` most frequent pairs of every source phrase; in case of ties, the first ones."""
        if not top:
            return self
        order = ranked(self.pairs[0], self.counts)
        sources = self.pairs[0][order]
        ranks = np.arange(len(order)) - np.searchsorted(sources, sources)
        return self.take(np.sort(order[ranks < top]), self.pairs)


class AlignedText:
    """Aligned sentence pairs, with the passes of the extraction over them."""

    def __init__(
        self, source: Words, target: Words, alignment: Alignment, settings: Settings, watch: Watch | None = None
    ) -> None:
        self.source, self.target, self.alignment = source, target, alignment
        self.settings, self.watch = settings, watch
        self.occurrences = 0
        lengths = [np.diff(each.bounds) for each in (source, target)]
        if not len(lengths[0]) == len(lengths[1]) == len(alignment):
            found = f"{len(lengths[0])} source and {len(lengths[1])} target sentences, {len(alignment)} alignments"
            raise InputError(f"{found}; expected as many of each")
        owners = span_of_each(alignment.bounds)
        outside = (alignment.sources >= lengths[0][owners]) | (alignment.targets >= lengths[1][owners])
        for link in np.flatnonzero(outside)[:1].tolist():
            pair, found = owners[link], f"{alignment.sources[link]}-{alignment.targets[link]}"
            words = f"{lengths[0][pair]} and {lengths[1][pair]} words"
            raise InputError(f"line {pair + 1}: the link {found} leads out of the sentences, which have {words}")
        linked = np.diff(alignment.bounds) > 0
        n, m = (int(each[linked].max(initial=0)) for each in lengths)
        area = int(((lengths[0] + 1) * (lengths[1] + 1))[linked].max(initial=0))
        self._work = (
            np.empty(area, np.uint8),
            np.empty((4, max(n, m)), np.int32),
            np.empty((n * settings.longest, 4), np.int32),
        )

    def spans(self, title: str) -> Iterator[Spans]:
        """All occurrences, in pieces."""
        room, done, last = Spans.room(_SPANS), 0, len(self.alignment)
        bounds = np.zeros(last + 1, np.int64)
        while done < last:
            bounds[done] = 0
            reached = _kernels.extract(
                self.source, self.target, self.alignment, self.settings.longest, self.settings.loose, done,
                *self._work, room, bounds,
            )  # fmt: skip
            if reached == done:
                room = Spans.room(2 * len(room.codes))
                continue
            done = reached
            yield room.first(int(bounds[done]))
            if self.watch:
                self.watch(title, done, last)

    def numbered(self, spans: Spans, tables: tuple[Phrases, Phrases]) -> tuple[Ids, Ids]:
        """The ids of the source and target phrases of occurrences."""
        source, target = tables
        return (
            source.number(self.source.words, spans.source_starts, spans.source_sizes),
            target.number(self.target.words, spans.target_starts, spans.target_sizes),
        )

    def counted(self, vocabularies: Vocabularies) -> tuple[Kept, tuple[Phrases, Phrases]]:
        """Count the pairs of phrases. Return those that the settings admit, and the tables of their phrases."""
        tables = Phrases(), Phrases()
        with tempfile.TemporaryDirectory(prefix="rampion-") as folder:
            runs = Runs(Path(folder))
            for spans in self.spans("counting"):
                self.occurrences += len(spans.codes)
                runs.add(packed(*self.numbered(spans, tables)))
            flags = self.flags(tables, punctuation(vocabularies))
            totals = [np.zeros(len(table), np.uint32) for table in tables]
            pieces = []
            for keys, counts in runs.merged():
                pairs = unpacked(keys)
                admitted = self.admitted(flags, tables, pairs)
                pairs, counts = (pairs[0][admitted], pairs[1][admitted]), counts[admitted]
                for total, ids in zip(totals, pairs, strict=True):
                    total += np.bincount(ids, counts, len(total)).astype(np.uint32)
                often = counts >= self.settings.least
                pieces.append((pairs[0][often], pairs[1][often], counts[often]))
        sources, targets, counts = (np.concatenate(column) for column in zip(*pieces, strict=True))
        return Kept((sources, targets), counts, totals[0][sources], totals[1][targets]), tables

    @staticmethod
    def flags(tables: tuple[Phrases, Phrases], marks: tuple[Mask, Mask]) -> list[NDArray[np.uint8]]:
        """Two flags of every phrase: it is punctuation only, and it contains a special word."""
        found = []
        for table, words in zip(tables, marks, strict=True):
            starts, own = table.bounds[: len(table)], table.words[: table.bounds[len(table)]]
            found.append(np.zeros(len(table), np.uint8))
            if len(table):
                found[-1][:] = np.logical_and.reduceat(words[own], starts)
                found[-1][np.logical_or.reduceat(own < len(SPECIAL), starts)] = _SPECIAL
        return found

    def admitted(self, flags: list[NDArray[np.uint8]], tables: tuple[Phrases, Phrases], pairs: tuple[Ids, Ids]) -> Mask:
        """A mask of the pairs that pass the filters."""
        kinds = [flag[ids] for flag, ids in zip(flags, pairs, strict=True)]
        sizes = [np.diff(table.bounds[: len(table) + 1])[ids] for table, ids in zip(tables, pairs, strict=True)]
        admitted: Mask = (kinds[0] != _SPECIAL) & (kinds[1] != _SPECIAL)
        if not self.settings.punctuation:
            admitted &= kinds[0] == kinds[1]
        if self.settings.ratio:
            admitted &= np.maximum(*sizes) <= self.settings.ratio * np.minimum(*sizes)
        return admitted

    def weigh(
        self, kept: Kept, tables: tuple[Phrases, Phrases], places: tuple[Ids, Ids], lexical: Singles, oriented: Singles
    ) -> None:
        """Fill in the greatest lexical weights of every pair kept, and log (count + 0.5) / (all + 1.5) of M, S, D."""
        turns, greatest = np.zeros((len(kept.counts), 6), np.uint32), np.full((len(kept.counts), 2), -np.inf)
        firsts = np.searchsorted(kept.pairs[0], np.arange(int(places[0].max(initial=0)) + 2))
        weights = link_weights(self.source, self.target, self.alignment)
        for spans in self.spans("weighing"):
            sources, targets = self.numbered(spans, tables)
            ids = places[0][sources], places[1][targets]
            _kernels.tally(spans, *ids, *weights, firsts, kept.pairs[1], turns, greatest)
        lexical[:] = greatest
        for code in range(6):
            oriented[:, code] = np.log((turns[:, code] + _SMOOTH) / (kept.counts + 3 * _SMOOTH))


def punctuation(vocabularies: Vocabularies) -> tuple[Mask, Mask]:
    """Which words of either side are punctuation."""
    source, target = (
        np.array([all(unicodedata.category(c)[0] in "PS" for c in text) for text in names.texts()])
        for names in vocabularies
    )
    return source, target


def link_weights(source: Words, target: Words, alignment: Alignment) -> tuple[Reals, Reals]:
    """Each word's term of a block's lexical weight (Koehn et al. 2003): the log of the mean of w over its links.

    w(f|e) = N(f, e) / N(e) counts links; a word without a link has one to the null word. All links of a word of a
    block lie in it, so the weight of a block is a sum over its words.
    """
    owners = span_of_each(alignment.bounds)
    places = source.bounds[owners] + alignment.sources, target.bounds[owners] + alignment.targets
    words = [side.words[place] for side, place in zip((source, target), places, strict=True)]
    cells, counts = np.unique(packed(*words), return_inverse=True, return_counts=True)[1:]
    found = []
    for side, place, other in ((source, places[0], words[1]), (target, places[1], words[0])):
        links = np.bincount(place, minlength=len(side.words))
        shares = counts[cells] / np.bincount(other, minlength=1)[other]
        weights = np.bincount(place, shares, len(side.words)) / np.maximum(links, 1)
        lone = side.words[links == 0]
        weights[links == 0] = np.bincount(lone, minlength=1)[lone] / max(1, len(lone))
        found.append(np.log(weights))
    return found[0], found[1]


def unpacked(keys: KeyRow) -> tuple[Ids, Ids]:
    return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)


class Runs:
    """Counts of more keys than memory holds: sorted runs on disk, merged range by range."""

    def __init__(self, folder: Path, size: int = _RUN) -> None:
        self.folder, self.size = folder, size
        self.waiting: list[KeyRow] = []
        self.runs: list[tuple[KeyRow, Ids]] = []

    def add(self, keys: KeyRow) -> None:
        self.waiting.append(keys)
        if sum(map(len, self.waiting)) >= self.size:
            self._flush()

    def _flush(self) -> None:
        """Sort and count the waiting keys, and write them to disk as a run."""
        keys = np.sort(np.concatenate([np.zeros(0, np.uint64), *self.waiting]))
        self.waiting = []
        firsts = _firsts(keys)
        counts = np.diff(firsts, append=len(keys)).astype(np.uint32)
        self.runs.append((self._laid("keys", keys[firsts]), self._laid("counts", counts)))

    def _laid(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """The same array, mapped from a file."""
        path = self.folder / f"{name}{len(self.runs)}"
        array.tofile(path)
        return np.memmap(path, array.dtype, "r") if len(array) else array

    def merged(self) -> Iterator[tuple[KeyRow, Ids]]:
        """All keys, ascending, with their counts, in pieces. KeyRow with the same upper half are in one piece."""
        self._flush()
        total = sum(len(keys) for keys, _ in self.runs)
        sample = np.sort(np.concatenate([keys[::1024] for keys, _ in self.runs]))
        cuts = sample[:: max(1, len(sample) // (1 + total // self.size))][1:] >> np.uint64(32) << np.uint64(32)
        edges = [np.concatenate([[0], np.searchsorted(keys, np.unique(cuts)), [len(keys)]]) for keys, _ in self.runs]
        for piece in range(len(edges[0]) - 1):
            parts = [slice(*edge[piece : piece + 2]) for edge in edges]
            keys = np.concatenate([run[0][part] for run, part in zip(self.runs, parts, strict=True)])
            counts = np.concatenate([run[1][part] for run, part in zip(self.runs, parts, strict=True)])
            order = np.argsort(keys, kind="stable")
            keys, counts = keys[order], counts[order]
            firsts = _firsts(keys)
            yield keys[firsts], np.add.reduceat(counts, firsts, dtype=np.uint32) if len(firsts) else counts


def _firsts(keys: KeyRow) -> Offsets:
    """The first index of every different key."""
    return np.flatnonzero(np.concatenate([np.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1]]))
