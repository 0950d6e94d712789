"""The walks of docs/architecture.md are those of the code: what they name is there, and what they call is called."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import good, write_task
from rampion.decoder.text.language import Language
from scales import TINY

from rampion.experiments.scales import SCALES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
MOST = 15  # steps of a walk


def walks() -> Iterator[tuple[str, list[str]]]:
    """The command of every walk, and its steps."""
    chapter = PAGE.partition("\n## Three walks\n")[2].partition("\n## ")[0]
    for part in chapter.split("\n### ")[1:]:
        head, _, text = part.partition("\n")
        yield head.split("`rampion ")[1].split()[0], re.findall(r"^\d+\. (.*)$", text, re.MULTILINE)


WALKS = dict(walks())


def names_in(steps: list[str]) -> Iterator[str]:
    """Functions, methods and classes that steps name, without files and without what a kernel does."""
    for step in steps:
        text = re.sub(r"\[`[^`]*`\]\([^)]*\)", "", step)
        yield from (name for name in re.findall(r"`([\w.]+)`", text) if not name.endswith(".py"))


def method(name: str) -> str:
    return name.rpartition(".")[2]


def definitions() -> tuple[set[str], set[str]]:
    """The names of all functions and methods, and those of all classes."""
    functions, classes = set[str](), set[str]()
    for path in [*(ROOT / "rampion").rglob("*.py"), *(ROOT / "decoder").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes.add(node.name)
                functions |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
            elif isinstance(node, ast.FunctionDef):
                functions.add(node.name)
    return functions, classes


FUNCTIONS, CLASSES = definitions()
METHODS = set(map(method, FUNCTIONS))  # a class may have it from a class above


@pytest.mark.parametrize("command", WALKS)
def test_a_walk_is_short_and_names_what_is_there(command):
    assert 5 <= len(WALKS[command]) <= MOST
    unknown = set(names_in(WALKS[command])) - FUNCTIONS - CLASSES
    assert not {name for name in unknown if name.partition(".")[0] not in CLASSES or method(name) not in METHODS}


def called_by(*arguments: object) -> set[str]:
    """The functions of ours that a command calls, methods with the name of their class."""
    found = set[str]()

    def note(frame, event, _):
        if event == "call" and "/rampion/" in frame.f_code.co_filename.replace("\\", "/"):
            found.add(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        good(*arguments)
    finally:
        sys.setprofile(before)
    return found


def check(command: str, *arguments: object, but: str = "") -> None:
    called = set(map(method, called_by(command, *arguments)))
    for name in set(names_in(WALKS[command])) - CLASSES - {but}:
        assert method(name) in called, f"rampion {command} does not call {name}"


def test_what_the_walk_of_lists_names_is_called(tmp_path):
    write_task(tmp_path)
    lists, refs = tmp_path / "dev.nbest", tmp_path / "dev.ref.0"
    settings = ["--weights", tmp_path / "start.weights", "--recipe", "rampion", "--folds", 0]
    check("tune", lists, "--refs", refs, *settings, "--out", tmp_path / "run")


@pytest.mark.slow
def test_what_the_walk_of_parallel_text_names_is_called(tmp_path):
    Language.invent(1).corpus(80, 8, 2).write(tmp_path / "corpus")
    settings = ["--fixed", "LM=0.1", "--iterations", 2, "--set", "epochs=2", "--beam", 5, "--threads", 1]
    check("train", tmp_path / "corpus", "--out", tmp_path / "run", *settings)


@pytest.mark.slow
def test_what_the_walk_of_a_paper_names_is_called(tmp_path, monkeypatch):
    monkeypatch.setitem(SCALES, "small", TINY)
    other = "tune"  # of rows that tune in a loop
    check("reproduce", "tillmann-zhang/footnote-1", "--out", tmp_path / "paper", but=other)
