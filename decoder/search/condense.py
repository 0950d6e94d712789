"""Condensing (S11.6): learnt weights of sparse features become ten more columns of the blocks that fire them.

    LearntPairs, LearntWords, LearntT1, LearntT2    the sums of the weights of P1, W1, T1, T2 in a block
    LearntBackM, …S, …D; LearntForeM, …S, …D        the weights of H1, H2 for each move of the block

With weight 1 each, every derivation scores as before, without a table of features; as real-valued features they can be
tuned like the others. For these templates all unknown words are the same word, so IDENTITY has columns, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from rampion.decoder.features.dense import DENSE
from rampion.decoder.features.templates import GROUPS, NAMES, Templates, labels_of, mask_of
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, LEARNT, BlockSet
from rampion.decoder.search.model import Model
from rampion.decoder.search.states import FILL, OPEN, STEP

from rampion.arrays import Reals
from rampion.errors import InputError, RecipeError
from rampion.store.features import Features, Weights, named
from rampion.store.keys import Keys
from rampion.store.text import Texts

LARGEST = float(np.finfo(np.float32).max)

# The columns of each template, and the moves in which a derivation shows the columns' values.
COLUMNS_OF = {
    "P1": (LEARNT[0:1], (STEP,)),
    "W1": (LEARNT[1:2], (STEP,)),
    "T1": (LEARNT[2:3], (STEP,)),
    "T2": (LEARNT[3:4], (STEP,)),
    "H1": (LEARNT[4:7], (STEP, FILL, OPEN)),
    "H2": (LEARNT[7:10], (STEP, OPEN, FILL)),  # S must follow a block that opens a gap, D one that fills it
}


def columns_of(features: str) -> tuple[str, ...]:
    """The columns of these templates and groups, with commas between."""
    labels = [label for group in features.split(",") for label in GROUPS.get(group, (group,))]
    if strange := next((label for label in labels if label not in COLUMNS_OF), None):
        raise RecipeError(
            f"{strange} cannot be condensed into blocks; choose among pairs, lexical, triplets, reordering "
            f"({', '.join(COLUMNS_OF)})"
        )
    return tuple(dict.fromkeys(name for label in labels for name in COLUMNS_OF[label][0]))


class Share(NamedTuple):
    """Counts of the weights of one template: those that are in a column, and those that fit no block."""

    columns: tuple[str, ...]
    condensed: int
    strange: int


def condensed(blocks: BlockSet, weights: Mapping[str, float], more: Reals | None = None) -> BlockSet:
    """The blocks with the columns of sparse weights, to which `more` is added.

    Weights of real-valued features are ignored.
    """
    return condense(blocks, weights, more)[0]


def condense(
    blocks: BlockSet, weights: Mapping[str, float], more: Reals | None = None
) -> tuple[BlockSet, dict[str, Share]]:
    """The blocks with the columns of sparse weights, and what became of the weights of each template."""
    own = blocks.blocks
    if own.columns != COLUMNS:
        raise InputError("the blocks are condensed already; take those that the weights were learnt with")
    values = np.zeros((len(own.sources), len(LEARNT)))
    everything = np.arange(len(own.sources), dtype=np.uint32)
    sparse = _sparse(named(weights))
    keys = Templates(blocks.vocabularies, own, ",".join(COLUMNS_OF)).keys(sparse.features.names, lenient=True)
    given, shares = labels_of(sparse.features.names), dict[str, Share]()
    for t, label in enumerate(NAMES):
        if label not in COLUMNS_OF:
            continue
        names, moves = COLUMNS_OF[label]
        here = keys >> np.uint64(59) == t + 1
        count = int(np.count_nonzero(here))
        shares[label] = Share(names, count, int(np.count_nonzero(given == t)) - count)
        if label in ("P1", "H1", "H2"):
            # A feature of one block and one move: its weight is the value.
            places = (keys[here] >> np.uint64(8) & np.uint64(0xFFFFFFFF)).astype(np.int64)
            codes = (keys[here] & np.uint64(0xFF)).astype(np.int64)
            values[places, LEARNT.index(names[0]) + codes] = sparse.vector[here].astype(np.float32)
        elif count:
            table = Keys(count)
            table.enter(keys[here])
            table.set_weights(sparse.vector[here])
            model = Model.of(own, mask_of(label), table, {})
            model.assess(everything)
            values[:, [LEARNT.index(name) for name in names]] = model.local[:, moves]
    if more is not None:
        values += more
    values[BOUNDARY] = 0.0  # the boundary fires nothing
    with np.errstate(over="ignore"):
        single = np.hstack([own.values, values.astype(np.float32)])
    if not np.isfinite(single).all():
        raise InputError("the weights of a block sum up to more than single precision holds; expected smaller ones")
    return BlockSet(blocks.vocabularies, own._replace(values=single), blocks.jumps, blocks.meta), shares


def _sparse(weights: Weights) -> Weights:
    """The nonzero weights of sparse features. Raise InputError if one of them has no column."""
    dense = weights.features.places(Texts.from_strings(DENSE))
    heavy = weights.vector != 0
    heavy[dense[dense >= 0]] = False
    rows = np.flatnonzero(heavy)
    names, vector = weights.features.names.take(rows), weights.vector[rows]
    taken = np.array([label in COLUMNS_OF for label in NAMES] + [False])[labels_of(names)]
    for strange in np.flatnonzero(~taken)[:1].tolist():
        raise InputError(
            f"{names[strange]} has a weight, but no column takes it: only features of {', '.join(COLUMNS_OF)} "
            "(pairs, lexical, triplets, reordering) can be condensed; learn without the others"
        )
    for large in np.flatnonzero(~(np.abs(vector) <= LARGEST))[:1].tolist():
        raise InputError(
            f"the weight of {names[large]} is {vector[large]}; expected a number that single precision holds"
        )
    return Weights(Features(names, 0), vector)
