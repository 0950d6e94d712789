"""Blocks: what is extracted, counted, kept and found again, against definitions and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder._core import match as core_match
from decoder._core import phrases as core_phrases
from decoder._reference import match as reference_match
from decoder._reference import phrases as reference_phrases
from decoder.blocks import BOUNDARY, COLUMNS, IDENTITY, BlockSet, Phrases
from decoder.options import LONGEST, Options, Sentences
from rampion.errors import InputError
from rampion.text import Texts

phrase = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(" ".join)
entries = st.dictionaries(st.tuples(phrase, phrase), st.integers(1, 9), max_size=30).map(
    lambda found: [(source, target, count, {"LexST": -0.5 * count}) for (source, target), count in found.items()]
)
texts = st.lists(st.lists(st.sampled_from("abcdxy"), max_size=7).map(" ".join), max_size=5).map(Texts.of)


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
        words, bounds = np.zeros(100, np.uint32), np.zeros(len(given_texts) + 1, np.int64)
        module.lookup(given_texts.blob, given_texts.bounds, found.vocabularies.source, words, bounds)
        sentences = Sentences(words[: bounds[-1]].copy(), bounds)
        spans = np.zeros(len(sentences.words) * longest + 1, np.int64)
        columns = [np.zeros(room, kind) for kind in (np.int32, np.int32, np.uint32)]
        done = module.match(sentences, found.blocks, longest, top, 0, spans, *columns)
        results.append([done, *(array.tolist() for array in (words, bounds, spans, *columns))])
    assert results[0] == results[1]


def test_a_sentence_that_is_too_long_is_named():
    names = BlockSet.of([("a", "b", 1, {})]).vocabularies.source
    longest = "a " * LONGEST
    assert len(Sentences.of(Texts.of([longest]), names).words) == LONGEST
    with pytest.raises(InputError, match="segment 1: has 513 words; a sentence may have 512"):
        Sentences.of(Texts.of(["a", longest + "a"]), names)
    with pytest.raises(InputError, match="segment news-7: has 513 words"):
        Sentences.of(Texts.of(["a", longest + "a"]), names, Texts.of(["news-6", "news-7"]))


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
