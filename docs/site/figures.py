"""The figures of the page on the mathematics, computed from its formulas and drawn by Rampion's own charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rampion.report.charts import write_lines

Reals = NDArray[np.float64]
# A list of five candidates along one weight: what does not change, the value of the feature, the cost.
FIXED = np.array([0.0, 0.6, 1.0, 0.7, -0.4])
FEATURE = np.array([-1.0, -0.4, 0.1, 0.6, 1.2])
COST = np.array([0.9, 0.5, 0.7, 0.1, 0.4])
WEIGHTS = np.linspace(-2.0, 2.5, 181)


def scores(weight: float | Reals) -> Reals:
    """The scores of the five candidates at these weights."""
    return FIXED + np.multiply.outer(weight, FEATURE)


def line(values: Reals) -> Sequence[tuple[float, float]]:
    return list(zip(WEIGHTS.tolist(), values.tolist(), strict=True))


def ramps() -> dict[str, Sequence[tuple[float, float]]]:
    """The three ramps of the list as the weight moves."""
    found = scores(WEIGHTS)
    model, hope, fear = (np.max(found + tilt * COST, axis=1) for tilt in (0.0, -1.0, 1.0))
    return {"ramp 1": line(fear - model), "ramp 2": line(model - hope), "ramp 3": line(fear - hope)}


def majorised() -> dict[str, Sequence[tuple[float, float]]]:
    """Ramp 3, and what CCCP minimises instead from two points: the hope is a line there."""
    found = scores(WEIGHTS)
    fear, hope = np.max(found + COST, axis=1), np.max(found - COST, axis=1)
    curves = {"ramp 3": line(fear - hope)}
    for name, start in (("from -1.5", -1.5), ("from 0.5", 0.5)):
        best = int(np.argmax(scores(start) - COST))
        curves[name] = line(fear - (found - COST)[:, best])
    return curves


def envelope() -> dict[str, Sequence[tuple[float, float]]]:
    """The lines of the candidates, and the greatest of them."""
    found = scores(WEIGHTS)
    curves = {f"candidate {n + 1}": line(column) for n, column in enumerate(found.T)}
    return curves | {"the best": line(found.max(axis=1) + 0.03)}


def chosen() -> dict[str, Sequence[tuple[float, float]]]:
    """The cost of the candidate that is chosen, a step function, and what it is expected to be at three softnesses."""
    found = scores(WEIGHTS)
    curves = {"chosen": line(COST[np.argmax(found, axis=1)])}
    for sharpness in (1.0, 4.0, 16.0):
        chances = np.exp(sharpness * (found - found.max(axis=1, keepdims=True)))
        curves[f"sharpness {sharpness:g}"] = line((chances @ COST) / chances.sum(axis=1))
    return curves


def margins() -> dict[str, Sequence[tuple[float, float]]]:
    """Costmargin of one truth and one alternative by the difference of their scores, for three differences of cost."""
    gaps = np.linspace(-2.0, 2.0, 81)
    return {
        f"cost {cost:g} apart": list(zip(gaps.tolist(), np.maximum(0.0, cost - gaps).tolist(), strict=True))
        for cost in (0.1, 0.5, 1.0)
    }


FIGURES = {
    "ramps": (ramps, "Three ramps of one list", "weight", "loss"),
    "cccp": (majorised, "CCCP: a convex bound from where one stands", "weight", "loss"),
    "envelope": (envelope, "MERT: the upper envelope of a list", "weight", "score"),
    "expected": (chosen, "The cost of the choice, and the expected cost", "weight", "cost"),
    "margin": (margins, "Costmargin of a truth and an alternative", "how far the truth leads", "loss"),
}


def draw(folder: Path) -> None:
    """Write all figures as SVG."""
    for name, (curves, title, x, y) in FIGURES.items():
        write_lines(folder / f"figure-{name}.svg", curves(), title, x, y)
