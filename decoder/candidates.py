"""Derivations as candidates: dense values, readable binary features and texts, in the store that tuning takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from decoder.dense import Reals
from decoder.options import Derivations
from decoder.templates import KeyRow, Offsets
from rampion.candidates import Candidates, Rows, _pack
from rampion.features import Features
from rampion.keys import Keys
from rampion.text import Texts


def candidates(
    segments: Texts,
    texts: Texts,
    derivations: Derivations,
    values: Reals,
    names: Sequence[str],
    spelt: Callable[[KeyRow], Texts],
    fired: tuple[KeyRow, Offsets],
) -> Candidates:
    """A candidate a derivation: `values` are its dense features, called `names`; its keys, which `spelt` names,
    count how often they fired.

    The features are those of this batch, in the order in which they first fire.
    """
    keys, bounds = fired
    table = Keys()
    ids = table.enter(keys)
    empty = np.zeros(len(texts) + 1, np.int64)
    rows = Rows(
        segments,
        derivations.bounds,
        texts,
        bounds,
        ids,
        np.ones(len(ids)),
        derivations.scores,
        Texts(np.zeros(0, np.uint8), empty),
        {},
    )
    sparse = spelt(table.listed())
    every, same = np.arange(len(texts)), np.arange(len(table), dtype=np.uint32)
    packed = _pack(rows, every, derivations.bounds, segments, same, Features(sparse, 0))
    width, sizes = len(names), np.diff(derivations.bounds)
    owner = np.repeat(np.arange(len(segments)), sizes)
    # The dense block of a segment stands feature by feature.
    first = width * derivations.bounds[:-1][owner] + every - derivations.bounds[:-1][owner]
    dense = np.empty(width * len(texts))
    dense[first[:, None] + sizes[owner][:, None] * np.arange(width)] = values
    lists = packed.lists._replace(dense=dense, width=width, features=packed.lists.features + np.uint32(width))
    return replace(packed, lists=lists, features=Features(Texts.join([Texts.of(names), sparse]), width))
