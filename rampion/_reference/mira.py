"""Batch MIRA's pass over the lists, with BLEU in the context of a pseudo-corpus (Cherry & Foster 2012; S2.9, S7.2).

Twin: rampion/_core/mira.pyx, where the gain of a candidate is defined.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import TYPE_CHECKING

from rampion._reference.segment import Plain
from rampion._reference.side import winner
from rampion._reference.step_length import step_length

if TYPE_CHECKING:
    from rampion.arrays import Offsets, Reals
    from rampion.store.lists import Lists, Scratch


def gain(statistics: list[float], background: list[float]) -> float:
    c, r, m1, m2, m3, m4, t1, t2, t3, t4 = (own + old for own, old in zip(statistics, background, strict=True))
    value = r * sqrt(sqrt(((m1 * m2) * (m3 * m4)) / ((t1 * t2) * (t3 * t4))))
    return value * exp(1.0 - r / c) if c < r else value


def mira(
    lists: Lists,
    order: Offsets,
    statistics: Reals,
    tilts: tuple[float, float, float],
    step: tuple[float, float],
    background: Reals,
    weights: Reals,
    total: Reals,
    work: Scratch,
) -> None:
    """Take weights and background through the segments of order, and add to total the weights after each of them.

    A side is the greatest score + tilt * gain: tilts are those of the up and down sides and of the candidate that the
    background takes in; step is (cap, decay). Where the up side gains no more than the down side nothing happens.
    """
    plain, rows, corpus, at = Plain(lists), statistics.tolist(), background.tolist(), weights.tolist()
    visits, (cap, decay) = len(order), step
    summed = [value + visits * weight for value, weight in zip(total.tolist(), at, strict=True)]
    for visit, s in enumerate(order.tolist()):
        start, end = plain.bounds[s], plain.bounds[s + 1]
        if start == end:
            continue
        features = plain.local_features(s)
        scores = plain.scores(s, [at[f] for f in features])
        gains = [gain(row, corpus) for row in rows[start:end]]
        up, down, taken = (winner(scores, [tilt * one for one in gains]) for tilt in tilts)
        if up == down or gains[up] <= gains[down]:
            continue
        corpus = [decay * old + own for old, own in zip(corpus, rows[start + taken], strict=True)]
        violation = (scores[down] + tilts[1] * gains[down]) - (scores[up] + tilts[1] * gains[up])
        gradient = plain.gradient(s, [float(i == up) - float(i == down) for i in range(end - start)])
        length = step_length(cap, 1.0, violation, gradient)
        for f, value in zip(features, gradient, strict=True):
            if value != 0.0:
                at[f] += length * value
                summed[f] += (visits - visit) * (length * value)
    background[:], weights[:], total[:] = corpus, at, summed
