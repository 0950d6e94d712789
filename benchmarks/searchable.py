"""Sentences to search, made by a seed: words by Zipf's law, about as many options for every span as asked, and weights
for most of what fires."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import START, UNKNOWN, Blocks
from rampion.decoder.models.options import Sentences

from rampion.store.keys import Keys

VOCABULARY = 50_000
BATCH = 64
P1, P2, P3, P4, P5, W1, W2, W3, W4 = range(9)
ALL = (1 << 9) - 1


class Searchable(NamedTuple):
    """Batches of sentences, the blocks for them, and the most blocks of a span."""

    batches: list[Sentences]
    blocks: Blocks
    most: int


def zipf(rng: np.random.Generator, size: int, vocabulary: int = VOCABULARY) -> NDArray[np.uint32]:
    """Word ids from 3 on; the more frequent the smaller."""
    return (3 + np.minimum(vocabulary ** rng.random(size) - 1, vocabulary - 4)).astype(np.uint32)


def searchable(
    seed: int, sentences: int, words: int = 24, longest: int = 8, per_span: int = 20, vocabulary: int = VOCABULARY
) -> Searchable:
    """Every span of the sentences is a source phrase with 1 to 2 * per_span - 1 blocks."""
    rng = np.random.default_rng(seed)
    text = zipf(rng, sentences * words, vocabulary)
    sources, sizes = [np.array([UNKNOWN, START], np.uint32)], [np.ones(2, np.int64)]
    for size in range(1, longest + 1):
        starts = np.flatnonzero(np.arange(len(text)) % words + size <= words)
        phrases = np.unique(text[starts[:, None] + np.arange(size)], axis=0)
        sources.append(phrases.ravel())
        sizes.append(np.full(len(phrases), size))
    source_sizes = np.concatenate(sizes)
    counts = rng.integers(1, 2 * per_span, len(source_sizes))
    counts[:2] = 1
    lengths = np.clip(np.repeat(source_sizes, counts) + rng.integers(-1, 2, counts.sum()), 1, None)
    lengths[:2] = 1
    target_bounds = np.concatenate([[0], np.cumsum(lengths)])
    target_words = zipf(rng, target_bounds[-1], vocabulary)
    target_words[:2] = UNKNOWN, START
    source_words, source_bounds = np.concatenate(sources), np.concatenate([[0], np.cumsum(source_sizes)])
    slots = np.zeros(2 << len(source_sizes).bit_length(), np.uint32)
    _kernels.index(source_words, source_bounds, 2, slots)
    total = len(lengths)
    blocks = Blocks(
        source_words, source_bounds, target_words, target_bounds, np.concatenate([[0], np.cumsum(counts)]),
        np.repeat(np.arange(len(counts), dtype=np.uint32), counts), np.arange(total, dtype=np.uint32),
        np.ones(total, np.uint32), np.zeros((total, 11), np.float32), slots,
    )  # fmt: skip
    cuts = [text[start : start + BATCH * words] for start in range(0, len(text), BATCH * words)]
    parts = [Sentences(cut, np.arange(0, len(cut) + 1, words)) for cut in cuts]
    return Searchable(parts, blocks, 2 * per_span)


def weighted(task: Searchable, seed: int, features: int) -> Keys:
    """So many features of P and W templates, most of those that may fire inside blocks and many of their joins."""
    rng = np.random.default_rng(seed)
    blocks = task.blocks
    here = np.arange(2, len(blocks.sources), dtype=np.uint64)
    words = blocks.target_words.astype(np.uint64)
    sizes = np.diff(blocks.target_bounds)
    lone = np.array(blocks.source_words[blocks.source_bounds[blocks.sources]], np.uint64)
    pairs = np.stack([zipf(rng, features // 5), zipf(rng, features // 5), zipf(rng, features // 5)]).astype(np.uint64)
    lengths = np.diff(blocks.source_bounds)[blocks.sources].astype(np.uint64)
    found = [
        _key(P1, here << 8), _key(P2, here << 8), _key(P2, here << 8 | 1), _key(P2, here << 8 | 2),
        _key(P5, here << 29 | lengths[2:]),
        _key(W1, np.repeat(lone, sizes) << 38 | words << 19),
        _key(W3, words + 1 << 38), _key(W3, words[:-1] + 1 << 38 | words[1:] + 1 << 19),
        _key(W3, pairs[0] + 1 << 38 | pairs[1] + 1 << 19), _key(W4, pairs[0] << 38 | pairs[1] << 19),
        _key(W3, words[:-2] + 1 << 38 | words[1:-1] + 1 << 19 | words[2:] + 1),
        _key(W3, pairs[0] + 1 << 38 | pairs[1] + 1 << 19 | pairs[2] + 1),
        _key(W2, (pairs[2] % 6) << 38 | pairs[0] << 19 | pairs[1]),
    ]  # fmt: skip
    unique = np.unique(np.concatenate(found))
    chosen = rng.permutation(unique)[:features]
    keys = Keys(len(chosen))
    keys.enter(chosen)
    keys.set_weights(rng.normal(0, 0.1, len(chosen)).astype(np.float32))
    return keys


def _key(template: int, arguments: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.uint64(template + 1 << 59) | arguments
