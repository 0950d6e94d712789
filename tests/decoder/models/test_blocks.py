"""Blocks: what is extracted, counted, kept and found again, against definitions and brute force."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command import good, rampion
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder._core import extract as core_extract
from rampion.decoder._core import lexical as core_lexical
from rampion.decoder._core import match as core_match
from rampion.decoder._core import phrases as core_phrases
from rampion.decoder._reference import extract as reference_extract
from rampion.decoder._reference import lexical as reference_lexical
from rampion.decoder._reference import match as reference_match
from rampion.decoder._reference import phrases as reference_phrases
from rampion.decoder.alignment import align
from rampion.decoder.alignment.align import FLOOR, Lexicon, model1
from rampion.decoder.alignment.links import Alignment, Words
from rampion.decoder.models import extract, jumps
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, IDENTITY, BlockSet, Phrases, Vocabularies
from rampion.decoder.models.extract import AlignedText, Runs, Settings, Spans, build, link_weights
from rampion.decoder.models.options import LONGEST, Options, Sentences, needed

from rampion.errors import InputError, RecipeError, StoreError
from rampion.formats import container
from rampion.store.text import Texts

phrase = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(" ".join)
entries = st.dictionaries(st.tuples(phrase, phrase), st.integers(1, 9), max_size=30).map(
    lambda found: [(source, target, count, {"LexST": -0.5 * count}) for (source, target), count in found.items()]
)
texts = st.lists(st.lists(st.sampled_from("abcdxy"), max_size=7).map(" ".join), max_size=5).map(Texts.from_strings)


# Matching


@given(entries, texts, st.integers(1, 4), st.integers(1, 5))
def test_options_are_all_blocks_of_all_spans(listed, given_texts, longest, top):
    found = BlockSet.of(listed)
    sentences = Sentences.of(given_texts, found.vocabularies.source)
    options = Options.match(sentences, found.blocks, longest, top)
    assert len(options.spans) == len(sentences.words) * longest + 1
    for first, text in zip(sentences.bounds.tolist(), given_texts, strict=False):
        words = text.split()
        for start in range(len(words)):
            for size in range(1, longest + 1):
                span = (first + start) * longest + size - 1
                rows = range(*options.spans[span : span + 2])
                inside = " ".join(words[start : start + size]) if start + size <= len(words) else None
                expected = sorted((-count, target) for source, target, count, _ in listed if source == inside)[:top]
                if not expected and size == 1:
                    assert options.blocks[rows].tolist() == [IDENTITY]
                else:
                    assert [found.text(block) for block in options.blocks[rows]] == [(inside, t) for _, t in expected]
                assert {(int(options.starts[row]), int(options.ends[row])) for row in rows} <= {(start, start + size)}


@given(entries, texts)
def test_blocks_that_a_text_needs(listed, given_texts):
    """They are what would be made of their entries alone, and say of the text what all would."""
    every = BlockSet.of(listed)
    found = needed(every, given_texts)
    stands = [entry for entry in listed if any(f" {entry[0]} " in f" {text} " for text in given_texts)]
    expected = BlockSet.of(stands)
    assert [found.text(block) for block in range(len(found.blocks.counts))] == [
        expected.text(block) for block in range(len(expected.blocks.counts))
    ]
    for name in ("sources", "targets", "firsts", "counts", "values"):
        assert np.array_equal(getattr(found.blocks, name), getattr(expected.blocks, name)), name
    assert found.vocabularies == every.vocabularies
    sentences = Sentences.of(given_texts, every.vocabularies.source)
    before, after = (Options.match(sentences, one.blocks) for one in (every, found))
    assert np.array_equal(before.spans, after.spans)
    assert [every.text(block) for block in before.blocks] == [found.text(block) for block in after.blocks]


@given(entries)
def test_blocks_by_hand_come_back(listed):
    found = BlockSet.of(listed)
    blocks = found.blocks
    values = blocks.values[:, COLUMNS.index("LexST")].tolist()
    shown = [(*found.text(block), int(blocks.counts[block]), {"LexST": value}) for block, value in enumerate(values)]
    assert shown[IDENTITY][:3] == ("<unk>", "<unk>", 0)
    assert shown[BOUNDARY][:3] == ("<s>", "<s>", 0)
    assert shown[2:] == sorted(listed, key=lambda entry: (entry[0].split(), -entry[2], entry[1].split()))
    assert not blocks.values[:2].any()
    assert np.array_equal(np.repeat(np.arange(len(blocks.firsts) - 1), np.diff(blocks.firsts)), blocks.sources)


@given(entries, texts, st.integers(1, 4), st.integers(1, 5), st.integers(0, 20))
def test_match_and_its_twin_agree(listed, given_texts, longest, top, room):
    found = BlockSet.of(listed)
    results = []
    for module in (core_match, reference_match):
        sentences = Sentences.of(given_texts, found.vocabularies.source)
        spans = np.zeros(len(sentences.words) * longest + 1, np.int64)
        columns = [np.zeros(room, kind) for kind in (np.int32, np.int32, np.uint32)]
        done = module.match(sentences, found.blocks, longest, top, 0, spans, *columns)
        results.append([done, *(array.tolist() for array in (spans, *columns))])
    assert results[0] == results[1]


def test_a_sentence_that_is_too_long_is_named():
    names = BlockSet.of([("a", "b", 1, {})]).vocabularies.source
    longest = "a " * LONGEST
    assert len(Sentences.of(Texts.from_strings([longest]), names).words) == LONGEST
    with pytest.raises(InputError, match="segment 1: has 513 words; a sentence may have 512"):
        Sentences.of(Texts.from_strings(["a", longest + "a"]), names)
    with pytest.raises(InputError, match="segment news-7: has 513 words"):
        Sentences.of(Texts.from_strings(["a", longest + "a"]), names, Texts.from_strings(["news-6", "news-7"]))


# Tables of phrases


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.randoms(), st.sampled_from([1, 4, 64]))
def test_phrases_are_numbered_by_first_appearance(words, random, capacity):
    tokens = np.array(words, np.uint32)
    starts = [random.randrange(len(words)) for _ in range(50)]
    sizes = [random.randint(1, min(4, len(words) - start)) for start in starts]
    table = Phrases(capacity)
    ids = table.number(tokens, np.array(starts), np.array(sizes, np.uint8))
    spelt = [tuple(words[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    order = list(dict.fromkeys(spelt))
    assert ids.tolist() == [order.index(one) for one in spelt]
    assert table.words[: table.bounds[len(table)]].tolist() == [word for one in order for word in one]
    again = table.number(tokens, np.array(starts), np.array(sizes, np.uint8))
    assert again.tolist() == ids.tolist()


@given(st.lists(st.integers(0, 3), min_size=4, max_size=40), st.integers(1, 4))
def test_phrases_and_their_twin_agree(words, size):
    tokens = np.array(words, np.uint32)
    starts = np.arange(len(words) - size + 1)
    results = []
    for module in (core_phrases, reference_phrases):
        table, ids = Phrases(16), np.zeros(len(starts), np.uint32)
        done = module.number(tokens, starts, np.full(len(starts), size, np.uint8), 0, table, ids)
        slots = np.zeros(64, np.uint32)
        module.index(table.words, table.bounds[: len(table) + 1], 0, slots)
        results.append([done, *(array.tolist() for array in (ids, table.slots, table.words, table.bounds, slots))])
    assert results[0] == results[1]


# Extraction


@st.composite
def aligned(draw):
    """Small aligned texts: words, links, and nothing said of order."""
    pairs = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=3))
    lines, points = ([], []), []
    for n, m in pairs:
        for line, size in zip(lines, (n, m), strict=True):
            line.append(" ".join(draw(st.lists(st.sampled_from("abcd"), min_size=size, max_size=size))))
        points.append(draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1)), max_size=8)))
    return Texts.from_strings(lines[0]), Texts.from_strings(lines[1]), Alignment.of(points)


def consistent(points, n, m, longest=None):
    """All pairs of spans that hold a link and that no link leaves, by the definition."""
    spans = [(s, e, b, f) for s in range(n) for e in range(s + 1, n + 1) for b in range(m) for f in range(b + 1, m + 1)]
    return [
        (s, e, b, f)
        for s, e, b, f in spans
        if any(s <= j < e and b <= i < f for j, i in points)
        and all((s <= j < e) == (b <= i < f) for j, i in points)
        and (longest is None or max(e - s, f - b) <= longest)
    ]


def orientation(points, n, m, block):
    """Backward and forward, by the blocks of any length whose corners touch this one's."""
    s, e, b, f = block
    around = consistent(points, n, m)
    ends = {(x[1], x[3]) for x in around} | {(0, 0)}
    begins = {(x[0], x[2]) for x in around} | {(n, m)}
    backward = 0 if (s, b) in ends else 1 if (e, b) in {(x[0], x[3]) for x in around} else 2
    forward = 0 if (e, f) in begins else 1 if (s, f) in {(x[1], x[2]) for x in around} else 2
    return backward, forward


