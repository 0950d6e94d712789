"""The oracle: BLEU as the criterion of search, beside all of V(S) scored by the metric; and bags of blocks."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from exhaustive import options_of, space
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder.models.blocks import IDENTITY, Blocks
from rampion.decoder.models.options import Sentences
from rampion.decoder.search import oracle as room
from rampion.decoder.search.oracle import Oracle, Truth, bag, truth
from rampion.decoder.search.states import MON, Reordering
from speeds import examples

from rampion.errors import InputError
from rampion.metrics.bleu import Bleu
from rampion.store.names import Names
from rampion.store.text import References, Texts

REORDERINGS = [MON, Reordering(2), Reordering(), Reordering(adjacent_swaps=True)]
WIDE = 10**4
VOCABULARY = 6  # target words 3 to 8 are in the blocks; 9 and 10 only unknown source words and references know


def blocks_of(phrases):
    """Blocks of these target phrases, numbered from 2 on; the source side matters to nobody here."""
    everything = [[0], [1], *phrases]
    bounds = np.cumsum([0, *map(len, everything)])
    words = np.array([word for phrase in everything for word in phrase], np.uint32)
    none, ids = np.zeros(0, np.uint32), np.arange(len(everything), dtype=np.uint32)
    values = np.zeros((len(everything), 11), np.float32)
    return Blocks(none, np.zeros(1, np.int64), words, bounds, bounds, ids, ids, ids, values, none)


def truth_of(surfaces, segments):
    """References as word ids."""
    texts = [text for segment in segments for text in segment]
    bounds = np.cumsum([0, *map(len, texts)])
    words = np.array([word for text in texts for word in text], np.uint32)
    return Truth(words, bounds, np.cumsum([0, *map(len, segments)]), np.array(surfaces, np.uint32), 3 + VOCABULARY + 2)


@st.composite
def cases(draw, longest=3, most=5, some=1):
    """A batch: every word has a block, or stands for itself; longer spans have up to two."""
    word = st.integers(3, 2 + VOCABULARY)
    phrases = draw(st.lists(st.lists(word, min_size=1, max_size=3), min_size=4, max_size=8, unique_by=tuple))
    block = st.integers(2, len(phrases) + 1)
    lengths = draw(st.lists(st.integers(0, most), min_size=1, max_size=3))
    said = []
    for length in lengths:
        spans = {(i, i + 1): draw(st.lists(block, max_size=2, unique=True)) or [IDENTITY] for i in range(length)}
        longer = [(i, j) for i in range(length) for j in range(i + 2, min(i + longest, length) + 1)]
        for span in draw(st.lists(st.sampled_from(longer), unique=True, max_size=4)) if longer else []:
            spans[span] = draw(st.lists(block, min_size=1, max_size=2, unique=True))
        said.append(spans)
    surfaces = draw(st.lists(st.integers(3, 4 + VOCABULARY), min_size=sum(lengths), max_size=sum(lengths)))
    reference = st.lists(st.integers(3, 4 + VOCABULARY), max_size=7)
    segments = draw(st.lists(st.lists(reference, min_size=1, max_size=3), min_size=len(lengths), max_size=len(lengths)))
    bounds = np.cumsum([0, *lengths])
    sentences = Sentences(np.zeros(bounds[-1], np.uint32), bounds)
    return sentences, options_of(lengths, longest, said), blocks_of(phrases), truth_of(surfaces, segments)


def says(case, s, steps):
    """The words of a sequence, as ids."""
    sentences, options, blocks, known = case
    words = []
    for option in steps:
        block, place = options.blocks[option], sentences.bounds[s] + options.starts[option]
        phrase = slice(blocks.target_bounds[block], blocks.target_bounds[block + 1])
        words += [known.surfaces[place]] if block == IDENTITY else blocks.target_words[phrase].tolist()
    return words


def bleu(case, s, sequences, brevity="clipped"):
    """The metric's own value of each, from text."""
    known = case[-1]
    texts = [" ".join(f"w{word}" for word in says(case, s, steps)) for steps in sequences]
    rows = range(known.segments[s], known.segments[s + 1])
    references = [
        " ".join(f"w{word}" for word in known.words[known.bounds[r] : known.bounds[r + 1]].tolist()) for r in rows
    ]
    metric = Bleu(brevity=brevity)
    statistics = metric.statistics(
        Texts.from_strings(texts), np.array([0, len(texts)]), References.from_lists([references])
    )
    return metric.segments(statistics)


def parts(derivations, s):
    """Sequences of sentence s and their scores."""
    rows = range(derivations.bounds[s], derivations.bounds[s + 1])
    bounds = derivations.step_bounds
    return [tuple(derivations.steps[bounds[d] : bounds[d + 1]].tolist()) for d in rows], derivations.scores[rows]


