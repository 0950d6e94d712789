"""All blocks of all spans of source sentences.

Twin: decoder/_core/match.pyx
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.models.blocks import Blocks
    from rampion.decoder.models.options import Sentences


def match(
    sentences: Sentences,
    blocks: Blocks,
    longest: int,
    top: int,
    done: int,
    spans: NDArray[np.int64],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    found: NDArray[np.uint32],
) -> int:
    """Options of the sentences from number `done` on; return how many are done: all, unless found is full.

    At most the first `top` blocks of a span; the identity block 0 where a word has none.
    """
    phrases, firsts = blocks.source_words.tolist(), blocks.firsts.tolist()
    edges = list(pairwise(blocks.source_bounds.tolist()))
    known = {tuple(phrases[a:b]): range(*firsts[p : p + 2])[:top] for p, (a, b) in enumerate(edges) if p > 1}
    words, bounds = sentences.words.tolist(), sentences.bounds.tolist()
    spans[0] = 0
    for sentence in range(done, len(bounds) - 1):
        first, end = bounds[sentence : sentence + 2]
        at = int(spans[first * longest])
        for start in range(first, end):
            for size in range(1, longest + 1):
                inside = start + size <= end
                options = list(known.get(tuple(words[start : start + size]), ())) if inside else []
                if size == 1 and not options:
                    options = [0]
                if at + len(options) > len(found):
                    return sentence
                starts[at : at + len(options)] = start - first
                ends[at : at + len(options)] = start - first + size
                found[at : at + len(options)] = options
                at += len(options)
                spans[start * longest + size] = at
    return len(bounds) - 1
