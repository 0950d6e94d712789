"""How likely phrases are by Model 1, whatever their alignment (S10.10 b).

Twin: decoder/_core/lexical.pyx
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rampion.decoder.alignment.align import Lexicon


def lexical(
    source_words: NDArray[np.uint32],
    source_bounds: NDArray[np.int64],
    target_words: NDArray[np.uint32],
    target_bounds: NDArray[np.int64],
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    lexicon: Lexicon,
    floor: float,
    asked: NDArray[np.uint64],
    answers: NDArray[np.float32],
    values: NDArray[np.float32],
) -> None:
    """log p(S|T) of every pair: the sum over its source words of log (p(f|null) + sum over e of p(f|e)) / (|T| + 1).

    asked and answers remember pairs of words that were looked up, as many as a power of two; asked begins as zeros.
    """
    words, chances, null = lexicon.words.tolist(), lexicon.values.tolist(), lexicon.null.tolist()
    least = float(np.float32(floor))
    rows = [slice(*edges) for edges in pairwise(lexicon.bounds.tolist())]
    table = [dict(zip(words[row], chances[row], strict=True)) for row in rows]
    sides = []
    for side, bounds in ((source_words, source_bounds), (target_words, target_bounds)):
        text = side.tolist()
        sides.append([text[start:end] for start, end in pairwise(bounds.tolist())])
    for pair, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        total = 0.0
        for f in sides[0][source]:
            share = null[f]
            for e in sides[1][target]:
                share += table[e].get(f, least) if e < len(table) else least
            total += math.log(share / (len(sides[1][target]) + 1))
        values[pair] = total
