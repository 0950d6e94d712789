"""Places in lists and their products: what they are, which names make them again, and that they let weights bend."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import good
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

import rampion
from rampion.formats import save_nbest
from rampion.formats import weights as weight_files
from rampion.store.bends import PAIRED, bends, completed, is_bend, places, plain, straight, with_bends
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.training.automatic import WITH_BENDS
from rampion.training.tuning import tune

VALUES = st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0, 7.0]), max_size=6), min_size=1, max_size=5)


@given(VALUES)
def test_places_are_ranks_of_equals_shared(lists):
    bounds = np.cumsum([0, *map(len, lists)])
    found = places(np.array([value for row in lists for value in row]), bounds)
    for row, start in zip(lists, bounds, strict=False):
        expected = (rankdata(row) - 1) / (len(row) - 1) - 0.5 if len(row) > 1 else np.zeros(len(row))
        np.testing.assert_allclose(found[start : start + len(row)], expected, atol=1e-15)


def lists_of(segments, seed=0, bent=True, width=3, k=8):
    """Labels that count how near a candidate is to the middle of its list in f0, and f1."""
    random, records = np.random.default_rng(seed), []
    for s in range(segments):
        values = random.normal(size=(k, width))
        away = np.abs(values[:, 0] - np.median(values[:, 0]))
        worth = values[:, 1] - (2.0 * away if bent else -values[:, 0])
        right = worth + 0.5 * random.normal(size=k) >= np.sort(worth)[-2]
        hyps = [
            {
                "text": f"{s} {c}",
                "feats": {f"f{n}": float(v) for n, v in enumerate(row)},
                "metrics": {"right": float(r)},
            }
            for c, (row, r) in enumerate(zip(values, right, strict=True))
        ]
        records.append({"id": str(s), "hyps": hyps})
    return Candidates.from_records(records)


def test_bends_need_no_unit():
    lists = lists_of(4)
    lists_in_other_units = lists.with_lists(lists.lists._replace(dense=np.exp(lists.lists.dense) * 1e6))
    theirs = bends(lists_in_other_units)
    for name, column in bends(lists).items():
        np.testing.assert_array_equal(column, theirs[name])


@pytest.mark.parametrize("width", [3, PAIRED, PAIRED + 1])
def test_products_of_two_are_made_for_few_features_only(width):
    names = bends(lists_of(3, width=width))
    pairs = width * (width + 1) // 2 if width <= PAIRED else width
    assert len(names) == width + pairs
    assert all(map(is_bend, names))


def test_names_make_the_same_features_again():
    lists = lists_of(5)
    wide = with_bends(lists)
    assert with_bends(wide) is wide
    assert plain(wide.features) == 3
    again = completed(lists, wide.features.names)
    assert again.features.same(wide.features)
    np.testing.assert_array_equal(again.lists.dense, wide.lists.dense)
    assert completed(lists, lists.features.names) is lists
    added = rampion.add_features(lists, ["bends"])
    np.testing.assert_array_equal(added.lists.dense, wide.lists.dense)
    some = rampion.add_features(lists, ["place:f1", "place:f0*place:f1"])
    weights = Weights.from_dict({"place:f1": 2.0, "place:f0*place:f1": -1.0, "f0": 1.0, "f1": 0.0, "f2": 0.0})
    np.testing.assert_array_equal(rampion.pick(lists, weights), rampion.pick(some, weights))


def test_narrowed_lists_score_as_weights_without_bends():
    wide = with_bends(lists_of(4))
    weights = np.random.default_rng(0).normal(size=len(wide.features))
    without = weights.copy()
    without[3:] = 0.0
    np.testing.assert_array_equal(wide.narrowed(3).score(weights), wide.score(without))
    bare = straight(Weights(wide.features, without))
    assert list(bare) == ["f0", "f1", "f2"]
    assert straight(Weights(wide.features, weights)).vector is weights


def test_the_default_bends_where_that_surely_serves_and_nowhere_else():
    there = lists_of(300, seed=9)
    bent, linear = (tune(lists_of(200, 1), metric="metric:right", bends=one) for one in (True, False))
    assert bent.choice == WITH_BENDS
    assert bent.held["tuned"].score > linear.held["tuned"].score + 0.05
    right = [float(there.metrics["right"][rampion.pick(there, one.weights)].mean()) for one in (bent, linear)]
    assert right[0] > right[1] + 0.05
    straight_lists = lists_of(200, 2, bent=False)
    kept, plainly = (tune(straight_lists, metric="metric:right", bends=one) for one in (True, False))
    assert kept.choice == plainly.choice
    np.testing.assert_array_equal(kept.weights.vector, plainly.weights.vector)
    assert list(kept.weights) == list(plainly.weights)


def test_a_run_that_bends_reranks_lists_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists, others = lists_of(150, 1), lists_of(40, 3)
    save_nbest("dev.jsonl", lists)
    save_nbest("test.jsonl", others)
    good("tune", "dev.jsonl", "--target", "right", "--bends", "--dev", "test.jsonl", "--out", "run")
    weights = weight_files.read("run/weights.txt")
    assert any(map(is_bend, weights))
    good("rerank", "test.jsonl", "--weights", "run", "--jsonl", "--out", "best.jsonl", "--lists", "sorted.jsonl")
    picked = [json.loads(line)["text"] for line in (tmp_path / "best.jsonl").read_text().splitlines()]
    wide = with_bends(others)
    scores = wide.score(Weights.from_dict(dict(weights)).onto(wide.features, lenient=True))
    assert picked == [max(row, key=row.get) for row in _scored(others, scores)]
    first = json.loads((tmp_path / "sorted.jsonl").read_text().splitlines()[0])["hyps"][0]
    assert set(first["feats"]) == {"f0", "f1", "f2"}
    good("report", "run", "--out", "page.html")
    assert "place:f0" in (tmp_path / "page.html").read_text()
    good("inspect", "test.jsonl", "--weights", "run", "--target", "right")
    good("score", "run", "listed", "--from", "test.jsonl", "--target", "right")


def _scored(lists, scores):
    found = iter(zip(list(lists.texts), scores.tolist(), strict=True))
    return [dict(next(found) for _ in range(size)) for size in np.diff(lists.bounds).tolist()]
