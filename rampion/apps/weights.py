"""Show weights: those of lists by name, and those of a run of rampion train by template."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rampion.apps.inputs import read_weights
from rampion.apps.runs import Inside, TemplateRow, WeightRow, run_of
from rampion.errors import RecipeError
from rampion.formats import weights as weight_files
from rampion.store.features import Weights
from rampion.store.text import Texts


class Named(NamedTuple):
    """Figures of weights by name, the dense and the largest sparse ones, and the same beside other weights."""

    summary: dict[str, float]
    likeness: dict[str, float]
    shown: dict[str, float]
    other: dict[str, float] | None  # the other weights of the same features


class OfRun(NamedTuple):
    """An iteration of a run, its templates, and the largest weights."""

    iteration: int
    templates: dict[str, TemplateRow]
    shown: dict[str, WeightRow]


def look(
    file: str, top: int, group: str | None, iteration: int | None, compare: str | None, out: str | None
) -> Named | OfRun:
    """The weights to show; all of them are written to `out`."""
    if run := run_of(file):
        if compare:
            raise RecipeError(f"{file}: is a run of rampion train; write its weights by name (--out) and compare those")
        inside = Inside(run, iteration, group)
        found = OfRun(inside.iteration, inside.templates(), inside.shown(top))
        if out:
            weight_files.write(out, inside.named())
        return found
    for option, given in (("--group", group), ("--iteration", iteration)):
        if given:
            raise RecipeError(f"{option} {given}: is for runs of rampion train, and {file} is none; leave it out")
    learnt = read_weights(file)
    shown, alike, theirs = _largest(learnt, top), dict[str, float](), None
    if compare:
        other = read_weights(compare)
        alike, theirs = likeness(learnt, other), _of(other, shown)
    if out:
        weight_files.write(out, learnt)
    return Named(_summary(learnt), alike, shown, theirs)


def _summary(weights: Weights) -> dict[str, float]:
    return {
        "features": len(weights.vector),
        "dense": weights.features.width,
        "nonzero": int(np.count_nonzero(weights.vector)),
        "norm": float(np.linalg.norm(weights.vector)),
    }


def _largest(weights: Weights, top: int) -> dict[str, float]:
    """All dense weights, and the largest sparse ones that are not 0."""
    width, vector, names = weights.features.width, weights.vector, weights.features.names
    largest = width + np.argsort(-np.abs(vector[width:]), kind="stable")[:top]
    return {names[f]: float(vector[f]) for f in [*range(width), *largest.tolist()] if f < width or vector[f]}


def _of(weights: Weights, names: Iterable[str]) -> dict[str, float]:
    """The weights of these features, 0 where there is none."""
    wanted = list(names)
    places = weights.features.places(Texts.from_strings(wanted)).tolist()
    values = (float(weights.vector[at]) if at >= 0 else 0.0 for at in places)
    return dict(zip(wanted, values, strict=True))


def likeness(one: Weights, other: Weights) -> dict[str, float]:
    """The cosine of two weight vectors over all features of both, and their distance."""
    features, mine, theirs = one.features.union(other.features)
    pair = np.zeros((2, len(features)))
    pair[0][mine], pair[1][theirs] = one.vector, other.vector
    product = float(np.linalg.norm(pair, axis=1).prod())
    return {
        "cosine": float(pair[0] @ pair[1]) / product if product else 0.0,
        "distance": float(np.linalg.norm(pair[0] - pair[1])),
    }
