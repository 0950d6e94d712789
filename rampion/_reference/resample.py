"""Sums of resampled rows: the bootstrap draws them with replacement, approximate randomisation deals them out (S12).

Every trial has its stream of words, SplitMix64 from a start of its own; a place below m is the upper half of a word
times m / 2^32, and none is likelier than another by more than 2^-32.
Twin: rampion/_core/resample.pyx
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rampion.arrays import Offsets, Reals

    Words = NDArray[np.uint64]

_64_BITS = 2**64 - 1


def place(start: int, n: int, m: int) -> int:
    word = start + n * 0x9E3779B97F4A7C15 & _64_BITS
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _64_BITS
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _64_BITS
    return ((word ^ word >> 31) >> 32) * m >> 32


def add(rows: list[list[float]], picks: list[int], total: list[float]) -> None:
    for pick in picks:
        for j, value in enumerate(rows[pick]):
            total[j] += value


def draw(rows: Reals, streams: Words, picks: Offsets, totals: Reals) -> None:
    """Add to every trial's totals as many rows as there are picks, drawn with replacement."""
    plain, sums, count = rows.tolist(), totals.tolist(), len(picks)
    for stream, total in zip(streams.tolist(), sums, strict=True):
        add(plain, [place(stream, n, len(plain)) for n in range(count)], total)
    totals[:] = sums


def deal(rows: Reals, streams: Words, deck: Offsets, picks: Offsets, totals: Reals) -> None:
    """Add to every trial's totals a random half of each len(deck) successive rows, dealt from a shuffled deck."""
    plain, sums, pool = rows.tolist(), totals.tolist(), len(deck)
    for stream, total in zip(streams.tolist(), sums, strict=True):
        chosen: list[int] = []
        for first in range(0, len(plain), pool):
            cards = list(range(first, first + pool))
            for e in range(pool // 2):
                other = e + place(stream, len(chosen), pool - e)
                cards[e], cards[other] = cards[other], cards[e]
                chosen.append(cards[e])
        add(plain, chosen, total)
    totals[:] = sums
