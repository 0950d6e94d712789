"""Count features: which a text has, what derivations fire, and the lists of a decoder that has them."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from bench_kbest import beam
from command import rampion
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder.alignment.links import Alignment
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.count_decoder import LargeDecoder
from rampion.decoder.features import counts
from rampion.decoder.features.counts import Chosen, CountFeatures, Settings, information
from rampion.decoder.search.cube import NonLocal
from rampion.decoder.search.kbest import Said, kbest
from rampion.decoder.search.search import Search
from scipy.stats import entropy
from systems import START, chosen, decoder, large, segments, toy, weighed

from rampion.errors import FormatError, InputError, RecipeError
from rampion.formats import load_nbest, texts
from rampion.formats import weights as weight_files
from rampion.store.features import Weights
from rampion.store.names import Names
from rampion.store.text import Texts

lined = Texts.from_strings


def lines():
    """Some short sentences."""
    return sorted(segments(), key=len)[:8]


def heard(text):
    """The n-grams and triggers of a text, by their names, from the definition."""
    words = ["<s>", *text.split(), "</s>"]
    found = Counter(("gram", (word,)) for word in words[1:])
    for size in (2, 3):
        found.update(("gram", tuple(words[i : i + size])) for i in range(len(words) - size + 1))
    for j, word in enumerate(words):
        found.update(("trigger", (before, word)) for before in set(words[:j]))
    return {one.name: found[one.kind, one.words] for one in chosen().features if found[one.kind, one.words]}


def links_of(blocks, number):
    """The links of a block by its words, from the definition."""
    sources, targets = (side.split() for side in blocks.text(number))
    lone = lone_blocks(blocks)
    for t in targets:
        known = [(lone[s, t], s) for s in sources if (s, t) in lone]
        if known:
            yield max(known, key=lambda pair: pair[0])[1], t


@cache
def lone_blocks(blocks):
    rows = [(blocks.text(b), blocks.blocks.values[b]) for b in range(2, len(blocks.blocks.sources))]
    return {(s, t): values[0] + values[1] for (s, t), values in rows if " " not in s + t}


def rows_of(lists):
    """The features of every candidate by name."""
    rows, names = lists.rows(), list(lists.features.names)
    for first, last in zip(rows.entry_bounds[:-1], rows.entry_bounds[1:], strict=True):
        ids, values = rows.ids[first:last].tolist(), rows.values[first:last].tolist()
        yield {names[i]: value for i, value in zip(ids, values, strict=True)}


def counted(lists, kinds=("gram/", "trigger/")):
    return [{name: v for name, v in row.items() if name.startswith(kinds)} for row in rows_of(lists)]


TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=7), min_size=1, max_size=12)


@given(TEXTS, st.integers(0, 2**32 - 1), st.booleans())
def test_the_features_of_a_text_are_those_of_the_definition(targets, seed, itself):
    random = np.random.default_rng(seed)
    sources = [["s" + word for word in words if random.random() < 0.9] for words in targets]
    points = [
        [(i, j) for i in range(len(s)) for j in range(len(t)) if random.random() < 0.2]
        for s, t in zip(sources, targets, strict=True)
    ]
    settings = Settings(pairs=5, unigrams=3, bigrams=4, trigrams=4, triggers=6, least=2, itself=itself, longest=2)
    found = CountFeatures.choose(
        Texts.from_strings(map(" ".join, sources)),
        Texts.from_strings(map(" ".join, targets)),
        Alignment.of(points),
        settings,
    )
    pairs, grams, triggers = Counter(), [Counter(), Counter(), Counter()], Counter()
    for source, target, own in zip(sources, targets, points, strict=True):
        pairs.update((source[i], target[j]) for i, j in own if extractable(own, i, j, 2))
        padded = ["<s>", *target, "</s>"]
        grams[0].update((word,) for word in target)
        for size in (2, 3):
            grams[size - 1].update(tuple(padded[i : i + size]) for i in range(len(padded) - size + 1))
        for j, word in enumerate(target):
            triggers.update((before, word) for before in set(target[:j]))
    expected = []
    for kind, table, most in (("pair", pairs, 5), *zip(["gram"] * 3, grams, (3, 4, 4), strict=True)):
        ranked = sorted(table.items(), key=lambda item: (-item[1], item[0]))[:most]
        expected += [Chosen(kind, words, times) for words, times in ranked]
    assert list(found.features[: len(expected)]) == expected
    told = []
    for (a, b), times in triggers.items():
        if times >= 2 and (itself or a != b):
            told.append((informed(targets, a, b), a, b, times))
    rest = found.features[len(expected) :]
    assert [one.bits for one in rest] == pytest.approx(sorted((t[0] for t in told), reverse=True)[:6], abs=1e-12)
    known = {(a, b): (times, bits) for bits, a, b, times in told}
    for one in rest:
        assert one.times == known[one.words][0]
        assert one.bits == pytest.approx(known[one.words][1], abs=1e-12)


def extractable(points, i, j, longest):
    """Whether some pair of spans of at most `longest` words holds the link and no link leads out of it."""
    for a in range(i - longest + 1, i + 1):
        for b in range(i + 1, a + longest + 1):
            inside = [q for p, q in points if a <= p < b]
            low, high = min(inside), max(inside) + 1
            if high - low <= longest and all(a <= p < b for p, q in points if low <= q < high):
                return True
    return False


def informed(targets, a, b):
    """Mutual information in bits of `a was said before` and `this is b`, over all places: H(A) + H(B) - H(A, B)."""
    table = np.zeros((2, 2))
    for target in targets:
        for j, word in enumerate(target):
            table[int(a in target[:j]), int(word == b)] += 1
    return entropy(table.sum(0), base=2) + entropy(table.sum(1), base=2) - entropy(table.ravel(), base=2)


def test_events_that_know_nothing_of_each_other_have_no_bits():
    both, none = information(np.array([6.0, 5.0]), np.array([12.0, 5.0]), np.array([20.0, 5.0]), 40.0), 0.0
    assert both[0] == pytest.approx(none, abs=1e-15)
    assert both[1] == pytest.approx(entropy([5, 35], base=2))


def test_a_file_of_features_is_read_as_written(tmp_path):
    for name in ("some.counts", "some.counts.gz"):
        chosen().write(tmp_path / name)
        assert CountFeatures.read(tmp_path / name) == chosen()
    assert (tmp_path / "some.counts").read_text("utf-8").startswith("pair\t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pair\ta b\t3", r"bad:2: 'pair.ta b.t3' is no feature; expected four cells KIND"),
        ("word\ta b\t3\t0", r"bad:2: 'word.ta b.t3.t0' is no feature; .* one of pair, gram, trigger"),
        ("pair\ta\t3\t0", "bad:2: the pair 'a' should have 2 words"),
        ("gram\ta b  c\t3\t0", "bad:2: the gram 'a b  c' should have 1 or 2 or 3 words"),
        ("gram\ta b\tx\t0", "bad:2: 'x' and '0' are not a count and a number of bits"),
        ("gram\ta b\t-1\t0", "bad:2: '-1' and '0' are not a count"),
        ("trigger\ta b\t1\tnan", "bad:2: '1' and 'nan' are not a count"),
        ("gram\tx\t2\t0", "bad:2: gram/x appears here for the second time; keep one"),
    ],
)
def test_what_is_no_file_of_features(tmp_path, text, message):
    (tmp_path / "bad").write_text(f"gram\tx\t3\t0.0\n{text}\n", "utf-8")
    with pytest.raises(FormatError, match=message.replace(".t", r"\\t")):
        CountFeatures.read(tmp_path / "bad")


def test_an_empty_file_has_no_features(tmp_path):
    (tmp_path / "none").write_bytes(b"")
    with pytest.raises(FormatError, match="none: has no features; expected lines KIND"):
        CountFeatures.read(tmp_path / "none")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": -1}, "pairs -1: expected 0 features or more"),
        ({"least": 0}, "least 0: a trigger must have fired once at least"),
        ({"longest": 99}, "longest 99: a phrase may have 1 to 20 words"),
    ],
)
def test_settings_that_cannot_be(given, message):
    with pytest.raises(RecipeError, match=message):
        Settings(**given)


def test_a_vocabulary_of_more_words_than_keys_hold(monkeypatch):
    monkeypatch.setattr(counts, "WORDS", 4)
    with pytest.raises(InputError, match="the target side has 5 different words; at most 4 have feature keys"):
        CountFeatures.choose(Texts.from_strings(["x"]), Texts.from_strings(["a b"]), Alignment.of([[(0, 0)]]))


def test_a_node_keeps_one_derivation_at_least():
    with pytest.raises(RecipeError, match="n = 0: a node must keep 1 derivation or more"):
        LargeDecoder(decoder(), chosen(), 0)


def test_weights_are_finite():
    name = chosen().features[0].name
    with pytest.raises(InputError, match=r"the weight of 'pair/.*' is inf; expected a finite number"):
        large().decode(lined(lines()), Weights.from_dict(dict(START) | {name: np.inf}), 1)


def test_names_escape_what_divides_them():
    assert Chosen("gram", ("a_b", "c/d"), 1).name == "gram/a%5Fb_c%2Fd"
    assert Chosen("trigger", ("a", "="), 1).name == "trigger/a/%3D"


@pytest.mark.parametrize("features", ["fourteen", "fourteen,all"])
def test_scores_are_those_of_the_features_listed(features):
    lists = large(features, n=20).decode(lined(lines()), weighed(), 10)
    scores = lists.score(weighed().onto(lists.features, lenient=True))
    np.testing.assert_allclose(scores, lists.scores, rtol=0, atol=1e-9)
    ranks = np.diff(lists.scores)[np.diff(np.repeat(np.arange(len(lists.segments)), np.diff(lists.bounds))) == 0]
    assert (ranks <= 1e-12).all()


def test_ngrams_and_triggers_are_counted_in_the_text():
    lists = large(n=20).decode(lined([*lines(), "unknown words </s> _ unknown"]), weighed(), 10)
    assert counted(lists) == [heard(text) for text in lists.texts]


def test_word_pairs_are_the_links_of_blocks():
    system, weights = large(), weighed(("pair",))
    lists = counted(system.decode(lined(lines()), weights, 5), ("pair/",))
    wanted = {one.words: one.name for one in chosen().features if one.kind == "pair"}
    expected = []
    for batch, derivations in system._search(
        Texts.from_strings(lines()), weights, 5, lambda batch, _, __, found: (batch, found)
    ):
        used = batch.options.blocks[derivations.steps].tolist()
        for first, last in zip(derivations.step_bounds[:-1], derivations.step_bounds[1:], strict=True):
            found = Counter(pair for block in used[first:last] if block > 1 for pair in links_of(toy()[1], block))
            expected.append({wanted[pair]: times for pair, times in found.items() if pair in wanted})
    assert lists == expected
    assert sum(map(len, lists)) > len(lists)


def test_without_weights_the_lists_are_those_of_the_decoder_alone():
    alone, wide = decoder().decode(lined(lines()), START, 200), large(n=3).decode(lined(lines()), START, 200)
    assert alone.texts == wide.texts
    assert alone.scores.tobytes() == wide.scores.tobytes()
    assert alone.lists.dense.tobytes() == wide.lists.dense.tobytes()
    assert list(alone.features.names) == list(wide.features.names)[: alone.lists.width]
    assert large().initial == decoder().initial


@pytest.mark.parametrize("kinds", [("pair",), ("gram",), ("trigger",), ("pair", "gram", "trigger")])
def test_with_room_for_all_paths_the_lists_are_exact(kinds):
    tiny = BlockDecoder(*toy()[1:], settings=Search(beam=4, pops=12), options=3)
    cut, weights, every = [" ".join(line.split()[:4]) for line in lines()], weighed(kinds), 100_000
    system = LargeDecoder(tiny, chosen(), every)
    paths = tiny.search(Texts.from_strings(cut), tiny.model(weights), lambda batch, graph: kbest(graph, every).bounds)
    assert max(np.diff(next(iter(paths)))) < every
    plain = LargeDecoder(tiny, chosen()).decode(lined(cut), Weights.from_dict(dict(START)), every)
    scores = plain.score(weights.onto(plain.features, lenient=True))
    found = system.decode(lined(cut), weights, 40)
    for s in range(len(cut)):
        best = np.sort(scores[plain.bounds[s] : plain.bounds[s + 1]])[::-1][:40]
        np.testing.assert_allclose(found.scores[found.bounds[s] : found.bounds[s + 1]], best, rtol=0, atol=1e-9)


def test_threads_and_batches_change_no_bit(monkeypatch):
    lists = []
    for threads, size in ((1, 64), (3, 2)):
        monkeypatch.setattr("rampion.decoder.block_decoder.BATCH", size)
        lists.append(large("fourteen,W1", n=5, threads=threads).decode(lined(lines()), weighed(), 7))
    for one, other in zip(*(each.arrays().values() for each in lists), strict=True):
        assert one.tobytes() == other.tobytes()


def test_the_best_translation_heads_the_list():
    lists = large(n=5).decode(lined(lines()), weighed(), 3)
    assert list(large(n=5).best(Texts.from_strings(lines()), weighed())) == [lists.texts[i] for i in lists.bounds[:-1]]


@given(st.integers(0, 2**32 - 1))
def test_the_kernel_is_its_twin(seed):
    random = np.random.default_rng(seed)
    graph = beam(random, 3, 6, 4, 3)
    said = Said(
        random.integers(0, 12, len(graph.options)).astype(np.uint32),
        random.integers(3, 9, 30).astype(np.uint32), np.arange(0, 31, 3), np.array([3, 40], np.uint32),
    )  # fmt: skip
    names = Names()
    names.intern_all(Texts.from_strings(["<unk>", "<s>", "</s>", *"abcdef"]))
    words = names.texts()
    picked = {tuple(words[w] for w in random.integers(1, 9, random.integers(1, 4)).tolist()) for _ in range(30)}
    triggers = {tuple(words[w] for w in random.integers(1, 9, 2).tolist()) for _ in range(20)}
    numbers = iter(range(1, 99))
    features = NonLocal.of(dict(zip(picked, numbers, strict=False)), dict(zip(triggers, numbers, strict=False)), names)
    derivations = kbest(graph, 9)
    bounds = np.concatenate([[0], np.cumsum(random.integers(0, 3, len(graph.options)))])
    pairs = random.integers(100, 200, bounds[-1]).astype(np.uint32)
    for room in (5, 60, 10_000):
        found = []
        for package in ("_core", "_reference"):
            edges, ids = np.zeros(len(derivations.scores) + 1, np.int64), np.zeros(room, np.uint32)
            fire = import_module(f"rampion.decoder.{package}.grams").count_features
            text = np.empty(100, np.uint32)
            done = fire(derivations, said, features, bounds[:-1], bounds[1:], pairs, 0, text, edges, ids)
            found.append((done, edges[: done + 1].tolist(), ids[: edges[done]].tolist()))
        assert found[0] == found[1]
    assert done == len(derivations.scores)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    corpus, blocks, lm = toy()
    place = tmp_path_factory.mktemp("large")
    blocks.write(place / "toy.blocks")
    lm.write(place / "toy.lm")
    corpus.write(place / "corpus")
    texts.write(place / "some.src", Texts.from_strings(segments()[:4]))
    texts.write(place / "some.tgt", Texts.from_strings(list(corpus.dev.target)[:4]))
    chosen().write(place / "toy.counts")
    return place


def test_the_command_chooses_features_and_shows_them(folder):
    sizes = ["--pairs", 60, "--unigrams", 10, "--bigrams", 40, "--trigrams", 30, "--triggers", 60]
    told = rampion("counts", folder / "corpus", *sizes, "--out", folder / "own.counts")
    assert CountFeatures.read(folder / "own.counts") == chosen()
    assert told.out == rampion("counts", folder / "own.counts").out
    assert [line.split()[:2] for line in told.out.splitlines() if line[:1] in "p123t"] == [
        ["pair", "60"], ["1-gram", "10"], ["2-gram", "40"], ["3-gram", "30"], ["trigger", "60"],
    ]  # fmt: skip
    shown = json.loads(rampion("counts", folder / "own.counts", "--json").out)
    assert {kind: len(own) for kind, own in shown.items()}["trigger"] == 60


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["toy.counts", "--out", "x"], "is one file; features are chosen from a folder, or from two files of text"),
        (["corpus"], "expected a folder or two files of text, and --out FILE"),
        (["toy.blocks"], "toy.blocks:1: "),
    ],
)
def test_the_command_says_what_it_expects(folder, arguments, said):
    told = rampion("counts", folder / arguments[0], *arguments[1:])
    assert told.code == 2
    assert said in told.err


def test_the_commands_decode_and_tune_with_them(folder):
    system = ["--blocks", folder / "toy.blocks", "--lm", folder / "toy.lm", "--counts", folder / "toy.counts"]
    source, refs = folder / "some.src", ["--refs", folder / "some.tgt"]
    learnt = rampion(
        "tune", source, *refs, *system, "--set", "iterations=2", "--set", "k=10", "--beam", 20, "--out", folder / "run"
    )
    assert learnt.code == 0, learnt.err
    weights = weight_files.read(folder / "run" / "weights.txt")
    assert any(name.startswith("trigger/") for name in weights)
    best = rampion("decode", source, *system, "--weights", folder / "run", "--beam", 20)
    wide = LargeDecoder(decoder(), chosen())
    assert best.out.splitlines() == list(wide.best(Texts.from_strings(segments()[:4]), weights))
    rampion(
        "decode", source, *system, "--weights", folder / "run", "--beam", 20, "--nbest", folder / "x.store", "-k", 4
    )
    found, wanted = load_nbest(folder / "x.store"), wide.decode(lined(segments()[:4]), weights, 4)
    assert found.scores.tobytes() == wanted.scores.tobytes()


def test_a_decoder_with_other_features_is_another():
    same = [large(threads=threads).fingerprint for threads in (1, 2)]
    others = large(n=9).fingerprint, LargeDecoder(decoder(), chosen(Settings(5, 5, 5, 5, 5))).fingerprint
    assert len({*same, *others}) == 3
