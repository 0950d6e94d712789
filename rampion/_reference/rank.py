"""Online passes over relevant sets: visit segments in a given order, step after each (S10.5, S10.7).

Weights are scale * what is stored, so that the pull of L2 costs one product. Scores are those of slab.pxd.
Twin: rampion/_core/rank.pyx
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rampion._reference.slab import Segment, fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from rampion.arrays import Offsets, Reals, Singles
    from rampion.optim.online_sgd import WorkArrays
    from rampion.sets.packed import Slabs

    Steps = Callable[[list[float], list[float], int, float], tuple[float, list[float]]]  # gains, scores, truths, scale


def rank(
    slabs: Slabs,
    order: Offsets,
    loss: tuple[float, bool, bool, int, bool],
    step: tuple[float, float],
    weights: Singles,
    own: Reals,
    portable: bool,
    work: WorkArrays,
) -> tuple[float, int]:
    """Take the weights through the segments of order; return the summed losses met, and how many visits moved.

    loss is (margin, staked, squared, sense, every). If sense is 0 there are no truths: the loss is the mean over all
    candidates of (gain - score)^2 / 2. step is (rate, decay). portable: do without AVX-512.
    """
    margin, staked, squared, sense, every = loss
    rate, decay = step

    def approach(gains: list[float], scores: list[float], _: int, scale: float) -> tuple[float, list[float]]:
        found, total = [], 0.0
        for gain, score in zip(gains, scores, strict=True):
            lack = gain - score
            total += lack * lack / 2.0
            found.append(rate * lack / len(gains) / scale)
        return total / len(gains), found

    def outrank(gains: list[float], scores: list[float], start: int, scale: float) -> tuple[float, list[float]]:
        found, total = [0.0] * len(scores), 0.0
        truths = range(start)
        if start == 0 or not every:
            among = gains[:start] or gains
            truths = range(among.index(max(among)), among.index(max(among)) + 1)
        for s in truths:
            best: tuple[float, int, float, float] | None = None
            for t in range(start, len(scores)):
                stake = gains[s] - gains[t] if staked else 1.0
                if stake <= 0.0:
                    continue
                slack = margin - (scores[s] - scores[t])
                slack = 0.0 if squared and slack < 0.0 else slack
                value = sense * (stake * (slack * slack if squared else slack))
                if best is None or value > best[0]:
                    best = value, t, stake, slack
            if best is None or best[1] == s:
                continue
            _, t, stake, slack = best
            length = stake * slack if squared else stake
            if length != 0.0:
                total += 0.0 if slack <= 0.0 else length * slack
                length = rate * length / len(truths) / scale
                found[s] += length
                found[t] -= length
        return total / len(truths), found

    return _pass(slabs, order, outrank if sense else approach, decay, weights, own)


@np.errstate(over="ignore")
def _pass(slabs: Slabs, order: Offsets, steps: Steps, decay: float, weights: Singles, own: Reals) -> tuple[float, int]:
    single, double = weights.tolist(), own.tolist()
    scale, objective, moved = 1.0, 0.0, 0
    for s in order.tolist():
        segment = Segment(slabs, s)
        scores = segment.scores(single, double, scale)
        scale *= 1.0 - decay  # the pull of L2
        if scale < 1e-6:
            fold(single, double, scale)
            scale = 1.0
        if not scores:
            continue
        value, found = steps(slabs.gains[segment.first : segment.end].tolist(), scores, int(slabs.truths[s]), scale)
        objective += value
        if any(found):
            moved += 1
            segment.move(found, single, double)
    if scale != 1.0:
        fold(single, double, scale)
    weights[:], own[:] = single, double
    return objective, moved
