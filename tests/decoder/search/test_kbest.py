"""The k best derivations of any graph are those of an enumeration of all its paths."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from bench_kbest import beam
from derivations import EVERY, WAYS, features, scored, task, weighed
from exhaustive import space
from graphs import everything, graphs, listed, same_bits, speech
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import Blocks
from rampion.decoder.models.options import NOTHING, Graph, Options
from rampion.decoder.search.kbest import Said, kbest, said
from rampion.decoder.search.lattice import SCHEMA
from rampion.decoder.search.model import Model
from rampion.decoder.search.search import Search, search

from rampion.errors import RecipeError
from rampion.store.text import Texts


def expected(graph, k, spoken=None, looks=20):
    lists = []
    for sentence in range(len(graph.bounds) - 1):
        rows, texts = [], set()
        for look, (score, path) in enumerate(everything(graph, sentence)):
            steps = tuple(int(graph.options[e]) for e in path if graph.options[e] != NOTHING)
            if spoken is not None:
                text = sum((spoken.says(step) for step in steps), ())
                if text in texts or look >= k * looks:
                    continue
                texts.add(text)
            rows.append((float(score), steps))
        lists.append(rows[:k])
    return lists


@pytest.fixture(params=["_core", "_reference"])
def kernel(request, monkeypatch):
    monkeypatch.setattr(_kernels, "kbest", import_module(f"rampion.decoder.{request.param}.kbest").kbest)


seeds = st.integers(0, 2**32).map(np.random.default_rng)


@pytest.mark.parametrize("package", ["_core", "_reference"])
@given(seeds, st.booleans(), st.integers(2, 9), st.integers(1, 5))
def test_every_derivation_in_order(package, random, ties, nodes, edges):
    graph = graphs(random, 3, nodes, edges, ties)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "kbest", import_module(f"rampion.decoder.{package}.kbest").kbest)
        for k in (1, 2, 7, 1500):
            assert listed(kbest(graph, k)) == expected(graph, k)


@pytest.mark.parametrize("package", ["_core", "_reference"])
@given(seeds, st.booleans(), st.integers(1, 8), st.integers(1, 4))
def test_the_best_of_those_that_say_the_same(package, random, ties, k, looks):
    graph, spoken = graphs(random, 3, 7, 4, ties), speech(random)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "kbest", import_module(f"rampion.decoder.{package}.kbest").kbest)
        assert listed(kbest(graph, k, spoken, looks)) == expected(graph, k, spoken, looks)


@pytest.mark.parametrize("distinct", [False, True])
def test_kernel_and_twin_agree_where_rooms_are_doubled(distinct):
    random = np.random.default_rng(1)
    graph = beam(random, 3, 12, 20, 6)
    count = len(graph.options)
    phrases = random.integers(0, 300, count).astype(np.uint32)
    spoken = Said(phrases, random.integers(0, 9, 600).astype(np.uint32), np.arange(0, 601, 2), np.zeros(0, np.uint32))
    found = []
    for package in ("_core", "_reference"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_kernels, "kbest", import_module(f"rampion.decoder.{package}.kbest").kbest)
            found.append(kbest(graph, 1500, spoken if distinct else None))
    same_bits(*found)
    assert np.diff(found[0].bounds).tolist() == [1500] * 3


@given(seeds)
def test_twins_agree_in_the_sign_of_zero(random):
    graph, found = graphs(random, 4, 5, 3, True), []
    for package in ("_core", "_reference"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_kernels, "kbest", import_module(f"rampion.decoder.{package}.kbest").kbest)
            found.append(kbest(graph, 20))
    same_bits(*found)


def test_more_is_the_same_and_then_more():
    graph = beam(np.random.default_rng(2), 2, 10, 10, 4)
    few, many = listed(kbest(graph, 10)), listed(kbest(graph, 200))
    assert few == [rows[:10] for rows in many]


def test_a_chain_as_long_as_a_book_needs_no_stack():
    size = 50_000
    origins = np.repeat(np.arange(size - 1, dtype=np.uint32), 2)
    edge_bounds = np.concatenate([[0], np.arange(0, 2 * size, 2)])
    scores = np.tile([0.0, -1.0], size - 1)
    found = kbest(Graph(np.array([0, size]), edge_bounds, origins, origins.copy(), scores), 3)
    assert found.scores.tolist() == [0.0, -1.0, -1.0]


def test_sentences_without_derivations_have_none(kernel):
    empty = np.zeros(0, np.uint32)
    graph = Graph(np.array([0, 0, 1, 3, 5]), np.array([0, 0, 0, 0, 0, 1]), empty[:0], empty, np.zeros(0))
    graph = graph._replace(origins=np.array([3], np.uint32), options=np.array([7], np.uint32), scores=np.array([0.5]))
    assert listed(kbest(graph, 5)) == [[], [], [], [(0.5, (7,))]]
    none = Graph(np.array([0]), np.array([0]), empty, empty, np.zeros(0))
    assert listed(kbest(none, 5)) == []


def test_identity_blocks_say_the_words_of_the_sentence():
    blocks = Blocks(
        *[np.zeros(0, np.uint32)] * 2, np.array([0, 1, 7, 8], np.uint32), np.array([0, 1, 2, 4]),
        *[np.zeros(0, np.uint32)] * 2, np.array([0, 1, 2], np.uint32), *[np.zeros(0, np.uint32)] * 3,
    )  # fmt: skip
    options = Options(
        2, np.array([0, 1, 2, 3, 3]), np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32),
        np.array([0, 2, 0], np.uint32),
    )  # fmt: skip
    spoken = said(options, blocks, np.array([55, 66], np.uint32))
    assert [spoken.says(option) for option in range(3)] == [(55,), (7, 8), (66,)]
    assert blocks.targets.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("k", "looks"), [(0, 20), (5, 0)])
def test_none_are_refused(k, looks):
    with pytest.raises(RecipeError, match=f"the {k} best of {looks} \\* {k} derivations are none"):
        kbest(beam(np.random.default_rng(2), 1, 2, 2, 2), k, looks=looks)


@pytest.mark.parametrize("seed", range(len(WAYS)))
def test_an_exact_search_has_the_k_best_of_the_whole_space(seed):
    found, way = task(seed, [1, 3, 5], most=2), WAYS[seed]
    keys, dense = weighed(found, EVERY, seed, True, way)
    model = Model.of(found.blocks, EVERY, keys, dense, within_limit=way.limit > 0)
    graph = search(found.sentences, found.options, model, Search.exact(way))
    texts = Texts.from_strings([""] * len(found.options.blocks))
    SCHEMA.prove(graph._asdict() | {"blob": texts.blob, "text_bounds": texts.bounds}, {})
    for s, rows in enumerate(listed(kbest(graph, 40))):
        everything = {
            steps: scored(model, keys, dense, *features(found, EVERY, s, steps))
            for steps, _ in space(found.sentences, found.options, s, way)
        }
        assert [score for score, _ in rows] == pytest.approx(sorted(everything.values(), reverse=True)[:40], abs=1e-9)
        assert [everything[steps] for _, steps in rows] == pytest.approx([score for score, _ in rows], abs=1e-9)
