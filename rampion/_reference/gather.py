"""Slopes become a gradient: X^T slopes, one scatter per segment.

Twin: rampion/_core/gather.pyx
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion._reference.segment import Plain

if TYPE_CHECKING:
    from rampion.arrays import Reals
    from rampion.store.lists import Lists


def gather(lists: Lists, slopes: Reals, scratch: Reals, gradient: Reals) -> None:
    """Add to gradient the sum of slope * f(candidate); scratch holds the widest segment's local gradient."""
    plain, plain_slopes, total = Plain(lists), slopes.tolist(), gradient.tolist()
    for s in range(len(plain.bounds) - 1):
        local = plain.gradient(s, plain_slopes[plain.bounds[s] : plain.bounds[s + 1]])
        for f, value in zip(plain.local_features(s), local, strict=True):
            total[f] += value
    gradient[:] = total
