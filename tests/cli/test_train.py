"""rampion train from end to end: a small corpus, runs that go on, and what it refuses."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time

import pytest
from command import good, rampion, start
from trained import SETTINGS, files, train

from rampion.runs.sets_run import SetRun
from rampion.training.recipes import recipes_of


def test_a_line_an_iteration_and_the_best_at_the_end(done):
    folder, told = done
    head, *rows, last, wrote = told.splitlines()
    assert head.split()[:6] == ["iter", "gain", "train", "dev", "test", "sent/s"]
    assert [row.split()[0] for row in rows] == ["1", "2"]
    assert max(map(len, [head, *rows])) <= 80
    best = SetRun.open(folder).chosen
    assert last == f"iteration {best.iteration} is best on dev: BLEU {best.dev:.2f}, on test {best.test:.2f}"
    assert wrote == f"wrote {folder}/weights/00{best.iteration}.bin"


def test_events_tell_the_same(done):
    folder, told = done
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["begun", "begun", "iteration", "iteration", "done"]
    assert [event["part"] for event in events[:2]] == ["oracle", "000"]
    assert events[0]["gain"] > events[1]["gain"] == 0
    for event, row in zip(events[2:], told.splitlines()[1:3], strict=False):
        cells = row.split()
        assert cells[3:5] == [f"{event[part]:.2f}" for part in ("dev", "test")]
        assert cells[7:9] == [f"{event[part] / 1e3:.1f}K" for part in ("features", "candidates")]
        assert len(event["objective"]) == len(event["moved"]) == 3
        assert event["seconds"].keys() == {"packing", "learning", "testing", "decoding", "judging", "recording"}


def test_curves_of_a_run_that_is_through(corpus, done, tmp_path):
    shutil.copytree(done[0], tmp_path / "run")
    code, out, _ = train(corpus, tmp_path / "run", "--resume", "--curves", tmp_path / "curves.svg")
    assert code == 0
    assert out.endswith(f" and {tmp_path}/curves.svg\n")
    drawn = (tmp_path / "curves.svg").read_text()
    assert all(f">{name}<" in drawn for name in ("train", "dev", "test", "iteration"))


def test_threads_and_json(corpus, done, tmp_path):
    code, out, err = train(corpus, tmp_path / "run", "--threads", 2, "--json")
    assert code == 0
    told = json.loads(out)
    assert [row["iteration"] for row in told["iterations"]] == [1, 2]
    assert err.splitlines()[0].split()[0] == "iter"
    assert files(tmp_path / "run") == files(done[0])


def test_two_stages(corpus, done, tmp_path):
    """Real-valued weights on top of binary ones that stay (S10.12)."""
    more = ["--features", "LM,Words,all", "--recipe", "costmargin-dense", "--base", done[0], "--set", "rate=0.01"]
    code, _, err = rampion(
        "train", corpus, "--out", tmp_path / "run", "--system", done[0] / "system", *SETTINGS[2:], *more
    )
    assert code == 0, err
    one, base = SetRun.open(tmp_path / "run"), SetRun.open(done[0])
    weights = one.keyed()
    assert weights.own["LM"] == 0.1
    assert len(weights.table) == len(base.keyed().table)


@pytest.mark.slow
def test_killed_again_and_again(corpus, done, tmp_path):
    draw, run = random.Random(1), tmp_path / "run"
    arguments = [corpus, "--out", run, "--system", done[0] / "system", *SETTINGS, "--resume"]
    for _ in range(6):
        with start("train", *arguments) as process:
            time.sleep(draw.uniform(0.3, 1.5))
            process.kill()
    assert rampion("train", *arguments).code == 0
    assert files(run) == files(done[0])


@pytest.mark.slow
def test_ctrl_c_is_one_line_and_it_goes_on(corpus, done, tmp_path):
    arguments = [corpus, "--out", tmp_path / "run", "--system", done[0] / "system", *SETTINGS, "--resume"]
    with start("train", *arguments, "--iterations", 900) as process:
        while not (tmp_path / "run" / "sets" / "001.records").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, b"rampion: interrupted; files that stood before are whole\n")
    good("train", *arguments)
    assert files(tmp_path / "run").items() >= files(done[0]).items()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--recipe", "rampion"], "rampion learns from lists, as rampion tune does; recipes that learn from"),
        (["--reordering", "some"], "--reordering some: expected mon, swap, distortion, or distortion=WORDS"),
        (["--reordering", "distortion"], "--reordering distortion: truths are found in mon and swap only"),
        (["--fixed", "LM"], "--fixed 'LM': expected a feature and its weight, for example --fixed LM=0.1"),
        (["--fixed", "LM=inf"], "--fixed 'LM=inf': expected a feature and its weight"),
        (["--memory", "much"], "--memory 'much': expected a size, for example 12G"),
        (["--memory", "1M"], "need"),
        (["--features", "LM,Words,all"], "Words is real-valued and has no weight; fix it (--fixed Words=0.1)"),
        (["--base", "nowhere"], "nowhere: holds no run; name a folder that rampion train has written"),
        (["--set", "rate=0"], "rate is 0; expected a finite number above 0"),
    ],
)
def test_bad_input(corpus, done, tmp_path, more, sentence):
    code, _, err = train(corpus, tmp_path / "run", *more)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


def test_a_run_is_not_overwritten_and_goes_on_as_it_began(corpus, done):
    code, _, err = train(corpus, done[0])
    assert (code, err) == (
        2,
        f"rampion: {done[0]}: holds a run already; continue it (--resume), "
        "overwrite it (--force), or name another folder\n",
    )
    code, _, err = train(corpus, done[0], "--resume", "--k", 3)
    assert (code, err.count("\n")) == (2, 1)
    assert f"{done[0]}: was begun with k 1, not 3; take that again, or name another folder" in err


def test_another_corpus(corpus, done, tmp_path):
    shutil.copytree(done[0], tmp_path / "run")
    shutil.copytree(corpus, tmp_path / "corpus")
    shutil.copy(tmp_path / "corpus" / "test.tgt.0", tmp_path / "corpus" / "test.tgt.1")
    code, _, err = rampion("train", tmp_path / "corpus", "--out", tmp_path / "run", *SETTINGS, "--resume")
    assert code == 2
    assert "was begun with another corpus; take that again, or name another folder" in err


def test_recipes_and_citations():
    text = good("recipes")
    assert all(f"\n{name} " in text for name in recipes_of("sets"))
    assert json.loads(good("recipes", "costmargin", "--json"))["epochs"] == 40
    assert "@article{tillmann2008" in good("cite", "costmargin")