def text_of(source, target, alignment, settings):
    vocabularies = Vocabularies.special()
    sides = [Words(*names.tokens(texts)) for names, texts in zip(vocabularies, (source, target), strict=True)]
    return vocabularies, AlignedText(*sides, alignment, settings)


@given(aligned(), st.integers(1, 6), st.booleans())
def test_extraction_finds_the_consistent_pairs(given_text, longest, loose):
    source, target, alignment = given_text
    _, text = text_of(source, target, alignment, Settings(longest=longest, loose=loose))
    found = [row for spans in text.spans("") for row in zip(*(column.tolist() for column in spans), strict=True)]
    expected, offsets = [], [0, 0]
    for pair, (left, right) in enumerate(zip(source, target, strict=True)):
        n, m, points = len(left.split()), len(right.split()), alignment[pair]
        for block in consistent(points, n, m, longest):
            s, e, b, f = block
            tight = {s, e - 1} <= {j for j, _ in points} and {b, f - 1} <= {i for _, i in points}
            if loose or tight:
                backward, forward = orientation(points, n, m, block)
                expected.append((offsets[0] + s, e - s, offsets[1] + b, f - b, 3 * backward + forward))
        offsets = [offsets[0] + n, offsets[1] + m]
    assert sorted(found) == sorted(expected)


