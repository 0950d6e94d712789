"""rampion tune with a decoder: what it learns, what it keeps, how it goes on, and what is said when a decoder fails."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import signal
import sys
import time

import numpy as np
import pytest
from command import ENVIRONMENT, good, rampion, start

from rampion.formats import store, texts
from rampion.formats import weights as weight_files

# Says w(v), w(v + 1) or w(v + 2) for a word v; has one true feature, one that misleads, and one of the first word.
# The file `trouble` says in which call it does what it should not.
PROGRAM = """
import itertools, json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
with open(folder / "calls", "a") as calls:
    print("called", file=calls)
call = (folder / "calls").read_text().count("called")
trouble = json.loads((folder / "trouble").read_text()).get(str(call))
time.sleep(float(os.environ.get("DELAY", "0")))
if trouble == "hang":
    time.sleep(60)
if trouble == "die":
    sys.exit("the disk is full")
weights = {}
for line in open(sys.argv[2]):
    name, value = line.split()
    weights[name.rstrip("=")] = float(value)
for s, line in enumerate(sys.stdin):
    if trouble == "forget" and s == 9:
        break
    if trouble == "skip" and s == 4:
        continue
    words, found = [int(word) for word in line.split()], []
    for shifts in itertools.product(range(3), repeat=len(words)):
        said = [word + shift for word, shift in zip(words, shifts)]
        before = [0, *words]
        right = sum(shift == last % 3 for shift, last in zip(shifts[::2], before[::2]))
        features = {"Right": right, "Odd": sum(word % 2 for word in said), f"first{said[0]}": 1}
        if trouble == "lose":
            del features["Odd"]
        if trouble == "gain":
            features["New"] = 1
        score = sum(weights.get(name, 0.0) * value for name, value in features.items())
        found.append((-score, said, features))
    for score, said, features in sorted(found, key=lambda one: one[:2])[: int(sys.argv[3])]:
        if trouble == "nan" and s == 5:
            features["Odd"] = float("nan")
        cells = " ".join(f"{name}= {value}" for name, value in features.items())
        print(s, "|||", " ".join(f"w{word}" for word in said), "|||", cells, "|||", -score)
