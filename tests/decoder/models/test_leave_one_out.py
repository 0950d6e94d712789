"""Leaving one out (S11.5): a training sentence is decoded as if it had not been among those that blocks are from."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np
import pytest
from command import rampion
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder.alignment import links
from rampion.decoder.alignment.links import Alignment
from rampion.decoder.block_decoder import INITIAL, BlockDecoder
from rampion.decoder.models import kneser
from rampion.decoder.models.blocks import COLUMNS, BlockSet
from rampion.decoder.models.extract import Settings, build
from rampion.decoder.models.leave_one_out import LENGTH, STANDARD, LeftOut, Penalty
from rampion.decoder.search.search import Search
from systems import own

from rampion.errors import InputError, RecipeError
from rampion.formats import load_nbest, texts
from rampion.store.features import Weights
from rampion.store.text import Texts

lined = Texts.from_strings

START = Weights.from_dict(INITIAL)
ALL = "fourteen,JumpOut,JumpIn,ModelOne,all"
SETTINGS = [
    Settings(),
    Settings(longest=3, loose=False),
    Settings(longest=3, least=2),
    Settings(longest=4, top=2),
    Settings(ratio=2.0, punctuation=False),
]


def invented(seed, sentences=25):
    """Aligned text of few words, some of them punctuation and one of them special, with sentences that stand twice."""
    draw = np.random.default_rng(seed)
    sources = [" ".join(draw.choice(["a", "b", "c", ",", "<unk>"], draw.integers(0, 6))) for _ in range(sentences)]
    targets = [" ".join(draw.choice(["A", "B", "C", "."], draw.integers(0, 6))) for _ in range(sentences)]
    sources, targets = sources + sources[:5], targets + targets[:3] + targets[:2]
    points = [
        [
            (j, i)
            for j in range(len(source.split()))
            for i in range(len(target.split()))
            if (j == i or draw.random() < 0.1) and draw.random() < 0.9
        ]
        for source, target in zip(sources, targets, strict=True)
    ]
    return Texts.from_strings(sources), Texts.from_strings(targets), Alignment.of(points)


def without(corpus, n):
    """The corpus, pair n left out."""
    source, target, alignment = corpus
    rows = np.array([row for row in range(len(source)) if row != n])
    return source.take(rows), target.take(rows), Alignment.of([alignment[row] for row in rows.tolist()])


def rebuilt(blocks, corpus, n, settings, penalty):
    """The blocks with the shares that they have in the corpus without pair n; the penalty for those that vanish."""
    left = build(*without(corpus, n), replace(settings, least=1, top=0)) if len(corpus[0]) > 1 else BlockSet.of([])
    shares = {left.text(b): left.blocks.values[b, :2] for b in range(2, len(left.blocks.counts))}
    values = blocks.blocks.values.copy()
    for b in range(2, len(values)):
        source, target = blocks.text(b)
        lost = penalty.fixed + penalty.word * len(f"{source} {target}".split())
        values[b, :2] = shares.get((source, target), lost)
    return BlockSet(blocks.vocabularies, blocks.blocks._replace(values=values), blocks.jumps, blocks.meta)


def decoder(blocks, target, features=ALL, **settings):
    lm = kneser.estimate(target, 2).lm if len(target) else None
    return BlockDecoder(blocks, lm, features, Search(beam=20, pops=200), **settings)


class List(NamedTuple):
    texts: list[str]
    values: list[list[float]]
    keys: list[bytes]
    scores: list[float]


def told(system, lines, weights, k):
    """The list of every line."""
    found = []
    model = system.model(weights)
    for part in system.search(lines, model, lambda batch, graph: system.decoded(batch, system.kbest(batch, graph, k))):
        for first, last in pairwise(part.bounds.tolist()):
            rows = range(first, last)
            keys = [part.keys[slice(*part.key_bounds[[d, d + 1]])].tobytes() for d in rows]
            texts = [part.texts[d] for d in rows]
            found.append(List(texts, part.values[first:last].tolist(), keys, part.scores[first:last].tolist()))
    return found


def settled(listed):
    """Text, values and keys of all that scores more than the last, whose rivals may have had no place: in any order."""
    rows = zip(listed.scores, listed.texts, listed.values, listed.keys, strict=True)
    return sorted(row[1:] for row in rows if row[0] > listed.scores[-1] + 1e-9)


def exact(blocks, target):
    return replace(decoder(blocks, target), settings=Search.exact())


@pytest.mark.parametrize("penalty", [STANDARD, LENGTH, Penalty(-3.0, -0.25)])
@pytest.mark.parametrize("settings", SETTINGS)
def test_every_sentence_is_decoded_as_if_blocks_were_made_without_it(settings, penalty):
    corpus = source, target, _ = invented(11)
    blocks = build(*corpus, settings)
    system = exact(blocks, target).leaving_out(*corpus, penalty)
    weights = Weights.from_dict({**INITIAL, "ModelOne": 0.3, "JumpOut": 0.1})
    lists = told(system, source, weights, 40)
    batch = system.batch(source, 0, len(source))
    edges = batch.options.spans[batch.sentences.bounds * batch.options.longest]
    moved = 0
    for n, line in enumerate(source):
        other = rebuilt(blocks, corpus, n, settings, penalty)
        mine = batch.options.blocks[edges[n] : edges[n + 1]]
        np.testing.assert_array_equal(batch.options.rates[edges[n] : edges[n + 1]], other.blocks.values[mine, :2])
        moved += np.count_nonzero(other.blocks.values[mine, :2] != blocks.blocks.values[mine, :2])
        expected = told(exact(other, target), Texts.from_strings([line]), weights, 40)[0]
        np.testing.assert_allclose(lists[n].scores, expected.scores, rtol=1e-12)
        assert settled(lists[n]) == settled(expected)
    assert moved


def golden():
    """Three pairs: "a" is A twice and B once, "b" is B once; "a b" is A B once; all links are straight."""
    source, target = Texts.from_strings(["a b", "a", "a"]), Texts.from_strings(["A B", "A", "B"])
    return source, target, Alignment.of([[(0, 0), (1, 1)], [(0, 0)], [(0, 0)]])


def test_a_small_example_by_hand():
    corpus = golden()
    blocks = build(*corpus)
    rows = {blocks.text(b): b for b in range(2, len(blocks.blocks.counts))}
    assert {text: int(blocks.blocks.counts[b]) for text, b in rows.items()} == {
        ("a", "A"): 2,
        ("a", "B"): 1,
        ("b", "B"): 1,
        ("a b", "A B"): 1,
    }
    batch = decoder(blocks, corpus[1]).leaving_out(*corpus).batch(corpus[0], 0, 3)
    edges = batch.options.spans[batch.sentences.bounds * batch.options.longest]
    found = [
        {blocks.text(batch.options.blocks[o]): batch.options.rates[o].tolist() for o in range(first, last)}
        for first, last in pairwise(edges.tolist())
    ]
    expected = [
        # a-A 1 of A's 1 and of a's 2; a-B 1 of B's 1 and of a's 2; b-B and a b-A B nowhere else
        {("a", "A"): (1, 1 / 2), ("a", "B"): (1, 1 / 2), ("b", "B"): None, ("a b", "A B"): None},
        {("a", "A"): (1, 1 / 2), ("a", "B"): (1 / 2, 1 / 2)},
        {("a", "A"): (1, 1), ("a", "B"): None},
    ]
    for have, want in zip(found, expected, strict=True):
        assert have == {
            text: [-12.0, -12.0] if shares is None else [np.float32(log(share)) for share in shares]
            for text, shares in want.items()
        }


def test_scores_are_those_of_the_features_listed():
    *corpus, blocks = own()
    lines = list(corpus[0])[:30]
    system = decoder(blocks, corpus[1]).leaving_out(*corpus, LENGTH)
    lists = system.decode(lined(lines), START, 5)
    weights = Weights(lists.features, np.random.default_rng(3).integers(-8, 9, len(lists.features)) / 8)
    lists = system.decode(lined(lines), weights, 10)
    np.testing.assert_allclose(lists.score(weights.onto(lists.features, lenient=True)), lists.scores, rtol=0, atol=1e-9)


def test_threads_and_batches_change_no_bit():
    *corpus, blocks = own()
    lists = [
        decoder(blocks, corpus[1], threads=threads).leaving_out(*corpus).decode(corpus[0], START, 7)
        for threads in (1, 3)
    ]
    for one, other in zip(*(each.arrays().values() for each in lists), strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_sentence_that_gave_no_block_is_decoded_as_always():
    source, target, points = invented(4)
    mute = Alignment.of([points[n] if n % 2 else [] for n in range(len(points))])
    blocks = build(source, target, mute)
    usual = decoder(blocks, target)
    lists = [told(each, source, START, 20) for each in (usual, usual.leaving_out(source, target, mute))]
    assert lists[0][::2] == lists[1][::2]
    assert lists[0][1::2] != lists[1][1::2]


def test_some_of_the_pairs_will_do():
    *corpus, blocks = own()
    rows = np.arange(70, 90)
    usual = decoder(blocks, corpus[1])
    some = *(side.take(rows) for side in corpus[:2]), Alignment.of([corpus[2][row] for row in rows.tolist()])
    first = corpus[0].take(np.arange(90))
    assert told(usual.leaving_out(*some), some[0], START, 5) == told(usual.leaving_out(*corpus), first, START, 5)[70:]


def test_leaving_out_keeps_templates_of_one_s_own():
    *corpus, blocks = own()
    system = decoder(blocks, corpus[1], "fourteen")
    system.templates.add("Long", lambda source, target: ["yes"] if len(target) > len(source) else [])
    assert system.leaving_out(*corpus).weighs({"Long/yes": 1.0})


def test_what_is_not_of_the_text_is_refused():
    corpus = source, target, points = golden()
    blocks = build(*corpus)
    usual = decoder(blocks, target)
    with pytest.raises(InputError, match=r"segment 1: is not the source of pair 1.*in their order"):
        usual.leaving_out(*corpus).decode(lined(["a b", "b", "a"]), START, 1)
    with pytest.raises(InputError, match="segment 3: there are 3 pairs to leave out"):
        usual.leaving_out(*corpus).decode(lined([*source, "a"]), START, 1)
    with pytest.raises(InputError, match="target of pair 1 has the word 'D', which is not in the blocks' vocabulary"):
        usual.leaving_out(source, Texts.from_strings(["A B", "A D", "B"]), points)
    others = Texts.from_strings(["b a"]), Texts.from_strings(["B A"]), Alignment.of([[(0, 0), (1, 1)]])
    with pytest.raises(InputError, match="pair 0: holds phrases that the blocks do not"):
        usual.leaving_out(*others).decode(lined(["b a"]), START, 1)
    with pytest.raises(InputError, match="segment 0: there are 0 pairs to leave out"):
        usual.leaving_out(lined([]), lined([]), Alignment.of([])).decode(lined(["a"]), START, 1)
    often = Texts.from_strings(["a", "a", "b"]), Texts.from_strings(["A", "A", "B"]), Alignment.of([[(0, 0)]] * 3)
    others = (
        Texts.from_strings(["a b b b"]),
        Texts.from_strings(["A A A A"]),
        Alignment.of([[(n, n) for n in range(4)]]),
    )
    with pytest.raises(InputError, match="pair 0: holds phrases that the blocks do not, or not so often"):
        decoder(build(*often, Settings(longest=1)), target).leaving_out(*others).decode(lined(["a b b b"]), START, 1)
    twice = Texts.from_strings(["b b"]), Texts.from_strings(["B B"]), Alignment.of([[(0, 0), (1, 1)]])
    blocks = build(*corpus, Settings(least=1, longest=1))
    with pytest.raises(InputError, match="pair 0: holds phrases that the blocks do not"):
        decoder(blocks, target).leaving_out(*twice).decode(lined(["b b"]), START, 1)


@given(seed=st.integers(0, 2**30), size=st.integers(1, 7))
def test_totals_come_back_from_single_precision(seed, size):
    draw = np.random.default_rng(seed)
    total = int(10 ** draw.uniform(size - 1, size)) + 1
    counts = np.minimum(total, np.maximum(1, (total * draw.dirichlet(np.ones(4))).astype(np.int64)))
    share = {n: {"PhraseST": log(count / total)} for n, count in enumerate(counts.tolist())}
    blocks = BlockSet.of([(f"a{n}", "A", int(counts[n]), share[n]) for n in share])
    found = LeftOut.of(
        BlockSet(blocks.vocabularies, blocks.blocks, blocks.jumps, {"settings": {}}),
        Texts.from_strings([]), Texts.from_strings([]), Alignment.of([]),
    ).totals[0][2]  # fmt: skip
    assert found == (total if size < 7 else pytest.approx(total, rel=1e-6))


def test_blocks_without_counts_of_a_text_are_refused():
    corpus = golden()
    made = build(*corpus)
    by_hand = BlockSet.of([("a", "A", 2, {"PhraseST": -1.0})])
    with pytest.raises(InputError, match="do not tell how they were extracted"):
        decoder(by_hand, corpus[1]).leaving_out(*corpus)
    for column, name in enumerate(COLUMNS[:2]):
        values = made.blocks.values.copy()
        values[2:, column] = -1.0
        other = BlockSet(made.vocabularies, made.blocks._replace(values=values), made.jumps, made.meta)
        with pytest.raises(InputError, match=f"{name} of the blocks is no share of their counts"):
            decoder(other, corpus[1]).leaving_out(*corpus)
    with pytest.raises(InputError, match="2 source and 3 target sentences"):
        decoder(made, corpus[1]).leaving_out(corpus[0].take(np.arange(2)), *corpus[1:])


@pytest.mark.parametrize(("fixed", "word", "name"), [(float("-inf"), 0.0, "fixed"), (0.0, float("nan"), "word")])
def test_a_penalty_is_finite(fixed, word, name):
    with pytest.raises(RecipeError, match=f"{name} is .*; a penalty is a finite number"):
        Penalty(fixed, word)


def test_the_fingerprint_knows_what_is_left_out():
    *corpus, blocks = own()
    usual = decoder(blocks, corpus[1])
    some = usual.leaving_out(
        *(side.take(np.arange(9)) for side in corpus[:2]), Alignment.of([corpus[2][n] for n in range(9)])
    )
    systems = [usual, usual.leaving_out(*corpus), usual.leaving_out(*corpus, LENGTH), some]
    prints = [system.fingerprint for system in systems]
    assert len(set(prints)) == len(systems)
    assert usual.leaving_out(*corpus).fingerprint == prints[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    *corpus, blocks = own()
    place = tmp_path_factory.mktemp("leaving")
    rows = np.arange(20)
    blocks.write(place / "toy.blocks")
    kneser.estimate(corpus[1], 2).lm.write(place / "toy.lm")
    for name, side in zip(("src", "tgt"), corpus, strict=False):
        texts.write(place / name, side.take(rows))
    links.write(place / "points", Alignment.of([corpus[2][row] for row in rows.tolist()]))
    return place


def run(folder, *arguments, command="decode"):
    return rampion(command, folder / "src", "--blocks", folder / "toy.blocks", "--lm", folder / "toy.lm", *arguments)


@pytest.mark.parametrize(
    ("asked", "penalty"), [([], STANDARD), (["--penalty", -3], Penalty(-3.0)), (["--penalty", "length"], LENGTH)]
)
def test_the_command_writes_what_the_library_finds(folder, asked, penalty):
    *corpus, blocks = own()
    leaving = ["--leave-one-out", folder / "tgt", "--align", folder / "points", "--beam", 20, *asked]
    run(folder, "--nbest", folder / "train.store", "-k", 5, *leaving)
    lines = list(corpus[0])[:20]
    expected = decoder(blocks, corpus[1], "fourteen").leaving_out(*corpus, penalty).decode(lined(lines), START, 5)
    listed = load_nbest(folder / "train.store")
    for one, other in zip(listed.arrays().values(), expected.arrays().values(), strict=True):
        np.testing.assert_array_equal(one, other)
    facts = json.loads(run(folder, "--line", 3, "--json", *leaving, command="explain").out)
    assert facts["source"] == lines[2].split()
    fired = [step["fired"].get("PhraseST", 0.0) for step in facts["blocks"]]
    shares = expected.gather(np.eye(expected.size)[expected.bounds[2]])[expected.features.ids["PhraseST"]]
    assert sum(fired) == pytest.approx(shares, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--leave-one-out", "tgt"], "tgt: needs the alignment of its text; name it with --align"),
        (["--align", "points"], "--align is for --leave-one-out; name the translations"),
        (["--penalty", "length"], "--penalty is for --leave-one-out; name the translations"),
        (["--leave-one-out", "tgt", "--align", "points", "--penalty", "much"], "expected a number, or length"),
        (
            ["--leave-one-out", "short", "--align", "points"],
            "has 1 lines for 20 to decode; expected their translations",
        ),
    ],
)
def test_the_command_says_what_is_wrong_in_a_sentence(folder, arguments, said):
    (folder / "short").write_text("one\n")
    found = run(folder, *(folder / name if (folder / name).exists() else name for name in arguments))
    assert found.code == 2
    assert said in " ".join(found.err.split())