@given(aligned(), st.integers(1, 6), st.booleans(), st.integers(1, 60))
def test_extraction_and_its_twin_agree(given_text, longest, loose, room):
    _, text = text_of(*given_text, Settings(longest=longest))
    results = []
    for module in (core_extract, reference_extract):
        spans, bounds = Spans.room(room), np.zeros(len(text.alignment) + 1, np.int64)
        for column in spans:
            column[:] = 0
        work = [np.zeros(100, np.uint8), np.zeros((4, 6), np.int32), np.zeros((40, 4), np.int32)]
        done = module.extract(text.source, text.target, text.alignment, longest, loose, 0, *work, spans, bounds)
        results.append([done, bounds.tolist(), *(column[: bounds[done]].tolist() for column in spans)])
        spans = spans.first(int(bounds[done]))
        ids = [np.arange(len(spans.codes), dtype=np.uint32) % size for size in (3, 2)]
        followers = np.array([0, 1, 0], np.uint32)
        turns, lexical = np.zeros((3, 6), np.uint32), np.full((3, 2), -np.inf)
        weights = link_weights(text.source, text.target, text.alignment)
        module.tally(spans, *ids, *weights, np.array([0, 2, 3, 3]), followers, turns, lexical)
        results[-1] += [turns.tolist(), lexical.tolist()]
    assert results[0] == results[1]


def reckoned(source, target, alignment, longest):
    """Counts of all pairs of phrases, their greatest lexical weights and their orientations, in plain Python."""
    lines = [[line.split() for line in side] for side in (source, target)]
    links, givens = [Counter(), Counter()], [Counter(), Counter()]  # of (word, other word), of the other word
    tables = []
    for pair in range(len(source)):
        own = [{}, {}]
        for way, points in enumerate((alignment[pair], [(i, j) for j, i in alignment[pair]])):
            for place, word in enumerate(lines[way][pair]):
                others = [lines[1 - way][pair][i] for j, i in points if j == place] or [None]
                own[way][place] = [(word, other) for other in others]
                links[way].update(own[way][place])
                givens[way].update(others)
        tables.append(own)
    counts, weights, turns = Counter(), defaultdict(lambda: [0.0, 0.0]), defaultdict(Counter)
    for pair in range(len(source)):
        left, right = lines[0][pair], lines[1][pair]
        for block in consistent(alignment[pair], len(left), len(right), longest):
            s, e, b, f = block
            phrases = " ".join(left[s:e]), " ".join(right[b:f])
            counts[phrases] += 1
            turns[phrases].update(zip("bf", orientation(alignment[pair], len(left), len(right), block), strict=True))
            for way, places in enumerate((range(s, e), range(b, f))):
                shares = [[links[way][x] / givens[way][x[1]] for x in tables[pair][way][place]] for place in places]
                weight = math.prod(sum(share) / len(share) for share in shares)
                weights[phrases][way] = max(weights[phrases][way], weight)
    return counts, weights, turns


