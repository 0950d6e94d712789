"""Expectations over each list under its own softmax, and their derivatives.

Twin: rampion/_core/expect.pyx, where the formula of a slope stands.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rampion.arrays import Offsets, Reals


def expect(
    scores: Reals,
    values: Reals,
    bounds: Offsets,
    temperature: float,
    warmth: float,
    means: Reals,
    entropies: Reals,
    slopes: Reals,
) -> None:
    """Fill each segment's E_p[value] and H(p), and each candidate's slope; an empty segment has 0 of both."""
    cold = 1.0 / temperature
    every_score, every_value = scores.tolist(), values.tolist()
    for s, (start, end) in enumerate(pairwise(bounds.tolist())):
        means[s] = entropies[s] = 0.0
        if start == end:
            continue
        value = every_value[start:end]
        top = max(every_score[start:end])
        away = [(score - top) * cold for score in every_score[start:end]]
        powers = [exp(a) for a in away]
        total = mean = drift = 0.0
        for power, v, a in zip(powers, value, away, strict=True):
            total += power
            mean += power * v
            drift += power * a
        mean /= total
        drift /= total
        share = cold / total
        slopes[start:end] = [
            power * ((v - mean + warmth * (a - drift)) * share if warmth else (v - mean) * share)
            for power, v, a in zip(powers, value, away, strict=True)
        ]
        means[s] = mean
        entropies[s] = log(total) - drift