"""


@pytest.fixture
def folder(tmp_path):
    """The program, a text of twelve sentences with references, another of six, and weights to begin with."""
    draws = np.random.default_rng(1)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "trouble").write_text("{}")
    for name, size in (("dev", 12), ("test", 6)):
        source = [draws.integers(0, 12, draws.integers(3, 5)).tolist() for _ in range(size)]
        said = [[word + before % 3 for before, word in zip([0, *words], words, strict=False)] for words in source]
        (tmp_path / f"{name}.src").write_text("".join(f"{' '.join(map(str, words))}\n" for words in source))
        (tmp_path / f"{name}.ref").write_text("".join(f"{' '.join(f'w{word}' for word in words)}\n" for words in said))
    (tmp_path / "first.weights").write_text("Right= 0.1\nOdd= 0.3\n")
    return tmp_path


def arguments(folder, *more, recipe=("rampion", "rate=0.01")):
    program = shlex.join([sys.executable, "-S", str(folder / "program.py"), str(folder)])
    inputs = [folder / "dev.src", "--refs", folder / "dev.ref", "--weights", folder / "first.weights"]
    name, *settings = recipe
    changes = [word for setting in ("k=8", "iterations=4", *settings) for word in ("--set", setting)]
    command = ["--decoder-command", f"{program} {{weights}} {{k}}"]
    return ["tune", *inputs, *command, "--recipe", name, *changes, *more]


def kept(run):
    """What must not depend on how often it was stopped."""
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in (*run.glob("lists/*"), *run.glob("weights/*"), *run.glob("weights*.txt"))
    }


def rows(run):
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == "iteration"]


def test_a_line_an_iteration_and_all_is_kept(folder):
    told = good(*arguments(folder, "--out", folder / "run"))
    head, *lines, signature, wrote = told.splitlines()
    assert head.split()[:5] == ["iter", "BLEU", "learnt", "moved", "candidates"]
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4"]
    assert "BLEU" not in signature
    assert wrote == f"wrote {folder}/run/weights.txt"
    found = rows(folder / "run")
    for line, row in zip(lines, found, strict=True):
        assert line.split()[1:3] == [f"{row[name]:.2f}" for name in ("decoded", "learnt")]
    assert found[-1]["decoded"] > found[0]["decoded"]
    names = {f"{room}/00{n}.{kind}" for n in range(1, 5) for room, kind in (("lists", "store"), ("weights", "bin"))}
    assert kept(folder / "run").keys() == names | {"weights.txt"}
    last = weight_files.read(folder / "run" / "weights" / "004.bin")
    assert dict(last) == dict(weight_files.read(folder / "run" / "weights.txt"))


def test_what_the_decoder_put_first_is_what_is_scored(folder):
    good(*arguments(folder, "--out", folder / "run"))
    for row in rows(folder / "run"):
        lists = store.read(folder / "run" / "lists" / f"{row['iteration']:03}.store")
        texts.write(folder / "first", lists.texts.take(lists.bounds[:-1]))
        told = json.loads(good("score", folder / "first", "--refs", folder / "dev.ref", "--metric", "bleu", "--json"))
        assert f"{row['decoded']:.6f}" in json.dumps(told) or row["decoded"] == pytest.approx(score_in(told))


def score_in(told):
    """The first score of `rampion score --json`."""
    while not isinstance(told, float):
        told = next(
            value for value in (told.values() if isinstance(told, dict) else told) if not isinstance(value, str)
        )
    return told


def test_dev_is_told_and_chooses_if_asked_to(folder):
    more = ["--dev", folder / "test.src", "--dev-refs", folder / "test.ref"]
    good(*arguments(folder, *more, "--out", folder / "last"))
    told = good(*arguments(folder, *more, "--set", "keep=dev", "--out", folder / "run"))
    scores = [row["dev"] for row in rows(folder / "run")]
    best = 1 + scores.index(max(scores))
    assert f"iteration {best} is best on dev\n" in told
    chosen = weight_files.read(folder / "run" / "weights" / f"00{best}.bin")
    assert dict(chosen) == dict(weight_files.read(folder / "run" / "weights.txt"))
    assert [row["dev"] for row in rows(folder / "last")] == scores
    assert (folder / "run" / "weights.last.txt").exists() == (best < 4)
    _, _, err = rampion(*arguments(folder, "--set", "keep=dev", "--out", folder / "none"))
    assert "without --dev these are the last weights" in err


def test_json(folder):
    told = json.loads(good(*arguments(folder, "--out", folder / "run", "--json")))
    assert [row["iteration"] for row in told["iterations"]] == [1, 2, 3, 4]
    assert told["iterations"][0]["seconds"].keys() == {"decoding", "merging", "judging", "learning", "testing"}
    assert told["iteration"] == 4


TROUBLES = {
    "die": "rampion: iteration 2: the decoder command .* failed with exit code 1; its last words: the disk is full",
    "hang": "rampion: iteration 2: the decoder command .* did not end within 0.5 seconds",
    "nan": "rampion: iteration 2: the lists of the decoder command .*: line 41, of segment 5: 'nan' is not a finite",
    "forget": "rampion: iteration 2: .* listed nothing for 3 of 12 segments, the first of them segment 9; every",
    "skip": "rampion: iteration 2: .* segment 5 follows segment 3, but numbers go up by one",
    "lose": "rampion: iteration 2: segments 0 to 11: no candidate has the feature Odd, which every one had in iter",
    "gain": "rampion: iteration 2: segments 0 to 11: every candidate has the feature New, which none had in iterat",
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_one_sentence_and_what_was_finished_is_kept(folder, trouble):
    more = ["--timeout", 0.5] if trouble == "hang" else []
    good(*arguments(folder, "--out", folder / "whole"))
    (folder / "calls").unlink()
    (folder / "trouble").write_text(json.dumps({2: trouble}))
    code, _, err = rampion(*arguments(folder, *more, "--out", folder / "run"))
    assert (code, err.count("\n")) == (2, 1)
    assert re.match(TROUBLES[trouble], err), err
    assert {"lists/001.store", "weights/001.bin"} <= kept(folder / "run").keys()
    assert "weights.txt" not in kept(folder / "run")
    good(*arguments(folder, "--out", folder / "run", "--resume"))
    assert kept(folder / "run") == kept(folder / "whole")


def test_what_failed_is_tried_again(folder):
    (folder / "trouble").write_text('{"2": "die"}')
    good(*arguments(folder, "--retries", 1, "--out", folder / "run"))
    assert len(rows(folder / "run")) == 4


@pytest.mark.parametrize("recipe", [("rampion", "rate=0.01"), ("rampion-merge", "rate=0.01"), ("mert",), ("pro",)])
def test_stopped_anywhere_it_ends_in_the_same_bits(folder, recipe):
    settings = arguments(folder, recipe=recipe)
    good(*settings, "--out", folder / "whole")
    done = len(rows(folder / "whole"))
    events = (folder / "whole" / "events.jsonl").read_text().splitlines(keepends=True)
    for lines in range(0, len(events), 1 + len(events) // 6):
        shutil.copytree(folder / "whole", folder / "run")
        (folder / "run" / "events.jsonl").write_text("".join(events[:lines]) + '{"event": "rou')
        (folder / "run" / "weights.txt").unlink()
        (folder / "run" / "lists" / ".001.store.0123456789ab.part").write_bytes(b"half a file")
        (folder / "calls").write_text("")
        good(*settings, "--out", folder / "run", "--resume")
        assert kept(folder / "run") == kept(folder / "whole")
        assert len(rows(folder / "run")) == done
        assert not (folder / "calls").read_text()  # all lists were known
        shutil.rmtree(folder / "run")


def test_killed_and_interrupted(folder, monkeypatch):
    good(*arguments(folder, "--out", folder / "whole"))
    monkeypatch.setitem(ENVIRONMENT, "DELAY", "0.2")
    for n, how in ((2, signal.SIGKILL), (3, signal.SIGINT)):
        with start(*arguments(folder, "--out", folder / "run", "--resume")) as process:
            while not (folder / "run" / "weights" / f"00{n}.bin").exists():
                time.sleep(0.01)
            process.send_signal(how)
            _, err = process.communicate()
    assert (process.returncode, err) == (130, b"rampion: interrupted; files that stood before are whole\n")
    good(*arguments(folder, "--out", folder / "run", "--resume"))
    assert kept(folder / "run") == kept(folder / "whole")


@pytest.mark.slow
def test_killed_again_and_again(folder, monkeypatch):
    draw = random.Random(1)
    good(*arguments(folder, "--out", folder / "whole"))
    monkeypatch.setitem(ENVIRONMENT, "DELAY", "0.1")
    for _ in range(6):
        with start(*arguments(folder, "--out", folder / "run", "--resume")) as process:
            time.sleep(draw.uniform(0.5, 1.2))
            process.kill()
    good(*arguments(folder, "--out", folder / "run", "--resume"))
    assert kept(folder / "run") == kept(folder / "whole")
