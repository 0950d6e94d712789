"""One side of a contrast loss: the (soft)max of score + handicap over a segment, and its derivative.

Twin: rampion/_core/side.pxd, where the law of a side is written.
"""

from __future__ import annotations

from math import exp, inf, log


def winner(scores: list[float], handicaps: list[float]) -> int:
    """The place of the greatest score + handicap; ties go to the larger handicap; -1 if all are -inf."""
    top, best = -inf, -1
    for i, (score, handicap) in enumerate(zip(scores, handicaps, strict=True)):
        value = score + handicap
        if value > top or (value == top and best >= 0 and handicap > handicaps[best]):
            top, best = value, i
    return best


def side_of(scores: list[float], handicaps: list[float], softness: float) -> tuple[float, list[float]]:
    """The value of a side over one segment, and the mass of every candidate."""
    if softness < 0.0:
        total = 0.0
        for score, mass in zip(scores, handicaps, strict=True):
            if mass != 0.0:
                total += mass * score
        return (total if any(handicaps) else -inf), handicaps
    best = winner(scores, handicaps)
    if best < 0:
        return -inf, [0.0] * len(scores)
    top = scores[best] + handicaps[best]
    if softness == 0.0:
        return top, [1.0 if i == best else 0.0 for i in range(len(scores))]
    powers = [exp((score + handicap - top) / softness) for score, handicap in zip(scores, handicaps, strict=True)]
    total = 0.0
    for power in powers:
        total += power
    return top + softness * log(total), [power / total for power in powers]
