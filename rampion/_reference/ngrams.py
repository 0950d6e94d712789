"""Clipped n-gram matches of every candidate with the references of its segment.

Twin: rampion/_core/ngrams.pyx
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rampion.metrics.tokens import Tokens


def ngrams(candidates: Tokens, references: Tokens, table: NDArray[np.int64], matches: NDArray[np.int64]) -> None:
    """Fill matches[i, n - 1] with candidate i's n-grams in its references, each at most as often as in one of them."""
    orders = range(1, matches.shape[1] + 1)
    texts, reference_texts = _texts(candidates), _texts(references)
    spans = zip(pairwise(candidates.segments.tolist()), pairwise(references.segments.tolist()), strict=True)
    for (start, end), (first, last) in spans:
        limits: dict[tuple[int, ...], int] = {}
        for ids in reference_texts[first:last]:
            for n in orders:
                for gram, count in _grams(ids, n).items():
                    limits[gram] = max(limits.get(gram, 0), count)
        for i in range(start, end):
            for n in orders:
                counts = _grams(texts[i], n).items()
                matches[i, n - 1] = sum(min(count, limits[gram]) for gram, count in counts if gram in limits)


def _texts(tokens: Tokens) -> list[list[int]]:
    ids = tokens.ids.tolist()
    return [ids[start:end] for start, end in pairwise(tokens.bounds.tolist())]


def _grams(ids: list[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(ids[k:] for k in range(n)), strict=False))
