"""What every text of a list scores on average if each text of the list, by its weight, were the reference.

Twin: rampion/_core/agree.pyx
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from math import exp, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rampion.metrics.consensus import Room
    from rampion.metrics.tokens import Tokens

Grams = list[Counter[tuple[int, ...]]]  # how often a text has each n-gram, of every order
Numbered = tuple[tuple[int, ...], int]


def agree_bleu(
    tokens: Tokens,
    scales: NDArray[np.float64],
    weights: NDArray[np.float64],
    start: int,
    room: Room,
    expected: NDArray[np.float64],
) -> int:
    """Expected BLEU of every text from segment `start` on; return how many segments are done: fewer if bits are few.

    scales turn the root of the matches, plus one from order two on, into BLEU without its brevity penalty (S2.3).
    """
    texts, segments = _grams(tokens, 4), tokens.segments.tolist()
    lengths: list[int] = np.diff(tokens.bounds).tolist()

    def score(one: int, two: int) -> float:
        if one == two:
            return float(lengths[one] > 0)
        a, b, c, d = map(float, _matches(texts[one], texts[two]))
        value = sqrt(sqrt((a * (b + 1)) * ((c + 1) * (d + 1)))) * float(scales[one])
        if lengths[one] < lengths[two]:
            value *= exp(1.0 - lengths[two] / lengths[one]) if lengths[one] else 0.0
        return value

    for first, last in pairwise(segments[start:]):
        for one in range(first, last):
            expected[one] = _sum(float(weights[two]) * score(one, two) for two in range(first, last))
    return len(segments) - 1


def agree_chrf(
    letters: Tokens,
    words: Tokens,
    depths: NDArray[np.int64],
    shares: NDArray[np.float64],
    weights: NDArray[np.float64],
    factor: float,
    start: int,
    room: Room,
    expected: NDArray[np.float64],
) -> int:
    """Expected chrF of every text from segment `start` on; return how many segments are done: fewer if bits are few.

    shares are one over the number of the text's n-grams, of every order, 0 if it has none; factor is beta squared.
    depths are the longest n-grams of letters and of words, whose orders follow those of letters.
    """
    layers = [_grams(layer, depth) for layer, depth in zip((letters, words), depths.tolist(), strict=True)]
    texts = [[grams for layer in layers for grams in layer[i]] for i in range(len(letters.bounds) - 1)]
    portions: list[list[float]] = shares.tolist()
    segments = letters.segments.tolist()

    def score(one: int, two: int) -> float:
        if one == two:
            return float(portions[one][0] > 0)
        matching, orders = _matches(texts[one], texts[two]), list(zip(portions[one], portions[two], strict=True))
        precision = _sum(float(m) * share for m, (share, _) in zip(matching, orders, strict=True))
        recall = _sum(float(m) * share for m, (_, share) in zip(matching, orders, strict=True))
        if precision == 0:
            return 0.0
        both = sum(mine > 0 and theirs > 0 for mine, theirs in orders)
        # the product of the smaller place first, as for the pair the other way round
        first, second = (precision, recall) if one < two else (recall, precision)
        return (1.0 + factor) * first * second / ((factor * precision + recall) * both)

    for first, last in pairwise(segments[start:]):
        for one in range(first, last):
            expected[one] = _sum(float(weights[two]) * score(one, two) for two in range(first, last))
    return len(segments) - 1


def agree_posteriors(tokens: Tokens, weights: NDArray[np.float64], room: Room, means: NDArray[np.float64]) -> None:
    """Fill means[i, n - 1] with how likely the n-grams of text i are in its list, on average; 0 if it has none.

    The k-th occurrence of an n-gram is as likely as the weight of the texts that have k of them.
    """
    ids, bounds = tokens.ids.tolist(), tokens.bounds.tolist()
    for first, last in pairwise(tokens.segments.tolist()):
        for order in range(1, means.shape[1] + 1):
            numbered, masses = [], Counter[Numbered]()
            for i in range(first, last):
                numbered.append(_numbered(ids[bounds[i] : bounds[i + 1]], order))
                for element in numbered[-1]:
                    masses[element] += weights[i]
            for i, elements in enumerate(numbered, first):
                total = _sum(float(masses[element]) for element in elements)
                means[i, order - 1] = total / len(elements) if elements else 0.0


def _numbered(ids: list[int], order: int) -> list[Numbered]:
    """The n-grams of a text, each with how often it has occurred before."""
    before: Counter[tuple[int, ...]] = Counter()
    found = []
    for gram in zip(*(ids[k:] for k in range(order)), strict=False):
        found.append((gram, before[gram]))
        before[gram] += 1
    return found


def _sum(numbers: Iterable[float]) -> float:
    """From left to right, each sum rounded; Python's own sum is more exact than that from 3.12 on."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def _grams(tokens: Tokens, orders: int) -> list[Grams]:
    ids = tokens.ids.tolist()
    texts = [ids[start:end] for start, end in pairwise(tokens.bounds.tolist())]
    return [[Counter(zip(*(text[k:] for k in range(n)), strict=False)) for n in range(1, orders + 1)] for text in texts]


def _matches(one: Grams, two: Grams) -> list[int]:
    return [sum((mine & theirs).values()) for mine, theirs in zip(one, two, strict=True)]
