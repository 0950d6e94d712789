"""A run folder has one writer: another is refused, a dead one's lock is taken over, and readers are never blocked."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command import ENVIRONMENT, good, rampion, start, write_task

from rampion.errors import InputError
from rampion.runs.lock import NAME, owned

OWNER = """
import sys, time
from pathlib import Path
from rampion.runs.lock import owned
with owned(Path(sys.argv[1])):
    print("mine", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Another process, which owns the folder `run` until it reads a line."""
    program = [sys.executable, "-P", "-c", OWNER, str(tmp_path / "run")]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout.readline() == b"mine\n"
        yield process
        process.kill()


def test_a_second_writer_is_refused_until_the_first_has_ended(tmp_path, other):
    wanted = rf"run: process {other.pid} has been writing there since [\d-]+ [\d:]+; wait, or name another folder"
    with pytest.raises(InputError, match=wanted), owned(tmp_path / "run"):
        pass
    other.communicate(b"\n")
    told = []
    with owned(tmp_path / "run", told.append):
        assert (tmp_path / "run" / NAME).exists()
    assert told == []
    assert not (tmp_path / "run").exists()  # nothing came into it


def test_the_lock_of_a_dead_owner_is_taken_over_and_its_remains_are_swept(tmp_path, other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    run = tmp_path / "run"
    (run / "weights").mkdir()
    for left in (".config.toml.0123456789ab.part", "weights/.001.bin.0123456789ab.part"):
        (run / left).touch()
    (run / ".mine.part").touch()
    told = []
    with owned(run, told.append):
        pass
    assert told == [f"{run}: process {other.pid}, which wrote here, has ended; its lock is taken over"]
    assert sorted(path.name for path in run.rglob("*")) == [".mine.part", "weights"]


def test_who_owns_a_folder_may_enter_it_again(tmp_path):
    with owned(tmp_path / "run"), owned(tmp_path / "run"):
        (tmp_path / "run" / "x").touch()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["x"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 100_000, b'{"host": 1}', b"\xff", b'{"host": "x", "process": []}']
)
def test_a_lock_that_says_nothing_is_free(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    with owned(tmp_path):
        assert json.loads((tmp_path / NAME).read_text())["process"] == os.getpid()


def test_an_owner_on_another_machine_may_be_alive(tmp_path):
    (tmp_path / NAME).write_text(json.dumps({"host": f"not-{platform.node()}", "process": 1, "since": "then"}))
    why = rf"process 1 on not-\S+ has been writing there since then; .*, or remove {re.escape(str(tmp_path / NAME))} if"
    with pytest.raises(InputError, match=why), owned(tmp_path):
        pass


def test_of_many_at_once_one_writes(tmp_path):
    program = [sys.executable, "-P", "-c", OWNER, str(tmp_path / "run")]
    several = [
        subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
        )
        for _ in range(6)
    ]
    answers = []
    threads = [threading.Thread(target=lambda one=one: answers.append(one.stdout.readline())) for one in several]
    for thread in threads:
        thread.start()
    for _ in range(600):
        if len(answers) == 5 + any(answers):
            break
        threads[0].join(0.05)
    for one in several:
        one.kill()
        one.communicate()
    assert answers.count(b"mine\n") >= 1
    assert answers.count(b"mine\n") + answers.count(b"") == len(answers)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    write_task(folder)
    return folder


def test_a_run_that_is_written_can_be_read_but_not_written(task, tmp_path):
    run = tmp_path / "run"
    command = ["tune", task / "dev.jsonl", "--out", run, "--set", "rounds=1000000"]
    with start(*command, env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"}) as process:
        assert process.stdout.readline().startswith(b"round")
        process.stdout.readline()
        for more in ([], ["--force"]):
            code, out, err = rampion("tune", task / "dev.jsonl", "--out", run, *more)
            assert (code, out) == (2, "")
            assert f"process {process.pid} has been writing there since" in err
        good("report", run, "--out", tmp_path / "page.html")
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert not (run / NAME).exists()


def contents(folder):
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_tuning_overwrites_no_other_run(task, tmp_path):
    run, runs = tmp_path / "run", tmp_path / "runs"
    base = ["tune", task / "dev.jsonl", "--recipe", "rampion", "--out", run]
    good(*base)
    weights = (run / "weights.txt").read_bytes()
    good(*base)  # the same again
    assert (run / "weights.txt").read_bytes() == weights
    before = contents(run)
    for more, why in (
        (["--set", "rounds=3"], "rounds 10, not 3"),
        (["--weights", task / "start.weights"], "weights nothing, not "),
    ):
        code, _, err = rampion(*base, *more)
        assert code == 2
        assert f"run: holds another run, which was begun with {why}" in err
        assert contents(run) == before
    several = ["tune", task / "dev.jsonl", "--recipe", "mira,mert", "--out", runs]
    good(*several)
    code, _, err = rampion(*several, "--metric", "ter")
    assert code == 2
    assert "runs/mira.0: holds another run, which was begun with metric" in err
    good("tune", task / "dev.jsonl", "--recipe", "mira", "--out", run, "--force")
    assert 'recipe = "mira"' in (run / "config.toml").read_text()


def test_tuning_on_changed_lists_is_another_run(task, tmp_path):
    (tmp_path / "dev.jsonl").write_bytes((task / "dev.jsonl").read_bytes())
    good("tune", tmp_path / "dev.jsonl", "--set", "rounds=2", "--out", tmp_path / "run")
    (tmp_path / "dev.jsonl").write_bytes((task / "test.jsonl").read_bytes())
    code, _, err = rampion("tune", tmp_path / "dev.jsonl", "--set", "rounds=2", "--out", tmp_path / "run")
    assert code == 2
    assert re.search(r"holds a run of other inputs \(\S+dev.jsonl has changed since the run read it\)", err)


@pytest.mark.parametrize("name", ["config.toml", "weights.txt", "manifest.json"])
def test_a_folder_of_something_else_is_left_alone(task, tmp_path, name):
    (tmp_path / name).write_text("mine = 1\n")
    code, _, err = rampion("tune", task / "dev.jsonl", "--out", tmp_path)
    assert code == 2
    assert f"holds {name}, which is of no run here" in err or "manifest.json: is damaged" in err
    assert contents(tmp_path) == {tmp_path / name: b"mine = 1\n"}
