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
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import SPECIAL
from rampion.decoder.models.options import NOTHING, Graph
from rampion.decoder.search import cube, lattice
from rampion.decoder.search.cube import NonLocal, rescored
from rampion.decoder.search.kbest import Said, kbest
from rampion.decoder.search.lattice import Lattice
from speeds import examples

from rampion.errors import FormatError, InputError, RecipeError, StoreError
from rampion.formats import container
from rampion.store.names import Names
from rampion.store.text import Texts

seeds = st.integers(0, 2**32).map(np.random.default_rng)
VOCABULARY = [*SPECIAL, *"abcdefghi"]


def names_of(words=VOCABULARY):
    names = Names()
    names.intern_all(Texts.from_strings(words))
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
        patch.setattr(_kernels, "cube", import_module(f"rampion.decoder.{package}.cube").cube)
        patch.setattr(_kernels, "distances", import_module(f"rampion.decoder.{package}.passes").distances)
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
    graph = beam(random, 1, 30, 8, 4)
    spoken = Said(
        random.integers(0, 60, len(graph.options)).astype(np.uint32),
        random.integers(3, 12, 300).astype(np.uint32), np.arange(0, 301, 5), np.zeros(0, np.uint32),
    )  # fmt: skip
    features = NonLocal.of(*weights(random, False), names_of())
    found = []
    for package in ("_core", "_reference"):
        with kernels(package):
            found.append(rescored(graph, spoken, features, 300, 40, True))
    same_bits(*found)
    assert np.diff(found[0].bounds).tolist() == [300]


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


@given(seeds, st.booleans())
def test_distances_and_shares_are_those_of_all_paths(random, ties):
    graph, found = graphs(random, 3, 7, 4, ties), []
    for package in ("_core", "_reference"):
        with kernels(package):
            found.append([*lattice.distances(graph), *lattice.distances(graph, True)])
    same_bits(*found)
    assert lattice.paths(graph) == [len(everything(graph, s)) for s in range(3)]
    forward, _, soft, _ = found[0]
    shares = np.zeros(len(graph.options))
    for sentence in range(3):
        rows, goal = everything(graph, sentence), graph.bounds[sentence + 1] - 1
        masses = np.exp([score for score, _ in rows])
        assert forward[goal] == max((score for score, _ in rows), default=-np.inf)
        assert np.exp(soft[goal]) == pytest.approx(masses.sum())
        for mass, (_, path) in zip(masses, rows, strict=True):
            shares[list(path)] += mass / masses.sum()
    assert lattice.posteriors(graph) == pytest.approx(shares)


def rows_of(graph, sentence):
    return [(score, tuple(graph.options[list(path)].tolist())) for score, path in everything(graph, sentence)]


@given(seeds, st.sampled_from([0.0, 0.5, 1.0, 3.0, np.inf]))
def test_pruning_by_score_keeps_every_path_within_the_margin(random, margin):
    graph = graphs(random, 3, 7, 4, True)
    smaller = lattice.pruned(graph, margin)
    arrays = {"blob": np.frombuffer(b"a", np.uint8), "text_bounds": np.array([0, 1])}
    lattice.SCHEMA.prove(smaller._replace(options=smaller.options * 0)._asdict() | arrays, {})
    for sentence in range(3):
        rows, kept = rows_of(graph, sentence), rows_of(smaller, sentence)
        near = [row for row in rows if row[0] >= rows[0][0] - margin]
        assert [row for row in kept if row[0] >= rows[0][0] - margin] == near
        edges = {e for score, path in everything(graph, sentence) if score >= rows[0][0] - margin for e in path}
        assert np.diff(smaller.edge_bounds[smaller.bounds])[sentence] == len(edges)


