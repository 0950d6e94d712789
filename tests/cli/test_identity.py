"""Weights name the system that they belong to, and what a run depends on is known by its content, not by its path."""

from __future__ import annotations

import json
import shutil

import pytest
from command import good, rampion
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.models.lm import read as read_lm
from rampion.decoder.system import System
from rampion.decoder.text.language import Language

from rampion.experiments.reproduction import INPUTS
from rampion.formats import load_weights, save_weights
from rampion.store.features import Weights

PARTS = {"blocks": "0123456789abcdef", "lm": "fedcba9876543210"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two small systems, and weights tuned with the first."""
    folder = tmp_path_factory.mktemp("identity")
    for number in (1, 2):
        Language.invent(number).corpus(120, 8, 1).write(folder / f"corpus-{number}")
        System.prepare(folder / f"corpus-{number}", folder / f"{number}", threads=1)
    good("tune", folder / "corpus-1/dev.src", "--refs", folder / "corpus-1/dev.tgt", *system(folder, 1, 1), "--out",
         folder / "run", "--set", "iterations=1", "--set", "k=10", "--beam", 5)  # fmt: skip
    return folder


def system(folder, blocks, lm):
    model = ["--lm", folder / f"{lm}/system.lm"] if lm else []
    return ["--blocks", folder / f"{blocks}/system.blocks", *model]


def decode(folder, weights, *more):
    return rampion("decode", folder / "corpus-1/dev.src", "--weights", weights, "--beam", 5, *more)


@pytest.mark.parametrize("name", ["w.txt", "w.bin", "w.txt.gz"])
def test_weights_keep_the_names_of_their_system(tmp_path, name):
    weights = Weights.from_dict({"LM": 0.5, "TM[0]": 1.0, "TM[1]": -2.0})
    for parts in ({}, PARTS):
        save_weights(tmp_path / name, Weights(weights.features, weights.vector, parts))
        found = load_weights(tmp_path / name)
        assert (dict(found), found.system) == (dict(weights), parts)


def test_the_names_are_a_comment_to_others(tmp_path):
    weights = Weights.from_dict({"LM": 0.5})
    save_weights(tmp_path / "w", Weights(weights.features, weights.vector, PARTS))
    first, second = (tmp_path / "w").read_text().splitlines()
    assert (first, second) == (f"# of blocks={PARTS['blocks']} lm={PARTS['lm']}", "LM= 0.5")


@pytest.mark.parametrize("line", ["# of", "# of nothing", "# of blocks=xyz", "# of blocks=0123456789ABCDEF", "#of x=1"])
def test_other_comments_say_nothing(tmp_path, line):
    (tmp_path / "w").write_text(f"{line}\nLM= 0.5\n")
    assert load_weights(tmp_path / "w").system == {}


def test_a_run_names_the_contents_of_its_system(home):
    parts = {
        "blocks": BlockSet.read(home / "1/system.blocks").fingerprint,
        "lm": read_lm(home / "1/system.lm").fingerprint,
    }
    assert load_weights(home / "run/weights.txt").system == parts
    assert load_weights(home / "run/weights/001.bin").system == parts
    assert json.loads((home / "run/manifest.json").read_text())["system"] == parts


def test_the_same_system_elsewhere_and_other_settings_are_no_fault(home, tmp_path):
    shutil.copytree(home / "1", tmp_path / "1")
    assert decode(home, home / "run", *system(tmp_path, 1, 1), "--options", 5, "--reordering", "mon").code == 0


@pytest.mark.parametrize("weights", ["run", "run/weights/001.bin"])
@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((2, 1), "belongs to a decoder with the blocks"),
        ((1, 2), "belongs to a decoder with the language model"),
        ((1, None), "and there are none here; name those that it was tuned with (--lm), or pass --lenient"),
    ],
)
def test_another_system_is_refused(home, weights, parts, said):
    code, out, err = decode(home, home / weights, *system(home, *parts))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"rampion: {home / 'run/weights'}")
    assert said in err
    assert decode(home, home / weights, *system(home, *parts), "--lenient").code == 0


@pytest.mark.parametrize("command", ["lattice", "explain", "condense"])
def test_every_command_with_blocks_asks(home, tmp_path, command):
    given = ["--blocks", home / "2/system.blocks", "--lm", home / "1/system.lm"]
    start = [home / "corpus-1/dev.src"] if command != "condense" else [home / "2/system.blocks"]
    out = [] if command == "explain" else ["--out", tmp_path / "out"]
    asked = [command, *start, "--weights", home / "run", *(given if command != "condense" else []), *out]
    code, _, err = rampion(*asked)
    assert code == 2
    assert "belongs to a decoder with the blocks" in err
    assert not (tmp_path / "out").exists()
    assert rampion(*asked, "--lenient").code == 0


def test_saved_weights_belong_to_what_decoded(home, tmp_path):
    assert decode(home, home / "run", *system(home, 1, 1), "--save-weights", tmp_path / "w").code == 0
    assert load_weights(tmp_path / "w").system == load_weights(home / "run/weights.txt").system


def test_condensed_weights_belong_to_the_condensed_blocks(home, tmp_path):
    good("condense", home / "1/system.blocks", "--weights", home / "run", "--out", tmp_path / "own.blocks",
         "--save-weights", tmp_path / "w")  # fmt: skip
    parts = load_weights(tmp_path / "w").system
    assert parts["blocks"] == BlockSet.read(tmp_path / "own.blocks").fingerprint
    assert parts["blocks"] != BlockSet.read(home / "1/system.blocks").fingerprint
    assert parts["lm"] == read_lm(home / "1/system.lm").fingerprint


def test_weights_of_lists_are_compared_by_names(tmp_path):
    lists = tmp_path / "a.nbest"
    lists.write_text("0 ||| a ||| LM= -1 x= 1\n0 ||| b ||| LM= -2\n")
    (tmp_path / "w").write_text("LM= 1\ny 2\nz 0\n")
    code, _, err = rampion("rerank", lists, "--weights", tmp_path / "w")
    assert code == 0
    assert err.startswith(f"rampion: {tmp_path / 'w'}: no candidate has any of the 1 sparse features that it has")
    (tmp_path / "w").write_text("LM= 1\nx 2\ny 2\n")
    assert rampion("rerank", lists, "--weights", tmp_path / "w").err == ""
    (tmp_path / "w").write_text("TM= 1\nx 2\n")
    code, _, err = rampion("rerank", lists, "--weights", tmp_path / "w")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"rampion: {tmp_path / 'w'}: the lists have the dense feature 'LM', for which there is no")


# Runs on top of what has changed


@pytest.mark.slow
def test_a_base_that_was_trained_again_is_refused(home, tmp_path):
    small = ["--set", "epochs=2", "--beam", 5, "--threads", 1, "--iterations", 1]
    corpus, base, above = home / "corpus-1", tmp_path / "base", tmp_path / "above"
    good("train", corpus, "--out", base, "--fixed", "LM=0.1", *small)
    parts = ["--system", base / "system", "--set", "learn=real"]
    good("train", corpus, "--out", above, "--base", base, "--features", "fourteen,all", *parts, *small)
    assert rampion("decode", corpus / "dev.src", "--weights", above).code == 0
    good("train", corpus, "--out", base, "--fixed", "LM=0.2", "--seed", 5, "--force", *small)
    code, _, err = rampion("decode", corpus / "dev.src", "--weights", above)
    assert (code, err.count("\n")) == (2, 1)
    assert f"{above}: was learnt on top of weights of {base}" in err


@pytest.mark.slow
def test_learning_does_not_go_on_with_another_dev_text(home, tmp_path):
    shutil.copytree(home / "corpus-1", corpus := tmp_path / "corpus")
    task = ["learn", corpus, "--out", tmp_path / "run", "--beam", 5, "--parts", 2, "-k", 5, "--iterations", 1,
            "--order", 2, "--set", "epochs=2", "--seeds", 1, "--threads", 1]  # fmt: skip
    good(*task)
    (tmp_path / "run" / "learnt.blocks").unlink()
    lines = (corpus / "dev.src").read_text().splitlines()
    (corpus / "dev.src").write_text("\n".join([*lines[1:], lines[0]]) + "\n")
    code, _, err = rampion(*task)
    assert (code, not (tmp_path / "run" / "learnt.blocks").exists()) == (2, True)
    assert "was begun with another text; take that again, or name another folder" in err


def test_an_experiment_does_not_go_on_with_another_text(home, tmp_path):
    shutil.copytree(home / "corpus-1", corpus := tmp_path / "corpus")
    task = ["reproduce", "gimpel-smith/losses", "--corpus", corpus, "--out", tmp_path / "out"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / INPUTS).write_text("[]")
    code, _, err = rampion(*task)
    assert code == 2
    assert f"{tmp_path / 'out'}: was begun with another text; take that again (--corpus)" in err