@given(aligned(), st.integers(1, 4))
def test_blocks_hold_what_plain_counting_finds(given_text, longest):
    source, target, alignment = given_text
    found = build(source, target, alignment, Settings(longest=longest, top=0), threads=1)
    counts, weights, turns = reckoned(source, target, alignment, longest)
    assert {found.text(block): n for block, n in enumerate(found.blocks.counts.tolist()) if block > 1} == counts
    sides = [Counter(), Counter()]
    for phrases, n in counts.items():
        for side, one in zip(sides, phrases, strict=True):
            side[one] += n
    lexicon = generated_by_hand(source, target, found)
    for block in range(2, len(found.blocks.counts)):
        phrases = found.text(block)
        row = dict(zip(COLUMNS, np.exp(found.blocks.values[block].astype(float)).tolist(), strict=True))
        assert row["PhraseST"] == pytest.approx(counts[phrases] / sides[1][phrases[1]])
        assert row["PhraseTS"] == pytest.approx(counts[phrases] / sides[0][phrases[0]])
        assert [row["LexST"], row["LexTS"]] == pytest.approx(weights[phrases])
        assert row["ModelOne"] == pytest.approx(lexicon(*phrases))
        for way in "bf":
            names = ["BackM", "BackS", "BackD"] if way == "b" else ["ForeM", "ForeS", "ForeD"]
            expected = [(turns[phrases][way, code] + 0.5) / (counts[phrases] + 1.5) for code in range(3)]
            assert [row[name] for name in names] == pytest.approx(expected)


def generated_by_hand(source, target, found):
    """p(S|T) of Model 1 as a function of two phrases."""
    names = found.vocabularies
    sides = [Words(*one.tokens(texts)) for one, texts in zip(names, (source, target), strict=True)]
    table = model1(sides[1], sides[0], threads=1)
    rows = [slice(*edges) for edges in pairwise(table.bounds.tolist())]
    known = [dict(zip(table.words[row].tolist(), table.values[row].tolist(), strict=True)) for row in rows]

    def chance(left, right):
        given = [names.target.find(word) for word in right.split()]
        total = 1.0
        for word in left.split():
            own = names.source.find(word)
            total *= (table.null[own] + sum(known[e].get(own, FLOOR) for e in given)) / (len(given) + 1)
        return total

    return chance


@given(entries, st.integers(0, 99))
def test_chances_by_model_one_and_their_twin_agree(listed, seed):
    found = BlockSet.of(listed)
    blocks, random = found.blocks, np.random.default_rng(seed)
    size = len(found.vocabularies.target)
    bounds = np.arange(size + 1) * 2
    words = np.tile(np.array([3, 5], np.uint32), size)
    lexicon = Lexicon(bounds, words, random.random(2 * size).astype(np.float32), random.random(9).astype(np.float32))
    results = []
    for module in (core_lexical, reference_lexical):
        values = np.zeros(len(blocks.sources), np.float32)
        memory = np.zeros(4, np.uint64), np.zeros(4, np.float32)
        sides = blocks.source_words, blocks.source_bounds, blocks.target_words, blocks.target_bounds
        module.lexical(*sides, blocks.sources, blocks.targets, lexicon, 1e-9, *memory, values)
        results.append(values.tolist())
    assert results[0] == results[1]


@given(st.lists(st.lists(st.integers(0, 1 << 34), max_size=20), max_size=6), st.integers(1, 30))
def test_runs_count_every_key(chunks, size):
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Path(folder), size)
        for chunk in chunks:
            runs.add(np.array(chunk, np.uint64))
        merged = [list(zip(keys.tolist(), counts.tolist(), strict=True)) for keys, counts in runs.merged()]
    counts = Counter(key for chunk in chunks for key in chunk)
    assert [entry for piece in merged for entry in piece] == sorted(counts.items())
    halves = [{key >> 32 for key, _ in piece} for piece in merged]
    assert sum(map(len, halves)) == len(set().union(*halves))


