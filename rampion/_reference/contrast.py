"""Values and slopes of one side, and of the contrast losses -(soft)max(score + up) + (soft)max(score + down).

A side is a pair (handicap of every candidate, softness); its law stands in side.pxd.
Twin: rampion/_core/contrast.pyx
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from rampion._reference.side import side_of

if TYPE_CHECKING:
    from rampion.arrays import Offsets, Reals

    Stance = tuple[Reals, float, Reals]  # the third number of each candidate is for epoch alone


def side(scores: Reals, stance: Stance, bounds: Offsets, work: Reals, values: Reals, masses: Reals) -> None:
    """Fill each segment's (soft)max of score + handicap, and each candidate's mass; an empty side is worth -inf.

    work is room for the longest segment.
    """
    plain, handicaps = scores.tolist(), stance[0].tolist()
    filled_values: list[float] = []
    filled_masses: list[float] = []
    for start, end in pairwise(bounds.tolist()):
        value, mass = side_of(plain[start:end], handicaps[start:end], stance[1])
        filled_values.append(value)
        filled_masses += mass
    values[:] = filled_values
    masses[:] = filled_masses


def contrast(
    scores: Reals, up: Stance, down: Stance, bounds: Offsets, work: Reals, values: Reals, slopes: Reals
) -> None:
    """Fill each segment's value and each candidate's slope; a segment where a side is empty has none.

    work is room for the longest segment.
    """
    plain, up_handicaps, down_handicaps = scores.tolist(), up[0].tolist(), down[0].tolist()
    filled_values: list[float] = []
    filled_slopes: list[float] = []
    for start, end in pairwise(bounds.tolist()):
        raised, up_mass = side_of(plain[start:end], up_handicaps[start:end], up[1])
        lowered, down_mass = side_of(plain[start:end], down_handicaps[start:end], down[1])
        if raised == -inf or lowered == -inf:
            filled_values.append(0.0)
            filled_slopes += [0.0] * (end - start)
        else:
            filled_values.append(lowered - raised)
            filled_slopes += [lower - higher for higher, lower in zip(up_mass, down_mass, strict=True)]
    values[:] = filled_values
    slopes[:] = filled_slopes
