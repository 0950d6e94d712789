"""rampion reproduce: what it lists, what it runs, and what it refuses."""

from __future__ import annotations

import json

import pytest
from command import good, rampion

from decoder.language import Language
from rampion.experiments import experiments
from rampion.experiments.tillmann_zhang import EXPERIMENTS

THEOREM = "tillmann-zhang/theorem-1"


def test_it_lists_what_there_is():
    told = good("reproduce")
    assert all(experiment.name in told and experiment.title in told for experiment in EXPERIMENTS)
    facts = json.loads(good("reproduce", "--json"))
    assert [one["name"] for one in facts] == [one.name for one in experiments()]
    assert facts[0]["relations"]["X7f"] == "the language model raises test BLEU"


def test_a_table_its_verdicts_and_its_files(tmp_path):
    told = good("reproduce", THEOREM, "--out", tmp_path)
    assert "X16   must   holds: every bound holds in every round" in told
    facts = json.loads((tmp_path / "theorem-1.json").read_text())
    assert facts["experiment"] == THEOREM
    assert [one["verdict"] for one in facts["relations"]] == ["holds"]
    assert good("reproduce", THEOREM, "--out", tmp_path) == told
    assert json.loads(good("reproduce", THEOREM, "--out", tmp_path, "--json")) == [facts]


def test_the_table_stands_where_no_picture_can(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    code, out, err = rampion("reproduce", THEOREM, "--out", tmp_path)
    assert code == 0
    assert "X16 " in out
    assert "wrote" not in out
    assert "install the extra: pip install 'rampion[plot]'" in err


def refused(*arguments):
    code, _, err = rampion("reproduce", *arguments)
    assert code == 2
    return err


def test_what_it_refuses(tmp_path):
    assert "no experiment is called 'table-5'; there are tillmann-zhang, tillmann-zhang/table-5" in refused("table-5")
    assert f"{THEOREM}: the runs need a folder; name one with --out DIR" in refused(THEOREM)
    assert "--scale 'tiny': expected one of small, medium, full" in refused(THEOREM, "-o", tmp_path, "--scale", "tiny")
    assert "--seeds 'one': expected whole numbers" in refused(THEOREM, "-o", tmp_path, "--seeds", "one")


def test_a_corpus_needs_text_to_choose_by(tmp_path):
    Language.invent(1).corpus(20, 0).write(tmp_path / "text")
    err = refused("tillmann-zhang/table-5", "--corpus", tmp_path / "text", "--out", tmp_path / "out")
    assert "text: has no dev text; expected sentences in dev.src and dev.tgt" in err
