"""rampion reproduce: what it lists, what it runs, and what it refuses."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from command import good, rampion
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.text.corpus import Corpus
from rampion.decoder.text.language import Language
from scales import TINY

from rampion.apps.inputs import changed
from rampion.experiments import experiments
from rampion.experiments.forecast import Load
from rampion.experiments.papers import gimpel_smith
from rampion.experiments.papers.gimpel_smith import Tuning
from rampion.experiments.papers.tillmann_zhang.binary import Truth, table_5
from rampion.experiments.runners import Workshop
from rampion.experiments.runners.tuned import drawn, scaled
from rampion.experiments.samples import measured
from rampion.experiments.scales import SCALES
from rampion.formats import weights as weight_files
from rampion.store.features import Weights
from rampion.training.recipes import RECIPES

THEOREM = "tillmann-zhang/theorem-1"


def test_it_lists_what_there_is():
    told = good("reproduce")
    assert all(experiment.name in told and experiment.title in told for experiment in experiments())
    facts = json.loads(good("reproduce", "--json"))
    assert [one["name"] for one in facts] == [one.name for one in experiments()]
    assert facts[0]["relations"]["X7f"] == "the language model raises test BLEU"


def test_a_table_its_verdicts_and_its_files(tmp_path):
    told = good("reproduce", THEOREM, "--out", tmp_path)
    assert "X16   must   holds: every bound holds in every round" in told
    facts = json.loads((tmp_path / "tillmann-zhang-theorem-1.json").read_text())
    assert facts["experiment"] == THEOREM
    assert [one["verdict"] for one in facts["relations"]] == ["holds"]
    assert good("reproduce", THEOREM, "--out", tmp_path) == told
    assert json.loads(good("reproduce", THEOREM, "--out", tmp_path, "--json")) == [facts]


def refused(*arguments):
    code, _, err = rampion("reproduce", *arguments)
    assert code == 2
    return err


def test_what_it_refuses(tmp_path):
    assert (
        "no experiment is called 'table-5'; there are tillmann-zhang, gimpel-smith, wuebker, tillmann-zhang/table-5"
        in refused("table-5")
    )
    assert f"{THEOREM}: the runs need a folder; name one with --out DIR" in refused(THEOREM)
    assert "--scale 'tiny': expected one of small, medium, full" in refused(THEOREM, "-o", tmp_path, "--scale", "tiny")
    assert "--seeds 'one': expected whole numbers" in refused(THEOREM, "-o", tmp_path, "--seeds", "one")
    assert "--seeds '1,2,1': a seed appears twice" in refused(THEOREM, "-o", tmp_path, "--seeds", "1,2,1")


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
    (row,) = json.loads((out / "tillmann-zhang-figure-2.json").read_text())["rows"]
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


def test_what_it_takes_is_told_before_it_begins(made):
    """Two iterations of 40 lessons, 20 sentences of dev and 20 of the test."""
    _, (_, _, err) = made
    (line,) = (line for line in err.splitlines() if " to decode" in line)
    assert "tillmann-zhang/figure-2, 1 run: 160 sentences to decode, about 1 min at " in line
    assert err.index(line) < err.index("iteration 1: ")


def test_the_predicted_decodings_are_those_of_the_loop(made, monkeypatch, tmp_path):
    """A loop decodes dev in every iteration, and dev and test at the end."""
    out, _ = made
    monkeypatch.setitem(SCALES, "small", TINY)
    shop = Workshop.open(out, "small", None, None, 1)
    (row,) = (row for row in gimpel_smith.table_1.rows if row.label == "RAMPION")
    load, decoded = shop.load(row), []
    monkeypatch.setattr(BlockDecoder, "batch", counting(BlockDecoder.batch, decoded))
    facts = shop.make(row, 1, tmp_path).facts
    stopped = TINY.decodings - facts["iterations"]
    assert sum(decoded) + stopped * len(shop.stock.whole.corpus.dev) == load.decoded


def counting(batch, decoded):
    def counted(decoder, segments, first, last):
        decoded.append(last - first)
        return batch(decoder, segments, first, last)

    return counted


def test_what_runs_share_is_counted_once():
    one, two = Load(10, 5, 3, ("a",)), Load(7, 8, 1)
    assert Load.joined([one, two, one, two]) == Load(24, 8, 5)
    assert Load.joined([]) == Load(0)


@pytest.mark.slow
def test_a_row_is_not_run_again_and_not_mistaken_for_another(made, monkeypatch):
    out, (_, told, _) = made
    monkeypatch.setitem(SCALES, "small", TINY)
    code, again, err = rampion("reproduce", "tillmann-zhang/figure-2", "--out", out)
    assert (code, again) == (0, told)
    assert "seed 1" not in err
    assert "to decode" not in err
    monkeypatch.setitem(SCALES, "small", TINY._replace(iterations=3))
    assert "seed-1: was run with iterations 2, and 3 is asked for" in refused("tillmann-zhang/figure-2", "-o", out)


@pytest.mark.slow
def test_whoever_was_interrupted_ends_with_the_same(made, tmp_path, monkeypatch):
    """A run that lost its outcome and its last iteration."""
    out, (_, told, _) = made
    monkeypatch.setitem(SCALES, "small", TINY)
    shutil.copytree(out, tmp_path / "copy")
    folder = tmp_path / "copy" / "rows" / "swap-all" / "seed-1"
    (folder / "outcome").unlink()
    (folder / "run" / "sets" / "002.records").unlink()
    first = folder / "run" / "weights" / "001.bin"
    made_at = first.stat().st_mtime_ns
    code, again, err = rampion("reproduce", "tillmann-zhang/figure-2", "--out", tmp_path / "copy")
    assert code == 0
    assert "iteration 2: " in err
    assert first.stat().st_mtime_ns == made_at  # told again, but not learnt again
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


# Tuning in a loop


SMALL = TINY._replace(pairs=400, held_out=16, decodings=3)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A folder in which a minute Table 1 has been reproduced, and what was told."""
    out = tmp_path_factory.mktemp("tuned")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCALES, "small", SMALL)
        told = rampion("reproduce", "gimpel-smith/table-1", "--out", out, "--seeds", "1,2")
    return out, told


