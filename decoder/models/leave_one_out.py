"""Leaving one out (S11.5): a training sentence is decoded with the counts that the text without it would give.

    PhraseST = log (N(f, e) - N_n(f, e)) / (N(e) - N_n(e)),   PhraseTS likewise with N(f)

N_n are the counts of sentence pair n alone, found by the extraction that made the blocks. A block that occurs only in
pair n gets a penalty for both. The set of options and all other features do not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple

import numpy as np
from rampion.decoder.alignment.links import Alignment, Words
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, IDENTITY, SPECIAL, UNKNOWN, Blocks, BlockSet, Phrases
from rampion.decoder.models.extract import AlignedText, Settings, punctuation
from rampion.decoder.models.options import Options, Sentences, looked_up

from rampion.arrays import Ids, KeyRow, Mask, Offsets, Reals, Singles, span_of_each
from rampion.errors import InputError, RecipeError
from rampion.store.names import Names
from rampion.store.text import Texts

Tables = tuple[Phrases, Phrases]


@dataclass(frozen=True, slots=True)
class Penalty:
    """The log score of a block that occurs in no other sentence: fixed + word * (|f| + |e|)."""

    fixed: float = -12.0
    word: float = 0.0

    def __post_init__(self) -> None:
        for name in ("fixed", "word"):
            if not isfinite(getattr(self, name)):
                raise RecipeError(f"{name} is {getattr(self, name)}; a penalty is a finite number")


STANDARD, LENGTH = Penalty(), Penalty(0.0, -5.0)


class Held(NamedTuple):
    """Pairs of phrases in the sentences of a batch, with ids of tables of phrases."""

    owners: Offsets
    sources: Ids
    targets: Ids

    def keys(self, tables: Tables) -> tuple[KeyRow, KeyRow, KeyRow]:
        """Keys of (sentence, pair), (sentence, target) and (sentence, source)."""
        within = self.owners.astype(np.uint64)
        pairs = within * np.uint64(len(tables[0])) + self.sources << np.uint64(32) | self.targets
        return pairs, within << np.uint64(32) | self.targets, within << np.uint64(32) | self.sources


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Sentence pairs of the text that the blocks were extracted from. Segment n is decoded without pair n's counts."""

    rules: Settings
    source: Words
    target: Words
    alignment: Alignment
    marks: tuple[Mask, Mask]  # which words of either side are punctuation
    totals: tuple[Reals, Reals]  # N(e) of every target phrase, N(f) of every source phrase
    penalty: Penalty

    @classmethod
    def of(
        cls, blocks: BlockSet, source: Texts, target: Texts, alignment: Alignment, penalty: Penalty = STANDARD
    ) -> LeftOut:
        """The pairs to decode (all pairs of the text, or some), with the alignment that the blocks were made with."""
        names, _ = blocks.vocabularies, _rules(blocks)
        text = _known("source", source, names.source), _known("target", target, names.target)
        return cls.numbered(blocks, text, alignment, penalty)

    @classmethod
    def numbered(cls, blocks: BlockSet, text: tuple[Words, Words], alignment: Alignment, penalty: Penalty) -> LeftOut:
        """The same for pairs whose words are ids of the blocks."""
        rules, own, names = _rules(blocks), blocks.blocks, blocks.vocabularies
        AlignedText(*text, alignment, rules)  # raises InputError if texts and alignment do not fit
        totals = _totals(own, 0, own.targets), _totals(own, 1, own.sources)
        return cls(rules, *text, alignment, punctuation(names), totals, penalty)

    def __len__(self) -> int:
        return len(self.alignment)

    def cut(self, first: int, last: int) -> LeftOut:
        """Only the pairs from first to last - 1."""
        edges = self.alignment.bounds[first : last + 1]
        points = slice(*edges[[0, -1]].tolist())
        own = Alignment(edges - edges[0], self.alignment.sources[points], self.alignment.targets[points])
        return replace(
            self, source=_cut(self.source, first, last), target=_cut(self.target, first, last), alignment=own
        )

    def rates(self, first: int, sentences: Sentences, options: Options, blocks: Blocks) -> Singles:
        """PhraseST and PhraseTS of the options of a batch of segments; `first` is the number of its first segment."""
        pairs, tables = self._pairs(first, sentences), (Phrases(), Phrases())
        held = self._held(first, pairs, tables, options)
        asked, sizes = _asked(sentences, options, blocks, tables)
        real = options.blocks != IDENTITY
        taken, *shared = (
            np.where(real, _times(wanted, found), 0)
            for wanted, found in zip(asked.keys(tables), held.keys(tables), strict=True)
        )
        counts = blocks.counts[options.blocks] - taken
        phrases = blocks.targets[options.blocks], blocks.sources[options.blocks]
        totals = [total[ids] - own for total, ids, own in zip(self.totals, phrases, shared, strict=True)]
        for option in np.flatnonzero((counts < 0) | (np.minimum(*totals) < counts))[:1].tolist():
            raise _strange(first + int(asked.owners[option]))
        alone = real & (counts == 0)
        rates = np.ascontiguousarray(blocks.values[options.blocks, : len(shared)])
        for column, (total, own) in enumerate(zip(totals, shared, strict=True)):
            rows = np.flatnonzero((own > 0) & ~alone)
            rates[rows, column] = np.log(counts[rows] / total[rows])
        rates[alone] = (self.penalty.fixed + self.penalty.word * sizes[alone])[:, None]
        return rates

    def _pairs(self, first: int, sentences: Sentences) -> AlignedText:
        """The pairs of a batch of segments."""
        last = first + len(sentences.bounds) - 1
        if last > len(self):
            raise InputError(f"segment {len(self)}: there are {len(self)} pairs to leave out; decode no more segments")
        part = self.cut(first, last)
        source = part.source
        if not (np.array_equal(sentences.words, source.words) and np.array_equal(sentences.bounds, source.bounds)):
            wrong = next(
                s
                for s in range(last - first)
                if not np.array_equal(_cut(Words(*sentences), s, s + 1).words, _cut(source, s, s + 1).words)
            )
            raise InputError(
                f"segment {first + wrong}: is not the source of pair {first + wrong}, to be left out; "
                "decode the sources of these pairs, in their order"
            )
        return AlignedText(part.source, part.target, part.alignment, self.rules)

    def _held(self, first: int, pairs: AlignedText, tables: Tables, options: Options) -> Held:
        """The phrase pairs in the sentence pairs. If one of them has no option, the pairs are from another text."""
        parts, longest = [Held(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint32))], options.longest
        for spans in pairs.spans("leaving out"):
            ids = pairs.numbered(spans, tables)
            admitted = pairs.admitted(pairs.flags(tables, self.marks), tables, ids)
            starts, sizes = spans.source_starts[admitted], spans.source_sizes[admitted]
            owners = np.searchsorted(pairs.source.bounds, starts, "right") - 1
            at = (starts * longest + sizes - 1)[sizes <= longest]
            none = options.spans[at] == options.spans[at + 1]
            none[~none] = options.blocks[options.spans[at[~none]]] == IDENTITY
            if self.rules.least == 1 and none.any():
                raise _strange(first + int(owners[sizes <= longest][none][0]))
            parts.append(Held(owners, ids[0][admitted], ids[1][admitted]))
        return Held(*map(np.concatenate, zip(*parts, strict=True)))


