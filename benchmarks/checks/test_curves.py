"""The learning curves cover every recipe, and the committed pages are those of their numbers."""

from __future__ import annotations

import json
from pathlib import Path

import curves
import pytest

from rampion.training.recipes import RECIPES, recipes_of

RESULTS = sorted((Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "curves").glob("*.json"))


def test_every_recipe_has_its_place_in_one_panel():
    assert sorted(recipe for family in curves.FAMILIES.values() for recipe in family) == sorted(recipes_of("lists"))


def test_a_curve_starts_where_the_weights_stood_and_has_a_row_for_each_round():
    dev, test = curves.halves("D", segments=12, candidates=10)
    found = curves.curve("rampion", dev, test)
    assert [len(row) for row in found["rounds"]] == [3] * RECIPES["rampion"].settings()["rounds"]
    seconds = [*(row[2] for row in found["rounds"]), found["seconds"]]
    assert seconds == sorted(seconds)
    assert all(0 < score < 100 for score in found["before"])


def test_the_best_candidate_of_every_second_list_is_marked():
    dev, test = curves.halves("D", segments=12, candidates=10)
    marks = [half.lists.metrics["reached"].reshape(6, 10).sum(axis=1).tolist() for half in (dev, test)]
    assert marks == [[1.0, 0.0] * 3] * 2
    assert len(curves.curve("perceptron", dev, test)["rounds"]) == RECIPES["perceptron"].settings()["rounds"]


def test_pictures_are_the_same_every_time(tmp_path):
    pytest.importorskip("matplotlib")
    found = {
        recipe: {"before": [20.0, 19.0], "rounds": [[21.0, 20.0, 0.1], [22.0, 20.5, 0.2]], "seconds": 0.3}
        for recipe in recipes_of("lists")
    }
    for name in ("one.svg", "two.svg"):
        curves.draw("D", found, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert all(recipe in text for recipe in recipes_of("lists"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_committed_pages_are_those_of_their_results(path):
    results = json.loads(path.read_text())
    assert path.with_suffix(".md").read_text() == curves.rendered(results)
    assert all(path.with_name(f"{path.stem}-{load}.svg").exists() for load in results["curves"])
