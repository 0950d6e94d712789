"""Bends: features with which a linear model bends.

`place:LM` is the place that a feature gives a candidate in its list: -0.5 for the least value, 0.5 for the greatest.
A product of two places says whether a candidate is far from the middle in one feature, or high in two at once. Places
have no unit, so their names are all it takes to make them again for other lists.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from rampion.arrays import Offsets, Reals, span_of_each
from rampion.store.candidates import Candidates
from rampion.store.features import Features, Weights
from rampion.store.text import Texts

PLACE = "place:"
PAIRED = 12  # dense features beyond which only the squares of their places are made, and no other products
BENT = "*>@"  # what stands in the names of products, thresholds and weighted features


def places(values: Reals, bounds: Offsets) -> Reals:
    """Where every candidate's value stands in its list, from -0.5 to 0.5; equal ones share the middle of their places.

    Examples
    --------
    >>> from rampion.store.bends import places
    >>> places(np.array([3.0, 1.0, 2.0, 5.0, 5.0]), np.array([0, 3, 5]))
    array([ 0.5, -0.5,  0. ,  0. ,  0. ])
    """
    lengths = np.diff(bounds)
    owner = span_of_each(bounds)
    order = np.lexsort((values, owner))
    ascending, lists = values[order], owner[order]
    begins = np.ones(len(values), np.bool_)
    begins[1:] = (ascending[1:] != ascending[:-1]) | (lists[1:] != lists[:-1])
    run = np.cumsum(begins) - 1
    counts = np.bincount(run)
    firsts = np.flatnonzero(begins) - bounds[:-1][lists[begins]]
    middles = firsts + (counts - 1) / 2
    most = np.maximum(lengths - 1, 1)[lists[begins]]
    shares = np.where(lengths[lists[begins]] > 1, middles / most - 0.5, 0.0)
    found = np.empty(len(values))
    found[order] = shares[run]
    return found


def bends(lists: Candidates) -> dict[str, Reals]:
    """The places of the dense features that differ within lists, and products of two of them."""
    heads, strides = lists.lists.columns()
    found: dict[str, Reals] = {}
    for f, name in enumerate(lists.features.names.part(0, lists.lists.width)):
        if not name.startswith(PLACE) and not any(letter in name for letter in BENT):
            place = places(lists.lists.dense[heads + f * strides], lists.bounds)
            if place.any():
                found[PLACE + name] = place
    squares_only = len(found) > PAIRED
    for one, other in list(combinations_with_replacement(found, 2)):
        if one == other or not squares_only:
            found[f"{one}*{other}"] = found[one] * found[other]
    return found


def with_bends(lists: Candidates) -> Candidates:
    """The lists with all bends that they do not have.

    Examples
    --------
    >>> from rampion.store.bends import with_bends
    >>> with_bends(lists)[1][0].features
    {'LM': -0.5, 'TM': -1.0, 'place:LM': 0.5, 'place:TM': 0.0, 'place:LM*place:LM': 0.25, 'place:LM*place:TM': 0.0, \
'place:TM*place:TM': 0.0}
    """
    found = {name: column for name, column in bends(lists).items() if name not in lists.features.ids}
    return lists.with_features(found) if found else lists


def completed(lists: Candidates, names: Texts) -> Candidates:
    """The lists with the bends among these names that they lack and that their features give."""
    if PLACE.encode() not in names.blob.tobytes():
        return lists
    width = lists.lists.width
    known = {PLACE + name: f for f, name in enumerate(lists.features.names.part(0, width))}
    heads, strides = lists.lists.columns()
    found: dict[str, Reals] = {}
    for name in names:
        if not is_bend(name) or name in lists.features.ids:
            continue
        one, star, other = name.partition(f"*{PLACE}")
        parts = [one, PLACE + other] if star else [one]
        if all(part in known for part in parts):
            column = np.ones(lists.size)
            for part in parts:
                column *= places(lists.lists.dense[heads + known[part] * strides], lists.bounds)
            found[name] = column
    return lists.with_features(found) if found else lists


def is_bend(name: str) -> bool:
    """Whether a feature of that name is a bend."""
    return name.startswith(PLACE)


def straight(weights: Weights) -> Weights:
    """The weights without bends that weigh nothing."""
    width, names = plain(weights.features), weights.features.names
    if width == weights.features.width or weights.vector[width : weights.features.width].any():
        return weights
    kept = np.delete(np.arange(len(names)), np.arange(width, weights.features.width))
    return Weights(Features(names.take(kept), width), weights.vector[kept], weights.system)


def plain(features: Features) -> int:
    """The number of dense features before the bends, which stand behind the others."""
    width = features.width
    while width and is_bend(features.names[width - 1]):
        width -= 1
    return width