@pytest.mark.parametrize("reordering", REORDERINGS, ids=str)
@examples(30)
@given(case=cases(), brevity=st.sampled_from(["clipped", "unclipped", "bp+1", "nobp"]))
def test_equals_brute_force_where_the_beam_is_wide(reordering, case, brevity):
    found = Oracle(WIDE, 5, reordering, brevity)(*case)
    for s in range(len(case[0].bounds) - 1):
        every = [steps for steps, _ in space(case[0], case[1], s, reordering)]
        sequences, scores = parts(found, s)
        assert scores.tolist() == sorted(bleu(case, s, every, brevity).tolist(), reverse=True)[:5]
        assert len(set(sequences)) == len(sequences)
        assert set(sequences) <= set(every)
        assert scores.tolist() == bleu(case, s, sequences, brevity).tolist()


@given(
    case=cases(most=8),
    beam=st.integers(1, 6),
    best=st.integers(1, 4),
    reordering=st.sampled_from(REORDERINGS),
    brevity=st.sampled_from(room.BREVITIES),
)
def test_twin(case, beam, best, reordering, brevity):
    """Narrow beams too: what the kernel skips and when it tidies up changes nothing."""
    search = Oracle(beam, best, reordering, brevity)
    results = []
    for folder in ("_core", "_reference"):
        kernel = import_module(f"rampion.decoder.{folder}.oracle").oracle
        with patch.object(room._kernels, "oracle", kernel):
            results.append(search(*case))
    for one, other in zip(*results, strict=True):
        assert one.tobytes() == other.tobytes()


def random_case(seed, lengths, choices=6, words=40):
    """Larger sentences; blocks say parts of their references as often as not."""
    rng = np.random.default_rng(seed)
    segments = [[rng.integers(3, words, length).tolist() for _ in range(2)] for length in lengths]
    phrases, said = {}, []
    for length, references in zip(lengths, segments, strict=True):
        spans = {}
        for start in range(length):
            for end in range(start + 1, min(start + 4, length) + 1):
                found = set()
                for _ in range(choices):
                    at = max(0, start + int(rng.integers(-2, 3)))
                    text = references[int(rng.integers(2))][at : at + end - start]
                    phrase = tuple(
                        text if text and rng.random() < 0.5 else rng.integers(3, words, end - start).tolist()
                    )
                    found.add(phrases.setdefault(phrase, len(phrases) + 2))
                spans[start, end] = sorted(found)
        said.append(spans)
    bounds = np.cumsum([0, *lengths])
    sentences = Sentences(np.zeros(bounds[-1], np.uint32), bounds)
    return (
        sentences,
        options_of(lengths, 4, said),
        blocks_of(phrases),
        truth_of(np.zeros(bounds[-1]), segments)._replace(size=words),
    )


def test_swaps_reach_further_than_monotone_sequences():
    case = random_case(1, [12] * 20)
    means = [np.mean(Oracle(100, 1, reordering)(*case).scores) for reordering in (MON, Reordering())]
    assert means[1] > means[0] > 0.3


def test_more_references_are_matched_no_worse():
    """Matches with both references are matches with one or the other at least."""
    case = random_case(2, [10] * 10)
    known = case[-1]
    for kept in (0, 1):
        rows = np.arange(10) * 2 + kept
        words = [known.words[known.bounds[r] : known.bounds[r + 1]].tolist() for r in rows]
        alone = truth_of(known.surfaces, [[text] for text in words])._replace(size=known.size)
        single = Oracle(50, 1, brevity="nobp")(*case[:3], alone).scores.mean()
        assert single <= Oracle(50, 1, brevity="nobp")(*case).scores.mean()


def test_threads_and_batches_change_no_bit(monkeypatch):
    case, heard = random_case(3, [0, 7, 1, 12, 5, 9]), []
    alone = Oracle()(*case)
    monkeypatch.setattr(room, "SHARD", 2)
    for one, other in zip(alone, Oracle()(*case, threads=2, progress=heard.append), strict=True):
        assert one.tobytes() == other.tobytes()
    assert heard == [2, 4, 6]


def test_what_the_work_arrays_hold_before_matters_nothing():
    """Not even to the number of words that the kernel bothers to append."""
    sentences, options, blocks, known = random_case(8, [9] * 5)
    letters, ends = np.zeros(len(options.blocks) + 1, np.int64), blocks.target_bounds[1:][options.blocks]
    np.cumsum(ends - blocks.target_bounds[:-1][options.blocks], out=letters[1:])
    results = []
    for byte in (0x00, 0xFF, 0x55):
        work, found = Oracle()._room(0, 5, sentences, options, known, letters)
        for array in (*work[1:], *found[1:]):
            array.view(np.uint8)[...] = byte
        limits = room.Limits(20, 3, 8, False, 0)
        said = room._kernels.oracle(sentences, options, blocks, known, limits, 0, 5, work, found)
        steps = found.steps[: found.step_bounds[found.bounds[-1]]]
        results.append((said, steps.tobytes(), found.statistics[: found.bounds[-1]].tobytes()))
    assert len(set(results)) == 1


