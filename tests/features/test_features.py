"""Features that lists give for free, against plain Python over strings."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder.models import arpa, kneser
from strategies import random_store, stores

from rampion import Candidates, add_features
from rampion.errors import InputError, InputWarning, RecipeError
from rampion.features import MAKERS, described, is_made
from rampion.metrics import metric
from rampion.metrics.consensus import consensus
from rampion.store.text import Texts

TEXT = st.lists(st.sampled_from([*"aab", "日本", "Cat."]), min_size=1, max_size=8).map(" ".join)
LISTS = st.lists(st.lists(TEXT, min_size=1, max_size=5), min_size=1, max_size=4)


def made(lists):
    def hyp(i, text):
        return {"text": text, "feats": {"LM": -float(len(text)), "x": i % 2 + 0.5}}

    return Candidates.from_records(
        {"id": str(s), "hyps": [hyp(i, text) for i, text in enumerate(texts)]} for s, texts in enumerate(lists)
    )


def column(lists, name):
    return [candidate.features.get(name, 0.0) for segment in lists for candidate in segment]


@given(stores(), st.integers(0, 3))
def test_new_features_stand_beside_the_old_ones(store, count):
    columns = {f"new{k}": np.random.default_rng(k).normal(size=store.size) for k in range(count)}
    wider = store.with_features(columns)
    old = np.random.default_rng(9).normal(size=len(store.features))
    weights = np.array(
        [dict(zip(store.features.names, old, strict=True)).get(name, 0.0) for name in wider.features.names]
    )
    assert np.array_equal(wider.score(weights), store.score(old))
    for name, numbers in columns.items():
        assert np.array_equal(wider.score(np.array([float(one == name) for one in wider.features.names])), numbers)
    assert wider.features.width == store.features.width + count
    assert wider.texts == store.texts
    Candidates.from_arrays(wider.arrays(), wider.meta())  # proves that all fits together


def test_bad_columns_are_refused():
    store = random_store(np.random.default_rng(0), [2, 1], 2, 3)
    with pytest.raises(InputError, match="a feature 'D1' already"):
        store.with_features({"D1": np.zeros(3)})
    with pytest.raises(InputError, match=r"'y' of shape \(2,\); expected 3"):
        store.with_features({"y": np.zeros(2)})
    with pytest.raises(InputError, match="'y' is not finite"):
        store.with_features({"y": np.array([0, np.nan, 1])})


@given(LISTS, st.integers(1, 4))
def test_features_of_texts_are_what_they_say(lists, order):
    sources = [" ".join(texts[0].split()[::2]) for texts in lists]
    found = add_features(
        made(lists), ["rank", "length", "letters", f"repeats:{order}", "ratio", "copied", "vote"], source=sources
    )
    texts = [(text, source, texts) for texts, source in zip(lists, sources, strict=True) for text in texts]
    assert column(found, "rank") == [i + 1 for texts in lists for i in range(len(texts))]
    assert column(found, "length") == [len(text.split()) for text, _, _ in texts]
    assert column(found, "letters") == [len(text.replace(" ", "")) for text, _, _ in texts]
    assert column(found, "ratio") == pytest.approx([len(t.split()) / len(source.split()) for t, source, _ in texts])
    copied = [np.mean([word in source.split() for word in t.split()]) for t, source, _ in texts]
    assert column(found, "copied") == pytest.approx(copied)
    assert column(found, "vote") == pytest.approx([t.count(text) / len(t) for text, _, t in texts])
    expected = []
    for text, _, _ in texts:
        tokens = text.split()
        counts = Counter(tuple(tokens[k : k + order]) for k in range(len(tokens) - order + 1))
        expected.append(1 - len(counts) / counts.total() if counts else 0.0)
    assert column(found, f"repeats:{order}") == pytest.approx(expected)


def test_products_thresholds_and_bins():
    lists = made([["a", "a b", "a b c"], ["a b c d", "b", "b c d e f"]])
    found = add_features(lists, ["length", "LM*x", "length*consensus:wer", "length>2.5", "bins:length,3"])
    lengths = np.array(column(found, "length"))
    assert column(found, "LM*x") == [a * b for a, b in zip(column(lists, "LM"), column(lists, "x"), strict=True)]
    agreed = consensus(lists, metric("wer"))
    assert column(found, "length*consensus:wer") == pytest.approx((lengths * agreed).tolist())
    assert column(found, "length>2.5") == (lengths > 2.5).tolist()
    assert [name for name in found.features.names if name.startswith("length>")] == [
        "length>2.5",
        "length>1",
        "length>3",
    ]
    again = add_features(lists, ["length>1", "length>3"])  # the names say how to make them for other lists
    assert column(again, "length>3") == column(found, "length>3")


def test_consensus_and_votes_can_be_weighed():
    lists = made([["a 1", "b 1", "c 2"], ["x", "y 3"]])
    found = add_features(lists, ["vote", "vote@LM", "consensus:chrf@x"], answer=r"\d")
    assert column(found, "vote:answer") == pytest.approx([2 / 3, 2 / 3, 1 / 3, 0, 1 / 2])
    weights = np.exp([-3, -3, -3, -1, -3])
    shares = [2 / 3, 2 / 3, 1 / 3, 0, weights[4] / (weights[3] + weights[4])]
    assert column(found, "vote:answer@LM") == pytest.approx(shares)
    expected = consensus(lists, metric("chrf"), np.exp(column(lists, "x")))
    assert column(found, "consensus:chrf@x") == pytest.approx(expected.tolist())


def test_a_group_of_the_answer_pattern_is_the_answer_and_the_last_match_counts():
    lists = made([["so 4 #### 7", "1 #### 2 #### 7", "#### 8", "7"]])
    found = add_features(lists, "vote:answer", answer=r"#### *(\d+)")
    assert column(found, "vote:answer") == [0.5, 0.5, 0.25, 0]


def test_a_field_may_hold_the_answer():
    rows = [("1", "so 4", "4"), ("1", "four", "4"), ("1", "5", "5"), ("2", "?", ""), ("2", "6", "6")]
    with pytest.warns(InputWarning, match="keep=said"):
        lists = Candidates.from_records(
            [{"id": s, "text": text, "said": answer, "x": 1.0} for s, text, answer in rows], columns="keep=said"
        )
    found = add_features(lists, "vote:said")
    assert column(found, "vote:said") == pytest.approx([2 / 3, 2 / 3, 1 / 3, 0, 1 / 2])
    with pytest.raises(InputError, match=r"they have: said .*did you mean 'said'"):
        add_features(lists, "vote:sad")


def test_an_answer_pattern_must_find_something():
    with pytest.raises(InputError, match=r"no text has an answer by the pattern '####'; the first ends with 'a'"):
        add_features(made([["a", "b"]]), "vote", answer="####")


def test_a_language_model_scores_texts(tmp_path):
    lists, path = made([["a b", "b a a"], ["b"]]), tmp_path / "toy.arpa"
    model = kneser.estimate(Texts.from_strings(["a b", "a b a", "b"] * 5), 2).lm
    arpa.save(path, model)
    expected = arpa.load(path).score(lists.texts).tolist()
    assert column(add_features(lists, ["lm"], lm=path), "lm") == pytest.approx(expected)
    assert column(add_features(lists, ["lm"], lm=model), "lm") == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lenght", "did you mean 'length'"),
        ("length:3", "length takes nothing after the name"),
        ("length@LM", "length takes nothing after the name"),
        ("consensus@LMM", "no feature 'LMM'; did you mean 'LM'"),
        ("consensus@score", "no score to weigh them by"),
        ("repeats:0", "a number from 1 to 9"),
        ("LMM*x", "did you mean 'LM'"),
        ("bins:LM,1", "at least 2 bins"),
        ("bins:length,9", "one value in all candidates"),
        ("LM", "no feature 'LM' can be made"),
        ("lm", "give its file with --lm"),
        ("copied", "give them with --source"),
        ("vote:answer", "give --answer"),
        ("vote:note", "the lists have no field 'note'; they have: none"),
    ],
)
def test_what_cannot_be_made_is_said(name, message):
    with pytest.raises(InputError, match=re.escape(message)):
        add_features(made([["a", "b"], ["c"]]), ["length", name])


def test_what_is_given_is_checked():
    lists = made([["a"], ["b"]])
    with pytest.raises(InputError, match="3 sources for 2 segments"):
        add_features(lists, "ratio", source=["a", "b", "c"])
    with pytest.raises(InputError, match="one string; give a list"):
        add_features(lists, "ratio", source="ab")
    with pytest.raises(InputError, match="not a regular expression"):
        add_features(lists, "vote", answer="(")
    with pytest.raises(InputError, match="'length' already"):
        add_features(lists, ["length", "length"])
    with pytest.raises(RecipeError, match="no metric"):
        add_features(lists, "consensus:blue")
    assert add_features(lists, ["LM", "length", "nothing"], lenient=True).features.width == 3


def test_names_tell_what_can_be_made():
    assert all(is_made(name) for name in MAKERS)
    assert is_made("A*B")
    assert is_made("A>-1e3")
    assert is_made("bins:A,4")
    assert is_made("consensus:bleu:13a@LM")
    assert not is_made("LM")
    assert not is_made("A>b")
    assert len(dict(described())) == len(MAKERS) + 3
