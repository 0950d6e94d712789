"""Sentences to search, made by a seed: words by Zipf's law, about as many options for every span as asked, and weights
for most of what fires."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decoder.blocks import BOUNDARY, IDENTITY, START, UNKNOWN, Blocks
from decoder.options import Options, Sentences

VOCABULARY = 50_000


class Searchable(NamedTuple):
    sentences: Sentences
    options: Options
    blocks: Blocks


def zipf(rng: np.random.Generator, size: int, vocabulary: int = VOCABULARY) -> NDArray[np.uint32]:
    """Word ids from 3 on; the more frequent the smaller."""
    return (3 + np.minimum(vocabulary ** rng.random(size) - 1, vocabulary - 4)).astype(np.uint32)


def searchable(
    seed: int, sentences: int, words: int = 24, longest: int = 8, per_span: int = 20, vocabulary: int = VOCABULARY
) -> Searchable:
    """Every span of every sentence is a source phrase of its own, with 1 to 2 * per_span - 1 blocks."""
    rng = np.random.default_rng(seed)
    text = zipf(rng, sentences * words, vocabulary)
    place = np.arange(sentences * words)
    starts, sizes = np.repeat(place, longest), np.tile(np.arange(1, longest + 1), len(place))
    fits = starts % words + sizes <= words
    counts = np.where(fits, rng.integers(1, 2 * per_span, len(starts)), 0)
    spans = np.concatenate([[0], np.cumsum(counts)])
    kept = np.flatnonzero(fits)
    phrases = len(kept) + 2
    source_sizes = np.concatenate([[1, 1], sizes[kept]])
    source_bounds = np.concatenate([[0], np.cumsum(source_sizes)])
    source_words = np.empty(source_bounds[-1], np.uint32)
    source_words[:2] = UNKNOWN, START
    offsets = np.arange(2, source_bounds[-1]) - np.repeat(source_bounds[2:-1], source_sizes[2:])
    source_words[2:] = text[np.repeat(starts[kept], sizes[kept]) + offsets]
    option_sizes = np.repeat(sizes, counts)
    lengths = np.concatenate([[1, 1], np.clip(option_sizes + rng.integers(-1, 2, spans[-1]), 1, None)])
    target_bounds = np.concatenate([[0], np.cumsum(lengths)])
    target_words = zipf(rng, target_bounds[-1], vocabulary)
    target_words[:2] = UNKNOWN, START
    sources = np.concatenate([[IDENTITY, BOUNDARY], np.repeat(np.arange(2, phrases), counts[kept])])
    total = len(sources)
    firsts = np.concatenate([[0, 1, 2], 2 + spans[1:][kept]])
    blocks = Blocks(
        source_words, source_bounds, target_words, target_bounds, firsts, sources.astype(np.uint32),
        np.arange(total, dtype=np.uint32), np.ones(total, np.uint32), np.zeros((total, 11), np.float32),
        np.zeros(1, np.uint32),
    )  # fmt: skip
    within = np.repeat(starts % words, counts)
    options = Options(
        longest,
        spans,
        within.astype(np.int32),
        (within + option_sizes).astype(np.int32),
        np.arange(2, total, dtype=np.uint32),
    )
    return Searchable(Sentences(text, np.arange(0, len(text) + 1, words)), options, blocks)
