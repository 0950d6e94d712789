"""rampion diff and rampion report --compare: what differs between two runs is told, and nothing else."""

from __future__ import annotations

import json

import pytest
from command import good, write_task
from command import rampion as command

import rampion
from rampion.report.markup import MINUS


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write_task(folder)
    for name, more in (("one", ("--set", "rate=0.01")), ("other", ("--set", "rate=0.3"))):
        good("tune", folder / "dev.jsonl", "--recipe", "rampion", *more, "--out", folder / name)
    return folder


def told(runs, one, other):
    return json.loads(good("diff", runs / one, runs / other, "--json"))


def test_a_run_differs_from_another_in_its_settings_and_weights(runs):
    found = told(runs, "one", "other")
    assert found["settings"] == {"rate": [0.01, 0.3]}
    mine, theirs = (rampion.load_weights(runs / name / "weights.txt") for name in ("one", "other"))
    for row in found["moved"]:
        assert row["one"] == pytest.approx(mine.get(row["feature"], 0.0))
        assert row["other"] == pytest.approx(theirs.get(row["feature"], 0.0))
    apart = [abs(row["one"] - row["other"]) for row in found["moved"]]
    assert apart == sorted(apart, reverse=True)


def test_the_choices_are_those_of_the_weights(runs):
    choices = told(runs, "one", "other")["choices"]
    lists = rampion.load_nbest(runs / "dev.jsonl")
    references = rampion.load_references(runs / "dev.jsonl", lists)
    picked = []
    for name in ("one", "other"):
        picks = rampion.pick(lists, rampion.load_weights(runs / name / "weights.txt"))
        picked.append(list(lists.texts[picks]))
    assert choices["changed"] == sum(map(str.__ne__, *picked))
    assert choices["segments"] == len(lists)
    metric = rampion.metric("bleu")
    scores = [metric.score(texts, references) for texts in picked]
    assert [choices["score"], choices["other_score"]] == pytest.approx(scores)
    assert choices["better"] + choices["worse"] <= choices["changed"]


def test_the_gain_is_as_sure_as_a_comparison_of_the_two_says(runs):
    choices = told(runs, "one", "other")["choices"]
    lists = rampion.load_nbest(runs / "dev.jsonl")
    references = rampion.load_references(runs / "dev.jsonl", lists)
    weights = {name: rampion.load_weights(runs / name / "weights.txt") for name in ("one", "other")}
    found = rampion.compare(weights, references, lists=lists)["other"]
    assert (choices["gain"], choices["p"]) == pytest.approx((found.difference, found.p))
    assert choices["low"] <= choices["gain"] <= choices["high"]
    gains = [row["other_score"] - row["score"] for row in choices["largest"]]
    assert list(map(abs, gains)) == sorted(map(abs, gains), reverse=True)
    assert sum(gain > 0 for gain in gains) <= choices["better"]
    assert sum(gain < 0 for gain in gains) <= choices["worse"]


def test_a_run_does_not_differ_from_itself(runs):
    found = told(runs, "one", "one")
    assert (found["settings"], found["moved"], found["choices"]["changed"]) == ({}, [], 0)


def test_the_page_says_the_same(runs):
    good("report", runs / "one", "--compare", runs / "other", "--out", runs / "page.html")
    page = (runs / "page.html").read_text()
    found = told(runs, "one", "other")
    assert f"{found['choices']['changed']:,} of {found['choices']['segments']:,}" in page
    assert all(row["feature"] in page for row in found["moved"])
    choices = found["choices"]
    assert f"{choices['gain']:+.2f} [{choices['low']:+.2f}, {choices['high']:+.2f}] over".replace("-", MINUS) in page
    assert f"p = {choices['p']:.4f}" in page.replace("\N{NO-BREAK SPACE}", " ")


def test_what_is_no_run_is_refused(runs):
    code, _, said = command("diff", runs / "one", runs)
    assert code == 2
    assert "holds no run" in said
