"""Laws of the toy task, measured with sacrebleu: it repeats, its features help, and its oracle is far."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import numpy as np
import pytest
from rampion.decoder.text import toy
from sacrebleu.metrics import BLEU

CORPUS = BLEU(tokenize="none", force=True)
SENTENCE = BLEU(tokenize="none", effective_order=True, smooth_method="add-k")
SEGMENTS, K = 400, 40


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=pytest.mark.slow)])
def records(request: pytest.FixtureRequest) -> list[toy.Record]:
    return list(toy.task(request.param, SEGMENTS, K))


@pytest.fixture(scope="module")
def quality(records: list[toy.Record]) -> list[list[float]]:
    def score(record: toy.Record, hyp: toy.Hypothesis) -> float:
        return SENTENCE.sentence_score(hyp["text"], record["refs"]).score

    return [[score(record, hyp) for hyp in record["hyps"]] for record in records]


def bleu(records: Sequence[toy.Record], picks: Sequence[int]) -> float:
    texts = [record["hyps"][pick]["text"] for record, pick in zip(records, picks, strict=True)]
    return CORPUS.corpus_score(texts, list(zip(*(record["refs"] for record in records), strict=True))).score


def dense(record: toy.Record) -> np.ndarray:
    rows = ((value for name in toy.INITIAL for value in toy.group(hyp["feats"][name])) for hyp in record["hyps"])
    return np.array([list(row) for row in rows])


def test_equal_seeds_are_equal_tasks_and_a_longer_one_begins_with_the_shorter() -> None:
    long, short = list(toy.task(5, 30, 20)), list(toy.task(5, 10, 20))
    assert json.dumps(long[:10]) == json.dumps(short)
    assert short != list(toy.task(6, 10, 20))


def test_lists_are_sorted_full_and_without_repetition(records: list[toy.Record]) -> None:
    assert [record["id"] for record in records] == [str(segment) for segment in range(SEGMENTS)]
    for record in records:
        scores = [toy.score(hyp["feats"], toy.INITIAL) for hyp in record["hyps"]]
        assert scores == sorted(scores, reverse=True)
        assert len({hyp["text"] for hyp in record["hyps"]}) == len(scores) <= K
        assert len(record["refs"]) == 2
    assert sum(len(record["hyps"]) == K for record in records) > 0.99 * SEGMENTS


def test_pair_counts_are_many_positive_and_sparse(records: list[toy.Record]) -> None:
    features = [feature for record in records for hyp in record["hyps"] for feature in hyp["feats"].items()]
    pairs = [(name, value) for name, value in features if name not in toy.INITIAL]
    assert all(name.startswith("WT_") and isinstance(value, int) and value >= 1 for name, value in pairs)
    assert 500 < len({name for name, _ in pairs}) < 5000


@pytest.mark.slow
def test_one_best_is_better_than_chance_and_far_from_the_oracle(
    records: list[toy.Record], quality: list[list[float]]
) -> None:
    rng = random.Random(0)
    chance = bleu(records, [rng.randrange(len(record["hyps"])) for record in records])
    first = bleu(records, [0] * len(records))
    oracle = bleu(records, [int(np.argmax(row)) for row in quality])
    assert chance + 5 < first < oracle - 15


@pytest.mark.slow
def test_least_squares_on_one_half_improves_the_other(records: list[toy.Record], quality: list[list[float]]) -> None:
    half = SEGMENTS // 2
    matrices = [dense(record) for record in records]
    inputs = np.concatenate([matrix - matrix.mean(0) for matrix in matrices[:half]])
    targets = np.concatenate([np.subtract(row, np.mean(row)) for row in quality[:half]])
    weights = np.linalg.lstsq(inputs, targets)[0]
    picks = [int(np.argmax(matrix @ weights)) for matrix in matrices[half:]]
    assert bleu(records[half:], picks) > bleu(records[half:], [0] * half) + 1


def test_words_are_distinct_and_the_first_are_the_shortest() -> None:
    words = [toy.word(rank, toy.SOURCE) for rank in range(3000)]
    assert len(set(words)) == 3000
    assert [len(text) for text in words] == sorted(len(text) for text in words)
