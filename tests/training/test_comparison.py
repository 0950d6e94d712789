"""Many recipes and seeds: one trial each, ranked, with its spread and its trouble."""

from __future__ import annotations

import json
import tomllib
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
import pytest
from command import rampion
from problems import toy
from rampion.decoder.text.toy import task

from rampion.errors import RecipeError, TuningError
from rampion.metrics.judging import Judge
from rampion.training.comparison import random, ranked, sweep
from rampion.training.loop import ignore
from rampion.training.recipes import RECIPES, recipe_named
from rampion.training.task import Task
from rampion.training.tuning import tune

NAMES = ("rampion", "mira-sentence", "perceptron")


@pytest.fixture(scope="module")
def trials():
    lists, references = toy()
    recipes = {name: RECIPES[name] for name in NAMES}
    half = np.arange(30, 60)
    return list(
        sweep(
            recipes,
            [1, 2, 3],
            Task(
                lists[:30],
                references.take(np.arange(30)),
                dev=lists[half],
                dev_references=references.take(half),
            ),
            lambda label, recipe: ignore,
        )
    )


def test_only_recipes_that_draw_random_numbers_are_repeated(trials):
    assert {trial.name: len(trial.runs) for trial in trials} == {"rampion": 1, "mira-sentence": 3, "perceptron": 0}
    assert not random(RECIPES["rampion"])
    assert random(recipe_named("rampion", seed=1))
    assert random(RECIPES["pro"])


def test_a_run_is_what_tune_answers_with_that_seed(trials):
    lists, references = toy()
    alone = tune(lists[:30], references.take(np.arange(30)), recipe="mira-sentence", seed=2)
    assert alone.weights.vector.tobytes() == trials[1].runs[1].weights.vector.tobytes()


def test_spread_and_distance_are_those_of_the_runs(trials):
    facts = trials[1].facts()
    scores = [run.after.chosen for run in trials[1].runs]
    held = [run.dev.after.chosen for run in trials[1].runs]
    assert facts["tuned"] == {"mean": fmean(scores), "sd": stdev(scores), "min": min(scores), "max": max(scores)}
    assert facts["dev"]["mean"] == fmean(held)
    scaled = [run.weights.vector / np.abs(run.weights.vector).sum() for run in trials[1].runs]
    assert facts["distance"] == pytest.approx(fmean(np.linalg.norm(a - b) for a, b in combinations(scaled, 2)))
    assert facts["distance"] > 0
    assert trials[0].facts()["distance"] is None


def test_what_fails_is_a_trial_with_its_trouble_and_comes_last(trials):
    assert "no candidate equals a reference" in trials[2].trouble
    best_first = ranked(trials, higher_is_better=True)
    assert best_first[-1].name == "perceptron"
    assert fmean(best_first[0].dev) >= fmean(best_first[1].dev)
    assert [trial.name for trial in ranked(trials, False)[:2]] == [trial.name for trial in best_first[1::-1]]
    with pytest.raises(TuningError):
        tune(*toy(), recipe="perceptron")


@pytest.fixture
def lists(tmp_path):
    path = tmp_path / "toy.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in task(3, 40, 10)))
    return path


def test_the_command_ranks_recipes_and_leaves_a_folder_for_every_run(lists, tmp_path):
    out = tmp_path / "all"
    done = rampion(
        "tune", lists, "--recipe", "rampion,pro", "--seeds", "1,2", "--set", "rounds=3", "--dev", lists, "--out", out
    )
    assert done.code == 0, done.err
    rows = [line.split() for line in done.out.splitlines()]
    assert {row[0]: row[1] for row in rows if row and row[0] in ("rampion", "pro")} == {"rampion": "1", "pro": "2"}
    assert sorted(path.name for path in out.iterdir()) == ["pro.1", "pro.2", "rampion", "table.json"]
    for folder in ("pro.1", "pro.2", "rampion"):
        config = tomllib.loads((out / folder / "config.toml").read_text())
        assert config["rounds"] == 3
        events = [json.loads(line) for line in (out / folder / "events.jsonl").read_text().splitlines()]
        assert [event["event"] for event in events] == ["round"] * 3 + ["held", "done"]
        assert (out / folder / "weights.txt").stat().st_size
    assert tomllib.loads((out / "pro.2" / "config.toml").read_text())["seed"] == 2
    table = json.loads((out / "table.json").read_text())
    assert [row["runs"] for row in sorted(table, key=lambda row: row["recipe"])] == [2, 1]


def test_the_command_ranks_the_values_of_settings_and_keeps_rounds(lists, tmp_path):
    out = tmp_path / "values"
    done = rampion(
        "tune", lists, "--recipe", "rampion,ramp1,hinge", "--set", "rate=1e-4,0.001", "--set", "l2=1,2",
        "--set", "rounds=2", "--metric", "bleu:moses,nobp", "--keep-rounds", "--out", out,
    )  # fmt: skip
    assert done.code == 0, done.err
    ran = [
        f"{name},rate={rate},l2={l2}" for name in ("ramp1", "rampion") for rate in ("0.001", "1e-4") for l2 in (1, 2)
    ]
    assert sorted(path.name for path in out.iterdir() if (path / "weights.txt").exists()) == ran
    config = tomllib.loads((out / "rampion,rate=0.001,l2=2" / "config.toml").read_text())
    assert (config["recipe"], config["rate"], config["l2"], config["rounds"]) == ("rampion", 0.001, 2.0, 2)
    assert sorted(path.name for path in (out / ran[0] / "weights").iterdir()) == ["001.bin", "002.bin"]


def test_the_command_as_json(lists, tmp_path):
    done = rampion("tune", lists, "--recipe", "rampion,ramp1", "--json", "--out", tmp_path / "out")
    assert {row["recipe"] for row in json.loads(done.out)} == {"rampion", "ramp1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "1,x"], "--seeds '1,x': expected whole numbers with a comma between"),
        (["--seeds", "1,1"], "--seeds '1,1': a seed appears twice; name each one once"),
        (["--recipe", "rampion,ramp9"], "no recipe 'ramp9'"),
        (["--recipe", "rampion,ramp1", "--set", "speed=1"], "no setting 'speed'"),
    ],
)
def test_refusals(lists, tmp_path, arguments, message):
    done = rampion("tune", lists, *arguments, "--out", tmp_path / "out")
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "out").exists()
    with pytest.raises(RecipeError):
        recipe_named("ramp9")


def test_lists_that_hold_references_are_parsed_once(lists, tmp_path, monkeypatch):
    """And so they may come from a pipe."""
    counted = []
    monkeypatch.setattr("rampion.formats.jsonl.parsed", lambda text: counted.append(text) or json.loads(text))
    code, _, err = rampion("tune", lists, "--out", tmp_path / "named")
    assert code == 0, err
    content = lists.read_bytes()
    assert len(counted) == len(content.splitlines())
    code, _, err = rampion("tune", "-", "--out", tmp_path / "piped", stdin=content)
    assert code == 0, err
    assert (tmp_path / "piped" / "weights.txt").read_bytes() == (tmp_path / "named" / "weights.txt").read_bytes()


def test_a_sweep_judges_its_lists_once_a_metric(monkeypatch):
    asked = []
    whole = Judge.batch
    monkeypatch.setattr(Judge, "batch", lambda self, lists: asked.append(self.metric.name) or whole(self, lists))
    recipes = {name: RECIPES[name] for name in ("rampion", "mira-sentence", "risk")}
    assert all(trial.runs for trial in sweep(recipes, [1, 2], Task(*toy()), lambda label, recipe: ignore))
    assert len(asked) == 1
