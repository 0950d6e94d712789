"""Columns as metrics: labels, counts of errors, ratios, and the direction that each of them has."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rampion
from rampion.errors import InputError, RecipeError
from rampion.metrics import Column, Ratio, metric, needs_references, reads_columns
from rampion.metrics.judging import Judge
from rampion.store.text import References, Texts
from rampion.training.recipes import recipe_named

ERRORS = "cer", "WER", "val_loss", "logloss", "n_errors", "word-error-rate", "editDistance", "cost", "latency_ms"
GAINS = "comet", "is_correct", "reward", "certainty", "interest", "order", "answer", "accuracy"


def judged(name, **columns):
    """Two lists of three candidates, judged by that metric."""
    hyps = [
        {"text": f"t{i}", "feats": {"x": 1.0}, "metrics": {key: values[i] for key, values in columns.items()}}
        for i in range(6)
    ]
    lists = rampion.Candidates.from_records([{"id": "1", "hyps": hyps[:3]}, {"id": "2", "hyps": hyps[3:]}])
    nothing = References(Texts.from_strings([]), np.zeros(3, np.int64))
    return Judge(metric(name), nothing, lists.segments).batch(lists)


@pytest.mark.parametrize("column", ERRORS)
def test_a_column_of_errors_needs_a_direction(column):
    with pytest.raises(RecipeError, match=rf"write metric:{column},lower, or metric:{column},higher if more is better"):
        metric(f"metric:{column}")
    assert metric(f"metric:{column},lower") == Column(column, higher_is_better=False)
    assert metric(f"metric:{column},higher") == Column(column)


@pytest.mark.parametrize("column", GAINS)
def test_other_columns_need_none(column):
    assert metric(f"metric:{column}") == Column(column)
    assert metric(f"metric:{column},lower") == Column(column, higher_is_better=False)


def test_ratios_know_their_direction_by_what_is_counted():
    assert metric("errors/words") == Ratio("errors", "words", higher_is_better=False)
    assert metric("reward/tokens") == metric("metric:reward/tokens") == Ratio("reward", "tokens")
    assert metric("errors/words,higher").higher_is_better
    assert not metric("reward/tokens,lower").higher_is_better
    for name in ("errors/words", "metric:x"):
        assert reads_columns(metric(name))
        assert not needs_references(name)
    assert needs_references("cer")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=6, max_size=6), st.integers(0, 2))
def test_a_ratio_is_the_sum_by_the_sum(pairs, place):
    batch = judged("errors/words", errors=[e for e, _ in pairs], words=[w for _, w in pairs])
    chosen = [pairs[place], pairs[3 + place]]
    assert batch.corpus_score(np.array([place, 3 + place])) == sum(e for e, _ in chosen) / sum(w for _, w in chosen)
    assert batch.stakes.costs == pytest.approx([10 * e / w for e, w in pairs])


def test_nothing_to_count_over_is_no_error_rate_of_infinity():
    rows = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 4.0]])
    assert metric("errors/words").segments(rows).tolist() == [0, 1, 0.25]


@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("metric:good", [1, 0, 0, 0, 0, 1]),
        ("errors/words", [0, 1, 0, 0, 0, 0]),
        ("metric:errors,lower", [0, 1, 0, 0, 0, 0]),
        ("metric:stars", [0, 0, 0, 0, 0, 0]),  # on a scale that goes beyond 1 nothing says what is perfect
    ],
)
def test_what_costs_nothing_is_as_good_as_a_reference(name, reached):
    columns = {"good": [1, 0, 0, 0, 0, 1], "errors": [1, 0, 2, 3, 1, 1], "stars": [1, 5, 2, 3, 1, 4], "words": [2] * 6}
    assert judged(name, **columns).stakes.reached.tolist() == [bool(one) for one in reached]


def test_marks_go_before_labels():
    columns = {"good": [1, 0, 0, 0, 0, 1], "reached": [0, 0, 1, 0, 0, 1]}
    assert judged("metric:good", **columns).stakes.reached.tolist() == [False, False, True, False, False, True]


@pytest.mark.parametrize("recipe", ["log", "latent-log", "softmax-margin", "hinge"])
def test_log_losses_learn_from_labels(recipe):
    """One feature tells right from wrong, another one misleads."""
    random, records = np.random.default_rng(0), []
    for s in range(40):
        right = random.integers(4)
        hyps = [
            {
                "text": f"{s} {i}",
                "feats": {"told": float(i == right) + random.normal(0, 0.3), "noise": random.normal()},
                "metrics": {"is_correct": int(i == right)},
            }
            for i in range(4)
        ]
        records.append({"id": str(s), "hyps": hyps})
    lists = rampion.Candidates.from_records(records)
    tuned = rampion.tune(lists, recipe=recipe, metric="metric:is_correct")
    chosen = lists.metrics["is_correct"][rampion.pick(lists, tuned.weights)]
    assert chosen.mean() > 0.9
    assert abs(tuned.weights["noise"]) < tuned.weights["told"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("blu", "a numeric column of the lists; did you mean 'bleu'?"),
        ("bleu:13", "did you mean '13a'?"),
        ("wer:revers", "did you mean 'reverse'?"),
    ],
)
def test_misspelt_metrics_are_guessed(name, message):
    with pytest.raises(RecipeError, match=re.escape(message)):
        metric(name)


def test_misspelt_columns_recipes_and_settings_are_guessed():
    with pytest.raises(InputError, match=re.escape("they have: good, words; did you mean 'good'?")):
        judged("metric:godo", good=[1] * 6, words=[1] * 6)
    with pytest.raises(RecipeError, match="did you mean 'mert'"):
        recipe_named("mret")
    with pytest.raises(RecipeError, match="did you mean 'rate'"):
        rampion.RECIPES["rampion"].set(raet=1)


def weighted(weights):
    random, records = np.random.default_rng(0), []
    for s, weight in enumerate(weights):
        hyps = [
            {"text": " ".join(random.choice([*"abcd"], 5)), "feats": {"x": random.normal()}, "metrics": {"good": i % 2}}
            for i in range(3)
        ]
        records.append({"id": str(s), "hyps": hyps, "refs": ["a b c d a"], **({"weight": weight} if weight else {})})
    return rampion.Candidates.from_records(records), rampion.References.from_records(records)


@pytest.mark.parametrize("name", ["bleu", "chrf", "wer", "metric:good"])
def test_a_segment_counts_by_its_weight(name):
    """A weight of 3 is the segment three times; costs are those of the segment alone."""
    lists, references = weighted([3.0, 1.0, 2.0])
    copies = np.array([0, 0, 0, 1, 2, 2])
    many = lists[copies]
    many = many.take(np.arange(many.size), many.bounds, Texts.from_strings(map(str, range(6))))
    many = replace(many, fields={})
    plain = Judge(metric(name), references.take(copies), many.segments).batch(many)
    batch = Judge(metric(name), references, lists.segments).batch(lists)
    assert batch.corpus_score(np.array([1, 5, 6])) == pytest.approx(plain.corpus_score(np.array([1, 4, 7, 11, 12, 15])))
    alone = Judge(metric(name), references, lists.segments).batch(replace(lists, fields={}))
    assert np.array_equal(batch.stakes.costs, alone.stakes.costs)
    assert batch.priced(3.0).costs == pytest.approx(alone.priced(3.0).costs)


def test_mert_learns_from_weighted_segments():
    lists, references = weighted([1.0, 2.0, 0.5, 3.0])
    tuned = rampion.tune(lists, references, recipe="mert", metric="bleu")
    assert tuned.after.chosen >= tuned.before.chosen
