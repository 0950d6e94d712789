"""Word-based distortion (S10.10 e, f): how far translation jumps after a source word, and before one.

A jump is the distance from the end of the last source words to the start of the next ones, in target order: 0 goes on
where the last ended, -2 goes back before the last word. Jumps farther than `reach` count as the farthest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.alignment.links import Alignment, Words

from rampion.arrays import span_of_each

REACH = 10
PRIOR = 10.0  # the weight of the distribution over all words, in occurrences of a word


class Jumps(NamedTuple):
    """Log-probabilities of a jump by d: out[word, reach + d] after a source word, into[word, reach + d] before one."""

    out: NDArray[np.float32]
    into: NDArray[np.float32]

    @classmethod
    def none(cls, size: int) -> Jumps:
        """Jumps without values, for a vocabulary of this size."""
        return cls(*np.zeros((2, size, 2 * REACH + 1), np.float32))


def estimate(source: Words, target: Words, alignment: Alignment, size: int, reach: int = REACH) -> Jumps:
    """Estimate jumps from each aligned target word to the next, for a source vocabulary of `size` words.

    Word 1 is the boundary.

    p(d | word) = (N(word, d) + PRIOR p(d)) / (N(word) + PRIOR), p(d) = (N(d) + 1) / (N + 2 reach + 1).
    """
    pairs = span_of_each(alignment.bounds)
    words = target.bounds[pairs] + alignment.targets
    places = source.bounds[pairs] + alignment.sources
    first = np.full(len(target.words), len(source.words), np.int64)
    last = np.full(len(target.words), -1, np.int64)
    np.minimum.at(first, words, places)
    np.maximum.at(last, words, places)
    linked = np.flatnonzero(last >= 0)
    first, last = first[linked], last[linked]
    owners = np.searchsorted(target.bounds, linked, "right") - 1
    opens = np.concatenate([[True], owners[1:] != owners[:-1]])[: len(owners)]
    ends = np.where(opens, source.bounds[owners], np.roll(last, 1) + 1)
    before = np.where(opens, 1, source.words[np.roll(last, 1)])
    moves = opens | (first != np.roll(first, 1)) | (last != np.roll(last, 1))
    jumps = np.clip(first - ends, -reach, reach)[moves] + reach
    width = 2 * reach + 1
    overall = (np.bincount(jumps, minlength=width) + 1.0) / (len(jumps) + width)
    tables = []
    for given in (before[moves], source.words[first[moves]]):
        counts = np.bincount(given.astype(np.int64) * width + jumps, minlength=size * width).reshape(size, width)
        smooth = (counts + PRIOR * overall) / (counts.sum(axis=1, keepdims=True) + PRIOR)
        tables.append(np.log(smooth).astype(np.float32))
    return Jumps(*tables)
