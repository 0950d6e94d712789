"""The default: weights that say the listed order, fits near what is known, and their mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples

from rampion.losses.contrast import MODEL
from rampion.losses.table import LOSSES
from rampion.metrics.judging import Batch
from rampion.store.candidates import Candidates
from rampion.training.automatic import (
    OPTIONS,
    SINGLE,
    STAKE,
    Automatic,
    listed_weights,
    scaled,
    single_weights,
)
from rampion.training.task import Task
from rampion.training.tuning import tune
from rampion.training.validation import Ground, Parts, axes, best_single

METRIC = "metric:right"
TRUE = np.array([1.0, -2.0, 0.5])


def records(random, segments=20, k=6, totals=None, useless=0, order=None):
    """Lists with three features and useless ones; in the order of some weights or not, with scores or without."""
    found = []
    for s in range(segments):
        values = random.normal(size=(k, 3 + useless))
        if order is not None:
            values = values[np.argsort(-(values[:, :3] @ order), kind="stable")]
        hyps = []
        for c, row in enumerate(values):
            right = float(row[:3] @ TRUE + random.normal() > 1.5)
            feats = {f"f{n}": float(value) for n, value in enumerate(row)}
            hyp = {"text": f"{s} {c}", "feats": feats, "metrics": {"right": right}}
            hyps.append(hyp | ({} if totals is None else {"score": float(row[:3] @ totals)}))
        found.append({"id": str(s), "hyps": hyps})
    return found


def batch_of(found) -> tuple[Task, Batch]:
    """As the default sees it: in units."""
    task = Task(Candidates.from_records(found))
    batch = task.lists.in_units(task.lists.batch(METRIC), task.lists.units)
    return task, replace(batch, stakes=batch.priced(1.0))


def same_direction(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other) == pytest.approx(1.0, abs=1e-3)


@examples(25)
@given(st.integers(0, 2**32))
def test_scores_that_features_make_are_found_again(seed):
    random = np.random.default_rng(seed)
    weights = random.normal(size=3)
    task, batch = batch_of(records(random, totals=weights))
    found = listed_weights(batch)
    assert same_direction(found, task.lists.units.inward(weights))
    assert same_direction(listed_weights(replace(batch, candidates=batch.candidates)), found)


def test_a_place_that_is_a_feature_is_found_without_scores():
    random = np.random.default_rng(0)
    found = records(random)
    for record in found:
        for place, hyp in enumerate(record["hyps"]):
            hyp["feats"]["place"] = float(place)
    _, batch = batch_of(found)
    picks = MODEL.picks(batch.stakes, batch.candidates.score(listed_weights(batch)))
    assert picks.tolist() == batch.candidates.bounds[:-1].tolist()


@pytest.mark.parametrize("useless", [0, 200])
def test_an_order_by_chance_is_not_explained_however_many_features_there_are(useless):
    for seed in range(5):
        _, batch = batch_of(records(np.random.default_rng(seed), segments=5, useless=useless))
        assert not listed_weights(batch).any()


def test_the_single_weight_is_that_of_the_best_feature_and_of_least_loss():
    _, batch = batch_of(records(np.random.default_rng(1), segments=40))
    ground = Ground(batch, Parts.of(batch.candidates.segments, 0, None))
    best = best_single(ground, ground.single(axes(batch)))
    loss = LOSSES["oracle-log"]
    weights = single_weights(loss, batch)
    assert np.flatnonzero(weights).tolist() == [best.feature]
    assert np.sign(weights[best.feature]) == best.sign

    def height(size):
        alone = np.zeros(3)
        alone[best.feature] = size
        return loss.slopes(batch.stakes, batch.candidates.score(alone))[0] + size * size / 20

    here = height(weights[best.feature])
    assert all(here <= height(weights[best.feature] * factor) for factor in (-1.0, 0.0, 0.5, 0.9, 1.1, 2.0))


def test_options_are_what_their_fits_make_and_directions_count_alike():
    _, batch = batch_of(records(np.random.default_rng(2), segments=10))
    ways = Automatic(METRIC, batch, np.zeros(3))
    assert ways.options is OPTIONS
    mean = next(iter(OPTIONS))
    alone = [Automatic(METRIC, batch, np.zeros(3)) for _ in OPTIONS[mean]]
    parts = []
    for fit, way in zip(OPTIONS[mean], alone, strict=True):
        way.options = {"one": (fit,)}
        parts.append(way.learn("one", batch))
    np.testing.assert_allclose(ways.learn(mean, batch), np.mean(parts, axis=0), rtol=1e-9)
    assert any(fit.anchor == SINGLE for fit in OPTIONS[mean])
    once = scaled(parts[0], batch)
    np.testing.assert_allclose(scaled(7 * parts[0], batch), once, rtol=1e-12)
    assert STAKE == 5.0


def test_few_lists_in_a_good_order_stay_near_it():
    """Scores of the right weights, and labels of eight lists: what is learnt may not be worse by much."""
    lists = Candidates.from_records(records(np.random.default_rng(3), 8, totals=TRUE, useless=30, order=TRUE))
    there = Candidates.from_records(records(np.random.default_rng(4), 300, totals=TRUE, useless=30, order=TRUE))
    tuned = tune(lists, metric=METRIC, dev=there)
    assert "near the listed order" in tuned.choice or tuned.choice == "listed order"
    assert tuned.held["tuned"].score > tuned.held["listed order"].score - 0.03
    plain = tune(lists, recipe="soft-ramp3", metric=METRIC, dev=there)
    assert tuned.held["tuned"].score > plain.held["tuned"].score + 0.03


def test_a_listed_order_that_is_bad_is_left():
    lists = Candidates.from_records(records(np.random.default_rng(5), 60, totals=-TRUE, order=-TRUE))
    there = Candidates.from_records(records(np.random.default_rng(6), 200, totals=-TRUE, order=-TRUE))
    tuned = tune(lists, metric=METRIC, dev=there)
    assert tuned.held["tuned"].score > tuned.held["listed order"].score + 0.3
    assert tuned.held["tuned"].score > 0.85 * tuned.held["oracle"].score


def test_initial_weights_take_the_place_of_the_listed_order():
    lists = Candidates.from_records(records(np.random.default_rng(7), 8, useless=30))
    start = dict(zip(["f0", "f1", "f2"], (1e3 * TRUE).tolist(), strict=True)) | {f"f{n}": 0.0 for n in range(3, 33)}
    tuned = tune(lists, metric=METRIC, start=start)
    assert "the initial weights" in tuned.choice or tuned.choice == "initial weights"
    found = np.array([tuned.weights[f"f{n}"] for n in range(33)])
    assert found[:3] @ TRUE / np.linalg.norm(found) / np.linalg.norm(TRUE) > 0.8