SOURCE = Texts.from_strings(["das haus", "das haus ,", "das", "das <unk>", "haus !"])
TARGET = Texts.from_strings(["the house", "the house ,", "that", "the <unk>", "a house which"])
LINKS = Alignment.of([[(0, 0), (1, 1)], [(0, 0), (1, 1), (2, 2)], [(0, 0)], [(0, 0), (1, 1)], [(0, 1), (1, 2)]])


@pytest.mark.parametrize(
    ("settings", "gone", "stays"),
    [
        (Settings(), {("<unk>", "<unk>"), ("das <unk>", "the <unk>")}, {("das", "that"), ("!", "which")}),
        (Settings(least=2), {("das", "that"), ("!", "which")}, {("das", "the")}),
        (Settings(top=1), {("das", "that"), ("haus", "a house")}, {("das", "the"), ("haus", "house")}),
        (Settings(ratio=1.0), {("haus", "a house"), ("haus !", "a house which")}, {("haus !", "house which")}),
        (Settings(punctuation=False), {("!", "which")}, {(",", ","), ("haus !", "house which")}),
        (Settings(loose=False), {("haus", "a house")}, {("haus", "house")}),
    ],
    ids=["special", "least", "top", "ratio", "punctuation", "loose"],
)
def test_settings_keep_what_they_say(settings, gone, stays):
    found = build(SOURCE, TARGET, LINKS, settings, threads=1)
    texts = {found.text(block) for block in range(2, len(found.blocks.sources))}
    assert not texts & gone
    assert stays <= texts


def test_pruning_leaves_shares_as_they_were():
    everything, some = (build(SOURCE, TARGET, LINKS, Settings(least=n), threads=1) for n in (1, 2))
    values = {everything.text(b): row.tolist() for b, row in enumerate(everything.blocks.values)}
    for block, row in enumerate(some.blocks.values.tolist()):
        assert row == values[some.text(block)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"longest": 0}, "longest 0: a phrase may have 1 to 20 words"),
        ({"least": 0}, "least 0, top 100: expected at least 1"),
        ({"ratio": 0.5}, "ratio 0.5: expected 1 or more"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(RecipeError, match=message):
        Settings(**settings)


def test_texts_and_links_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="5 source and 5 target sentences, 1 alignments; expected as many of each"):
        build(SOURCE, TARGET, Alignment.of([[]]))
    with pytest.raises(InputError, match="line 3: the link 1-0 leads out of the sentences, which have 1 and 1 words"):
        build(SOURCE, TARGET, Alignment.of([[], [], [(1, 0)], [], []]))


def test_more_words_than_keys_can_tell_apart_are_refused(monkeypatch):
    monkeypatch.setattr(extract, "WORDS", 7)
    with pytest.raises(InputError, match="the target side has 9 different words; at most 7 have feature keys"):
        build(SOURCE, TARGET, LINKS)


def test_words_of_pairs_that_are_too_long_to_align_have_the_least_probability():
    long = " ".join(["a"] * align.LONGEST + ["new"])
    texts = [Texts.from_strings([long, "a"]), Texts.from_strings(["b c", "b"])]
    found = build(*texts, Alignment.of([[(align.LONGEST, 1)], [(0, 0)]]), threads=1)
    rows = {found.text(block): found.blocks.values[block] for block in range(2, len(found.blocks.counts))}
    value = dict(zip(found.blocks.columns, rows["new", "c"].tolist(), strict=True))["ModelOne"]
    assert value == pytest.approx(math.log((FLOOR + FLOOR) / 2))


@pytest.mark.parametrize("texts", [[], [""], ["", "a b"]])
def test_texts_without_links_have_no_blocks(texts):
    lines = Texts.from_strings(texts)
    found = build(lines, lines, Alignment.of([[] for _ in texts]), threads=1)
    assert len(found.blocks.sources) == 2
    sentences = Sentences.of(Texts.from_strings(["a c", ""]), found.vocabularies.source)
    assert Options.match(sentences, found.blocks).blocks.tolist() == [IDENTITY, IDENTITY]


# Jumps


