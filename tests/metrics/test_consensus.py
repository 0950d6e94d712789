"""Consensus against its definition: every text scored by the metric itself with every text of its list as reference."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF
from speeds import examples

from rampion import Candidates
from rampion.errors import InputError
from rampion.metrics import metric as named
from rampion.metrics.consensus import consensus, posteriors, votes

TEXT = st.lists(st.sampled_from([*"aaabbc", "cat", "Cat.", "日本"]), min_size=1, max_size=9).map(" ".join)
LISTS = st.lists(st.lists(TEXT, min_size=1, max_size=6), min_size=1, max_size=4)
METRICS = (
    "bleu",
    "bleu:13a,lc",
    "bleu:moses",
    "bleu:nist",
    "chrf",
    "chrf++",
    "chrf:lc",
    "wer",
    "wer:reverse,char",
    "ter",
)


def made(lists):
    return Candidates.from_records(
        {"id": str(s), "hyps": [{"text": text} for text in texts]} for s, texts in enumerate(lists)
    )


def expected(metric, texts, weights):
    """The definition, two strings at a time."""

    def value(text, truth):
        score = metric.segments(metric.statistics(*_pair(text, truth)))[0]
        return score if metric.higher_is_better else 1 - score

    return [
        sum(weight * value(text, truth) for truth, weight in zip(texts, weights, strict=True)) / sum(weights)
        for text in texts
    ]


def _pair(text, truth):
    from rampion.store.text import References, Texts

    return Texts.from_strings([text]), np.array([0, 1]), References.from_lists([[truth]])


@pytest.mark.parametrize("name", METRICS)
@examples(25)
@given(lists=LISTS, seed=st.integers(0, 99))
def test_consensus_is_its_definition(name, lists, seed):
    metric, candidates = named(name), made(lists)
    weights = np.random.default_rng(seed).random(candidates.size) + 0.1
    found = consensus(candidates, metric, weights)
    for s, texts in enumerate(lists):
        rows = slice(*candidates.bounds[[s, s + 1]])
        assert found[rows] == pytest.approx(expected(metric, texts, weights[rows]), abs=1e-12)


def test_consensus_by_chrf_is_the_mean_of_sacrebleu_s():
    texts = ["the cat sat on the mat", "a cat sat on a mat", "the dog sat", "something else entirely"]
    chrf = CHRF()
    means = [np.mean([chrf.sentence_score(text, [other]).score for other in texts]) / 100 for text in texts]
    assert consensus(made([texts]), named("chrf")) == pytest.approx(means, abs=1e-12)


@pytest.mark.parametrize("name", ["bleu", "chrf++", "wer"])
def test_threads_and_neighbours_change_no_bit(name, monkeypatch):
    random = np.random.default_rng(0)
    lists = [
        [" ".join(random.choice(["a", "b", "cc", "dd"], random.integers(1, 9))) for _ in range(random.integers(1, 30))]
        for _ in range(12)
    ]
    candidates, metric = made(lists), named(name)
    whole = consensus(candidates, metric, threads=1)
    monkeypatch.setattr("rampion.metrics.consensus.GRAMS", 500)
    monkeypatch.setattr("rampion.metrics.consensus.PAIRS", 500)
    assert consensus(candidates, metric, threads=4).tobytes() == whole.tobytes()
    alone = np.concatenate([consensus(candidates[[s]], metric) for s in range(len(lists))])
    assert alone.tobytes() == whole.tobytes()


@pytest.mark.parametrize("name", ["bleu", "chrf", "wer"])
def test_copies_weigh_as_often_as_they_are_listed(name):
    texts, metric = ["a b c d", "a b c", "a b d e f"], named(name)
    copied = consensus(made([[*texts, texts[0], texts[0]]]), metric)
    weighted = consensus(made([texts]), metric, np.array([3.0, 1.0, 1.0]))
    assert copied[:3] == pytest.approx(weighted)
    assert copied[3] == copied[4] == copied[0]


def test_a_list_without_weights_weighs_all_alike():
    candidates = made([["a b", "a c", "b"], ["x y"]])
    none = consensus(candidates, named("bleu"), np.zeros(4))
    assert none.tolist() == consensus(candidates, named("bleu")).tolist()
    assert none[3] == 1


@given(st.lists(st.lists(st.sampled_from(["4", "5", None]), min_size=1, max_size=6), min_size=1, max_size=4))
def test_votes_are_shares_of_the_list(lists):
    candidates = made([["x"] * len(answers) for answers in lists])
    counts = [Counter(answers) for answers in lists]
    shares = [
        0 if answer is None else count[answer] / len(answers)
        for answers, count in zip(lists, counts, strict=True)
        for answer in answers
    ]
    assert votes(candidates, [answer for answers in lists for answer in answers]) == pytest.approx(shares)


@given(LISTS, st.integers(0, 99), st.integers(1, 3))
def test_posteriors_are_expected_precisions(lists, seed, order):
    """The mean over n-grams of how likely each is, is the expected share of clipped matches."""
    candidates = made(lists)
    weights = np.random.default_rng(seed).random(candidates.size) + 0.1
    found = posteriors(candidates, order, weights)
    for s, texts in enumerate(lists):
        rows, counts = slice(*candidates.bounds[[s, s + 1]]), [grams(text, order) for text in texts]
        shares = weights[rows] / weights[rows].sum()
        expected = [
            sum(w * (mine & theirs).total() for w, theirs in zip(shares, counts, strict=True)) / max(mine.total(), 1)
            for mine in counts
        ]
        assert found[rows, order - 1] == pytest.approx(expected, abs=1e-12)


def grams(text, order):
    tokens = text.split()
    return Counter(zip(*(tokens[k:] for k in range(order)), strict=False))


def test_what_cannot_be_a_consensus_is_refused():
    candidates = made([["a", "b"]])
    with pytest.raises(InputError, match="metric column 'comet' cannot compare texts"):
        consensus(candidates, named("metric:comet"))
    with pytest.raises(InputError, match=r"shape \(3,\); expected 2"):
        consensus(candidates, named("bleu"), np.ones(3))
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="negative or not finite"):
            consensus(candidates, named("bleu"), np.array([1.0, wrong]))
