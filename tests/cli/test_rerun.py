"""rampion rerun: a run is repeated to the same bits; where it is not, what has changed is named."""

from __future__ import annotations

import json
import shutil

import pytest
from command import good, rampion, write_task
from trained import corpus as corpus
from trained import done as done

from rampion.formats import weights as weight_files
from rampion.runs.folder import RunFolder
from rampion.store.features import Weights


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A task in the working directory, so that the files of runs have short names."""
    write_task(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*arguments):
    code, out, err = rampion("rerun", *arguments, "--json")
    assert code in (0, 1), err
    found = json.loads(out)
    assert found["same"] == (code == 0)
    return found


TUNED = [
    ("--recipe", "rampion", "--set", "rate=0.01", "--set", "rounds=3", "--keep-rounds"),
    ("--recipe", "mert", "--set", "seed=5", "--set", "restarts=2", "--folds", 0),
    ("--recipe", "risk", "--set", "steps=20", "--policy", "replace"),
    (),
    ("--bends", "--recipe", "risk"),
]


@pytest.mark.parametrize("options", TUNED, ids=["rampion", "mert", "risk", "auto", "bends"])
def test_a_run_on_lists_is_repeated_to_the_bit(folder, options):
    good("tune", "dev.jsonl", "--out", "run", *options)
    found = told("run")
    assert found["same"]
    assert [found[name] for name in ("inputs", "versions", "settings", "first")] == [[], [], [], None]
    rows = [event for event in RunFolder(folder / "run").events if event["event"] == "round"]
    assert found["rounds"] == len(rows) > 0
    assert found["weights"]["number"] == len(weight_files.read(folder / "run" / "weights.txt"))
    assert (folder / "run-again" / "weights.txt").read_bytes() == (folder / "run" / "weights.txt").read_bytes()
    assert (folder / "run-again" / "config.toml").read_bytes() == (folder / "run" / "config.toml").read_bytes()
    assert (folder / "run-again" / "weights").is_dir() == ("--keep-rounds" in options)


def test_what_has_changed_is_named(folder):
    good("tune", "dev.jsonl", "--recipe", "rampion", "--out", "run")
    lines = (folder / "dev.jsonl").read_text().splitlines(keepends=True)
    (folder / "dev.jsonl").write_text("".join(lines[:-1]))
    manifest = json.loads((folder / "run" / "manifest.json").read_text())
    manifest["packages"]["numpy"] = "1.0"
    (folder / "run" / "manifest.json").write_text(json.dumps(manifest))
    found = told("run")
    assert not found["same"]
    assert found["inputs"][0].startswith("dev.jsonl has changed since")
    assert found["versions"][0].startswith("numpy 1.0 then, ")
    assert found["first"].startswith("round 1: loss ")
    assert found["weights"]["differ"] > 0
    code, out, _ = rampion("rerun", "run", "--force")
    assert code == 1
    assert "The result differs; what has changed since the run stands above." in out


def test_one_bit_of_one_weight_is_seen(folder):
    good("tune", "dev.jsonl", "--recipe", "rampion", "--out", "run")
    weights = weight_files.read(folder / "run" / "weights.txt")
    moved = weights.vector.copy()
    moved.view("<i8")[0] ^= 1
    weight_files.write(folder / "run" / "weights.txt", Weights(weights.features, moved))
    found = told("run")
    assert found["weights"]["differ"] == 1
    assert 0 < found["weights"]["most"] < 1e-12
    assert found["first"] is None


def test_a_loop_is_repeated(folder):
    good("corpus", "toy", "--pairs", 200, "--held-out", 10, "--out", "toy")
    good("blocks", "toy", "--out", "toy.blocks")
    good("lm", "estimate", "toy/train.tgt", "--out", "toy.lm")
    text = ("toy/dev.src", "--refs", "toy/dev.tgt.0", "--blocks", "toy.blocks", "--lm", "toy.lm", "--threads", 1)
    good("tune", *text, "--recipe", "rampion", "--set", "iterations=2", "--set", "k=10", "--beam", 5, "--out", "run")
    found = told("run")
    assert found["same"]
    assert found["rounds"] > 2
    assert found["settings"] == []
    again = RunFolder(folder / "run-again")
    assert sum(event["event"] == "iteration" for event in again.events) == 2


def test_a_run_of_train_is_repeated(done, tmp_path):
    folder, _ = done
    found = told(folder, "--out", tmp_path / "again")
    assert found["same"]
    assert found["weights"] == {"what": "files of weights", "number": 2, "differ": 0, "most": None}
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "weights" / "001.bin").write_bytes(b"")
    found = told(copy, "--out", tmp_path / "again", "--force")
    assert found["weights"]["differ"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: shutil.rmtree(folder / "run"), "run: holds no run; name a folder that rampion tune or"),
        (lambda folder: (folder / "dev.jsonl").unlink(), "dev.jsonl: is not there, so the run cannot be repeated; put"),
        (lambda folder: (folder / "run" / "weights.txt").unlink(), "run: has no weights yet, so there is nothing to"),
        (
            lambda folder: (folder / "run" / "config.toml").write_text('recipe = "costmargin"\n'),
            "run: only runs of rampion tune and rampion train can be repeated",
        ),
    ],
)
def test_what_cannot_be_repeated_is_refused(folder, change, message):
    good("tune", "dev.jsonl", "--recipe", "rampion", "--set", "rounds=2", "--out", "run")
    change(folder)
    code, _, err = rampion("rerun", "run")
    assert code == 2
    assert message in err
    assert not (folder / "run-again" / "weights.txt").exists()


def test_a_run_is_not_repeated_in_its_own_folder(folder):
    good("tune", "dev.jsonl", "--recipe", "rampion", "--set", "rounds=2", "--out", "run")
    before = (folder / "run" / "weights.txt").read_bytes()
    code, _, err = rampion("rerun", "run", "--out", "run", "--force")
    assert code == 2
    assert "--out run: " in err
    assert (folder / "run" / "weights.txt").read_bytes() == before
