"""Rescoring and lattices, beside an enumeration of all paths."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest
from bench_kbest import beam
from graphs import everything, graphs, listed, same_bits, speech
from hypothesis import given
from hypothesis import strategies as st

from decoder import _kernels, cube
from decoder.blocks import SPECIAL
from decoder.cube import NonLocal, rescored
from decoder.kbest import Said, kbest
from decoder.options import NOTHING
from rampion.errors import InputError, RecipeError
from rampion.text import Texts
from rampion.vocab import Names

seeds = st.integers(0, 2**32).map(np.random.default_rng)
VOCABULARY = [*SPECIAL, *"abcdefghi"]


def names_of(words=VOCABULARY):
    names = Names()
    names.intern_all(Texts.of(words))
    return names


def weights(random, ties):
    """Weights of n-grams and of triggers of a small vocabulary, and of words that nobody knows."""
    words = [*VOCABULARY, "stranger"]

    def some(count, size):
        keys = {tuple(random.choice(words, size).tolist()) for _ in range(count)}
        return {key: float(random.integers(-1, 2) if ties else random.normal()) for key in sorted(keys)}

    return some(8, 1) | some(40, 2) | some(40, 3), some(30, 2)


def gain_of(ngrams, triggers):
    """The definition: every n-gram that ends at a position, every trigger of its word that stands before."""

    def gain(history, words):
        total, text = 0.0, [VOCABULARY[word] for word in history + words]
        for j in range(len(history), len(text)):
            for size in (1, 2, 3):
                if size <= j + 1:
                    total += ngrams.get(tuple(text[j - size + 1 : j + 1]), 0.0)
            for earlier in dict.fromkeys(text[:j]):
                total += triggers.get((earlier, text[j]), 0.0)
        return total

    return gain


def brute(graph, sentence, spoken, gain):
    """All derivations of a sentence with their scores, best first."""
    rows = []
    last = graph.bounds[sentence + 1] - 1
    targets = np.repeat(np.arange(len(graph.edge_bounds) - 1), np.diff(graph.edge_bounds))
    for _, path in everything(graph, sentence):
        total, history = 0.0, (1,)
        for e in path:
            option = int(graph.options[e])
            words = (spoken.says(option) if option != NOTHING else ()) + (2,) * int(targets[e] == last)
            total = total + (graph.scores[e] + gain(history, words))
            history += words
        rows.append((total, tuple(int(graph.options[e]) for e in path if graph.options[e] != NOTHING), history))
    return sorted(rows, key=lambda row: -row[0])


@contextmanager
def kernels(package):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "cube", import_module(f"decoder.{package}.cube").cube)
        patch.setattr(_kernels, "distances", import_module(f"decoder.{package}.passes").distances)
        yield


@pytest.mark.parametrize("package", ["_core", "_reference", "function"])
@given(seeds, st.booleans(), st.integers(1, 9))
def test_rescoring_is_exact_if_nodes_keep_all_paths(package, random, ties, k):
    graph, spoken, (ngrams, triggers) = graphs(random, 3, 7, 4, ties), speech(random), weights(random, ties)
    gain = gain_of(ngrams, triggers)
    features = gain if package == "function" else NonLocal.of(ngrams, triggers, names_of())
    with kernels("_core" if package == "function" else package):
        found = listed(rescored(graph, spoken, features, k, 10_000))
        one_each = listed(rescored(graph, spoken, features, k, 10_000, True, 10_000))
    for sentence, (rows, distinct) in enumerate(zip(found, one_each, strict=True)):
        paths = brute(graph, sentence, spoken, gain)
        assert [score for score, _ in rows] == [score for score, _, _ in paths[:k]]
        assert set(rows) <= {(score, steps) for score, steps, _ in paths}
        best = {}
        for score, _, text in paths:
            best.setdefault(text, score)
        assert [score for score, _ in distinct] == list(best.values())[:k]


@given(seeds, st.booleans(), st.integers(1, 6), st.booleans())
def test_rescoring_kernel_is_its_twin_and_the_function(random, ties, n, distinct):
    graph, spoken, (ngrams, triggers) = graphs(random, 3, 9, 5, ties), speech(random), weights(random, ties)
    features = NonLocal.of(ngrams, triggers, names_of())
    found = []
    for package in ("_core", "_reference"):
        with kernels(package):
            found.append(rescored(graph, spoken, features, 7, n, distinct, 3))
    found.append(rescored(graph, spoken, gain_of(ngrams, triggers), 7, n, distinct, 3))
    same_bits(found[0], found[1])
    same_bits(found[0], found[2])


def test_rescoring_doubles_its_rooms():
    random = np.random.default_rng(4)
    graph = beam(random, 2, 30, 8, 4)
    spoken = Said(
        random.integers(0, 30, len(graph.options)).astype(np.uint32),
        random.integers(3, 12, 300).astype(np.uint32), np.arange(0, 301, 10), np.zeros(0, np.uint32),
    )  # fmt: skip
    features = NonLocal.of(*weights(random, False), names_of())
    found = []
    for package in ("_core", "_reference"):
        with kernels(package):
            found.append(rescored(graph, spoken, features, 300, 40, True))
    same_bits(*found)
    assert np.diff(found[0].bounds).tolist() == [300, 300]


def test_without_features_rescoring_is_k_best():
    graph = beam(np.random.default_rng(5), 2, 8, 6, 4)
    spoken = Said(np.zeros(len(graph.options), np.uint32), *([np.zeros(0, np.uint32)] * 2), np.zeros(0, np.uint32))
    spoken = spoken._replace(bounds=np.zeros(2, np.int64))
    same_bits(rescored(graph, spoken, NonLocal.of({}, {}, names_of()), 50, 50), kbest(graph, 50))


@pytest.mark.parametrize(
    ("ngrams", "triggers", "message"),
    [
        (
            {("a", "b", "c", "d"): 1.0},
            {},
            "n-gram .a b c d. has 4 words and .*; expected 1 or 2 or 3 words",
        ),
        ({("a",): np.nan}, {}, "n-gram 'a' has 1 words and the weight nan; .* a finite number"),
        ({}, {("a",): 1.0}, "trigger 'a' has 1 words and the weight 1.0; expected 2 words"),
    ],
)
def test_features_that_cannot_be(ngrams, triggers, message):
    with pytest.raises(InputError, match=message):
        NonLocal.of(ngrams, triggers, names_of())


def test_keys_have_room_for_so_many_words(monkeypatch):
    monkeypatch.setattr(cube, "BITS", 3)
    with pytest.raises(InputError, match="a feature has a word of number 6; keys have room for the first 6"):
        NonLocal.of({("d",): 1.0}, {}, names_of())


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 0)])
def test_rescoring_to_nothing_is_refused(k, n):
    with pytest.raises(RecipeError, match=f"k = {k}, n = {n} and looks = 20 must be 1 or more"):
        rescored(beam(np.random.default_rng(2), 1, 2, 2, 2), speech(np.random.default_rng(2)), max, k, n)
