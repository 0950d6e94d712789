"""Fingerprints of candidates.

Twin: rampion/_core/fingerprints.pyx
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = (1 << 64) - 1


def fingerprints(
    bounds: NDArray[np.int64], keys: NDArray[np.uint64], values: NDArray[np.uint64], found: NDArray[np.uint64]
) -> None:
    """What tells candidates apart: 1 plus, modulo 2^64, a number for every key and for the bits of every value."""
    known, sums = keys.tolist(), []
    for (start, end), row in zip(pairwise(bounds.tolist()), values.tolist(), strict=True):
        total = 1 + sum(map(spread, known[start:end]))
        total += sum(spread(value ^ spread(column)) for column, value in enumerate(row))
        sums.append(total & WORD)
    found[:] = sums


def spread(key: int) -> int:
    """A number that each bit of the key changes all bits of: the mixer of splitmix64."""
    key = key + 0x9E3779B97F4A7C15 & WORD
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 & WORD
    key = (key ^ key >> 27) * 0x94D049BB133111EB & WORD
    return key ^ key >> 31
