"""Weights of segments: one of 2 counts as the segment standing twice, one of 0 as if it were not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import toy

from rampion.errors import InputError, InputWarning, RecipeError
from rampion.losses.pairwise import Pairs
from rampion.losses.table import LOSSES
from rampion.optim.solvers import visits
from rampion.store.candidates import Candidates
from rampion.training.recipes import recipes_of
from rampion.training.reranking import pick
from rampion.training.task import Task
from rampion.training.tuning import tune

METRIC = "metric:right"
RECIPES = recipes_of("lists")
DRAWN = {
    name for name in RECIPES if name.startswith(("pro", "mira", "averaged"))
}  # what they draw depends on all lists


def records(seed, segments=12, wrong=()):
    """Lists in which a hidden weighing decides; in wrong ones its opposite does."""
    random, found = np.random.default_rng(seed), []
    for s in range(segments):
        values = random.normal(size=(5, 3))
        scores = values @ [1.0, -1.0, 0.3] * (-1 if s in wrong else 1)
        hyps = [
            {"text": f"{s} {c}", "feats": {f"f{n}": float(x) for n, x in enumerate(row)},
             "metrics": {"right": float(c == scores.argmax())}}
            for c, row in enumerate(values)
        ]  # fmt: skip
        found.append({"id": str(s), "hyps": hyps})
    return found


def weighted(found, weights):
    return Candidates.from_records([record | {"weight": float(w)} for record, w in zip(found, weights, strict=True)])


def repeated(found, weights):
    """The same with every segment as often as its weight says."""
    copies = [
        record | {"id": f"{record['id']} {n}"} for record, w in zip(found, weights, strict=True) for n in range(w)
    ]
    return Candidates.from_records(copies)


def learnt(lists, name):
    recipe = RECIPES[name].set(metric=METRIC, scale="none")
    if name.startswith("xbleu"):
        recipe = recipe.set(alpha=1.0)
    return tune(lists, recipe=recipe, start={"f0": 0.1, "f1": 0.1, "f2": 0.1}).weights.vector


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in DRAWN])
def test_a_weight_is_how_often_a_segment_stands(name):
    found, weights = records(1), [1, 3, 0, 2, 1, 1, 0, 2, 1, 4, 1, 2]
    one, other = learnt(weighted(found, weights), name), learnt(repeated(found, weights), name)
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", RECIPES)
def test_weights_of_1_change_nothing(name):
    if name == "mira":
        return  # for BLEU only: below
    found = records(2)
    assert (
        learnt(weighted(found, np.ones(12)), name).tobytes() == learnt(Candidates.from_records(found), name).tobytes()
    )


@pytest.mark.parametrize("name", ["auto", *(name for name in RECIPES if name != "mira")])
def test_segments_that_hardly_count_hardly_teach(name):
    """Two thirds of the lists say the opposite."""
    wrong = [s for s in range(60) if s % 3]
    lists = weighted(records(3, 60, wrong), [1e-3 if s in wrong else 1.0 for s in range(60)])
    settings = {"alpha": 1.0} if name.startswith("xbleu") else {}
    tuned = tune(lists, recipe=name, metric=METRIC, **settings)
    there = Candidates.from_records(records(4, 200))
    right = there.metrics["right"][pick(there, tuned.weights)].mean()
    assert right > (0.4 if RECIPES.get(name) is not RECIPES["ramp1"] else 0.1)


def test_mira_for_bleu_visits_as_often_as_weights_say():
    lists, references = toy()
    rows = lists.to_records()
    counted = {w: Candidates.from_records([row | {"weight": w} for row in rows]) for w in (1.0, 2.0)}
    plain = tune(lists, references, recipe="mira").weights.vector
    assert tune(counted[1.0], references, recipe="mira").weights.vector.tobytes() == plain.tobytes()
    assert tune(counted[2.0], references, recipe="mira").weights.vector.tobytes() != plain.tobytes()


def test_visits_are_as_many_as_weights_on_average():
    random, order = np.random.default_rng(0), np.array([2, 0, 1])
    assert visits(order, None, random) is order
    assert visits(order, np.array([2.0, 0.0, 3.0]), random).tolist() == [2, 2, 2, 0, 0]
    drawn = np.concatenate([visits(order, np.array([0.25, 1.5, 0.0]), random) for _ in range(4000)])
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 4000, [0.25, 1.5, 0.0], atol=0.03)


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_a_sum_with_weights(name):
    loss = LOSSES[name]
    if not hasattr(loss, "stances"):
        return  # of relevant sets, which have no segments' weights
    batch = Task(Candidates.from_records(records(5))).lists.batch(METRIC)
    random = np.random.default_rng(0)
    weights, scores = random.random(12), random.normal(size=60)
    stakes = replace(batch.stakes, weights=weights)
    value, slopes = loss.slopes(stakes, scores)
    parts = [loss.slopes(replace(batch.stakes, weights=np.eye(12)[s]), scores) for s in range(12)]
    assert value == pytest.approx(sum(w * part for w, (part, _) in zip(weights, parts, strict=True)))
    np.testing.assert_allclose(slopes, sum(w * part for w, (_, part) in zip(weights, parts, strict=True)), atol=1e-12)


def test_pairs_count_as_their_segments_do():
    batch = Task(Candidates.from_records(records(6))).lists.batch(METRIC)
    scores, weights = np.random.default_rng(0).normal(size=60), np.arange(12.0)
    whole = Pairs().slopes(replace(batch.stakes, weights=weights), scores)
    parts = [Pairs().slopes(replace(batch.stakes, weights=np.eye(12)[s]), scores) for s in range(12)]
    assert whole[0] == pytest.approx(sum(s * value for s, (value, _) in enumerate(parts)))
    np.testing.assert_allclose(whole[1], sum(s * slopes for s, (_, slopes) in enumerate(parts)), atol=1e-12)


def test_some_segments_keep_their_weights():
    batch = Task(weighted(records(7), range(12))).lists.batch(METRIC)
    some = batch.among(np.array([3, 1, 8]))
    assert some.stakes.weights.tolist() == [3.0, 1.0, 8.0]
    assert some.priced(3.0).weights.tolist() == [3.0, 1.0, 8.0]
    np.testing.assert_array_equal(3.0 * some.stakes.costs, 10.0 * some.priced(3.0).costs)


def test_shards_refuse_weights():
    with pytest.raises(RecipeError, match="shards do not support weights of segments"):
        tune(weighted(records(8), range(12)), recipe="risk", metric=METRIC, shards=2)


def test_a_frame_without_a_weight_is_told_and_two_weights_are_refused():
    columns = {"id": ["a", "a", "b", "b"], "text": list("wxyz"), "x": [1.0, 2.0, 3.0, 4.0]}
    with pytest.warns(InputWarning, match="1 of 2 segments have no weight, and count 1"):
        lists = Candidates.from_frame(columns | {"w": [2.0, 2.0, np.nan, np.nan]}, weight="w")
    assert lists.segment_weights.tolist() == [2.0, 1.0]
    for wrong in ([1.0, 2.0, 1.0, 1.0], [1.0, np.nan, 1.0, 1.0]):
        with pytest.raises(InputError, match="segment a has two weights; give all its candidates the same"):
            Candidates.from_frame(columns | {"w": wrong}, weight="w")
    for wrong, said in ((["-1", "-1", "1", "1"], "'-1'"), (["much", "much", "1", "1"], "'much'")):
        with pytest.raises(InputError, match=f"the weight of a segment is {said}; expected a number of 0 or more"):
            Candidates.from_frame(columns | {"w": wrong}, weight="w")
