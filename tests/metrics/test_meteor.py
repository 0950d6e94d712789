"""METEOR against all alignments that there are, values computed by hand, and the examples of Porter's rules."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion.errors import InputError
from rampion.metrics import Meteor
from rampion.metrics import metric as named
from rampion.metrics.meteor import align
from rampion.metrics.stem import stem
from rampion.store.text import References, Texts

# The examples that Porter's paper gives beside its rules, step by step; what later steps do to them is added here.
STEMS = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat",
    "feed": "feed", "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
    "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan",
    "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file",
    "happy": "happi", "sky": "sky",
    "relational": "relat", "conditional": "condit", "rational": "ration", "valenci": "valenc", "hesitanci": "hesit",
    "digitizer": "digit", "conformabli": "conform", "radicalli": "radic", "differentli": "differ", "vileli": "vile",
    "analogousli": "analog", "vietnamization": "vietnam", "predication": "predic", "operator": "oper",
    "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope", "callousness": "callous",
    "formaliti": "formal", "sensitiviti": "sensit", "sensibiliti": "sensibl",
    "triplicate": "triplic", "formative": "form", "formalize": "formal", "electriciti": "electr",
    "electrical": "electr", "hopeful": "hope", "goodness": "good",
    "revival": "reviv", "allowance": "allow", "inference": "infer", "airliner": "airlin", "gyroscopic": "gyroscop",
    "adjustable": "adjust", "defensible": "defens", "irritant": "irrit", "replacement": "replac",
    "adjustment": "adjust", "dependent": "depend", "adoption": "adopt", "homologou": "homolog",
    "communism": "commun", "activate": "activ", "angulariti": "angular", "homologous": "homolog",
    "effective": "effect", "bowdlerize": "bowdler",
    "probate": "probat", "rate": "rate", "cease": "ceas", "controll": "control", "roll": "roll",
    "as": "as", "is": "is", "": "", "1990s": "1990", "y": "y", "yes": "ye",
}  # fmt: skip


@pytest.mark.parametrize("word", STEMS)
def test_a_stem_is_what_porters_rules_make(word):
    assert stem(word) == STEMS[word]


@given(st.text("aeiouybcdgllstvxz", max_size=9), st.sampled_from(["", "ed", "ing", "ation", "fulness", "s", "ement"]))
def test_a_stem_is_never_longer_and_begins_like_the_word(root, ending):
    word = root + ending
    found = stem(word)
    assert len(found) <= len(word)
    assert found[:1] == word[:1]
    assert found[:-1] == word[: len(found) - 1]  # only the last letter is ever replaced


WORDS = st.lists(st.sampled_from(["a1", "a2", "a3", "b1", "b2", "c1", "d1"]), max_size=6)


def alignments(mine, theirs, i=0, used=frozenset()):
    """All sets of links between words of the same letter."""
    if i == len(mine):
        yield []
        return
    yield from alignments(mine, theirs, i + 1, used)
    for j in set(range(len(theirs))) - used:
        if mine[i][0] == theirs[j][0]:
            yield from ([(i, j), *rest] for rest in alignments(mine, theirs, i + 1, used | {j}))


def best_of_all(mine, theirs):
    """[matches, chunks]: most links between equal words, then most links, then fewest chunks."""

    def rank(links):
        equal = sum(mine[i] == theirs[j] for i, j in links)
        broken = sum((b[0] - a[0], b[1] - a[1]) != (1, 1) for a, b in pairwise(links))
        return -equal, -len(links), broken + bool(links)

    _, links, chunks = min(map(rank, alignments(mine, theirs)))
    return -links, chunks


def kin(words):
    return [word[0] for word in words]


@given(WORDS, WORDS)
def test_no_alignment_is_better(mine, theirs):
    assert align(mine, theirs, kin(mine), kin(theirs)) == best_of_all(mine, theirs)


@given(WORDS, WORDS)
def test_the_search_is_exact_with_all_the_room_it_asks_for(mine, theirs):
    assert align(mine, theirs, kin(mine), kin(theirs), 10**9) == best_of_all(mine, theirs)


@given(st.lists(st.sampled_from("abcde"), max_size=30), st.lists(st.sampled_from("abcde"), max_size=30))
def test_in_long_texts_the_search_is_near(mine, theirs):
    """Matches are always exact. Chunks are no fewer than those of a wider search, and few more."""
    matches, chunks = align(mine, theirs, mine, theirs)
    wide, fewest = align(mine, theirs, mine, theirs, 1000)
    assert matches == wide == sum(min(mine.count(word), theirs.count(word)) for word in "abcde")
    assert fewest <= chunks <= fewest + 2
    assert align(theirs, mine, theirs, mine)[0] == matches


R1 = "the Israeli warplanes violated the Lebanese airspace today"
GOLDEN = {
    # candidate, reference: its row, and the value by hand
    # 6 words link: israeli warplanes | violate the lebanese airspace; P 6/6, R 6/8, one word by its stem; 2 chunks
    ("israeli warplanes violate the lebanese airspace", R1): ([6, 8, 6, 1], 6 / 7.8 * (1 - 0.5 / 216)),
    # the | fighter planes: nothing but "the"
    ("the fighter planes", R1): ([3, 8, 1, 1], 1 / 7.5 * 0.5),
    # on the mat | sat | the cat
    ("on the mat sat the cat", "the cat sat on the mat"): ([6, 6, 6, 3], 1 - 0.5 / 8),
    # equal words first: walks and walk cross, though their stems would make one chunk
    ("walks walk", "walk walks"): ([2, 2, 2, 2], 0.5),
    # one of two equal words links, the other one to its kin
    ("violated violated", "violates violated"): ([2, 2, 2, 1], 1 - 0.5 / 8),
    ("", "a dog"): ([0, 2, 0, 0], 0.0),
    ("a dog", ""): ([2, 0, 0, 0], 0.0),
    ("", ""): ([0, 0, 0, 0], 0.0),
}


def rows(metric, candidates, references):
    return metric.statistics(
        Texts.from_strings(candidates), np.array([0, len(candidates)]), References.from_lists([references])
    )


@pytest.mark.parametrize("texts", GOLDEN)
def test_meteor_has_its_golden_values(texts):
    candidate, reference = texts
    row, value = GOLDEN[texts]
    metric = named("meteor")
    found = rows(metric, [candidate], [reference])
    assert found.tolist() == [row]
    assert metric.segments(found)[0] == pytest.approx(value, rel=1e-14)


def test_a_corpus_is_scored_from_sums():
    metric = named("meteor")
    score = metric.score(["the cat", "a dog sat"], ["the cat sat", "a dog"])
    # 5 words on either side, 4 matches in 2 chunks
    assert score == pytest.approx(100 * 4 / 5 * (1 - 0.5 * (2 / 4) ** 3))


def test_the_variants_of_meteor():
    texts = "israeli warplanes violate the Lebanese airspace", R1
    exact, cased, tuned = (named(f"meteor:{name}") for name in ("exact", "exact,cased", "2007"))
    assert rows(exact, texts[:1], texts[1:]).tolist() == [[6, 8, 5, 2]]
    assert rows(cased, texts[:1], texts[1:]).tolist() == [[6, 8, 4, 2]]
    found = rows(tuned, texts[:1], texts[1:])
    assert tuned.segments(found)[0] == pytest.approx(6 / (0.81 * 8 + 0.19 * 6) * (1 - 0.28 * (1 / 6) ** 0.83))


TEXTS = st.lists(st.sampled_from(["the", "cat", "cats", "sat", "on", "mats", "mat"]), max_size=6).map(" ".join)


@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, min_size=1, max_size=3))
def test_the_best_reference_counts_and_the_first_of_equals(candidates, references):
    metric = named("meteor")
    found = rows(metric, candidates, references)
    alone = np.stack([rows(metric, candidates, [reference]) for reference in references])
    values = np.stack([metric.segments(row) for row in alone])
    assert found.tolist() == [alone[best, i].tolist() for i, best in enumerate(values.argmax(axis=0))]


@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS)
def test_values_lie_between_nothing_and_a_text_that_is_the_reference(candidates, reference):
    metric = named("meteor")
    values = metric.segments(rows(metric, [*candidates, reference], [reference]))
    assert (values >= 0).all()
    assert (values <= values[-1]).all()
    words = len(reference.split())
    assert values[-1] == pytest.approx(1 - 0.5 / words**3 if words else 0)


def test_the_signature_says_how_words_match():
    references = References.from_lists([["a", "b"], ["c"]])
    assert (
        named("meteor")
        .signature(references)
        .startswith("nrefs:var|case:lc|tok:none|match:exact,porter|abg:0.9,3,0.5|version:rampion-")
    )
    assert "case:mixed|tok:13a|match:exact|" in named("meteor:exact,cased,13a").signature(references)
    assert Meteor() == named("meteor")


@pytest.mark.parametrize("who", ["candidate", "reference"])
def test_texts_whose_alignment_would_take_for_ever_are_refused(who):
    long, short = "a " * 501, "a"
    texts = ([long], [short]) if who == "candidate" else ([short], [long])
    with pytest.raises(InputError, match=rf"{who} 0 .* has 501 words; METEOR takes 500: it searches"):
        named("meteor").score(*texts)


def test_the_longest_text_is_scored():
    repeated = " ".join("ab"[i % 3 == 0] for i in range(500))
    assert named("meteor").score([repeated], [" ".join(reversed(repeated.split()))]) > 90