@given(seeds, st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_pruning_by_posterior_keeps_the_best_path_and_no_dead_end(random, posterior):
    graph = graphs(random, 3, 7, 4)
    smaller = lattice.pruned(graph, posterior=posterior)
    assert listed(kbest(smaller, 1)) == listed(kbest(graph, 1))
    forward, backward = lattice.distances(smaller)
    assert np.isfinite(forward[smaller.origins] + backward[lattice.targets(smaller)]).all()
    same_bits(lattice.pruned(smaller), smaller)
    for sentence in range(3):
        assert set(rows_of(smaller, sentence)) <= set(rows_of(graph, sentence))


@pytest.mark.parametrize(("margin", "posterior"), [(-1.0, 0.0), (np.nan, 0.0), (1.0, 1.5)])
def test_what_cannot_be_pruned_by(margin, posterior):
    with pytest.raises(RecipeError, match=f"margin {margin} and posterior {posterior}: expected 0 or more, and 0 to 1"):
        lattice.pruned(graphs(np.random.default_rng(0)), margin, posterior)


def test_samples_are_derivations_as_often_as_they_weigh():
    graph = graphs(np.random.default_rng(3), 6, 6, 3)
    graph = graph._replace(options=np.arange(len(graph.options), dtype=np.uint32))
    found = listed(lattice.sampled(graph, 4000, 1))
    for sentence, drawn in enumerate(found):
        rows = rows_of(graph, sentence)
        assert len(drawn) == (4000 if rows else 0)
        assert drawn == sorted(drawn, key=lambda row: -row[0])
        whole = sum(np.exp(score) for score, _ in rows)
        for row in rows:
            share = np.exp(row[0]) / whole
            assert abs(drawn.count(row) / 4000 - share) < 5 * np.sqrt(share * (1 - share) / 4000) + 1e-9
    same_bits(lattice.sampled(graph, 7, 5), lattice.sampled(graph, 7, 5))
    assert len(lattice.sampled(graph, 0).scores) == 0


PHRASES = ["a", "ab c", "b", "ü ☃", "c d", "e", "f", "g h i", "j", "k", "l", "%"]


@given(seeds, st.sampled_from(["x.txt", "x.gz", "x.lattice"]))
@examples(30)
def test_files_give_back_what_was_written(tmp_path_factory, random, name):
    graph = lattice.pruned(graphs(random, 4, 7, 4))
    path = tmp_path_factory.mktemp("lattice") / name
    lattice.write(path, Lattice(graph, Texts.from_strings(PHRASES)))
    back = lattice.read(path)
    same_bits([*back.graph[:3], back.graph.scores], [*graph[:3], graph.scores])
    said = [PHRASES[option] if option != NOTHING else "" for option in graph.options]
    assert [back.phrases[option] if option != NOTHING else "" for option in back.graph.options] == said
    lattice.write(path.with_name("again.txt"), back)
    lattice.write(path.with_name("once.txt"), Lattice(graph, Texts.from_strings(PHRASES)))
    assert path.with_name("again.txt").read_bytes() == path.with_name("once.txt").read_bytes()


TEXT = """sentence 4 4
0 1 -0.5 the
0 2 -1 a little
1 2 0.25 house
2 3 1e-3

sentence 2 0
"""


def test_a_lattice_as_text(tmp_path):
    path = tmp_path / "x"
    path.write_text(TEXT)
    one = lattice.read(path)
    assert len(one) == 2
    best = kbest(one.graph, 5)
    assert best.scores.tolist() == [-0.25 + 1e-3, -1 + 1e-3]
    assert list(one.texts(best)) == ["the house", "a little"]
    names = names_of()
    spoken = one.said(names)
    assert [[names.name(w) for w in spoken.says(o)] for o in range(3)] == [["the"], ["a", "little"], ["house"]]
    same_bits(Lattice.of(one.graph, spoken, names).graph, one.graph)
    assert Lattice.of(one.graph, spoken, names).phrases == one.phrases


def test_a_lattice_of_a_search_holds_the_phrases_that_are_said():
    spoken = Said(np.array([1, 0, 2, 1], np.uint32), np.array([3, 4, 5], np.uint32), np.array([0, 1, 3]),
                  np.array([11], np.uint32))  # fmt: skip
    graph = beam(np.random.default_rng(1), 1, 1, 3, 1)._replace(options=np.array([3, 2, 0] + [NOTHING] * 3, np.uint32))
    found = Lattice.of(graph, spoken, names_of())
    assert list(found.phrases) == ["b c", "i"]
    assert found.graph.options.tolist() == [0, 1, 0] + [NOTHING] * 3


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "sentence 4", "found 'sentence 4'; expected 'sentence NODES EDGES', two counts"),
        (1, "sentence 4 x", "expected 'sentence NODES EDGES', two counts"),
        (1, "sentence 11 4", "4 edges cannot join 11 nodes; expected counts that fit"),
        (3, "0 2", "found '0 2'; expected an edge, 'ORIGIN TARGET SCORE WORDS'"),
        (3, "0 2 nan a", "expected an edge, 'ORIGIN TARGET SCORE WORDS'"),
        (3, "0 2 1_0 a", "expected an edge, 'ORIGIN TARGET SCORE WORDS'"),
        (3, "2 2 1 a", "an edge leads from node 2 to node 2; expected one that leads forward"),
        (3, "-1 2 1 a", "an edge leads from node -1 to node 2"),
        (3, "0 4 1 a", "an edge leads from node 0 to node 4; .* in a sentence of 4 nodes"),
        (4, "0 1 1 a", "an edge leads from node 0 to node 1; .* to node 2 or one after it"),
        (5, "", "a sentence begins, and 1 edges of the sentence before are missing; get it again"),
        (6, "1 3 0 b", "an edge more than its sentence was said to have"),
        (7, "sentence 2 1", "the file ends, and 1 edges of the sentence before are missing"),
        (3, b"0 2 1 \xff", "byte 0xff is not UTF-8"),
    ],
)
def test_damaged_text_is_named_by_its_line(tmp_path, line, text, message):
    lines = TEXT.encode().split(b"\n")
    lines[line - 1] = text.encode() if isinstance(text, str) else text
    path = tmp_path / "x"
    path.write_bytes(b"\n".join(lines))
    where = 7 if line == 5 else line
    with pytest.raises(FormatError, match=f"x:{where}: .*{message}"):
        lattice.read(path)


