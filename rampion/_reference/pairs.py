"""Pairs of candidates that differ in cost, drawn at random (Hopkins & May 2011; S6).

Twin: rampion/_core/pairs.pyx, where the stream of a segment is defined.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rampion.arrays import Offsets, Reals

WORD, HALF = 2**64 - 1, 2**32 - 1


def mixed(state: int) -> int:
    """The finaliser of splitmix64 (Steele, Lea & Flood 2014)."""
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & WORD
    return state ^ (state >> 31)


def stream(key: int, s: int) -> Iterator[int]:
    state = mixed(key + s * 0xD1342543DE82EF95 & WORD)
    while True:
        state = state + 0x9E3779B97F4A7C15 & WORD
        yield mixed(state)


def pairs(
    costs: Reals,
    bounds: Offsets,
    key: NDArray[np.uint64],
    draws: int,
    margin: float,
    gaps: Reals,
    counts: Offsets,
    better: Offsets,
    worse: Offsets,
) -> None:
    """Of each segment's draws that differ by margin and more than 0, keep those that differ most, equals as drawn.

    gaps is work of one row of better, which says how many are kept; row s holds counts[s] pairs, widest first.
    """
    plain, kept, (seed,) = costs.tolist(), better.shape[1], key.tolist()
    for s, (start, end) in enumerate(pairwise(bounds.tolist())):
        size = end - start
        accepted = []
        for bits in islice(stream(seed, s), draws if size > 1 else 0):
            j, k = start + ((bits >> 32) * size >> 32), start + ((bits & HALF) * size >> 32)
            if plain[k] < plain[j]:
                j, k = k, j
            gap = plain[k] - plain[j]
            if gap >= margin and gap > 0.0:
                accepted.append((gap, j, k))
        accepted.sort(key=lambda pair: -pair[0])
        counts[s] = len(accepted[:kept])
        for place, (_, j, k) in enumerate(accepted[:kept]):
            better[s, place], worse[s, place] = j, k
