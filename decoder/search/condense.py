"""Condensing (S11.6): learnt weights of sparse features become ten more columns of the blocks that fire them.

    LearntPairs, LearntWords, LearntT1, LearntT2    the sums of the weights of P1, W1, T1, T2 in a block
    LearntBackM, …S, …D; LearntForeM, …S, …D        the weights of H1, H2 for each move of the block

With weight 1 each, every derivation scores as before, without a table of features; as real-valued features they can be
tuned like the others. For these templates all unknown words are the same word, so IDENTITY has columns, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from rampion.decoder.features.dense import DENSE
from rampion.decoder.features.templates import Templates, mask_of
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, LEARNT, BlockSet
from rampion.decoder.search.model import Model
from rampion.decoder.search.states import FILL, OPEN, STEP

from rampion.errors import InputError
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


class Share(NamedTuple):
    """Counts of the weights of one template: those that are in a column, and those that fit no block."""

    columns: tuple[str, ...]
    condensed: int
    strange: int


def condensed(blocks: BlockSet, weights: Mapping[str, float]) -> BlockSet:
    """The blocks with the columns of sparse weights. Weights of real-valued features are ignored."""
    own = blocks.blocks
    if own.columns != COLUMNS:
        raise InputError("the blocks are condensed already; take those that the weights were learnt with")
    values = np.zeros((len(own.sources), len(LEARNT)))
    everything = np.arange(len(own.sources), dtype=np.uint32)
    for label, table in _tables(blocks, weights).items():
        model = Model.of(own, mask_of(label), table, {})
        model.assess(everything)
        names, moves = COLUMNS_OF[label]
        values[:, [LEARNT.index(name) for name in names]] = model.local[:, moves]
    values[BOUNDARY] = 0.0  # the boundary fires nothing
    with np.errstate(over="ignore"):
        single = np.hstack([own.values, values.astype(np.float32)])
    if not np.isfinite(single).all():
        raise InputError("the weights of a block sum up to more than single precision holds; expected smaller ones")
    return BlockSet(blocks.vocabularies, own._replace(values=single), blocks.jumps, blocks.meta)


def shares(blocks: BlockSet, weights: Mapping[str, float]) -> dict[str, Share]:
    """For every template of `condensed`: how many nonzero weights it puts into columns, and how many it cannot."""
    taken = {label: len(table) for label, table in _tables(blocks, weights).items()}
    given = Counter(name.partition("/")[0] for name in _sparse(weights))
    return {
        label: Share(columns, taken.get(label, 0), given[label] - taken.get(label, 0))
        for label, (columns, _) in COLUMNS_OF.items()
    }


def _sparse(weights: Mapping[str, float]) -> dict[str, float]:
    """The nonzero weights of sparse features. Raise InputError if one of them has no column."""
    found = {name: weight for name, weight in weights.items() if weight and name not in DENSE}
    if strange := next((name for name in found if name.partition("/")[0] not in COLUMNS_OF), None):
        raise InputError(
            f"{strange} has a weight, but no column takes it: only features of {', '.join(COLUMNS_OF)} "
            "(pairs, lexical, triplets, reordering) can be condensed; learn without the others"
        )
    if large := next((name for name, weight in found.items() if not abs(weight) <= LARGEST), None):
        raise InputError(f"the weight of {large} is {found[large]}; expected a number that single precision holds")
    return found


def _tables(blocks: BlockSet, weights: Mapping[str, float]) -> dict[str, Keys]:
    """The weights of each template by key, without features that the blocks cannot fire."""
    rows: dict[str, dict[str, float]] = {}
    for name, weight in _sparse(weights).items():
        rows.setdefault(name.partition("/")[0], {})[name] = weight
    tables, templates = {}, Templates(blocks.vocabularies, blocks.blocks, ",".join(rows))
    for label, row in rows.items():
        keys = templates.keys(Texts.from_strings(row), lenient=True)
        known = keys != 0
        tables[label] = Keys(len(keys))
        tables[label].enter(keys[known])
        tables[label].set_weights(np.fromiter(row.values(), np.float64, len(row))[known])
    return tables
