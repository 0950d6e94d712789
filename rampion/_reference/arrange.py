"""The ids of candidates in order, how often each stands, and the fingerprints of candidates.

Twin: rampion/_core/arrange.pyx
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = (1 << 64) - 1


def arrange(bounds: NDArray[np.int64], work: NDArray[np.uint32], ids: NDArray[np.uint32]) -> None:
    """Sort every span of ids. Work holds 1024 numbers more than the longest."""
    known = ids.tolist()
    for start, end in pairwise(bounds.tolist()):
        known[start:end] = sorted(known[start:end])
    ids[:] = known


def tally(ids: NDArray[np.uint32], counts: NDArray[np.uint32]) -> None:
    """Count every id once more."""
    for one, count in Counter(ids.tolist()).items():
        counts[one] += count


def prints(
    bounds: NDArray[np.int64], keys: NDArray[np.uint64], values: NDArray[np.uint64], prints: NDArray[np.uint64]
) -> None:
    """What tells candidates apart: 1 plus, modulo 2^64, a number for every key and for the bits of every value."""
    known, told = keys.tolist(), []
    for (start, end), row in zip(pairwise(bounds.tolist()), values.tolist(), strict=True):
        total = 1 + sum(map(spread, known[start:end]))
        total += sum(spread(value ^ spread(column)) for column, value in enumerate(row))
        told.append(total & WORD)
    prints[:] = told


def spread(key: int) -> int:
    """A number that each bit of the key changes all bits of: the mixer of splitmix64."""
    key = key + 0x9E3779B97F4A7C15 & WORD
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 & WORD
    key = (key ^ key >> 27) * 0x94D049BB133111EB & WORD
    return key ^ key >> 31
