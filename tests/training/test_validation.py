"""Held-out figures: against learning by hand in every fold's absence, and what the default makes of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import good, rampion
from problems import toy

import rampion as library
from rampion.errors import InputError, RecipeError
from rampion.store.candidates import Candidates
from rampion.store.text import Texts
from rampion.training.automatic import OPTIONS
from rampion.training.recipes import RECIPES
from rampion.training.reranking import pick
from rampion.training.task import Task
from rampion.training.tuning import tune
from rampion.training.validation import FOLDS, Parts


def made(seed=0, segments=60, k=5, signal=1.0, noise=1.0, useless=3):
    """Labels of 0 and 1 that a hidden score decides, of which the features show a part."""
    random = np.random.default_rng(seed)
    records = []
    for s in range(segments):
        hyps = []
        for c in range(k):
            good_, other = random.standard_normal(2)
            right = float(signal * good_ + 0.5 * other + noise * random.standard_normal() > 0.8)
            feats = {"good": 1e5 * good_, "other": 1e-3 * other}
            feats |= {f"useless{n}": float(random.standard_normal()) for n in range(useless)}
            hyps.append({"text": f"{s} {c}", "feats": feats, "metrics": {"right": right, "group": float(s // 6)}})
        records.append({"id": f"s{s}", "hyps": hyps})
    return Candidates.from_records(records)


METRIC = "metric:right"


def right(lists, picks):
    return lists.metrics["right"][picks]


def test_groups_stay_together_and_folds_are_even():
    segments = Texts.from_strings([f"s{n}" for n in range(31)])
    parts = Parts.of(segments, 4, [str(n % 10) for n in range(31)])
    for group in range(10):
        assert len(set(parts.fold[parts.group == group].tolist())) == 1
    assert parts.folds == 4
    sizes = np.bincount(Parts.of(segments, 4, None).fold)
    assert (sizes.min(), sizes.max()) == (7, 8)
    assert Parts.of(segments, 50, None).folds == 31
    with pytest.raises(RecipeError, match="folds is 1; expected 2 or more, or 0"):
        Parts.of(segments, 1, None)
    with pytest.raises(InputError, match="there are 2 groups for 31 segments"):
        Parts.of(segments, 4, ["a", "b"])


@pytest.mark.parametrize("scale", ["none", "spread"])
@pytest.mark.parametrize("grouped", [False, True])
def test_figures_are_those_of_learning_by_hand_without_the_fold(scale, grouped):
    lists = made()
    groups = [f"{s // 6}" for s in range(len(lists))] if grouped else None
    if scale == "spread":  # units are measured on all lists: take them first, so that both see the same
        task = Task(lists)
        lists = task.lists.in_units(task.lists.batch(METRIC), task.lists.units).candidates
    recipe = RECIPES["risk"].set(metric=METRIC, scale="none")
    found = tune(lists, recipe=recipe, folds=3, groups=groups).held
    parts, scores = Parts.of(lists.segments, 3, groups), np.zeros(len(lists))
    for k in range(3):
        away, home = (np.flatnonzero(parts.fold != k), np.flatnonzero(parts.fold == k))
        weights = tune(lists[away], recipe=recipe).weights
        scores[home] = right(lists[home], pick(lists[home], weights))
    assert found["tuned"].score == pytest.approx(scores.mean(), rel=1e-12)


def test_baselines_are_what_they_say():
    lists = made(useless=1)
    found = tune(lists, recipe="risk", metric=METRIC, folds=4).held
    labels = lists.metrics["right"].reshape(len(lists), -1)
    assert found["listed order"].score == pytest.approx(labels[:, 0].mean())
    assert found["random choice"].score == pytest.approx(labels.mean())
    assert found["oracle"].score == pytest.approx(labels.max(axis=1).mean())
    parts, scores = Parts.of(lists.segments, 4, None), np.zeros(len(lists))
    columns = {name: np.array([[hyp[name] for hyp in one.features] for one in lists]) for name in lists.features}
    for k in range(4):
        best = max(
            ((sign, name) for name in columns for sign in (1, -1)),
            key=lambda way: labels[np.arange(60), (way[0] * columns[way[1]]).argmax(axis=1)][parts.fold != k].sum(),
        )
        picks = (best[0] * columns[best[1]]).argmax(axis=1)
        scores[parts.fold == k] = labels[np.arange(60), picks][parts.fold == k]
    assert found["best single feature"].score == pytest.approx(scores.mean())
    assert found["best single feature"].note == "good"
    for line in found.lines.values():
        assert line.low <= line.score <= line.high
    assert 0 < found.p <= 1


def test_held_out_lists_take_the_place_of_folds():
    lists, other = made(1), made(2)
    tuned = tune(lists, recipe="risk", metric=METRIC, dev=other)
    assert tuned.held["tuned"].score == pytest.approx(right(other, pick(other, tuned.weights)).mean())
    assert tuned.held["tuned"].score == tuned.dev.after.chosen
    assert tuned.held["listed order"].score == tuned.dev.after.listed
    assert "60 lists of their own" in repr(tuned.held)


def test_the_default_learns_where_there_is_something_to_learn():
    lists, other = made(3, 200, signal=2.0), made(4, 200, signal=2.0)
    tuned = tune(lists, metric=METRIC)
    assert tuned.choice in OPTIONS
    assert tuned.held.gain > -0.05
    scores = {name: right(other, pick(other, library.Weights.from_dict(weights), lenient=True)).mean()
              for name, weights in {"good": {"good": 1.0}, "other": {"other": 1.0}}.items()}  # fmt: skip
    assert right(other, pick(other, tuned.weights)).mean() >= max(scores.values()) - 0.03
    assert tune(lists, metric=METRIC).weights.vector.tobytes() == tuned.weights.vector.tobytes()


def test_the_default_keeps_a_feature_that_nothing_beats():
    """One feature says it all, and there are thirty useless ones for twelve lists."""
    random = np.random.default_rng(0)
    records = []
    for s in range(12):
        best = int(random.integers(6))
        hyps = [
            {"text": f"{s} {c}", "metrics": {"right": float(c == best)},
             "feats": {"told": float(c == best), **{f"u{n}": float(random.standard_normal()) for n in range(30)}}}
            for c in range(6)
        ]  # fmt: skip
        records.append({"id": str(s), "hyps": hyps})
    tuned = tune(Candidates.from_records(records), metric=METRIC)
    assert tuned.held["best single feature"].score == 1.0
    if tuned.choice not in OPTIONS:
        assert dict(tuned.weights) == {"told": 1.0} | {f"u{n}": 0.0 for n in range(30)}
        assert tuned.after.chosen == 1.0
    else:
        assert not tuned.held.sure, "worse than the feature by more than chance"


def test_the_default_keeps_a_listed_order_that_is_right():
    """The first candidate is always right, and no feature knows it."""
    random = np.random.default_rng(0)
    hyps = [
        [{"text": f"{s} {c}", "feats": {"x": float(random.standard_normal())}, "metrics": {"right": float(c == 0)}}
         for c in range(4)]
        for s in range(30)
    ]  # fmt: skip
    lists = Candidates.from_records([{"id": str(s), "hyps": hyp} for s, hyp in enumerate(hyps)])
    tuned = tune(lists, metric=METRIC)
    assert tuned.choice == "listed order"
    assert not tuned.weights.vector.any()
    assert tuned.after.chosen == tuned.held["tuned"].score == 1.0


def test_the_default_does_not_see_the_unit_of_the_label():
    lists = made(5)
    for factor in (1e-3, 200.0):
        times = {"right": lists.metrics["right"] * factor, "group": lists.metrics["group"]}
        records = lists.to_records()
        for record in records:
            for hyp in record["hyps"]:
                hyp["metrics"]["right"] *= factor
        other = Candidates.from_records(records)
        np.testing.assert_allclose(other.metrics["right"], times["right"])
        one, two = tune(lists, metric=METRIC), tune(other, metric=METRIC)
        assert one.choice == two.choice
        assert pick(lists, one.weights).tolist() == pick(other, two.weights).tolist()
        assert two.recipe.alpha == pytest.approx(one.recipe.alpha / factor)


def test_one_list_has_no_folds():
    lists = made(2, segments=1)
    tuned = tune(lists, metric=METRIC)
    assert tuned.held is None
    assert tuned.choice == next(iter(OPTIONS))


def test_settings_without_a_recipe_are_those_of_rampion():
    lists, references = toy()
    assert tune(lists, references, rounds=3).recipe == RECIPES["rampion"].set(rounds=3)
    with pytest.raises(RecipeError, match="the setting 'rounds' is for one recipe, and the default tries several"):
        tune(lists, references, recipe="auto", rounds=3)


# The command


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    for name, seed in (("tune", 1), ("dev", 2)):
        lines = [json.dumps(record) for record in made(seed).to_records()]
        (folder / f"{name}.jsonl").write_text("\n".join([*lines, ""]))
    return folder


def test_the_command_shows_figures_first_and_keeps_them(files, tmp_path):
    shown = good("tune", files / "tune.jsonl", "--metric", METRIC, "--out", tmp_path / "run")
    held = shown.index(f"right of lists held out: {FOLDS} folds of 60 lists")
    assert held < shown.index("right of the lists that the weights have learnt from")
    for name in ("listed order", "random choice", "best single feature", "tuned", "oracle"):
        assert name in shown[held:]
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    table = next(event for event in events if event["event"] == "held")
    assert [line["name"] for line in table["lines"]][-2:] == ["tuned", "oracle"]
    facts = json.loads(good("tune", files / "tune.jsonl", "--metric", METRIC, "--out", tmp_path / "run", "--json"))
    assert facts["held"]["gain"] == table["gain"]
    good("report", tmp_path / "run")
    none = good(
        "tune", files / "tune.jsonl", "--metric", METRIC, "--folds", 0, "--recipe", "risk", "--out", tmp_path / "0"
    )
    assert "held out" not in none
    groups = good("tune", files / "tune.jsonl", "--metric", METRIC, "--group", "group", "--out", tmp_path / "g")
    assert "5 folds of 10 groups of lists" in groups


@pytest.mark.parametrize("place", ["record", "field", "table"])
def test_groups_have_names(tmp_path, place):
    records, lines = made(1, segments=30).to_records(), []
    for number, record in enumerate(records):
        document = f"page {number % 10}"
        if place == "record":
            record["document"] = document
        for hyp in record["hyps"]:
            hyp["metrics"].pop("group")
            if place == "field":
                hyp["fields"] = {"document": document}
        row = {"id": record["id"], "document": document}
        table = [row | {"text": hyp["text"]} | hyp["feats"] | hyp["metrics"] for hyp in record["hyps"]]
        lines += table if place == "table" else [record]
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, lines)))
    arguments = ["tune", tmp_path / "lists.jsonl", "--metric", METRIC, "--out", tmp_path / "run", "--recipe", "risk"]
    done = rampion(*arguments, "--group", "document")
    assert done.code == 0, done.err
    assert "5 folds of 10 groups of lists" in done.out
    assert "not used" not in done.err
    asked = rampion(*arguments, "--group", "topic", "--force")
    assert (asked.code, "no such column; they have: right" in asked.err) == (2, True)


def test_a_group_is_of_all_candidates_of_a_segment(tmp_path):
    records = made(1, segments=20).to_records()
    for record in records:
        for place, hyp in enumerate(record["hyps"]):
            hyp["fields"] = {"model": f"m{place}"}
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, records)))
    done = rampion("tune", tmp_path / "lists.jsonl", "--metric", METRIC, "--group", "model", "--out", tmp_path / "run")
    assert done.code == 2
    assert "--group model: the candidates of segment s0 have several values of it" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "auto", "--set", "l2=1"], "the setting 'l2=1' is for one recipe"),
        (["--group", "topic"], "--group topic: the lists have no such column; they have: right, group"),
        (["--folds", "1"], "folds is 1; expected 2 or more"),
        (["--metric", "metric:char_err"], "write metric:char_err,lower, or metric:char_err,higher if more is better"),
    ],
)  # fmt: skip
def test_refusals(files, tmp_path, arguments, message):
    done = rampion("tune", files / "tune.jsonl", "--metric", METRIC, *arguments, "--out", tmp_path / "run")
    assert done.code == 2
    assert message in done.err


def test_a_sole_column_is_learnt_from_and_lists_need_features(files, tmp_path):
    records = made(1, segments=20).to_records()
    for record in records:
        for hyp in record["hyps"]:
            del hyp["metrics"]["group"]
    (tmp_path / "sole.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    done = rampion("tune", tmp_path / "sole.jsonl", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert "the weights learn from the lists' only column: --metric metric:right" in done.err
    named = good("tune", tmp_path / "sole.jsonl", "--target", "right", "--out", tmp_path / "again", "--json")
    assert json.loads(named)["metric"] == "right"
    twice = rampion("tune", tmp_path / "sole.jsonl", "--target", "right", "--metric", "wer", "--out", tmp_path / "x")
    assert (twice.code, twice.err) == (2, "rampion: --metric wer and --target right: name one of them\n")
    for record in records:
        for hyp in record["hyps"]:
            hyp["feats"] = {}
    (tmp_path / "bare.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    bare = rampion("tune", tmp_path / "bare.jsonl", "--out", tmp_path / "x")
    assert (bare.code, "the lists have no features to weigh" in bare.err) == (2, True)


def test_warnings(files, tmp_path):
    same = rampion(
        "tune", files / "tune.jsonl", "--metric", METRIC, "--dev", files / "tune.jsonl", "--out", tmp_path / "a"
    )
    assert "is the same as" in same.err
    assert "nothing is held out" in same.err
    records = made(1).to_records()
    for record in records:
        for hyp in record["hyps"]:
            hyp["metrics"]["right"] = 1.0
    (tmp_path / "same.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    equal = rampion("tune", tmp_path / "same.jsonl", "--metric", METRIC, "--recipe", "mert", "--out", tmp_path / "b")
    assert "in each list all candidates have the same right, so there is nothing to learn from" in equal.err


def test_a_sweep_shows_the_same_and_says_what_did_not_run(files, tmp_path):
    done = rampion("tune", files / "tune.jsonl", "--metric", METRIC, "--recipe", "risk,mira,auto", "--out", tmp_path)
    assert done.code == 0
    rows = [line.split("  ")[0] for line in done.out.splitlines()]
    for name in ("risk", "auto", "listed order", "best single feature", "oracle"):
        assert name in rows
    assert "mira: did not run: the pseudo-corpus of BatchMira is made for BLEU" in done.out
    for note in ("1 of 3: risk", "2 of 3: mira", "3 of 3: auto", "s left"):
        assert note in done.err
    table = json.loads((tmp_path / "table.json").read_text())
    assert {row["recipe"]: row["trouble"] is None for row in table} == {"risk": True, "auto": True, "mira": False}
    command = ["tune", files / "tune.jsonl", "--metric", METRIC, "--recipe", "mira", "--set", "cap=0.1,0.2"]
    none = rampion(*command, "--out", tmp_path / "x")
    assert none.code == 1
    assert none.out.count("did not run") == 2
