"""Expectation and maximisation of IBM Model 1, one direction at a time; counts and links of any model.

Sums run in the kernel's order, which is part of the definition. Twin: decoder/_core/align.pyx
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from rampion.decoder._reference.emissions import places, sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.alignment.align import Pairs


def model_one(
    pairs: Pairs,
    words: NDArray[np.uint32],
    flipped: bool,
    probs: NDArray[np.float32],
    null: NDArray[np.float32],
    first: int,
    last: int,
    work: NDArray[np.float64],
    posteriors: NDArray[np.float32],
    nulls: NDArray[np.float32],
) -> float:
    """Fill in the posteriors of Model 1; return log p(observed | states) of all the sentences."""
    likelihood = 0.0
    for seen, n, m, place, emissions in sentences(pairs, flipped, first, last, probs):
        for j, (blank, row) in enumerate(zip(null[words[seen : seen + m]].tolist(), emissions, strict=True)):
            total = blank
            for weight in row:
                total += weight
            likelihood += math.log(total / (n + 1))
            posteriors[place[j]] = [weight / total for weight in row]
            nulls[seen + j] = blank / total
    return likelihood


def collect(
    pairs: Pairs,
    words: NDArray[np.uint32],
    first: int,
    last: int,
    low: int,
    high: int,
    posteriors: NDArray[np.float32],
    counts: NDArray[np.float64],
) -> None:
    """Add the posteriors of the pairs whose source word is one of low to high - 1 to the counts of their cells."""
    sums = dict[int, float]()  # of the cells met: other threads fill in the others
    cells, tokens = pairs.cells.tolist(), words.tolist()
    found, base = posteriors.tolist(), int(pairs.offsets[first])
    for s in range(first, last):
        at, length = int(pairs.offsets[s]), int(pairs.target_bounds[s + 1] - pairs.target_bounds[s])
        for token in range(int(pairs.source_bounds[s]), int(pairs.source_bounds[s + 1])):
            if low <= tokens[token] < high:
                for pair in range(at, at + length):
                    cell = cells[pair]
                    sums[cell] = sums.get(cell, float(counts[cell])) + found[pair - base]
            at += length
    counts[list(sums)] = list(sums.values())


def normalise(
    bounds: NDArray[np.int64],
    words: NDArray[np.uint32],
    counts: NDArray[np.float64],
    flipped: bool,
    floor: float,
    totals: NDArray[np.float64],
    probs: NDArray[np.float32],
) -> None:
    """probs = counts over those of the row, or where `flipped` those of the column, and no less than the floor."""
    columns, made, sums = words.tolist(), counts.tolist(), totals.tolist()
    givens = [
        columns[cell] if flipped else row
        for row, (first, last) in enumerate(pairwise(bounds.tolist()))
        for cell in range(first, last)
    ]
    for count, given in zip(made, givens, strict=True):
        sums[given] += count
    chances = [count / sums[given] if sums[given] > 0.0 else 0.0 for count, given in zip(made, givens, strict=True)]
    probs[: len(chances)] = [max(chance, floor) for chance in chances]
    totals[:] = sums


def best(
    pairs: Pairs,
    flipped: bool,
    first: int,
    last: int,
    posteriors: NDArray[np.float32],
    nulls: NDArray[np.float32],
    links: NDArray[np.int32],
) -> None:
    """Fill in the likeliest state of every observed word, the first of equals, -1 if the null word is likelier."""
    for seen, n, m, place in places(pairs, flipped, first, last):
        for j in range(m):
            most, links[seen + j] = float(nulls[seen + j]), -1
            for i, value in enumerate(posteriors[place[j]].tolist()[:n]):
                if value > most:
                    most, links[seen + j] = value, i
