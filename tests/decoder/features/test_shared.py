"""Weights that blocks share: every group against the words of its blocks, and the columns against sums by name."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from rampion.decoder.features.shared import KINDS, Shared
from rampion.decoder.features.templates import Templates
from rampion.decoder.models.blocks import BOUNDARY, IDENTITY, LEARNT, BlockSet

from rampion.store.text import Texts

ENTRIES = [
    ("das haus", "the house"), ("das haus", "the building"), ("haus", "house"), ("haus", "home"), ("das", "the"),
    ("ein haus", "a house"), ("kleine haus", "small house"), ("das", "that"), ("alte", "old"),
]  # fmt: skip
MOVES = ("M", "S", "D")


@pytest.fixture(scope="module")
def blocks():
    return BlockSet.of((source, target, 1, {}) for source, target in ENTRIES)


def name(label, source, target, move=""):
    return "/".join([label, source.replace(" ", "_"), target.replace(" ", "_"), *([move] if move else [])])


NAMES = [name("P1", *entry) for entry in ENTRIES[:6]]
NAMES += [name(label, *entry, move) for label in ("H1", "H2") for entry in ENTRIES[:5] for move in MOVES]
NAMES += ["W1/haus/house", "P1/nobody/knows"]


def groups(label, source, target, move):
    """The groups of a feature, from its words."""
    (a, *_, b), (c, *_, d) = (["", *side.split("_"), ""][1:-1] * (1 + ("_" not in side)) for side in (source, target))
    sizes = len(source.split("_")), len(target.split("_"))
    shown = {"sizes": sizes, "source": source, "target": target}
    if label != "P1":
        shown = {"sizes": sizes, "source-first": a, "source-last": b, "target-first": c, "target-last": d}
        shown |= {"first": (a, c), "last": (b, d)}
    return {(kind, label, move, what) for kind, what in shown.items()}


def by_name(names):
    found = []
    for each in names:
        label, source, target, move = (*each.split("/"), "")[:4]
        known = (source.replace("_", " "), target.replace("_", " ")) in ENTRIES
        found.append(groups(label, source, target, move) if known and label in ("P1", "H1", "H2") else set())
    return found


def test_features_share_what_their_words_say(blocks):
    """Two features meet in as many groups as their words have in common."""
    shared = Shared.of(blocks, Texts.from_strings(NAMES))
    told = by_name(NAMES)
    places = np.array([np.where(table.places < table.size, table.places, -1) for table in shared.tables])
    for one in range(len(NAMES)):
        for other in range(len(NAMES)):
            met = np.count_nonzero((places[:, one] == places[:, other]) & (places[:, one] >= 0))
            assert met == len(told[one] & told[other]), (NAMES[one], NAMES[other])


def test_gathering_is_the_transpose_of_spreading(blocks):
    shared = Shared.of(blocks, Texts.from_strings(NAMES))
    random = np.random.default_rng(1)
    weights, slopes = random.normal(size=len(shared)), random.normal(size=len(NAMES))
    assert shared.spread(weights) @ slopes == pytest.approx(weights @ shared.gather(slopes))


def test_columns_hold_what_the_names_of_each_block_would_have(blocks):
    """Blocks that no list has shown, too: their groups are those of others."""
    learnt = Shared.of(blocks, Texts.from_strings(NAMES))
    weights = np.random.default_rng(2).normal(size=len(learnt))
    value = defaultdict(float)
    told = by_name(NAMES)
    for each, mine in zip(NAMES, told, strict=True):
        alone = Shared.of(blocks, Texts.from_strings([each]))
        assert len([1 for table in alone.tables for place in table.places if place < table.size]) == len(mine)
    spread = dict(zip(NAMES, learnt.spread(weights).tolist(), strict=True))
    columns = learnt.columns(blocks, weights)
    templates = Templates(blocks.vocabularies, blocks.blocks, "P1,H1,H2")
    for each in NAMES[:-2]:
        (key,) = templates.keys(Texts.from_strings([each])).tolist()
        label, block, code = (key >> 59) - 1, key >> 8 & 0xFFFFFFFF, key & 0xFF
        column = {"P1": 0, "H1": LEARNT.index("LearntBackM"), "H2": LEARNT.index("LearntForeM")}[each[:2]]
        assert label in range(13)
        assert columns[block, column + code] == pytest.approx(spread[each])
        value[block] += 1
    unseen = templates.keys(Texts.from_strings([name("H1", *ENTRIES[6], "M")]))
    assert columns[int(unseen[0]) >> 8 & 0xFFFFFFFF, LEARNT.index("LearntBackM")] != 0.0
    assert not columns[BOUNDARY].any()
    assert columns.shape == (len(blocks.blocks.sources), len(LEARNT))
    assert IDENTITY not in value


def test_without_such_features_nothing_is_shared(blocks):
    for names, kinds in ((["W1/haus/house"], KINDS), (NAMES, ())):
        shared = Shared.of(blocks, Texts.from_strings(names), kinds)
        assert len(shared) == 0
        assert shared.spread(np.zeros(0)).tolist() == [0.0] * len(names)
        assert shared.gather(np.ones(len(names))).tolist() == []
        assert not shared.columns(blocks, np.zeros(0)).any()
