"""Rows on real-valued features: learnt, gone on with, and judged."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from command import rampion
from scales import TINY

from rampion.experiments import experiments
from rampion.experiments.claims import Greater, GroupDifference, InRange, Quantity
from rampion.experiments.papers.tillmann_zhang.real import CM, MERT_7, PERCEPTRON, SEVEN, table_8
from rampion.experiments.runners.inputs import Remembering
from rampion.experiments.samples import EARLY, Course, Outcome, Settled, measured
from rampion.experiments.scales import SCALES
from rampion.sets.records import Keyed
from rampion.store.keys import Keys
from rampion.store.text import Texts

pytestmark = pytest.mark.slow

FIGURES, TABLE = "tillmann-zhang/figures-4-6", "tillmann-zhang/table-9"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder in which curves and stages have been made, and what was told of each."""
    out = tmp_path_factory.mktemp("real")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCALES, "small", TINY)
        told = {name: rampion("reproduce", name, "--out", out) for name in (FIGURES, TABLE)}
    return out, told


def rows_of(out, name):
    return {row["row"]: row for row in json.loads((out / f"tillmann-zhang-{name}.json").read_text())["rows"]}


def test_curves_of_three_methods(made):
    out, told = made
    code, text, err = told[FIGURES]
    assert code == 0, err
    assert "iteration 1: dev " in err
    assert [line.split()[0] for line in text.splitlines() if line.startswith("X11")] == ["X11a", "X11b", "X11c"]
    rows = rows_of(out, "figures-4-6")
    assert list(rows) == [CM, PERCEPTRON, MERT_7]
    for row in rows.values():
        (curves,), (run,) = row["curves"], row["runs"]
        assert len(curves["dev"]) == len(curves["test"]) == 2
        assert row["measured"]["test"]["score"] == pytest.approx(curves["test"][run["chosen"] - 1])
        assert set(run["weights"]) == set(SEVEN.split(","))


def test_what_stays_in_a_stage_stays(made):
    out, told = made
    code, _, err = told[TABLE]
    assert code == 0, err
    rows = rows_of(out, "table-9")
    alone, above = (rows[name]["runs"][0]["weights"] for name in (CM, "7 features then binary"))
    assert above == alone
    assert rows["binary then 7 features"]["curves"] != rows[CM]["curves"]


@pytest.mark.parametrize(
    ("name", "row", "lost"),
    [(FIGURES, MERT_7, "run/weights/001.bin"), (TABLE, "binary then 7 features", "second/sets/002.records")],
)
def test_whoever_was_interrupted_ends_with_the_same(made, tmp_path, monkeypatch, name, row, lost):
    """A run that lost its outcome and its last iteration."""
    out, told = made
    monkeypatch.setitem(SCALES, "small", TINY)
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (place,) = {one.folder for one in experiments(name)[0].rows if one.label == row}
    folder = copy / "rows" / place / "seed-1"
    (folder / "outcome").unlink()
    (folder / lost).unlink()
    if "run/" in lost:
        events = folder / "run" / "events.jsonl"
        events.write_text("".join(line for line in events.read_text().splitlines(True) if '"iteration"' not in line))
    code, again, err = rampion("reproduce", name, "--out", copy)
    assert code == 0, err
    assert again.replace(str(copy), str(out)) == told[name][1]


def test_a_table_learnt_from_word_error_rate(made, monkeypatch):
    """Of one row: whole tables are for those who have time."""
    from rampion.experiments.runners import Workshop

    out, _ = made
    monkeypatch.setitem(SCALES, "small", TINY)
    row = table_8.rows[-1]
    assert row.settings.metric == "wer"
    shop = Workshop.open(out, "small", None, None, 1)
    folder = out / "rows" / row.folder / "seed-1"
    folder.mkdir(parents=True)
    outcome = shop.make(row, 1, folder)
    assert outcome.samples["dev mWER"].shape == (20, 2)
    assert outcome.samples["meteor"].shape == (20, 4)
    assert 0 < measured([outcome], "meteor").score < 100


def test_nothing_is_decoded_twice_by_the_same_weights():
    asked = []

    class Decoder:
        names = ("LM",)

        def best(self, segments, weights):
            asked.append((segments[0], weights.own))
            return Texts.from_strings([f"{segments[0]} {weights.own['LM']}"])

    decoder, full = Remembering(Decoder()), Keys()
    full.enter(np.array([7], np.uint64))
    dev, test = (Texts.from_strings([name]) for name in ("dev", "test"))
    assert decoder.names == ("LM",)
    said = [[decoder.best(text, Keyed(Keys(), {"LM": one}))[0] for text in (dev, test)] for one in (1.0, 2.0, 1.0)]
    assert said == [["dev 1.0", "test 1.0"], ["dev 2.0", "test 2.0"], ["dev 1.0", "test 1.0"]]
    assert len(asked) == 4
    for weight, count in ((0.0, 4), (0.5, 5), (0.5, 5), (0.25, 6)):  # a key that weighs nothing changes nothing
        full.set_weights(np.array([weight]))
        decoder.best(dev, Keyed(full, {"LM": 1.0}))
        assert len(asked) == count


def curve(*points):
    """Rows of two segments whose BLEU is as given, an iteration beside another: 4-grams of a long text."""
    rows = []
    for point in points:
        matched = round(1000 * point)
        # length, reference length, then matches and totals of every order
        rows.append(np.array([[1000, 1000, *[matched] * 4, *[1000] * 4]] * 2))
    return Settled.rows(rows)


def test_the_course_of_a_curve():
    found = {of: Course(of).scores(curve(0.5, 0.3, 0.4, 0.6).sum(axis=0)[np.newaxis])[0] for of in
             ("dip", "recovery", "rough")}  # fmt: skip
    assert found["dip"] == pytest.approx(20, abs=0.1)
    assert found["recovery"] == pytest.approx(30, abs=0.1)
    assert found["rough"] == pytest.approx(50 / 3, abs=0.1)
    late = [0.5] * EARLY + [0.1]
    assert Course("dip").scores(curve(*late).sum(axis=0)[np.newaxis])[0] == pytest.approx(0)


def test_claims_of_curves_of_different_lengths():
    outcomes = {"long": [Outcome({"rough": curve(0.5, 0.3, 0.6)})], "short": [Outcome({"rough": curve(0.5, 0.51)})]}
    judged = Greater(Quantity("long", "rough"), Quantity("short", "rough")).judge(outcomes)
    assert judged.verdict == "holds"
    assert judged.p is None
    assert InRange(Quantity("long", "rough"), 30).judge(outcomes).verdict == "does not hold"


def test_what_lies_between():
    outcomes = {name: [Outcome({"test": curve(point)})] for name, point in (("a", 0.5), ("b", 0.4), ("c", 0.35))}
    assert GroupDifference(("a",), ("b", "c"), least=1.5).judge(outcomes).verdict == "holds"
    assert GroupDifference(("a",), ("b", "c"), most=0.5).judge(outcomes).verdict == "does not hold"