def test_no_sentences():
    nothing = Oracle()(*random_case(4, []))
    assert [len(array) for array in nothing] == [1, 1, 0, 0]


def test_sentence_that_no_sequence_covers():
    sentences = Sentences(np.zeros(2, np.uint32), np.array([0, 2]))
    case = sentences, options_of([2], 2, [{(0, 1): [2]}]), blocks_of([[3]]), truth_of([3, 4], [[[3, 4]]])
    assert Oracle()(*case).bounds.tolist() == [0, 0]


def test_an_unknown_word_that_a_reference_holds_is_matched():
    """Through text: neither Zug nor the names are target words; `known` is one, and `new` of the reference is not."""
    target = Names()
    target.intern_all(Texts.from_strings(["<unk>", "<s>", "</s>", "known"]))
    known = truth(Texts.from_strings(["Ada Zug"]), References.from_lists([["known Ada new", "Ada"]]), target)
    assert len(target) == 4
    assert known.words[0] == 3
    assert known.words[1] == known.words[3] == known.surfaces[0]
    assert known.surfaces[1] not in known.words.tolist()
    assert len({*known.words.tolist(), *known.surfaces.tolist()}) == 4
    sentences = Sentences(np.zeros(2, np.uint32), np.array([0, 2]))
    found = Oracle(best=2)(sentences, options_of([2], 2, [{(0, 1): [0], (1, 2): [0]}]), blocks_of([]), known)
    assert parts(found, 0)[0] == [(0, 1), (1, 0)]  # Ada Zug, Zug Ada: one match of two, either way
    assert found.scores.tolist() == [pytest.approx((1 / 2 * 1 / 2) ** 0.25)] * 2


def test_bad_input():
    case = random_case(5, [3, 3])
    with pytest.raises(InputError, match="2 source sentences, but references of 1; give each sentence"):
        truth(Texts.from_strings(["a", "b"]), References.from_lists([["a"]]), Names())
    with pytest.raises(InputError, match="segment 1 has no reference; give it one"):
        truth(Texts.from_strings(["a", "b"]), References.from_lists([["a"], []]), Names())
    with pytest.raises(InputError, match="2 sentences of 6 words, but the truth is of 2 with 5"):
        Oracle()(*case[:3], case[3]._replace(surfaces=np.zeros(5, np.uint32)))
    with pytest.raises(InputError, match="beam is 0; at least 1"):
        Oracle(beam=0)


def test_bag_has_one_block_of_every_span_that_has_any():
    sentences, options, _, _ = random_case(6, [5, 0, 3])
    drawn = bag(sentences, options, seed=1)
    cells = [(start, end) for start, end in pairwise(options.spans.tolist()) if start < end]
    assert len(drawn.steps) == len(cells)
    assert all(start <= step < end for step, (start, end) in zip(drawn.steps, cells, strict=True))
    assert drawn.bounds.tolist() == [0, 1, 2, 3]
    assert drawn.step_bounds.tolist() == [0, 4 + 4 + 3 + 2 + 1 - 0, 14, 14 + 6]
    assert drawn.scores.tolist() == [0.0] * 3
    assert bag(sentences, options, seed=1).steps.tobytes() == drawn.steps.tobytes()
    assert bag(sentences, options, seed=2).steps.tobytes() != drawn.steps.tobytes()


def test_bag_of_a_sentence_depends_on_its_number_only():
    """The second half of a batch, drawn as a batch of its own that begins at its number."""
    sentences, options, _, _ = random_case(7, [6, 6])
    half = options.spans[6 * options.longest]
    alone = options._replace(spans=options.spans[6 * options.longest :] - half, starts=options.starts[half:])
    whole = bag(sentences, options, seed=9, first=10)
    second = bag(Sentences(sentences.words[6:], np.array([0, 6])), alone, seed=9, first=11)
    assert (whole.steps[whole.step_bounds[1] :] - half).tolist() == second.steps.tolist()


def test_bag_draws_evenly():
    """2000 sentences of one word with four blocks: a share of a quarter each, within five standard deviations."""
    sentences = Sentences(np.zeros(2000, np.uint32), np.arange(2001))
    options = options_of([1] * 2000, 1, [{(0, 1): [2, 3, 4, 5]}] * 2000)
    counts = np.bincount(bag(sentences, options, seed=0).steps % 4, minlength=4)
    assert np.abs(counts - 500).max() < 5 * np.sqrt(2000 * 3 / 16)
