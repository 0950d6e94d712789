"""How the command ends: by Ctrl-C at any moment, without streams, without memory or threads, and by a defect."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time

import pytest
from command import ENVIRONMENT, good, rampion, start, write_task

import rampion as package

LINE = b"rampion: interrupted; files that stood before are whole\n"


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    write_task(folder)
    return folder


def interrupted(process, moment):
    """Exit code and stderr of a process that gets Ctrl-C after this moment, and the seconds that it took to end."""
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    _, err = process.communicate()
    return process.returncode, err, time.monotonic() - begun


@pytest.mark.parametrize("module", ["rampion.signals", "rampion.cli", "numpy", "rampion.apps.score", "rampion.metrics"])
def test_ctrl_c_while_importing(task, module, tmp_path):
    """The import of this module takes half a minute."""
    (tmp_path / "sitecustomize.py").write_text(f"""
import importlib.abc, sys, time
class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == {module!r}:
            sys.stdout.write("now"); sys.stdout.flush()
            exec("for _ in range(300): time.sleep(0.1)")  # a string, as dataclasses have it
sys.meta_path.insert(0, Slow())
""")
    here = {"PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))}
    with start("score", task / "dev.own", "--refs", task / "dev.ref.0", env=ENVIRONMENT | here) as process:
        assert process.stdout.read(3) == b"now"
        code, err, seconds = interrupted(process, 0)
    assert (code, err) == (130, LINE)
    assert seconds < 5


KERNEL = """
import hashlib, sys, time
from rampion import signals
from rampion.formats.files import replacing

def deaf():
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass

signals.watch()
with replacing(sys.argv[1]) as file:
    file.write(b"new")
    file.flush()
    print("now", flush=True)
    {work}
"""
LONG = "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"  # C without the GIL: Python cannot interrupt it
THREADS = f"from rampion.threads import each; each(lambda _: {LONG}, range(4), 2)"
DEAF = "deaf()"


@pytest.mark.parametrize("work", [LONG, THREADS, DEAF], ids=["kernel", "threads", "deaf"])
def test_ctrl_c_in_a_long_kernel(tmp_path, work):
    (tmp_path / "x").write_text("old")
    program = [sys.executable, "-P", "-c", KERNEL.format(work=work), str(tmp_path / "x")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout.readline() == b"now\n"
        code, err, seconds = interrupted(process, 0.1)
    assert (code, err) == (130, LINE)
    assert seconds < 5
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "old")]


AT_EXIT = """
import atexit, os, sys, time
class Last:
    def __init__(self, write, sleep):
        self.write, self.sleep = write, sleep
    def __del__(self):
        self.write(2, b"now"); self.sleep(0.3)
last = Last(os.write, time.sleep)
if {late}:
    sys.last = [last]
else:
    atexit.register(last.__del__)
    del Last.__del__