@pytest.mark.slow
def test_a_table_of_tuning_in_a_loop(tuned):
    out, (code, text, err) = tuned
    assert code == 0, err
    assert "iteration 3: tune " in err
    (head,) = (line for line in text.splitlines() if "tuning BLEU" in line)
    assert head.split() == ["tuning", "BLEU", "test", "BLEU", "paper", *head.split()[5:]]
    assert head.split().count("paper") == 1  # it tells of the test alone
    facts = json.loads((out / "gimpel-smith-table-1.json").read_text())
    assert [one["id"] for one in facts["relations"]] == [f"X1{letter}" for letter in "abcdef"]
    rows = {row["row"]: row for row in facts["rows"]}
    assert {name: len(row["runs"]) for name, row in rows.items()} == {
        "untuned": 1, "MERT": 2, "PRO": 2, "RAMPION": 1, "RAMPION again": 1,
    }  # fmt: skip
    assert rows["RAMPION"]["paper"] == {"test": 36.8}
    assert rows["RAMPION"]["weights"] == rows["RAMPION again"]["weights"]
    assert [len(one["weights"][0]) for one in rows.values()] == [14] * 5
    for name in gimpel_smith.TUNED:
        assert set(rows[name]["measured"]) == {"tune", "test", "decoding", "learning"}
        assert 1 <= len(rows[name]["curves"][0]["tune"]) == rows[name]["runs"][0]["iterations"] <= 3
    assert rows["RAMPION"]["curves"][0]["tune"][0] == pytest.approx(rows["untuned"]["measured"]["tune"]["score"])


