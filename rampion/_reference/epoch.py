"""Online passes of a contrast loss: visit segments in a given order, step after each (S4, Algorithm 1; S4.3).

Weights are origin + scale * movement, so that pulling all of them towards the origin costs one product.
A step is min(cap, violation / (curvature |df|^2)): curvature 0 is SGD with the rate cap, curvature 1 the PA-I step.
Twin: rampion/_core/epoch.pyx
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from rampion._reference.pull import pull
from rampion._reference.segment import Plain

if TYPE_CHECKING:
    from rampion.candidates import Lists, Offsets, Reals

    Stance = tuple[Reals, float]


def epoch(
    lists: Lists,
    order: Offsets,
    up: Stance,
    down: Stance,
    step: tuple[float, float, float],
    origin: Reals,
    movement: Reals,
    work: Reals,
) -> float:
    """Take movement through the segments of order, return the summed violations; step is (cap, curvature, decay).

    work holds the widest segment's weights and gradient, then the longest segment's scores, masses and powers.
    """
    plain, start_weights, moved = Plain(lists), origin.tolist(), movement.tolist()
    up_handicaps, down_handicaps = up[0].tolist(), down[0].tolist()
    cap, curvature, decay = step
    scale, total = 1.0, 0.0
    for s in order.tolist():
        start, end = plain.bounds[s], plain.bounds[s + 1]
        features = plain.local_features(s)
        scores = plain.scores(s, [start_weights[f] + scale * moved[f] for f in features])
        handicaps = down_handicaps[start:end]
        raised, up_mass = pull(scores, up_handicaps[start:end], up[1])
        if raised != -inf and down[1] >= 0.0:
            raised = 0.0
            for mass, score, handicap in zip(up_mass, scores, handicaps, strict=True):
                if mass != 0.0:
                    raised += mass * (score + handicap)
        lowered, down_mass = pull(scores, handicaps, down[1])
        scale *= 1.0 - decay
        if scale < 1e-100:
            moved = [value * scale for value in moved]
            scale = 1.0
        if raised == -inf or lowered == -inf:
            continue
        violation = lowered - raised
        total += violation
        gradient = plain.gradient(s, [higher - lower for higher, lower in zip(up_mass, down_mass, strict=True)])
        pace = step_length(cap, curvature, violation, gradient) / scale
        for f, value in zip(features, gradient, strict=True):
            if value != 0.0:
                moved[f] += pace * value
    if scale != 1.0:
        moved = [value * scale for value in moved]
    movement[:] = moved
    return total


def step_length(cap: float, curvature: float, violation: float, gradient: list[float]) -> float:
    if curvature == 0.0:
        return cap
    square = 0.0
    for value in gradient:
        square += value * value
    if square == 0.0 or violation <= 0.0:
        return 0.0
    return min(cap, violation / (curvature * square))
