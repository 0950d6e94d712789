"""The main job on very little text: its folder, its numbers, its page, and how it goes on."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import sacrebleu
from command import good, rampion
from pages import Shown

from rampion.report.words import compared

SIZES = "--pairs", 400, "--held-out", 20


def results(out):
    return json.loads((out / "demo.json").read_text("utf-8"))


def learnt(out):
    """All that may not depend on threads or interruptions."""
    paths = [out / "demo.json", *out.glob("dense/weights/*"), out / "dense/weights.txt", *out.glob("learnt/learnt.*")]
    return {str(path.relative_to(out)): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The folder, and what was printed."""
    out = tmp_path_factory.mktemp("demo") / "it"
    return out, good("demo", "--out", out, *SIZES)


@pytest.mark.slow
def test_it_says_what_it_does_and_what_was_gained(shown):
    out, text = shown
    for words in ("Writing 400 German sentences", "RAMPION", "learnt features", "oracle", "p: approximate"):
        assert words in text
    assert f"wrote {out / 'report.html'}\n" in text
    found = results(out)
    for row in found["table"].values():
        assert row["low"] <= row["score"] <= row["high"]
    for before, name in (("initial", "dense"), ("dense", "learnt")):
        gain = found["table"][name]["gain"]["score"]
        assert gain == pytest.approx(found["table"][name]["score"] - found["table"][before]["score"])
        assert 0 < found["table"][name]["p"] <= 1
    assert found["table"]["oracle"]["score"] == max(row["score"] for row in found["table"].values())
    assert len(found["curves"]["dense"]) == 9
    assert len(found["curves"]["held out"]) == 35


@pytest.mark.slow
def test_its_scores_are_those_of_its_folder(shown, tmp_path):
    out, _ = shown
    found, test = results(out), out / "corpus" / "test.de"
    lines = (tmp_path / "said").open
    references = [path.read_text("utf-8").splitlines() for path in sorted(out.glob("corpus/test.en.*"))]
    system = "--blocks", out / "system/system.blocks", "--lm", out / "system/system.lm", "--beam", 15
    good("decode", test, *system, "--weights", out / "dense", "--out", tmp_path / "said")
    with lines(encoding="utf-8") as said:
        bleu = sacrebleu.corpus_bleu(said.read().splitlines(), references, tokenize="none")
    assert bleu.score == pytest.approx(found["table"]["dense"]["score"])
    for one in found["examples"]:
        assert test.read_text("utf-8").splitlines()[one["segment"]] == one["source"]
        assert [column[one["segment"]] for column in references] == one["references"]
    gains = [one["said"]["dense"]["score"] - one["said"]["initial"]["score"] for one in found["examples"]]
    assert gains == sorted(gains, reverse=True)


@pytest.mark.slow
def test_threads_change_nothing(shown, tmp_path):
    good("demo", "--out", tmp_path / "it", *SIZES, "--threads", 1)
    assert learnt(tmp_path / "it") == learnt(shown[0])
    good("demo", "--out", tmp_path / "other", *SIZES, "--seed", 2)
    assert results(tmp_path / "other")["table"] != results(shown[0])["table"]


@pytest.mark.slow
def test_what_was_stopped_goes_on(shown, tmp_path):
    out = tmp_path / "it"
    shutil.copytree(shown[0], out)
    for name in ("demo.json", "report.html", "learnt/learnt.blocks"):
        (out / name).unlink()
    shutil.rmtree(out / "system")
    before = (out / "dense" / "weights.txt").stat().st_mtime_ns
    events = (out / "events.jsonl").read_bytes()
    found = json.loads(good("demo", "--out", out, *SIZES, "--json"))
    assert learnt(out) == learnt(shown[0])
    assert found == results(out) | {"page": str(out / "report.html")}
    assert (out / "dense" / "weights.txt").stat().st_mtime_ns == before
    assert (out / "events.jsonl").read_bytes() == events


@pytest.mark.slow
def test_it_spoils_nothing(shown, tmp_path):
    (tmp_path / "mine").write_text("dear")
    code, _, err = rampion("demo", "--out", tmp_path, *SIZES)
    assert code == 2
    assert "holds something else" in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    code, _, err = rampion("demo", "--out", shown[0], *SIZES, "--seed", 5)
    assert code == 2
    assert "was begun with seed 1, not 5" in err
    code, _, err = rampion("demo", "--out", tmp_path / "mine", *SIZES)
    assert code == 2
    assert "is a file" in err


@pytest.mark.slow
def test_the_page_holds_the_whole_story(shown):
    out, _ = shown
    page = Shown.of(out / "report.html")
    assert len(page.html.encode()) < 3_000_000
    assert len(set(page.read.ids)) == len(page.read.ids)
    sections = ["gained", "sentences", "built", "dense", "explorer", "learnt", "spent", "made"]
    assert [one for one in page.read.ids if one in sections] == sections
    assert set(page.read.links) <= {f"#{one}" for one in page.read.ids}
    found, texts = results(out), "\n".join(page.read.texts)
    for one in found["examples"]:
        assert one["source"] in texts
    for name in found["strongest"]:
        assert name in texts
    for row in found["table"].values():
        assert f"{row['score']:.2f}" in texts
    assert page.held["rounds"] == ["start", *(f"iteration {n}" for n in range(1, 8)), "chosen: iteration 8"]
    good("report", out)
    assert Shown.of(out / "report.html").read.ids == page.read.ids


def test_texts_are_compared_with_the_nearest_reference():
    told = compared("a <b> d", ["x y z", "a c d e"])
    assert told == "a <ins>&lt;b&gt;</ins> <del>c</del> d <del>e</del>"
    assert compared("", ["a"]) == "<del>a</del>"


def test_lists_alone(tmp_path):
    text = good("demo", "lists", "--segments", 40, "--k", 8, "--out", tmp_path / "toy")
    assert "ramp 3 (RAMPION)" in text
    assert sorted(path.name for path in (tmp_path / "toy").iterdir()) == ["dev.jsonl", "initial.weights", "test.jsonl"]
    found = json.loads(good("demo", "lists", "--segments", 40, "--k", 8, "--json"))
    assert np.isfinite(found["oracle"])