"""


@pytest.mark.parametrize("late", [False, True], ids=["at exit", "while Python is taken down"])
def test_ctrl_c_when_the_work_is_done(task, tmp_path, late):
    """A command that has told its results is not interrupted any more: not by Python either, without its handlers."""
    (tmp_path / "sitecustomize.py").write_text(AT_EXIT.format(late=late))
    here = {"PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))}
    with start("rerank", task / "dev.nbest", "-w", task / "start.weights", env=ENVIRONMENT | here) as process:
        assert process.stderr.read(3) == b"now"
        assert interrupted(process, 0)[:2] == (0, b"")


def test_two_interruptions_are_one_line(task, tmp_path):
    inputs = [task / "dev.nbest", "--refs", task / "dev.ref.0", "--set", "rounds=1000000", "--out", tmp_path / "run"]
    with start("tune", *inputs, env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"}) as process:
        assert process.stdout.readline().startswith(b"round")
        for _ in range(20):
            process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, LINE)


def closed(*numbers):
    return lambda: [os.close(number) for number in numbers]


@pytest.mark.parametrize(
    ("command", "numbers", "sentence"),
    [
        (["recipes"], [1], b"rampion: <stdout>: Bad file descriptor\n"),
        (["rerank", "dev.nbest", "-w", "start.weights"], [1], b"rampion: <stdout>: Bad file descriptor\n"),
        (["score", "-", "--refs", "dev.ref.0"], [0], b"rampion: <stdin>: cannot be read: Bad file descriptor\n"),
        (["score", "-", "--refs", "dev.ref.0"], [0, 1], b"rampion: <stdin>: cannot be read: Bad file descriptor\n"),
        (["score", "none", "--refs", "dev.ref.0"], [2], b""),
    ],
)
def test_closed_streams(task, command, numbers, sentence):
    before = {path: path.read_bytes() for path in task.iterdir()}
    with start(*command, cwd=task, preexec_fn=closed(*numbers)) as process:
        _, err = process.communicate()
    assert (process.returncode, err) == (2, sentence)
    assert {path: path.read_bytes() for path in task.iterdir()} == before


@pytest.mark.parametrize("streams", [[0], [2], [0, 2]])
def test_work_without_the_streams_that_it_does_not_need(task, tmp_path, streams):
    outcome = tmp_path / "out"
    command = ["rerank", task / "dev.nbest", "-w", task / "start.weights", "--out", outcome]
    with start(*command, preexec_fn=closed(*streams)) as process:
        process.communicate()
    assert process.returncode == 0
    assert outcome.read_text() == good("rerank", task / "dev.nbest", "-w", task / "start.weights")


def test_wrong_kernels(task):
    environment = ENVIRONMENT | {"RAMPION_KERNELS": "zz"}
    with start("inspect", task / "dev.nbest", env=environment) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert err == b"rampion: RAMPION_KERNELS='zz': expected 'compiled' or 'reference'\n"


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (MemoryError("Unable to allocate 16.0 GiB for an array with shape (1, 2)"), 2,
         r"out of memory: unable to allocate 16\.0 GiB for an array with shape \(1, 2\); --folder keeps .*"),
        (MemoryError(), 2, r"out of memory; --folder keeps the working data .*"),
        (RuntimeError("can't start new thread"), 2, r"the system lets this process start no more threads; .*"),
        (BrokenPipeError(), 141, None),
        (OSError(28, "No space left on device"), 2, "<stdout>: No space left on device"),
        (IndexError("list index out of range"), 70,
         r"this is a defect of Rampion \(IndexError: list index out of range\); please report it .* with the file .*"),
        (RuntimeError("shard 1, on tls://x:\nTraceback\nValueError: \x1b[2J"), 70,
         r"this is a defect of Rampion \(RuntimeError: ValueError: \\x1b\[2J\); .*"),
    ],
)  # fmt: skip
def test_the_last_resort(task, tmp_path, monkeypatch, error, code, sentence):
    def fail(*_):
        raise error

    monkeypatch.setattr("rampion.apps.tune.prepare", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found, out, err = rampion("tune", task / "dev.nbest", "--out", tmp_path / "run")
    assert (found, out) == (code, "")
    assert re.fullmatch(f"rampion: {sentence}\n" if sentence else "", err), err
    told = [path.read_text() for path in tmp_path.iterdir()]
    if code == 70:
        assert len(told) == 1
        assert all(part in told[0] for part in ("Traceback", f"rampion {package.__version__}", "tune"))
    else:
        assert told == []


@pytest.mark.slow
def test_without_memory(task, tmp_path):
    """The reader is given far less than it takes: a sentence, nothing left behind."""
    limit = 400 << 20
    many = tmp_path / "many.nbest"
    line = "{} ||| {} ||| LM= 1 ||| 1\n"
    many.write_text("".join(line.format(n, "word " * 200) for n in range(300_000)))
    command = ["rerank", many, "-w", task / "start.weights", "--lenient", "--out", tmp_path / "out"]
    environment = ENVIRONMENT | {"OPENBLAS_NUM_THREADS": "1"}
    with start(
        *command, env=environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    ) as process:
        _, err = process.communicate()
    assert process.returncode == 2, err
    assert re.fullmatch(rb"rampion: out of memory.*; smaller parts of the input take less\n", err), err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.nbest"]


def test_the_command_line_is_light_to_import():
    """What is heavy is imported by the command that needs it; else help takes long, and Ctrl-C meets libraries."""
    program = (
        "import sys, rampion.cli; sys.exit(' '.join({'numpy', 'scipy', 'rampion._kernels'} & sys.modules.keys()) or 0)"
    )
    subprocess.run([sys.executable, "-P", "-c", program], check=True, env=ENVIRONMENT)
