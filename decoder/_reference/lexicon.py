"""Sparse tables of word pairs that occur together in a pair of sentences.

Twin: decoder/_core/lexicon.pyx (and lexicon.pxd)
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.alignment.align import Lexicon, Uses
    from rampion.decoder.alignment.links import Words


def tabulate(
    uses: Uses,
    observed: Words,
    start: int,
    met: NDArray[np.uint32],
    bounds: NDArray[np.int64],
    words: NDArray[np.uint32],
) -> int:
    """Fill the row of each word from `start` on with the words of the other side that it meets, by first appearance.

    Return how many rows are done: all, unless there is no room for more. `met` holds zeros at first.
    """
    order, owners, edges = uses.order.tolist(), uses.owners.tolist(), uses.bounds.tolist()
    tokens, ends = observed.words.tolist(), observed.bounds.tolist()
    count = int(bounds[start])
    for word in range(start, len(edges) - 1):
        row: dict[int, None] = {}
        for use in order[edges[word] : edges[word + 1]]:
            sentence = tokens[ends[owners[use]] : ends[owners[use] + 1]]
            if count + len(row) + len(sentence) > len(words):
                return word
            row |= dict.fromkeys(sentence)
        words[count : count + len(row)] = list(row)
        count += len(row)
        bounds[word + 1] = count
    return len(edges) - 1


def transpose(
    bounds: NDArray[np.int64],
    words: NDArray[np.uint32],
    column_bounds: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None:
    """Fill each column with its rows, ascending."""
    columns: list[list[int]] = [[] for _ in range(len(column_bounds) - 1)]
    whole = words.tolist()
    for row, (first, last) in enumerate(pairwise(bounds.tolist())):
        for column in whole[first:last]:
            columns[column].append(row)
    column_bounds[0] = 0
    for column, own in enumerate(columns):
        start = int(column_bounds[column])
        column_bounds[column + 1] = start + len(own)
        rows[start : start + len(own)] = own


def locate(
    bounds: NDArray[np.int64],
    words: NDArray[np.uint32],
    uses: Uses,
    given: Words,
    observed: Words,
    offsets: NDArray[np.int64],
    first: int,
    last: int,
    places: NDArray[np.uint32],
    cells: NDArray[np.uint32],
) -> None:
    """Fill cells with the cell of every pair of tokens whose first is a word of first to last - 1; no other ones.

    Pair (i, j) of sentence s stands at offsets[s] + i * (words of the other side) + j. `places` holds what stands for
    a pair without a cell, for each word of the other side; it does so again afterwards.
    """
    order, owners, edges = uses.order.tolist(), uses.owners.tolist(), uses.bounds.tolist()
    tokens, ends, starts = observed.words.tolist(), observed.bounds.tolist(), given.bounds.tolist()
    missing = int(places[0]) if len(places) else 0
    for word in range(first, last):
        low, high = bounds[word : word + 2].tolist()
        row = dict(zip(words[low:high].tolist(), range(low, high), strict=True))
        for use in order[edges[word] : edges[word + 1]]:
            sentence = owners[use]
            found = [row.get(token, missing) for token in tokens[ends[sentence] : ends[sentence + 1]]]
            at = int(offsets[sentence]) + (use - starts[sentence]) * len(found)
            cells[at : at + len(found)] = found


def chances(
    lexicon: Lexicon,
    given: NDArray[np.uint32],
    observed: NDArray[np.uint32],
    other: float,
    values: NDArray[np.float32],
) -> None:
    """Fill values with what the lexicon has for each pair, `other` for pairs that it does not have."""
    known = {
        (row, word): value
        for row, (first, last) in enumerate(pairwise(lexicon.bounds.tolist()))
        for word, value in zip(lexicon.words[first:last].tolist(), lexicon.values[first:last].tolist(), strict=True)
    }
    for pair, key in enumerate(zip(given.tolist(), observed.tolist(), strict=True)):
        values[pair] = known.get(key, other)
