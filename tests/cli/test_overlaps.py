"""Nothing that a command reads is overwritten by what it writes, and nothing is written twice."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

import pytest
from command import ENVIRONMENT, PROGRAM, good, rampion, start, write_task
from typer.main import get_command

from rampion.cli import app
from rampion.cli.files import OUTPUTS, READ, WORKED_IN
from rampion.formats.files import replacing


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


PART = "0123456789ab.part"


def test_what_killed_commands_left_of_an_output_is_swept(task):
    """A temporary file or folder of this output that nobody holds; not those of others."""
    left, kept = [f".new.{PART}", f".new.{PART[:-6]}f.part"], [f".other.{PART}", ".new.mine.part", f"new.{PART}"]
    for name in [*left[:1], *kept]:
        (task / name).write_text("half")
    (task / left[1] / "inner").mkdir(parents=True)
    (task / left[1] / "inner" / "train.src").write_text("half")
    good(*RERANK, "--out", "new")
    assert not [name for name in left if (task / name).exists()]
    assert all((task / name).exists() for name in kept)


def test_what_is_being_written_is_not_swept(task):
    os.mkfifo("pipe")
    with start("rerank", "-", "-w", "start.weights", "--out", "new", stdin=subprocess.PIPE) as process:
        with replacing("new") as file:
            file.write(b"ours\n")
            assert len(list(task.glob(".new.*.part"))) == 1
            process.communicate((task / "dev.nbest").read_bytes())
            assert len(list(task.glob(".new.*.part"))) == 1
        assert process.returncode == 0
    assert (task / "new").read_text() == "ours\n"


@pytest.mark.slow
def test_a_killed_corpus_leaves_nothing_for_long(task):
    with start("corpus", "toy", "--pairs", "100000", "--out", "big") as process:
        while process.poll() is None and not list(task.glob(".big.*.part")):
            time.sleep(0.01)
        process.kill()
    good("corpus", "toy", "--pairs", "60", "--held-out", "5", "--out", "big")
    assert not list(task.glob(".big.*.part"))


# Every command that writes, with each of its inputs as its output

# What stands in --help for words, numbers and programs.
OTHERS = {
    "N", "NAME", "NAMES", "COLUMN", "ROLE=COLUMN,…", "SRC-TGT", "NAME[,…]", "NAME=VALUE", "N,N,…", "SCORE", "SECONDS",
    "HOW", "PROGRAM", "METHOD", "PHRASE", "SIZE", "LINE", "NAME=W", "COMMAND", "KIND", "REGEX", "ID",
}  # fmt: skip
VALUES = {"N": "1", "LINE": "1", "NAME=FILE": "x=nothing"}


def commands():
    """The words and parameters of every command."""

    def walk(command, words):
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, [*words, name])
        if not getattr(command, "commands", {}):
            yield words, command.params

    return list(walk(get_command(app), []))


def asked(words, parameters, output, given):
    """The command with one file as this output and as this input."""
    found = list(words)
    for one in parameters:
        named = [one.opts[0]] if one.opts[0].startswith("-") else []
        if one is output or one is given:
            found += [*named, "x=same" if one.metavar == "NAME=FILE" else "same"]
        elif one.required:
            found += [*named, VALUES.get(one.metavar, f"no-{one.name}")]
    return found


WRITES_OVER = [
    asked(words, parameters, output, given)
    for words, parameters in commands()
    for output in parameters
    if output.opts[0] in OUTPUTS
    for given in parameters
    if given.metavar in READ and given.opts[0] not in OUTPUTS | WORKED_IN
]


@pytest.mark.parametrize("command", WRITES_OVER, ids=" ".join)
def test_no_output_of_any_command_may_be_an_input(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same").write_text("kept\n")
    code, out, err = rampion(*command)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"rampion: --[a-z-]+ same: would overwrite what .* reads; name another\n", err), err
    assert (tmp_path / "same").read_text() == "kept\n"
    assert [path.name for path in tmp_path.iterdir()] == ["same"]


def test_every_parameter_that_names_a_file_is_known():
    """A new option must say in its metavar that it names something that is read, or be among the outputs."""
    named = {
        parameter.metavar
        for _, parameters in commands()
        for parameter in parameters
        if parameter.opts[0] not in {*OUTPUTS, *WORKED_IN} and parameter.metavar
    }
    assert named & READ == READ
    assert named - READ <= OTHERS, named - READ - OTHERS