@given(aligned(), st.integers(1, 4))
def test_jumps_are_counted_from_word_to_word(given_text, reach):
    source, target, alignment = given_text
    vocabularies, text = text_of(source, target, alignment, Settings())
    found = jumps.estimate(text.source, text.target, alignment, len(vocabularies.source), reach)
    out, into = Counter(), Counter()
    for pair, line in enumerate(source):
        words, end, last = line.split(), 0, ("<s>", None)
        for i in range(len(target[pair].split())):
            places = [j for j, at in alignment[pair] if at == i]
            if places and (min(places), max(places)) != last[1]:
                distance = max(-reach, min(reach, min(places) - end))
                out[last[0], distance] += 1
                into[words[min(places)], distance] += 1
                end, last = max(places) + 1, (words[max(places)], (min(places), max(places)))
    for table, counts in ((found.out, out), (found.into, into)):
        overall = Counter(range(-reach, reach + 1))
        for (_, distance), n in counts.items():
            overall[distance] += n
        for index, word in enumerate(vocabularies.source.texts()):
            total = sum(counts[word, d] for d in overall)
            share = [(counts[word, d] + 10 * overall[d] / overall.total()) / (total + 10) for d in overall]
            assert np.exp(table[index].astype(float)).tolist() == pytest.approx(share)


# Files


def test_a_block_set_comes_back_from_its_file(tmp_path):
    whole = build(SOURCE, TARGET, LINKS, threads=1)
    for number, found in enumerate((whole, BlockSet.of([]))):
        path = tmp_path / f"{number}.blocks"
        found.write(path)
        again = BlockSet.read(path)
        for table, other in ((found.blocks, again.blocks), (found.jumps, again.jumps)):
            for array, mapped in zip(table, other, strict=True):
                assert array.dtype == mapped.dtype
                assert np.array_equal(array, mapped)
        assert [list(names.texts()) for names in again.vocabularies] == [list(n.texts()) for n in found.vocabularies]
        assert again.meta == found.meta


def test_every_damaged_byte_is_noticed(tmp_path):
    path = tmp_path / "x.blocks"
    build(SOURCE, TARGET, LINKS, threads=1).write(path)
    content = path.read_bytes()
    for at in range(0, len(content), 97):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(StoreError, match="blocks: "):
            BlockSet.read(path)
    path.write_bytes(content[:-64])
    with pytest.raises(StoreError, match="get the file again"):
        BlockSet.read(path)


def changed(arrays, name, change):
    return arrays | {name: change(arrays[name].copy())}


def put(at, value):
    def change(array):
        array[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("targets", put(2, 999), "targets holds the id 999, expected ids below"),
        ("source_words", put(3, 999), "source_words holds the id 999"),
        ("target_bounds", put(2, 0), "target_bounds holds a size below 1"),
        ("firsts", put(3, 77), "firsts adds up to"),
        ("values", put((2, 3), np.nan), "values holds a number that is not finite"),
        ("slots", lambda slots: np.ones_like(slots), "slots is not a table with free slots"),
        ("slots", lambda slots: slots[:-1], "slots is not a table with free slots"),
        ("out", lambda table: table[:, :-1], "into has 21 numbers, expected 20"),
        ("firsts", put(0, 2**32 - 1), "firsts adds up to 4,294,967,3"),
        ("source_blob", put(1, 120), "its first source words are not <unk>"),
        ("source_blob", put(20, ord(",")), "a word appears twice in a vocabulary"),
        ("counts", lambda counts: counts.astype(np.uint64), "counts is not of the type uint32"),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path, name, change, message):
    path = tmp_path / "x.blocks"
    build(SOURCE, TARGET, LINKS, threads=1).write(path)
    arrays, meta = container.opened(path, "blocks")
    container.write(path, "blocks", changed(arrays, name, change), meta)
    with pytest.raises(StoreError, match=message):
        BlockSet.read(path)


def test_files_of_another_layout_or_kind_are_refused(tmp_path):
    path = tmp_path / "x.blocks"
    build(SOURCE, TARGET, LINKS, threads=1).write(path)
    arrays, meta = container.opened(path, "blocks")
    container.write(path, "blocks", arrays, meta | {"layout": 99})
    with pytest.raises(StoreError, match="has block layout 99, this Rampion reads 1; build the blocks again"):
        BlockSet.read(path)
    container.write(path, "lm", arrays, meta)
    with pytest.raises(StoreError, match="holds lm, expected blocks"):
        BlockSet.read(path)


