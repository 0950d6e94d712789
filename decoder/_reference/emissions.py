"""The probabilities of the observed words of a pair of sentences from its states, out of a sparse table.

Twin: decoder/_core/emissions.pxd
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.alignment.align import Pairs


def places(pairs: Pairs, flipped: bool, first: int, last: int) -> Iterator[tuple[int, int, int, list[slice]]]:
    """Of each sentence: the first observed token, states, observed words, and where each observed word's row stands."""
    states, seen = pairs.source_bounds.tolist(), pairs.target_bounds.tolist()
    if flipped:
        states, seen = seen, states
    offsets = pairs.offsets.tolist()
    for s in range(first, last):
        n, m, at = states[s + 1] - states[s], seen[s + 1] - seen[s], offsets[s] - offsets[first]
        rows = [slice(at + j * n, at + j * n + n) if flipped else slice(at + j, at + n * m, m) for j in range(m)]
        yield seen[s], n, m, rows


def sentences(
    pairs: Pairs, flipped: bool, first: int, last: int, probs: NDArray[np.float32]
) -> Iterator[tuple[int, int, int, list[slice], list[list[float]]]]:
    """The places, and the probability of each observed word from each state."""
    cells = pairs.cells[pairs.offsets[first] :]
    for seen, n, m, rows in places(pairs, flipped, first, last):
        yield seen, n, m, rows, [probs[cells[row]].tolist() for row in rows]
