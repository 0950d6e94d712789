"""The two phrase channels as tables of probabilities that grow (S11.4, optim/baum_welch.py), and back into blocks.

PhraseST has a row for every target phrase, PhraseTS one for every source phrase, with an entry for each of its blocks.
Uses of an entry are counted by the P1 feature of its block. The probability of pairs that are no blocks is one more
entry of a row, which no list uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from rampion.decoder.features.templates import NAMES, Templates, labels_of
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, Blocks, BlockSet

from rampion.arrays import Offsets, Reals, ends
from rampion.errors import InputError
from rampion.optim.baum_welch import UNUSED, Table
from rampion.store.features import Features

CHANNELS = COLUMNS[:2]
CUT = -1  # in place of a block: the entry of the pairs that are no blocks
SLACK = 5e-7  # the rounding error of a row's sum in single precision


class _Rows(NamedTuple):
    """The entries of a channel. Row r has blocks[bounds[r]:bounds[r + 1]]."""

    bounds: Offsets
    blocks: Offsets
    shares: Reals


def tables(blocks: BlockSet, features: Features, weights: Mapping[str, float]) -> dict[str, Table]:
    """Tables of the channels whose weight is above 0, for lists with these features."""
    uses = _uses(blocks, features)
    found = {}
    for name in CHANNELS:
        if (weight := weights.get(name, 0.0)) > 0:
            rows = _rows(blocks, name)
            found[name] = Table(rows.bounds, rows.shares, np.append(uses, UNUSED)[rows.blocks], weight)
    return found


def channelled(blocks: BlockSet, tables: Mapping[str, Reals]) -> BlockSet:
    """The blocks with other probabilities, given for all entries of each table in their order."""
    values = blocks.blocks.values.copy()
    for name, chances in tables.items():
        if name not in CHANNELS:
            raise InputError(f"{name} is no channel; expected {' or '.join(CHANNELS)}")
        rows = _rows(blocks, name)
        if len(chances) != len(rows.blocks):
            raise InputError(f"{name}: {len(chances)} probabilities for {len(rows.blocks)} entries; expected one each")
        if not ((chances > 0) & (chances < np.inf)).all():
            raise InputError(f"{name}: {chances.min()} is among its probabilities; expected numbers above 0")
        kept = rows.blocks != CUT
        values[rows.blocks[kept], COLUMNS.index(name)] = np.log(chances[kept])
    return BlockSet(blocks.vocabularies, blocks.blocks._replace(values=values), blocks.jumps, blocks.meta)


def _rows(blocks: BlockSet, channel: str) -> _Rows:
    """The entries of a channel, row by row: the blocks in their order, and at the end CUT."""
    own: Blocks = blocks.blocks
    column = COLUMNS.index(channel)
    phrases = (own.targets, own.sources)[column][BOUNDARY + 1 :]
    shares = np.exp(own.values[BOUNDARY + 1 :, column].astype(np.float64))
    order = np.argsort(phrases, kind="stable")
    sizes = np.bincount(phrases)[BOUNDARY + 1 :]
    lost = 1.0 - np.bincount(phrases, shares)[BOUNDARY + 1 :]
    if len(lost) and lost.min() < -SLACK:
        phrase = blocks.text(int(order[sizes[: lost.argmin()].sum()]) + BOUNDARY + 1)[column == 0]
        raise InputError(
            f"{channel} of the blocks of {phrase!r} sums to {1 - lost.min():.6g}; expected probabilities, 1 at most"
        )
    cut = np.flatnonzero(lost > SLACK)
    places = ends(sizes)[1:][cut]
    sizes[cut] += 1
    return _Rows(ends(sizes), np.insert(order + BOUNDARY + 1, places, CUT), np.insert(shares[order], places, lost[cut]))


def _uses(blocks: BlockSet, features: Features) -> Offsets:
    """The id of every block's P1 feature."""
    names = features.names
    pairs = np.flatnonzero(labels_of(names) == NAMES.index("P1"))
    keys = Templates(blocks.vocabularies, blocks.blocks, "P1").keys(names.take(pairs), lenient=True)
    uses = np.full(len(blocks.blocks.sources), UNUSED)
    uses[(keys[keys != 0] >> np.uint64(8) & np.uint64(0xFFFFFFFF)).astype(np.int64)] = pairs[keys != 0]
    return uses