def test_a_truncated_text_is_noticed_wherever_a_line_ends(tmp_path):
    lines = TEXT.split("\n")
    for count in range(1, 5):
        (tmp_path / "x").write_text("\n".join(lines[:count]))
        with pytest.raises(FormatError, match=f"x:{count}: the file ends"):
            lattice.read(tmp_path / "x")


def test_nodes_that_nothing_touches_are_not_written(tmp_path):
    none = np.zeros(0, np.uint32)
    graph = Graph(np.array([0, 3]), np.zeros(4, np.int64), none, none, np.zeros(0))
    with pytest.raises(InputError, match="x: 0 edges cannot join 3 nodes; prune the lattice first"):
        lattice.write(tmp_path / "x", Lattice(graph, Texts.from_strings([])))


GOOD = {
    "bounds": np.array([0, 2]), "edge_bounds": np.array([0, 0, 1]), "origins": np.zeros(1, np.uint32),
    "options": np.zeros(1, np.uint32), "scores": np.zeros(1), "blob": np.frombuffer(b"a", np.uint8),
    "text_bounds": np.array([0, 1]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("bounds", np.array([0, 3]), "bounds does not rise from 0 to 2"),
        ("edge_bounds", np.array([0, 2, 1]), "edge_bounds does not rise from 0 to 1"),
        ("edge_bounds", np.array([0, 2**63 - 1, -2, 1]), "edge_bounds does not rise from 0 to 1"),
        ("text_bounds", np.zeros(0, np.int64), "text_bounds has 0 numbers"),
        ("scores", np.zeros(2), "scores has 2 numbers, expected 1"),
        ("origins", np.ones(1, np.uint32), "an edge that does not lead forward"),
        ("options", np.ones(1, np.uint32), "a phrase that it does not have"),
        ("scores", np.array([np.inf]), "a number that is not finite"),
        ("scores", np.zeros((1, 1)), "scores has 2 dimensions"),
        ("scores", np.zeros(1, np.float32), "scores is not of the type float64"),
        ("blob", np.frombuffer(b"\xff", np.uint8), "a string of blob that is not UTF-8"),
    ],
)
def test_damaged_binary_lattices_are_refused(tmp_path, name, array, message):
    path = tmp_path / "x.lattice"
    container.write(path, "lattice", GOOD, {})
    assert len(lattice.read(path)) == 1
    container.write(path, "lattice", GOOD | {name: array}, {})
    with pytest.raises(StoreError, match=f"x.lattice: .*{message}.*write it again"):
        lattice.read(path)
