"""Translation options, search graphs and derivations of a batch of sentences, as flat arrays for kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import BOUNDARY, Blocks, BlockSet, Side, assembled

from rampion.arrays import Ids, Offsets, Places, Reals, Singles
from rampion.errors import InputError
from rampion.store.names import Names
from rampion.store.text import Texts

LONGEST = 512  # words of a sentence


class Sentences(NamedTuple):
    """Source sentences as word ids: those of sentence s are words[bounds[s]:bounds[s + 1]]; unknown words are 0."""

    words: Ids
    bounds: Offsets

    @classmethod
    def of(cls, texts: Texts, names: Names, labels: Texts | None = None) -> Sentences:
        """The texts as ids of a source vocabulary. `labels` are the names of the segments, for error messages."""
        words, bounds = looked_up(texts, names)
        for segment in np.flatnonzero(np.diff(bounds) > LONGEST)[:1].tolist():
            found = f"segment {labels[segment] if labels else segment}: has {np.diff(bounds)[segment]} words"
            raise InputError(f"{found}; a sentence may have {LONGEST}: split it")
        return cls(words, bounds)


def looked_up(texts: Texts, names: Names) -> tuple[Ids, Offsets]:
    """The words of all texts as ids, 0 for unknown words, and the bounds of each text."""
    words, bounds = names.find_tokens(texts)
    return np.maximum(words, 0).astype(np.uint32), bounds


OWN = np.zeros((0, 2), np.float32)  # rates: every option uses those of its block


class Options(NamedTuple):
    """Blocks that match spans of the sentences of a batch, numbered from 0 through the batch.

    Those of the span of n words that begins at word w of the batch are spans[w * longest + n - 1] to the next bound;
    within a span they keep the order of the block set. Places count from the beginning of the sentence. rates replace
    the first two values (PhraseST and PhraseTS) of each option's block; without rows, those of the block are used.
    """

    longest: int
    spans: Offsets
    starts: Places
    ends: Places
    blocks: Ids
    rates: Singles = OWN

    @classmethod
    def match(cls, sentences: Sentences, blocks: Blocks, longest: int = 8, top: int = 20) -> Options:
        """The first `top` blocks of every span of at most `longest` words, and IDENTITY for a word without a block."""
        count, done = len(sentences.words), 0
        spans = np.zeros(count * longest + 1, np.int64)
        found, starts = np.empty(32 * count, np.uint32), np.empty(32 * count, np.int32)
        ends = np.empty_like(starts)
        while True:
            done = _kernels.match(sentences, blocks, longest, top, done, spans, starts, ends, found)
            if done == len(sentences.bounds) - 1:
                break
            starts, ends = np.concatenate([starts, starts]), np.concatenate([ends, ends])
            found = np.concatenate([found, found])
        size = spans[-1]
        return cls(longest, spans, starts[:size], ends[:size], found[:size])


def needed(blocks: BlockSet, texts: Texts) -> BlockSet:
    """The blocks whose source phrase occurs in one of the texts, and the fixed blocks."""
    every = blocks.blocks
    longest, top = (int(np.diff(bounds).max(initial=1)) for bounds in (every.source_bounds, every.firsts))
    found = Options.match(Sentences.of(texts, blocks.vocabularies.source), every, longest, top)
    kept = np.setdiff1d(found.blocks, np.arange(BOUNDARY + 1))
    fixed = BOUNDARY + 1  # phrases, too, of one word each
    sides = (
        Side(words[fixed:], bounds[fixed:] - fixed)
        for words, bounds in ((every.source_words, every.source_bounds), (every.target_words, every.target_bounds))
    )
    pairs = every.sources[kept] - fixed, every.targets[kept] - fixed
    return replace(blocks, blocks=assembled((next(sides), next(sides)), pairs, every.counts[kept], every.values[kept]))


class Graph(NamedTuple):
    """The result of a search: nodes[bounds[s]] is the start of sentence s, nodes[bounds[s + 1] - 1] its goal.

    Nodes are sorted so that every edge leads forward. The edges into node v are edge_bounds[v] to
    edge_bounds[v + 1], the best derivation first. Edges into a goal have no words: their option is NOTHING.
    A sentence without any derivation has a goal without edges.
    """

    bounds: Offsets
    edge_bounds: Offsets
    origins: Ids
    options: Ids
    scores: Reals


NOTHING = 0xFFFFFFFF


class Derivations(NamedTuple):
    """Block sequences: the derivations of sentence s are bounds[s] to bounds[s + 1], best first.

    Derivation d is the sequence of options steps[step_bounds[d]:step_bounds[d + 1]], in target order.
    """

    bounds: Offsets
    step_bounds: Offsets
    steps: Ids
    scores: Reals
