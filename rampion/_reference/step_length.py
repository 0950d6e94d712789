"""How far an online step goes: min(cap, violation / (curvature |df|^2)); curvature 0 is SGD, 1 the PA-I step (S7.1).

Twin: rampion/_core/step_length.pxd
"""

from __future__ import annotations


def step_length(cap: float, curvature: float, violation: float, gradient: list[float]) -> float:
    if curvature == 0.0:
        return cap
    square = 0.0
    for value in gradient:
        square += value * value
    if square == 0.0 or violation <= 0.0:
        return 0.0
    return min(cap, violation / (curvature * square))
