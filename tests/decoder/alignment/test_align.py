"""Word alignment: EM from the definition, all alignments of small sentences, laws of symmetrisation, files."""

from __future__ import annotations

import math
import stat
from collections import defaultdict
from importlib import import_module
from itertools import pairwise, product

import numpy as np
import pytest
from command import good, rampion
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder.alignment import align as aligning
from rampion.decoder.alignment.align import Aligner, Pairs, align, model1
from rampion.decoder.alignment.links import METHODS, Alignment, Words, compare, external, read, symmetrise
from rampion.decoder.alignment.links import write as write_points
from rampion.decoder.text.tokenised import Tokenised
from speeds import examples

from rampion.errors import FormatError, InputError, RecipeError, StoreError
from rampion.formats import container
from rampion.store.names import Names
from rampion.store.text import Texts

TINY = (("das haus", "the house"), ("das buch", "the book"), ("ein buch", "a book"))


def both(module, function):
    homes = (import_module(f"rampion.decoder.{package}.{module}") for package in ("_core", "_reference"))
    return [getattr(home, function) for home in homes]


def same_bits(left, right):
    for one, other in zip(left, right, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def texts_of(pairs):
    return [Texts.from_strings(side) for side in zip(*pairs, strict=True)]


def toy(seed, pairs, vocabulary=60):
    """A language that says word for word, with local swaps, a function word and dropped words; and the truth."""
    random = np.random.default_rng(seed)
    frequencies = 1.0 / np.arange(1, vocabulary + 1)
    sources, targets, points = [], [], []
    for _ in range(pairs):
        words = random.choice(vocabulary, random.integers(3, 15), p=frequencies / frequencies.sum())
        order = list(range(len(words)))
        for place in range(len(order) - 1):
            if random.random() < 0.15:
                order[place], order[place + 1] = order[place + 1], order[place]
        said, own = [], []
        for place in order:
            if random.random() < 0.2:
                said.append("of")
            if random.random() > 0.05:
                own.append((place, len(said)))
                said.append(f"t{words[place]}")
        sources.append(" ".join(f"s{word}" for word in words))
        targets.append(" ".join(said) or "of")
        points.append(own)
    return Texts.from_strings(sources), Texts.from_strings(targets), Alignment.of(points)


@st.composite
def corpora(draw):
    """Sides with their pairs, a table row for each source word, and random numbers."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(1, 4))
    sides = []
    for size in (5, 4):
        lengths = random.integers(1, draw(st.sampled_from([3, 9])), count)
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        sides.append(Words(random.integers(0, size, bounds[-1]).astype(np.uint32), bounds))
    return (*sides, random)


def pairs_of(source, target, random, cells):
    offsets = np.concatenate([[0], np.cumsum(np.diff(source.bounds) * np.diff(target.bounds))])
    return Pairs(source.bounds, target.bounds, offsets, random.integers(0, cells, offsets[-1]).astype(np.uint32))


# Kernels and twins


@given(corpora(), st.booleans(), st.sampled_from([1, 3]), st.sampled_from([0.0, 0.1]))
def test_expectations_are_the_same_in_kernel_and_twin(corpus, flipped, window, rest):
    source, target, random = corpus
    pairs, last = pairs_of(source, target, random, 7), len(source.bounds) - 1
    first = int(random.integers(0, last))
    observed = (source if flipped else target).words
    probs, null = (random.random(size).astype(np.float32) for size in (7, 5))
    jumps = random.random(2 * window + 2)
    space = len(pairs.cells) - pairs.offsets[first]
    for name in ("model_one", "hmm"):
        extra, outs = (((jumps, rest),), 1) if name == "hmm" else ((), 0)
        results = []
        for kernel in both("hmm" if name == "hmm" else "align", name):
            out = np.zeros(space, np.float32), np.zeros(len(observed), np.float32), np.zeros(2 * len(jumps))
            found = kernel(pairs, observed, flipped, probs, null, *extra, first, last, np.empty(4000), *out[: 2 + outs])
            results.append((found, *out))
        same_bits(*results)
        _, posteriors, nulls, _ = results[0]
        filled = []
        for collect, best in zip(both("align", "collect"), both("align", "best"), strict=True):
            counts, links = np.ones(7), np.full(len(observed), 9, np.int32)
            collect(pairs, source.words, first, last, 1, 4, posteriors, counts)
            best(pairs, flipped, first, last, posteriors, nulls, links)
            filled.append((counts, links))
        same_bits(*filled)


@given(corpora(), st.booleans())
def test_tables_are_the_same_in_kernel_and_twin(corpus, flipped):
    source, target, random = corpus
    uses = aligning._uses(source, 5)
    filled = []
    for tabulate, transpose, locate, normalise in zip(
        *(both("lexicon", name) for name in ("tabulate", "transpose", "locate")),
        both("align", "normalise"),
        strict=True,
    ):
        bounds, words = np.zeros(6, np.int64), np.zeros(12, np.uint32)
        done = tabulate(uses, target, 0, np.zeros(4, np.uint32), bounds, words)
        while done < 5:
            words = np.concatenate([words, np.zeros_like(words)])
            done = tabulate(uses, target, done, np.zeros(4, np.uint32), bounds, words)
        words = words[: bounds[-1]]
        columns, rows = np.zeros(5, np.int64), np.zeros(len(words), np.uint32)
        transpose(bounds, words, columns, rows)
        pairs = pairs_of(source, target, random, 1)
        places, cells = np.full(4, 77, np.uint32), np.full(pairs.offsets[-1], 88, np.uint32)
        locate(bounds, words, uses, source, target, pairs.offsets, 1, 5, places, cells)
        counts, totals = np.arange(len(words)) % 3 / 2.0, np.zeros(5)
        probs = np.zeros(len(words), np.float32)
        normalise(bounds, words, counts, flipped, 1e-3, totals, probs)
        filled.append((done, bounds, words, columns, rows, places, cells, totals, probs))
    same_bits(*filled)
    _, bounds, words, columns, rows, *_ = filled[0]
    met = {(s, t) for s in range(5) for t in words[bounds[s] : bounds[s + 1]].tolist()}
    turned = [(t, s) for t in range(4) for s in rows[columns[t] : columns[t + 1]].tolist()]
    assert turned == sorted((t, s) for s, t in met)
    assert met == {
        (s, t)
        for n in range(len(source.bounds) - 1)
        for s in source.words[source.bounds[n] : source.bounds[n + 1]].tolist()
        for t in target.words[target.bounds[n] : target.bounds[n + 1]].tolist()
    }


POINTS = st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=12), min_size=1, max_size=3)
TWO = st.tuples(POINTS, POINTS).map(lambda two: [Alignment.of(one[: min(map(len, two))]) for one in two])


@given(TWO, st.sampled_from(range(len(METHODS))))
def test_symmetrisation_is_the_same_in_kernel_and_twin(two, step):
    filled = []
    for kernel in both("symmetrise", "symmetrise"):
        work = [np.zeros(size, np.uint8) for size in (9 * 8, 7, 6)]
        room = sum(len(one.sources) for one in two)
        out = np.zeros(len(two[0]) + 1, np.int64), np.zeros(room, np.int32), np.zeros(room, np.int32)
        kernel(*two, step, 8, *work, *out)
        assert not any(one.any() for one in work)
        filled.append((out[0], out[1][: out[0][-1]], out[2][: out[0][-1]]))
    same_bits(*filled)


# Models


def test_model_1_is_em_from_the_definition():
    source, target = texts_of(TINY)
    names = Names(), Names()
    sides = [Words(*own.tokens(texts)) for own, texts in zip(names, (source, target), strict=True)]
    lexicon = model1(*sides, rounds=4, threads=1)
    chance = defaultdict(lambda: 1.0)
    for _ in range(4):
        counts, totals = defaultdict(float), defaultdict(float)
        for left, right in TINY:
            givens = [None, *left.split()]
            for word in right.split():
                total = sum(chance[word, other] for other in givens)
                for other in givens:
                    counts[word, other] += chance[word, other] / total
                    totals[other] += chance[word, other] / total
        chance = {key: value / totals[key[1]] for key, value in counts.items()}
    keys = [key for key in chance if key[1]]
    ids = [np.array([own.find(key[place]) for key in keys], np.uint32) for place, own in ((1, names[0]), (0, names[1]))]
    for kernel in both("lexicon", "chances"):
        values = np.zeros(len(keys), np.float32)
        kernel(lexicon, *ids, 0.0, values)
        assert values == pytest.approx([chance[key] for key in keys], rel=1e-5)
    null = [lexicon.null[names[1].find(word)] for word in names[1].texts()]
    assert null == pytest.approx([chance[word, None] for word in names[1].texts()], rel=1e-5)
    for kernel in both("lexicon", "chances"):
        strangers = np.zeros(3, np.float32)
        kernel(lexicon, np.array([0, 0, 99], np.uint32), np.array([3, 99, 0], np.uint32), 0.25, strangers)
        assert strangers.tolist() == [0.25] * 3


def enumerated(probs, null, jumps, rest):
    """Log-likelihood, posteriors, null posteriors and expected moves, from all the alignments of one pair."""
    (m, n), window = probs.shape, len(jumps) // 2 - 1
    probs, null = probs.astype(np.float64), null.astype(np.float64)

    def weight(d):
        return jumps[d + window] if abs(d) <= window else jumps[-1]

    posteriors, nulls, moves, everything = np.zeros((m, n)), np.zeros(m), np.zeros(len(jumps)), 0.0
    for path in product(range(n + 1), repeat=m):
        place, chance, made = 0, 1.0, []
        for j, state in enumerate(path):
            if state == 0:
                chance *= rest * null[j]
                continue
            d = state - place
            chance *= (1 - rest) * weight(d) / sum(weight(q - place) for q in range(1, n + 1)) * probs[j, state - 1]
            made.append(d + window if abs(d) <= window else -1)
            place = state
        everything += chance
        for j, state in enumerate(path):
            if state:
                posteriors[j, state - 1] += chance
            else:
                nulls[j] += chance
        for jump in made:
            moves[jump] += chance
    return math.log(everything), posteriors / everything, nulls / everything, moves / everything


@examples(40)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0, 1, 2, 5]), st.booleans())
def test_the_hmm_sums_over_all_alignments(seed, n, m, window, flipped):
    random = np.random.default_rng(seed)
    jumps, probs, null = random.random(2 * window + 2), random.random(n * m).astype(np.float32), random.random(m)
    sizes = (m, n) if flipped else (n, m)
    pairs = Pairs(*(np.array([0, size]) for size in (*sizes, n * m)), np.arange(n * m, dtype=np.uint32))
    posteriors, nulls, tallies = np.empty(n * m, np.float32), np.empty(m, np.float32), np.zeros(2 * len(jumps))
    likelihood = both("hmm", "hmm")[0](
        pairs, np.arange(m, dtype=np.uint32), flipped, probs, null.astype(np.float32), (jumps, 0.2), 0, 1,
        np.empty(3000), posteriors, nulls, tallies,
    )  # fmt: skip
    grid, found = (each.reshape(m, n) if flipped else each.reshape(n, m).T for each in (probs, posteriors))
    expected = enumerated(grid, null.astype(np.float32), jumps, 0.2)
    assert likelihood == pytest.approx(expected[0], rel=1e-9)
    assert found == pytest.approx(expected[1], abs=1e-6)
    assert nulls == pytest.approx(expected[2], abs=1e-6)
    assert tallies[: len(jumps)] == pytest.approx(expected[3], abs=1e-9)
    assert found.sum(axis=1) + nulls == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("hmm", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
def test_the_likelihood_never_falls(hmm, flipped):
    source, target, _ = toy(3, 80)
    with aligning._corpus(*(Words(*Names().tokens(side)) for side in (source, target)), 1) as corpus:
        corpus.tabulate()
        direction, likelihoods = corpus.begin(flipped), []
        for _ in range(12):
            ((direction, likelihood),) = corpus.improved([direction], hmm=hmm)
            likelihoods.append(likelihood)
    assert all(b >= a - 1e-6 for a, b in pairwise(likelihoods))
    assert likelihoods[-1] > likelihoods[0] + 1.0


def test_a_known_language_is_aligned_well():
    source, target, truth = toy(1, 600)
    assert compare(align(source, target, threads=1), truth).error_rate < 0.08


def test_threads_and_shards_never_change_a_bit(monkeypatch):
    monkeypatch.setattr(aligning, "_SHARD", 500)
    source, target, _ = toy(5, 120)
    told = [[], []]
    one, two = (Aligner.train(source, target, threads=n, watch=own.append) for n, own in zip((1, 3), told, strict=True))
    assert told[0] == told[1]
    assert [each.number for each in told[0]] == [1, 2, 3, 4, 5] * 2
    for left, right in zip(one.directions, two.directions, strict=True):
        same_bits((left.probs, left.null, left.jumps), (right.probs, right.null, right.jumps))
    assert one.align(source, target, threads=1) == two.align(source, target, threads=2)


PHRASES = st.lists(st.sampled_from(["a", "b", "c", "d", "</s>"]), max_size=6).map(" ".join)


@given(st.lists(st.tuples(PHRASES, PHRASES), min_size=1, max_size=6))
def test_the_model_1_of_an_aligner_is_that_of_blocks(pairs):
    long = " ".join(["a", "z"] * aligning.LONGEST)
    source, target = (Tokenised.of(side) for side in texts_of([*pairs, (long, "a b")]))
    found = Aligner.train(source, target, rounds=(3, 1), threads=1).model1
    alone = model1(Words(target.words, target.bounds), Words(source.words, source.bounds), rounds=3, threads=1)
    same_bits(found, alone)
    assert len(found.null) == len(source.names)


def test_an_aligner_comes_back_from_its_file_and_meets_new_words(tmp_path):
    source, target, _ = toy(2, 200)
    aligner = Aligner.train(source, target, threads=1)
    aligner.save(tmp_path / "aligner")
    again = Aligner.load(tmp_path / "aligner")
    assert again.align(source, target) == aligner.align(source, target) == align(source, target)
    assert {(0, 0), (2, 2)} <= set(again.align(*texts_of([("s1 new s2", "t1 strange t2")]))[0])
    assert len(again.align(Texts.from_strings([]), Texts.from_strings([]))) == 0
    (tmp_path / "other").write_bytes(b"text")
    with pytest.raises(StoreError, match="is no aligner file of Rampion"):
        Aligner.load(tmp_path / "other")


@pytest.mark.parametrize(
    "name", ["bounds", "words", "source_bounds", "backward_null", "forward_probs", "forward_jumps"]
)
@pytest.mark.parametrize("change", ["type", "size", "none"])
def test_an_aligner_whose_parts_do_not_fit_is_refused(tmp_path, name, change):
    Aligner.train(*texts_of(TINY), threads=1).save(tmp_path / "aligner")
    arrays, meta = container.opened(tmp_path / "aligner", "aligner")
    old = arrays.pop(name)
    if change != "none":
        arrays[name] = old.astype(np.uint64) if change == "type" else np.append(old, old.max() + 9).astype(old.dtype)
    container.write(tmp_path / "aligner", "aligner", arrays, meta)
    with pytest.raises(StoreError, match=r"aligner: its (array|tables).*; train it again"):
        Aligner.load(tmp_path / "aligner")


def test_empty_and_long_sentences_have_no_points():
    long = " ".join(["das"] * (aligning.LONGEST + 1))
    found = align(*texts_of([*TINY, ("", "the"), ("das", ""), (long, "the"), ("das haus", "the house")]))
    assert [len(found[s]) for s in range(7)] == [2, 2, 2, 0, 0, 0, 2]
    assert [
        len(one) for one in (align(*texts_of([("", "")])), align(Texts.from_strings([]), Texts.from_strings([])))
    ] == [1, 0]


# Points


@given(TWO)
def test_laws_of_symmetrisation(two):
    found = {method: symmetrise(*two, method) for method in METHODS}
    for s in range(len(two[0])):
        intersection, union, grown, final = (set(found[method][s]) for method in METHODS)
        assert intersection == set(two[0][s]) & set(two[1][s])
        assert union == set(two[0][s]) | set(two[1][s])
        assert intersection <= grown <= final <= union
    for method in METHODS:
        assert symmetrise(*(one.transposed() for one in two), method) == found[method].transposed()
        assert symmetrise(two[1], two[0], method) == found[method]
        assert symmetrise(two[0], two[0], method) == two[0]
    assert found["union"].transposed().transposed() == found["union"]


def test_growth_by_hand():
    forward = Alignment.of([[(0, 0), (1, 1), (4, 4)]])
    backward = Alignment.of([[(0, 0), (1, 0), (2, 2), (6, 6)]])
    assert symmetrise(forward, backward, "intersection")[0] == [(0, 0)]
    assert symmetrise(forward, backward, "grow-diag")[0] == [(0, 0), (1, 0), (1, 1), (2, 2)]
    assert symmetrise(forward, backward)[0] == [(0, 0), (1, 0), (1, 1), (2, 2), (4, 4), (6, 6)]
    assert compare(forward, backward).error_rate == pytest.approx(1 - 2 / 7)
    assert compare(Alignment.of([[]]), Alignment.of([[]])).error_rate == 1.0


@pytest.mark.parametrize("ending", ["", ".gz"])
@given(points=POINTS)
def test_points_survive_a_file(tmp_path_factory, ending, points):
    path = tmp_path_factory.mktemp("points") / f"points{ending}"
    alignment = Alignment.of(points)
    write_points(path, alignment)
    sizes = np.full(len(points), 7)
    assert read(path) == read(path, (sizes, sizes)) == alignment


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0-0\n0-0 1:1\n", r"align:2: '1:1' is no point; expected 'source-target', for example 0-1"),
        ("0-0\n-1-1\n", "align:2: '-1-1' is no point"),
        ("0-0\n\x1c\n", r"align:2: '\\x1c' is no point"),
        ("0-0\n\u00a00-0\n", r"align:2: '\\xa00-0' is no point"),
        ("0-0\n1-1000000\n", "align:2: '1-1000000' is no point"),
        ("0-0\n1-1 2-0\n", "align:2: point 2-0 is outside the sentences, which have 2 source and 3 target words"),
        ("0-0\n1-3\n", "align:2: point 1-3 is outside the sentences"),
        ("0-0\n", "align: has 1 lines for 2 pairs of sentences; expected as many"),
    ],
)
def test_broken_points_are_told(tmp_path, content, message):
    (tmp_path / "align").write_text(content)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "align", (np.array([2, 2]), np.array([3, 3])))


def test_wrong_calls_are_told():
    two = Alignment.of([[(0, 0)]]), Alignment.of([[], []])
    with pytest.raises(RecipeError, match="symmetrisation 'grow': expected one of intersection, union, grow-diag"):
        symmetrise(two[0], two[0], "grow")
    with pytest.raises(InputError, match="one alignment has 1 sentences, the other 2; expected the same"):
        symmetrise(*two)
    for wrong in (align, external):
        with pytest.raises(InputError, match="1 source sentences cannot be aligned with 2 target sentences; expected"):
            wrong(Texts.from_strings(["a"]), Texts.from_strings(["a", "b"]))


# Another program


def program(folder, body):
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_another_program_aligns(tmp_path):
    command = program(tmp_path, 'sed "s/.*/0-0 1-1/" "$2" > "$6"; sed "s/.*/0-0 1-0/" "$4" > "$8"')
    source, target = texts_of(TINY)
    assert external(source, target, command=command)[2] == [(0, 0), (1, 0), (1, 1)]
    assert external(source, target, command=command, method="intersection")[0] == [(0, 0)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo one >&2; echo two >&2; exit 3", "program: ended with code 3; it wrote: one / two"),
        ("exit 4", "program: ended with code 4, and wrote nothing to stderr"),
        ("echo late >&2; exec sleep 9", "program: did not end within 0.3 s; allow it more; it wrote: late"),
        ("true", "program: has written no forward, and wrote nothing to stderr"),
        ('echo 0-0 > "$6"; echo 0-0 > "$8"', "forward: has 1 lines for 3 pairs of sentences"),
    ],
)
def test_what_is_wrong_with_another_program_is_told(tmp_path, body, message):
    with pytest.raises(InputError, match=message):
        external(*texts_of(TINY), command=program(tmp_path, body), timeout=0.3 if "sleep" in body else 60.0)


def test_a_missing_program_is_told(tmp_path):
    with pytest.raises(InputError, match="there is no such program; install it"):
        external(*texts_of(TINY), command=str(tmp_path / "none"))
    (tmp_path / "text").write_text("no program")
    with pytest.raises(InputError, match="text: cannot be run: Permission denied"):
        external(*texts_of(TINY), command=str(tmp_path / "text"))


# The command


@pytest.fixture
def corpus(tmp_path):
    source, target, truth = toy(1, 300)
    for name, texts in (("source", source), ("target", target)):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    write_points(tmp_path / "gold", truth)
    return tmp_path


def test_the_command_aligns_scores_and_keeps_its_aligner(corpus):
    source, target, out, kept = (corpus / name for name in ("source", "target", "out.gz", "kept"))
    code, printed, told = rampion(
        "align", source, target, "--out", out, "--save", kept, "--score", corpus / "gold", "--threads", 2
    )
    assert code == 0, told
    assert told.count("HMM") == told.count("Model 1") == 5
    assert printed.split()[:5] == ["pairs", "points", "precision", "recall", "error_rate"]
    again = good("align", source, target, "--out", corpus / "out", "--load", kept, "--json")
    assert '"pairs": 300' in again
    assert read(out) == read(corpus / "out")
    points = good("align", source, target, "--out", "-", "--load", kept, "--symmetrise", "union")
    assert len(points.splitlines()) == 300
    command = program(corpus, 'sed "s/.*/0-0/" "$2" > "$6"; sed "s/.*/0-0/" "$2" > "$8"')
    good("align", source, target, "--out", corpus / "other", "--with", command)
    assert (corpus / "other").read_text() == "0-0\n" * 300


def test_the_command_tells_what_is_wrong(corpus):
    source, target, out = (corpus / name for name in ("source", "target", "out"))
    (corpus / "short").write_text("a\n")
    (corpus / "empty").write_text("")
    for arguments, message in (
        ((source, corpus / "short"), "short: has 1 lines, and"),
        ((corpus / "empty", corpus / "empty"), "empty: holds no lines"),
        ((source, target, "--symmetrise", "grow"), "--symmetrise grow: expected one of intersection"),
        ((source, target, "--load", "a", "--save", "b"), "only one of them can be given"),
        ((source, target, "--with", "a", "--load", "b"), "only one of them can be given"),
    ):
        code, _, told = rampion("align", *arguments, "--out", out)
        assert code == 2
        assert message in told
    (corpus / "long").write_text("a " * 300 + "\n")
    (corpus / "one").write_text("a\n")
    code, _, told = rampion("align", corpus / "long", corpus / "one", "--out", out)
    assert code == 0
    assert "1 pairs with more than 200 words on a side were left without points" in told