def _rules(blocks: BlockSet) -> Settings:
    """The settings of the extraction that made the blocks."""
    if "settings" not in blocks.meta:
        raise InputError("the blocks do not tell how they were extracted; build them from text, by rampion blocks")
    return Settings(**blocks.meta["settings"])


def _asked(sentences: Sentences, options: Options, blocks: Blocks, tables: Tables) -> tuple[Held, Offsets]:
    """The pairs of phrases of the options, and the total number of words of each pair."""
    owners = span_of_each(options.spans[sentences.bounds * options.longest])
    targets = blocks.targets[options.blocks]
    starts, heard = blocks.target_bounds[targets], options.ends - options.starts
    said = blocks.target_bounds[targets + 1] - starts
    sources = tables[0].number(sentences.words, sentences.bounds[owners] + options.starts, heard.astype(np.uint8))
    return Held(owners, sources, tables[1].number(blocks.target_words, starts, said.astype(np.uint8))), heard + said


def _times(wanted: KeyRow, found: KeyRow) -> Offsets:
    """The count of each wanted key in `found`."""
    ordered = np.sort(found)
    return np.searchsorted(ordered, wanted, "right") - np.searchsorted(ordered, wanted)


def _known(side: str, texts: Texts, names: Names) -> Words:
    """The words of texts as ids of the blocks' vocabulary; an unknown word raises InputError."""
    found = Words(*looked_up(texts, names))
    for place in np.flatnonzero(found.words == UNKNOWN).tolist():
        line = int(np.searchsorted(found.bounds, place, "right")) - 1
        word = texts.raw(line).split()[place - int(found.bounds[line])].decode()
        if word != SPECIAL[UNKNOWN]:
            raise InputError(
                f"the {side} of pair {line} has the word {word!r}, which is not in the blocks' vocabulary; "
                "leave one out of the text that they are from"
            )
    return found


def _totals(blocks: Blocks, column: int, phrases: Ids) -> Reals:
    """The count of every phrase in all pairs, including those that became no blocks: count / share."""
    counts, shares, rows = blocks.counts, blocks.values[:, column].astype(np.float64), slice(BOUNDARY + 1, None)
    order = np.argsort(counts[rows], kind="stable")  # the largest share has the least relative error
    totals = np.ones(int(phrases.max(initial=0)) + 1)
    totals[phrases[rows][order]] = np.rint(counts[rows] / np.exp(shares[rows]))[order]
    off = np.abs(np.log(counts[rows] / np.maximum(totals[phrases[rows]], 1.0)) - shares[rows])
    if (off > 1e-6 * np.maximum(1.0, -shares[rows])).any():
        raise InputError(
            f"{COLUMNS[column]} of the blocks is no share of their counts, from which one could be left out; "
            "build them from text, by rampion blocks"
        )
    return totals


def _cut(side: Words, first: int, last: int) -> Words:
    """The sentences from first to last - 1."""
    edges = side.bounds[first : last + 1]
    return Words(side.words[edges[0] : edges[-1]], edges - edges[0])


def _strange(pair: int) -> InputError:
    return InputError(
        f"pair {pair}: holds phrases that the blocks do not, or not so often; "
        "leave one out of the text that they are from, with the alignment that they were made with"
    )
