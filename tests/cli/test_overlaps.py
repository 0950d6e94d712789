"""Nothing that a command reads is overwritten by what it writes, and nothing is written twice."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from command import ENVIRONMENT, PROGRAM, good, rampion, start, write_task


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    write_task(folder)
    good("tune", folder / "dev.jsonl", "--out", folder / "run")
    good("corpus", "toy", "--pairs", "60", "--held-out", "5", "--out", folder / "toy")
    return folder


@pytest.fixture
def task(source, tmp_path, monkeypatch):
    shutil.copytree(source, tmp_path / "task")
    monkeypatch.chdir(tmp_path / "task")
    (tmp_path / "task" / "link").symlink_to("dev.nbest")
    os.link("dev.nbest", "twin")
    return tmp_path / "task"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


RERANK = ["rerank", "dev.nbest", "-w", "start.weights"]
OVERLAPS = [
    ([*RERANK, "--out", "dev.nbest"], "--out dev.nbest: would overwrite what NBEST reads"),
    ([*RERANK, "--out", "./dev.nbest"], "--out ./dev.nbest: would overwrite what NBEST reads"),
    ([*RERANK, "--out", "link"], "--out link: would overwrite what NBEST reads"),
    ([*RERANK, "--out", "twin"], "--out twin: would overwrite what NBEST reads"),
    (["rerank", "link", "-w", "start.weights", "--out", "dev.nbest"], "--out dev.nbest: would overwrite what NBEST"),
    ([*RERANK, "--out", "start.weights"], "--out start.weights: would overwrite what --weights reads"),
    ([*RERANK, "--lists", "start.weights"], "--lists start.weights: would overwrite what --weights reads"),
    ([*RERANK, "--out", "dev.ref.0", "--refs", "dev.ref.1", "--refs", "dev.ref.0"], "--out dev.ref.0: would overwrite"),
    ([*RERANK, "--out", "new", "--lists", "new"], "--lists new: is what --out writes too"),
    ([*RERANK, "--out", "new", "--lists", "./new"], "--lists ./new: is what --out writes too"),
    (["rerank", "dev.nbest", "-w", "run", "--out", "run/weights.txt"], "--out run/weights.txt: would overwrite what"),
    (["weights", "run", "--out", "run/manifest.json"], "--out run/manifest.json: would overwrite what FILE reads"),
    (["report", "run", "--out", "run/events.jsonl"], "--out run/events.jsonl: would overwrite what RUN reads"),
    (["tune", "dev.jsonl", "--weights", "run", "--out", "run"], "--out run: would overwrite what --weights reads"),
    (["store", "pack", "dev.store", "--out", "dev.store"], "--out dev.store: would overwrite what NBEST reads"),
    (["align", "dev.ref.0", "dev.ref.1", "--out", "dev.ref.1"], "--out dev.ref.1: would overwrite what TARGET reads"),
    (["align", "dev.ref.0", "dev.ref.1", "--out", "a", "--save", "a"], "--save a: is what --out writes too"),
    (["lm", "estimate", "dev.ref.0", "--out", "dev.ref.0"], "--out dev.ref.0: would overwrite what TEXT reads"),
    (["decode", "toy/dev.src", "--out", "toy/dev.src"], "--out toy/dev.src: would overwrite what TEXT reads"),
    (["decode", "toy/dev.src", "--nbest", "b", "--blocks", "b"], "--nbest b: would overwrite what --blocks reads"),
    (["blocks", "toy", "--out", "toy/train.src"], "--out toy/train.src: would overwrite what TEXT reads"),
    (["corpus", "filter", "toy", "--test", "dev.ref.0", "--out", "toy"], "--out toy: would overwrite what DIR reads"),
    (["train", "toy", "--base", "run", "--out", "run"], "--out run: would overwrite what --base reads"),
]


@pytest.mark.parametrize(("command", "sentence"), OVERLAPS, ids=lambda part: " ".join(part) * isinstance(part, list))
def test_overlaps_are_refused_before_any_work(task, command, sentence):
    before = contents(task)
    code, out, err = rampion(*command)
    assert (code, out) == (2, "")
    assert re.fullmatch(rf"rampion: {re.escape(sentence)}.*; name another\n", err), err
    assert contents(task) == before


def test_stdin_is_an_input_too(task):
    before = contents(task)
    with open("dev.nbest", "rb") as given, start("rerank", "-", "-w", "start.weights", "--out", "dev.nbest",
                                                 stdin=given) as process:  # fmt: skip
        _, err = process.communicate()
    assert (process.returncode, contents(task)) == (2, before)
    assert err == b"rampion: --out dev.nbest: would overwrite what NBEST reads; name another\n"


@pytest.mark.parametrize("out", ["run/best.out", "new", "/dev/null", "dev.own"])
def test_other_files_are_no_overlap(task, out):
    good("rerank", "dev.nbest", "-w", "run", "--out", out)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_stream_is_written_to_where_it_stands(task, name):
    """`>> file` goes on behind what the file holds."""
    best = good(*RERANK)
    (task / "out").write_text("before\n")
    command = [*PROGRAM, *RERANK, "--out", name]
    with open("out", "ab") as out:
        out.write(b"and\n")
        out.flush()
        subprocess.run(command, stdout=out, env=ENVIRONMENT, check=True)
        out.write(b"after\n")
    assert (task / "out").read_text() == f"before\nand\n{best}after\n"


def test_a_pipe_is_written_to(task):
    os.mkfifo("pipe")
    with start(*RERANK, "--out", "pipe") as process, open("pipe") as pipe:
        found = pipe.read()
    assert (process.returncode, found) == (0, good(*RERANK))


def test_a_pipe_without_a_reader_is_a_quiet_end(task):
    os.mkfifo("pipe")
    with start(*RERANK, "--lists", "pipe", "--out", "/dev/null") as process:
        os.close(os.open("pipe", os.O_RDONLY))
        _, err = process.communicate()
    assert (process.returncode, err) in ((141, b""), (0, b""))  # 0: all was written before the reader left