@pytest.mark.slow
def test_seeds_draw_otherwise(tuned):
    out, _ = tuned
    for row in ("mert", "pro"):
        one, two = (weight_files.read(out / f"rows/{row}/seed-{seed}/run/weights.txt") for seed in (1, 2))
        assert dict(one) != dict(two)


@pytest.mark.slow
def test_an_interrupted_loop_ends_with_the_same(tuned, tmp_path, monkeypatch):
    """A run that lost its outcome and its last iteration, and has no lists any more."""
    out, _ = tuned
    monkeypatch.setitem(SCALES, "small", SMALL)
    shutil.copytree(out, tmp_path / "copy")
    folder = tmp_path / "copy" / "rows" / "pro" / "seed-2"
    assert not (folder / "run" / "lists").exists()
    (folder / "outcome").unlink()
    events = (folder / "run" / "events.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in events if '"iteration": 3' not in line and '"done"' not in line]
    (folder / "run" / "events.jsonl").write_text("".join(kept))
    code, _, err = rampion("reproduce", "gimpel-smith/table-1", "--out", tmp_path / "copy", "--seeds", "1,2")
    assert code == 0
    assert "PRO (run 5 of 7), seed 2" in err
    one, two = (weight_files.read(home / "rows/pro/seed-2/run/weights.txt") for home in (out, tmp_path / "copy"))
    assert dict(one) == dict(two)


def test_draws_are_around_the_usual_weights():
    usual = Weights.from_dict(dict(zip("abc", (0.5, -1.0, 0.0), strict=True)))
    draws = np.array([drawn(usual, number).vector for number in range(1, 2001)])
    assert drawn(usual, 0) is usual
    assert draws.mean(axis=0) == pytest.approx([0.5, -1.0, 0.0], abs=0.05)
    assert draws.std(axis=0) == pytest.approx([0.25, 0.5, 0.0], abs=0.02)
    assert drawn(usual, 7).vector.tolist() == draws[6].tolist()


def test_recipes_at_a_scale():
    """Fewer candidates and iterations where the scale has fewer; steps as long in all as with the paper's sentences."""
    rampion_, mert, pro = (scaled(RECIPES[name], SCALES["small"], 450) for name in ("rampion", "mert", "pro"))
    assert (rampion_.k, mert.k, pro.k) == (100, 100, 100)
    assert (rampion_.iterations, mert.iterations, pro.iterations) == (20, 25, 25)
    assert rampion_.settings()["rate"] == pytest.approx(2e-4)
    assert pro.settings()["rounds"] == 1
    rampion_, mert, pro = (scaled(RECIPES[name], SCALES["full"], 900) for name in ("rampion", "mert", "pro"))
    assert (rampion_.k, mert.k, pro.k) == (500, 100, 1500)
    assert (rampion_.iterations, mert.iterations, pro.iterations) == (20, 25, 25)
    assert rampion_.settings()["rate"] == pytest.approx(1e-4)


def test_what_is_changed_is_a_setting_of_its_recipe():
    rows = [row.settings for one in gimpel_smith.EXPERIMENTS for row in one.rows]
    for settings in (one for one in rows if isinstance(one, Tuning) and one.change):
        recipe = RECIPES[settings.recipe]
        assert changed(recipe, [settings.change], barred=()) != recipe


@pytest.mark.slow
def test_counts_are_learnt_beside_the_fourteen_features(tuned, monkeypatch):
    out, _ = tuned
    monkeypatch.setitem(SCALES, "small", SMALL)
    shop = Workshop.open(out, "small", None, None, 1)
    (row,) = (row for row in gimpel_smith.table_2.rows if row.label == "RAMPION, more")
    assert shop.asked(row)["counts"] == 20
    made = shop.make(row, 1, out / "more")
    assert made.facts["features"] > 14 == len(made.weights)
    weights = weight_files.read(out / "more/run/weights.txt")
    assert {name.partition("/")[0] for name in weights if "/" in name} <= {"pair", "gram", "trigger"}
    assert any(weights[name] for name in weights if "/" in name)
