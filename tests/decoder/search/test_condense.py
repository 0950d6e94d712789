"""Condensing (S11.6) and channels (S11.4): blocks with what was learnt score as the features did, or grow."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from command import rampion
from rampion.decoder.alignment.align import align
from rampion.decoder.block_decoder import INITIAL, BlockDecoder
from rampion.decoder.explain import built
from rampion.decoder.features.channels import CHANNELS, channelled, tables
from rampion.decoder.models import kneser
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, IDENTITY, LEARNT, BlockSet
from rampion.decoder.models.extract import Settings, build
from rampion.decoder.search.condense import COLUMNS_OF, condense, condensed
from rampion.decoder.search.search import Search
from rampion.decoder.search.states import MON, Reordering
from rampion.decoder.text.language import Language

from rampion.errors import InputError, RecipeError, StoreError
from rampion.formats import container, weights
from rampion.losses.expectation import ExpectedBleu
from rampion.metrics.column import Column
from rampion.metrics.judging import Batch, Stakes
from rampion.optim.baum_welch import UNUSED, Growth
from rampion.store.features import Features, Weights
from rampion.store.text import Texts

lined = Texts.from_strings

SPARSE = "pairs,lexical,triplets,reordering"
WAYS = (MON, Reordering(), Reordering(8, adjacent_swaps=True))


@cache
def toy():
    """A small system of the toy language: training text, alignment, blocks, language model."""
    corpus = Language.invent(7).corpus(150, 20, 1)
    points = align(corpus.train.source, corpus.train.target)
    blocks = build(corpus.train.source, corpus.train.target, points, Settings(longest=4))
    return corpus, points, blocks, kneser.estimate(corpus.train.target, 2).lm


def lines():
    """Sentences to decode, with words that no block knows."""
    found = list(toy()[0].dev.source)
    return [*found[:12], "unknown1 " + found[12], found[13] + " unknown2 unknown1", "unknown1", ""]


def decoder(blocks, features, way=WAYS[1], **settings):
    return BlockDecoder(blocks, toy()[3], features, Search(beam=30, pops=300, reordering=way), **settings)


@cache
def learnt(seed=0, share=0.8):
    """Weights of most of what lists of every way to reorder fire; sums of eighths have no rounding."""
    draw = np.random.default_rng(seed)
    names = set()
    for way in WAYS:
        lists = decoder(toy()[2], f"fourteen,{SPARSE}", way).decode(lined(lines()), Weights.from_dict(INITIAL), 30)
        names.update(name for name in lists.features.names if "/" in name)
    chosen = [name for name in sorted(names) if draw.random() < share]
    return dict(zip(chosen, (draw.integers(-8, 9, len(chosen)) / 8).tolist(), strict=True))


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("way", WAYS, ids=["monotone", "swap", "adjacent swaps"])
def test_condensed_blocks_score_every_derivation_as_the_features_did(way, rounded):
    """Without rounding, but for sums that single precision rounds."""
    draw = np.random.default_rng(3)
    sparse = {name: float(draw.normal()) if rounded else weight for name, weight in learnt().items()}
    own, parts = {name: INITIAL[name] for name in decoder(toy()[2], "fourteen").names}, Texts.from_strings(lines())
    before = decoder(toy()[2], f"fourteen,{SPARSE}", way)
    after = decoder(condensed(toy()[2], sparse), "fourteen,learnt", way)
    weigh = np.array([{**own, **dict.fromkeys(LEARNT, 1.0)}[name] for name in after.names])
    leaps, said = 0, Counter[int]()
    for batch, graph in before.search(parts, before.model(Weights.from_dict(own | sparse)), lambda *both: both):
        found = before.kbest(batch, graph, 40)
        values = after.values(batch, found, after.logs(batch, found))
        np.testing.assert_allclose(values @ weigh, found.scores, rtol=1e-12, atol=1e-5 if rounded else 0)
        said.update(batch.options.blocks[found.steps].tolist())
        starts, ends = batch.options.starts[found.steps], batch.options.ends[found.steps]
        leaps += np.count_nonzero(starts[1:] > ends[:-1])
    assert said[IDENTITY] > 100
    assert (leaps > 100) == (way is not MON)


@pytest.mark.parametrize("way", WAYS, ids=["monotone", "swap", "adjacent swaps"])
@pytest.mark.parametrize("label", [*COLUMNS_OF, None])
def test_the_search_finds_the_same_and_a_column_is_what_its_template_weighs(label, way):
    """Weights are sums of eighths and blocks have whole numbers for values: no sum is rounded, equals are equals."""
    labels = [label] if label else list(COLUMNS_OF)
    sparse = {name: weight for name, weight in learnt().items() if name[:2] in labels}
    own = {name: (n % 5 - 2) / 8 for n, name in enumerate(decoder(toy()[2], "fourteen").names) if name != "LM"}
    whole = BlockSet(
        toy()[2].vocabularies,
        toy()[2].blocks._replace(values=np.round(toy()[2].blocks.values)), toy()[2].jumps, toy()[2].meta,
    )  # fmt: skip
    every = Weights.from_dict(own | sparse)
    before = decoder(whole, f"fourteen,{','.join(labels)}", way).decode(lined(lines()), every, 10)
    after = decoder(condensed(whole, sparse), "fourteen,learnt", way).decode(
        lined(lines()), Weights.from_dict(own | dict.fromkeys(LEARNT, 1.0)), 10
    )
    assert list(before.texts) == list(after.texts)
    np.testing.assert_array_equal(before.scores, after.scores)
    for one, (columns, _) in COLUMNS_OF.items():
        weigh = {name: weight for name, weight in sparse.items() if name.startswith(one)}
        sums = before.score(Weights.from_dict(weigh).onto(before.features, lenient=True))
        assert sums.any() == (one in labels)
        np.testing.assert_array_equal(
            after.score(Weights.from_dict(dict.fromkeys(columns, 1.0)).onto(after.features, lenient=True)), sums
        )


def test_the_search_says_what_the_features_are():
    """Weights other than 1, and scores beside the values listed."""
    draw = np.random.default_rng(5)
    system = decoder(condensed(toy()[2], learnt()), "fourteen,learnt")
    given = Weights.from_dict({name: float(draw.integers(-8, 9)) / 8 for name in system.names})
    lists = system.decode(lined(lines()), given, 20)
    np.testing.assert_allclose(lists.score(given.onto(lists.features)), lists.scores, atol=1e-9)


def test_what_explains_adds_up():
    system = decoder(condensed(toy()[2], learnt()), "fourteen,learnt")
    given = Weights.from_dict({name: (n + 1) / 8 for n, name in enumerate(system.names)})
    for line in lines()[:5]:
        found = built(system, line, given)
        parts = [*(step.fired for step in found.steps), found.last]
        score = sum(given[name] * value for part in parts for name, value in part.items())
        assert score == pytest.approx(system.decode(lined([line]), given, 1).scores[0])
        assert {name for step in found.steps for name in step.fired} & set(LEARNT)
        assert not set(found.last) & set(LEARNT[:7])


def test_a_small_example_by_hand():
    blocks = BlockSet.of([("a b", "A B A", 1, {}), ("a", "A", 2, {}), ("c", "C_", 2, {})])
    rows = {blocks.text(b): b for b in range(len(blocks.blocks.counts))}
    names = {
        "P1/a_b/A_B_A": 1.0, "W1/a/A": 2.0, "W1/b/B": 4.0, "W1/b/A": 0.5, "T1/a/A/A": 8.0, "T1/b/A/B": 16.0,
        "T2/A/a/b": 32.0, "T2/B/b/a": 5.0, "H1/a/A/M": 1.0, "H1/a/A/S": 2.0, "H1/a/A/D": 3.0, "H2/a/A/M": 4.0,
        "H2/a/A/S": 5.0, "H2/a/A/D": 6.0, "P1/c/C%5F": -1.0, "P1/<unk>/<unk>": 7.0, "W1/<unk>/<unk>": 0.25,
        "H2/<s>/<s>/M": 9.0, "P1/d/D": 3.0, "P1/c/C": 2.0, "W1/a/C%5F": 0.0, "LM": 3.0,
    }  # fmt: skip
    found = condensed(blocks, names)
    assert found.blocks.columns == COLUMNS + LEARNT
    columns = dict(zip(rows, found.blocks.values[list(rows.values()), len(COLUMNS) :].tolist(), strict=True))
    assert columns == {
        ("<unk>", "<unk>"): [7.0, 0.25, *[0.0] * 8],
        ("<s>", "<s>"): [0.0] * 10,
        ("a b", "A B A"): [1.0, 2 * 2.0 + 2 * 0.5 + 4.0, 8.0 + 16.0, 2 * 32.0, *[0.0] * 6],
        ("a", "A"): [0.0, 2.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        ("c", "C_"): [-1.0, *[0.0] * 9],
    }
    assert {label: tuple(share[1:]) for label, share in condense(blocks, names)[1].items()} == {
        "P1": (3, 2), "W1": (4, 0), "T1": (2, 0), "T2": (2, 0), "H1": (3, 0), "H2": (4, 0)
    }  # fmt: skip


def test_the_file_holds_the_columns_and_old_files_are_read(tmp_path):
    blocks, path = toy()[2], tmp_path / "toy.blocks"
    for one in (condensed(blocks, learnt()), blocks):
        one.write(path)
        back = BlockSet.read(path)
        assert back.blocks.columns == one.blocks.columns
        np.testing.assert_array_equal(back.blocks.values, one.blocks.values)
        assert back.meta == one.meta
    arrays, meta = container.opened(path, "blocks")
    for width in (len(COLUMNS) - 1, len(COLUMNS) + 1, len(COLUMNS + LEARNT) + 1):
        values = np.zeros((len(arrays["targets"]), width), np.float32)
        container.write(path, "blocks", arrays | {"values": values}, meta)
        with pytest.raises(StoreError, match="columns of values, expected 11 or 21; build the blocks again"):
            BlockSet.read(path)


def test_condensing_keeps_everything_else():
    blocks, found = toy()[2], condensed(toy()[2], learnt())
    for name, one, other in zip(blocks.blocks._fields, blocks.blocks, found.blocks, strict=True):
        if name != "values":
            assert one is other
    np.testing.assert_array_equal(found.blocks.values[:, : len(COLUMNS)], blocks.blocks.values)
    assert not found.blocks.values[BOUNDARY].any()
    left = [system.leaving_out(toy()[0].train.source, toy()[0].train.target, toy()[1]) for system in (
        decoder(blocks, "fourteen"), decoder(found, "fourteen"))]  # fmt: skip
    one, other = (system.decode(toy()[0].train.source[:20], Weights.from_dict(INITIAL), 5) for system in left)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one.arrays().values(), other.arrays().values(), strict=True))


@pytest.mark.parametrize(
    ("sparse", "message"),
    [
        ({"P2/a/A/R": 1.0}, "P2/a/A/R has a weight, but no column takes it: only features of P1, W1, T1, T2, H1, H2"),
        ({"Long/yes": 1.0}, "Long/yes has a weight, but no column takes it"),
        ({"W1/a/A": 3e38, "W1/b/A": 3e38}, "sum up to more than single precision holds; expected smaller ones"),
        ({"P1/a_b/A": float("nan")}, "the weight of P1/a_b/A is nan; expected a number that single precision holds"),
    ],
)
def test_weights_that_no_column_can_hold_are_refused(sparse, message):
    with pytest.raises(InputError, match=message):
        condensed(BlockSet.of([("a b", "A", 1, {}), ("a", "A", 2, {})]), sparse)


def test_blocks_are_condensed_once():
    with pytest.raises(InputError, match="condensed already; take those that the weights were learnt with"):
        condensed(condensed(toy()[2], {}), {})


def test_learnt_features_need_condensed_blocks():
    with pytest.raises(RecipeError, match=r"fourteen,learnt need condensed blocks.*or leave LearntPairs out"):
        decoder(toy()[2], "fourteen,learnt")
    with pytest.raises(InputError, match="LearntWords has a weight, but the blocks are not condensed"):
        decoder(toy()[2], "fourteen").weighed({"LearntWords": 1.0}, decoder(toy()[2], "fourteen").keyed({}).table)
    assert decoder(condensed(toy()[2], {}), "LM,LearntT1").names == ("LM", "LearntT1")
    assert dict(decoder(condensed(toy()[2], {}), "learnt").initial) == dict.fromkeys(LEARNT, 1.0)


# Channels


def features_of(blocks, share=0.7, seed=0):
    """P1 features of most blocks, among others, in any order."""
    draw = np.random.default_rng(seed)
    words = [tuple(side.replace(" ", "_") for side in blocks.text(b)) for b in range(2, len(blocks.blocks.counts))]
    names = [f"P1/{source}/{target}" for source, target in words if draw.random() < share]
    names += ["W1/a/b", "P1/no/block", "P1/<unk>/<unk>"]
    draw.shuffle(names)
    return Features(Texts.from_strings(["PhraseST", *names]), 1)


def cut():
    """Blocks of which some are missing, so that rows lack mass."""
    corpus, points, *_ = toy()
    return build(corpus.train.source, corpus.train.target, points, Settings(longest=3, least=2, top=3))


@pytest.mark.parametrize("which", ["whole", "cut"])
def test_channels_are_the_relative_frequencies_of_their_blocks(which):
    blocks = toy()[2] if which == "whole" else cut()
    features, given = features_of(blocks), {"PhraseST": 0.3, "PhraseTS": 0.1}
    found = tables(blocks, features, given)
    assert {name: table.weight for name, table in found.items()} == given
    count = len(blocks.blocks.counts)
    for column, (name, table) in enumerate(found.items()):
        np.testing.assert_allclose(table.sums(table.start), 1.0, atol=1e-6)
        phrases = (blocks.blocks.targets, blocks.blocks.sources)[column].tolist()
        expected: dict[int, list[tuple[int, float]]] = {}
        for block in range(2, count):
            name = "P1/{}/{}".format(*(side.replace(" ", "_") for side in blocks.text(block)))
            share = float(np.exp(blocks.blocks.values[block, column].astype(float)))
            expected.setdefault(phrases[block], []).append((features.ids.get(name, UNUSED), share))
        rows = [expected[phrase] for phrase in sorted(expected)]
        assert len(table.bounds) - 1 == len(rows)
        lacking = 0
        for (start, end), row in zip(pairwise(table.bounds.tolist()), rows, strict=True):
            entries = list(zip(table.features[start:end].tolist(), table.start[start:end].tolist(), strict=True))
            assert entries[: len(row)] == row
            if len(entries) > len(row):
                lacking += 1
                assert entries[len(row) :] == [(UNUSED, pytest.approx(1 - sum(share for _, share in row)))]
        assert (lacking > 0) == (which == "cut")
    assert list(tables(blocks, features, {"PhraseST": 0.0, "PhraseTS": 0.2})) == ["PhraseTS"]
    assert tables(blocks, features, {"PhraseST": -0.1}) == {}


@cache
def lists():
    """Lists of training text, each line without its own counts, and what its candidates gain."""
    corpus, points, blocks, _ = toy()
    system = decoder(blocks, "fourteen,pairs").leaving_out(corpus.train.source, corpus.train.target, points)
    found = system.decode(corpus.train.source[:60], Weights.from_dict(INITIAL), 20)
    wanted = [set(line.split()) for line in list(corpus.train.target)[:60]]
    owners = np.repeat(np.arange(60), np.diff(found.bounds))
    shared = [
        len(set(text.split()) & wanted[s]) / max(1, len(wanted[s])) for text, s in zip(found.texts, owners, strict=True)
    ]
    stakes = Stakes(found.bounds, 1 - np.array(shared), np.zeros(found.size, bool))
    own = Weights.from_dict(INITIAL).onto(found.features, lenient=True)
    return found, Batch(found, np.zeros((found.size, 1)), stakes, Column("none"), found.score(own))


def test_channels_grow_and_decode():
    blocks, (found, batch) = toy()[2], lists()
    channels = tables(blocks, found.features, INITIAL)
    growth = Growth(tuple(channels.values()), tau=1e-3, steps=4)
    start = growth.value(ExpectedBleu(), batch, tuple(table.start for table in channels.values()))[0]
    values = [start]
    for grown in growth.grow(ExpectedBleu(), batch):
        values.append(grown.value)
    assert all(later < earlier for earlier, later in pairwise(values)), "expected BLEU rises"
    other = channelled(blocks, dict(zip(channels, grown.tables, strict=True)))
    moved = other.blocks.values != blocks.blocks.values
    assert moved[:, :2].sum() > 100
    assert not moved[:, 2:].any()
    # what the lists would score with the new channels: as with weights of pairs in Growth
    worth = found.score(grown.weights)
    names = dict(zip(*(side.tolist() for side in _pairs(blocks, found)), strict=True))
    gains = (other.blocks.values - blocks.blocks.values)[:, :2].astype(float) @ [INITIAL[name] for name in CHANNELS]
    weigh = np.zeros(len(found.features))
    weigh[list(names)] = gains[list(names.values())]
    np.testing.assert_allclose(found.score(weigh), worth, atol=1e-4)
    assert list(decoder(other, "fourteen").best(Texts.from_strings(lines()), INITIAL)) != list(
        decoder(blocks, "fourteen").best(Texts.from_strings(lines()), INITIAL)
    )


def _pairs(blocks, found):
    """The P1 features of lists, and their blocks by text."""
    rows = {blocks.text(b): b for b in range(2, len(blocks.blocks.counts))}
    pairs = [(f, name.split("/")[1:]) for f, name in enumerate(found.features.names) if name.startswith("P1/")]
    pairs = [(f, tuple(side.replace("_", " ") for side in sides)) for f, sides in pairs]
    known = [(f, rows[sides]) for f, sides in pairs if sides in rows]
    return np.array([f for f, _ in known]), np.array([b for _, b in known])


def test_channels_that_have_not_grown_are_those_of_the_blocks():
    for blocks in (toy()[2], cut()):
        channels = tables(blocks, features_of(blocks), INITIAL)
        same = channelled(blocks, {name: table.start for name, table in channels.items()})
        np.testing.assert_allclose(same.blocks.values, blocks.blocks.values, rtol=1e-7)
        assert channelled(blocks, {}).blocks.values.tobytes() == blocks.blocks.values.tobytes()


def test_channels_without_blocks_are_empty():
    found = tables(BlockSet.of([]), features_of(BlockSet.of([])), INITIAL)
    assert [len(table.start) for table in found.values()] == [0, 0]


def test_what_is_no_channel_is_refused():
    blocks = toy()[2]
    start = tables(blocks, features_of(blocks), INITIAL)["PhraseST"].start
    with pytest.raises(InputError, match="LexST is no channel; expected PhraseST or PhraseTS"):
        channelled(blocks, {"LexST": start})
    with pytest.raises(InputError, match=rf"PhraseST: 3 probabilities for {len(start)} entries; expected one each"):
        channelled(blocks, {"PhraseST": start[:3]})
    with pytest.raises(InputError, match=r"PhraseST: 0\.0 is among its probabilities; expected numbers above 0"):
        channelled(blocks, {"PhraseST": np.where(np.arange(len(start)) == 5, 0.0, start)})
    by_hand = BlockSet.of([("a", "A", 2, {}), ("b", "B", 1, {}), ("b", "A", 1, {"PhraseST": -0.1})])
    with pytest.raises(InputError, match=r"PhraseST of the blocks of 'A' sums to 1\.90484; expected probabilities"):
        tables(by_hand, features_of(by_hand), INITIAL)


# The command


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("condense")
    toy()[2].write(place / "toy.blocks")
    own = {name: INITIAL[name] for name in decoder(toy()[2], "fourteen").names}
    given = own | learnt() | {"P1/no/block": 1.0, "W1/no/word": 2.0, "T1/a/b/c": 0.0}
    weights.write(place / "learnt.weights", Weights.from_dict(given))
    return place


def test_the_command_writes_what_the_library_makes(folder):
    asked = "condense", folder / "toy.blocks", "--weights", folder / "learnt.weights", "--out", folder / "new.blocks"
    told = rampion(*asked, "--save-weights", folder / "start.weights")
    expected = condensed(toy()[2], learnt())
    np.testing.assert_array_equal(BlockSet.read(folder / "new.blocks").blocks.values, expected.blocks.values)
    own = {name: INITIAL[name] for name in decoder(toy()[2], "fourteen").names}
    assert dict(weights.read(folder / "start.weights")) == own | dict.fromkeys(LEARNT, 1.0)
    counts = Counter(name[:2] for name, weight in learnt().items() if weight)
    rows = [line.split(maxsplit=3) for line in told.out.splitlines()[1:]]
    assert rows[0] == ["P1", str(counts["P1"]), "1", "LearntPairs"]
    assert rows[4] == ["H1", str(counts["H1"]), "0", "LearntBackM, S, D"]
    facts = json.loads(rampion(*asked, "--json").out)
    assert {label: row["condensed"] for label, row in facts.items()} == counts
    assert {label: row["strange"] for label, row in facts.items() if row["strange"]} == {"P1": 1, "W1": 1}
    again = rampion("blocks", folder / "new.blocks", "--show", expected.text(2)[0], "--json")
    row = next(row for row in json.loads(again.out) if row["target"] == expected.text(2)[1])
    assert [row[name] for name in LEARNT] == expected.blocks.values[2, len(COLUMNS) :].astype(float).tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"LM": 0.5, "P3/a/b": 1.0}, "P3/a/b has a weight, but no column takes it"),
        ({"W1/<unk>/<unk>": -1e39}, "W1/<unk>/<unk> is -1e+39; expected a number that single precision holds"),
    ],
)
def test_the_command_says_what_is_wrong_and_writes_nothing(folder, given, said):
    weights.write(folder / "bad.weights", Weights.from_dict(given))
    out = folder / "bad.blocks"
    found = rampion("condense", folder / "toy.blocks", "--weights", folder / "bad.weights", "--out", out)
    assert (found.code, out.exists()) == (2, False)
    assert said in " ".join(found.err.split())


def test_the_command_refuses_condensed_blocks_and_what_is_no_weights(folder):
    condensed(toy()[2], {}).write(folder / "twice.blocks")
    found = rampion("condense", folder / "twice.blocks", "--weights", folder / "learnt.weights", "--out", folder / "x")
    assert found.code == 2
    assert "condensed already" in found.err
    found = rampion("decode", folder / "learnt.weights", "--blocks", folder / "toy.blocks", "--features", "learnt")
    assert found.code == 2
    assert "need condensed blocks" in " ".join(found.err.split())
