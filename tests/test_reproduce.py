"""rampion reproduce: what it lists, what it runs, and what it refuses."""

from __future__ import annotations

import json
import shutil

import pytest
from command import good, rampion

from decoder.corpus import Corpus
from decoder.language import Language
from rampion.cli.workshop import Workshop
from rampion.experiments import experiments
from rampion.experiments.samples import measured
from rampion.experiments.scales import SCALES, Scale
from rampion.experiments.tillmann_zhang import EXPERIMENTS
from rampion.experiments.tillmann_zhang.binary import Truth, table_5

TINY = Scale(300, 20, sentences=40, iterations=2, options=4, beam=10, k=10, decodings=2, counts=20)
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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder in which a minute figure has been reproduced, and what was told."""
    out = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCALES, "small", TINY)
        told = rampion("reproduce", "tillmann-zhang/figure-2", "--out", out)
    return out, told


def test_a_figure_from_text_to_verdicts(made):
    out, (code, told, err) = made
    assert code == 0, err
    assert "iteration 2: train " in err
    assert [line.split()[0] for line in told.splitlines() if line.startswith("X8")] == ["X8a", "X8b"]
    (row,) = json.loads((out / "figure-2.json").read_text())["rows"]
    assert set(row["measured"]) == {"train first", "train", "test first", "test", "settled"}
    (curves,), (run,) = row["curves"], row["runs"]
    assert len(curves["train"]) == len(curves["test"]) == len(curves["online"]) == 2
    assert curves["dev"][run["chosen"] - 1] == max(curves["dev"])
    assert row["measured"]["test"]["score"] == pytest.approx(curves["test"][run["chosen"] - 1])
    assert row["measured"]["train"]["score"] == pytest.approx(curves["train"][run["chosen"] - 1])
    assert row["measured"]["train first"]["score"] == pytest.approx(curves["train"][0])


def test_blocks_come_from_sentences_that_are_not_learnt_from(made):
    out, _ = made
    corpus, lessons = Corpus.load(out / "corpus"), Corpus.load(out / "lessons")
    assert (len(corpus.train), len(lessons.train), len(corpus.dev)) == (260, 40, 20)
    assert not set(lessons.train.source) & set(corpus.train.source)


def test_a_row_is_not_run_again_and_not_mistaken_for_another(made, monkeypatch):
    out, (_, told, _) = made
    monkeypatch.setitem(SCALES, "small", TINY)
    code, again, err = rampion("reproduce", "tillmann-zhang/figure-2", "--out", out)
    assert (code, again) == (0, told)
    assert "seed 1" not in err
    monkeypatch.setitem(SCALES, "small", TINY._replace(iterations=3))
    assert "seed-1: was run with iterations 2, and 3 is asked for" in refused("tillmann-zhang/figure-2", "-o", out)


def test_whoever_was_interrupted_ends_with_the_same(made, tmp_path, monkeypatch):
    """A run that lost its outcome and its last iteration."""
    out, (_, told, _) = made
    monkeypatch.setitem(SCALES, "small", TINY)
    shutil.copytree(out, tmp_path / "copy")
    folder = tmp_path / "copy" / "rows" / "swap-all" / "seed-1"
    (folder / "outcome").unlink()
    (folder / "run" / "sets" / "002.records").unlink()
    code, again, err = rampion("reproduce", "tillmann-zhang/figure-2", "--out", tmp_path / "copy")
    assert code == 0
    assert "iteration 2: " in err
    assert "iteration 1: " not in err
    assert again.replace(str(tmp_path / "copy"), str(out)) == told


def test_oracles_are_measured_without_training(made, monkeypatch):
    out, _ = made
    monkeypatch.setitem(SCALES, "small", TINY)
    shop = Workshop.open(out, "small", None, None, 1)
    scores = {}
    for row in table_5.rows:
        if isinstance(row.settings, Truth):
            scores[row.label] = measured([shop.make(row, 1, out)], "train").score
    assert 0 < scores["MON oracle"] <= scores["SWAP oracle"] < 100