# The command


@pytest.fixture
def folder(tmp_path):
    for name, texts in (("train.de", SOURCE), ("train.en", TARGET)):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts), "utf-8")
    points = [" ".join(f"{j}-{i}" for j, i in LINKS[pair]) for pair in range(len(LINKS))]
    (tmp_path / "train.align").write_text("".join(f"{line}\n" for line in points), "utf-8")
    return tmp_path


def test_the_command_makes_blocks_and_shows_them(folder):
    text, out = (folder / "train.de", folder / "train.en"), folder / "x.blocks"
    made = good("blocks", *text, "--align", folder / "train.align", "--tight", "--top", 5, "--out", out)
    found, expected = BlockSet.read(out), build(SOURCE, TARGET, LINKS, Settings(loose=False, top=5), threads=1)
    assert found.meta == expected.meta
    assert all(np.array_equal(*arrays) for arrays in zip(found.blocks, expected.blocks, strict=True))
    assert made == good("blocks", out)
    facts = json.loads(good("blocks", out, "--json"))
    assert facts["blocks"] == len(found.blocks.sources) - 2
    assert facts["meta"] == found.meta
    assert good("blocks", out, "--show", "das haus").splitlines()[1].split()[:5] == ["the", "house", "2", "1", "1"]
    first = json.loads(good("blocks", out, "--show", "das", "--json"))[0]
    assert (first["target"], first["count"]) == ("the", 3)
    assert first["PhraseTS"] == pytest.approx(3 / 4)


def test_the_command_takes_the_alignment_of_a_folder_or_makes_one(folder):
    (folder / "train.align").unlink()
    (folder / "train.de-en.align").write_text("0-0\n\n\n\n\n")
    good("blocks", folder, "--out", folder / "given.blocks")
    given = BlockSet.read(folder / "given.blocks")
    assert given.meta["occurrences"] == 4
    (folder / "train.de-en.align").unlink()
    good("blocks", folder, "--pair", "de-en", "--threads", 1, "--out", folder / "x.blocks")
    found = BlockSet.read(folder / "x.blocks")
    assert found.meta["text"] != given.meta["text"]
    assert ("das haus", "the house") in {found.text(block) for block in range(len(found.blocks.sources))}


def test_a_version_of_a_side_is_not_given_the_alignment_of_another(folder):
    (folder / "train.en.old").write_bytes((folder / "train.en").read_bytes())
    (folder / "train.de-en.align").write_text("0-0\n\n\n\n\n")
    good("blocks", folder, "--pair", "de-en.old", "--threads", 1, "--out", folder / "made.blocks")
    assert BlockSet.read(folder / "made.blocks").meta["occurrences"] > 4
    (folder / "train.de-en.old.align").write_text("0-0\n\n\n\n\n")
    good("blocks", folder, "--pair", "de-en.old", "--out", folder / "own.blocks")
    assert BlockSet.read(folder / "own.blocks").meta["occurrences"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.de", "--out", "y"], "is one file; blocks are made from a folder, or from two files of text"),
        (["train.de", "train.en"], "expected a folder or two files of text, and --out FILE; or one file of blocks"),
        (["a", "b", "c", "--out", "y"], "expected a folder or two files of text"),
        (["train.de", "short", "--out", "y"], "short: has 1 lines, and train.de has 5; expected a translation"),
        (["train.de", "train.en", "--align", "far", "--out", "y"], "far:2: "),
        (["train.de"], "train.de: is no blocks file of Rampion"),
        (["x.blocks", "--show", "das hau"], "--show 'das hau': no block has this source phrase"),
        (["x.blocks", "--show", " "], "--show: expected a source phrase, one word at least"),
    ],
)
def test_the_command_says_what_is_wrong(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    (folder / "short").write_text("one\n", "utf-8")
    (folder / "far").write_text("0-0\n0-7\n\n\n\n", "utf-8")
    build(SOURCE, TARGET, LINKS, threads=1).write("x.blocks")
    answer = rampion("blocks", *arguments)
    assert answer.code == 2
    assert message in answer.err
    assert not (folder / "y").exists()
