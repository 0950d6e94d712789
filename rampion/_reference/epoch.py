"""Online passes of a contrast loss: visit segments in a given order, step after each (S4, Algorithm 1; S4.3).

Weights are origin + scale * movement, so that pulling all of them towards the origin costs one product.
swept is the sum of the scales since the last fold: what total has yet to get of a movement made before them.
Twin: rampion/_core/epoch.pyx
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from rampion._reference.segment import Plain
from rampion._reference.side import side_of
from rampion._reference.step_length import step_length

if TYPE_CHECKING:
    from rampion.arrays import Offsets, Reals
    from rampion.store.lists import Lists, Scratch

    Stance = tuple[Reals, float, Reals]


def epoch(
    lists: Lists,
    order: Offsets,
    up: Stance,
    down: Stance,
    step: tuple[float, float, float],
    origin: Reals,
    movement: Reals,
    total: Reals,
    work: Scratch,
) -> float:
    """Take movement through the segments of order, return the summed violations; step is (cap, curvature, decay).

    total, unless empty, gains the movement as it is after each segment.
    """
    plain, start_weights, moved, summed = Plain(lists), origin.tolist(), movement.tolist(), total.tolist()
    up_handicaps, down_handicaps, down_tilts = up[0].tolist(), down[0].tolist(), down[2].tolist()
    cap, curvature, decay = step
    scale, swept, violations = 1.0, 0.0, 0.0
    for s in order.tolist():
        start, end = plain.bounds[s], plain.bounds[s + 1]
        features = plain.local_features(s)
        scores = plain.scores(s, [start_weights[f] + scale * moved[f] for f in features])
        raised, up_mass = side_of(scores, up_handicaps[start:end], up[1])
        if raised != -inf and down[1] >= 0.0:
            raised = 0.0
            for mass, score, tilt in zip(up_mass, scores, down_tilts[start:end], strict=True):
                if mass != 0.0:
                    raised += mass * (score + tilt)
        lowered, down_mass = side_of(scores, down_handicaps[start:end], down[1])
        scale *= 1.0 - decay  # the pull of L2
        if scale < 1e-100:
            moved, summed = fold(moved, scale, summed, swept)
            scale, swept = 1.0, 0.0
        before = swept
        swept += scale
        if raised == -inf or lowered == -inf:
            continue
        violation = lowered - raised
        violations += violation
        gradient = plain.gradient(s, [higher - lower for higher, lower in zip(up_mass, down_mass, strict=True)])
        length = step_length(cap, curvature, violation, gradient) / scale
        for f, value in zip(features, gradient, strict=True):
            if value != 0.0:
                moved[f] += length * value
                if summed:
                    summed[f] -= before * (length * value)
    movement[:], total[:] = fold(moved, scale, summed, swept)
    return violations


def fold(moved: list[float], scale: float, summed: list[float], swept: float) -> tuple[list[float], list[float]]:
    if summed:
        summed = [value + swept * movement for value, movement in zip(summed, moved, strict=True)]
    return ([value * scale for value in moved] if scale != 1.0 else moved), summed
