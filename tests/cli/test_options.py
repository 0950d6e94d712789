"""The laws of the command line: thin functions, every option once, no untyped seam."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from rampion.cli import COMMANDS, app

ROOT = Path(__file__).resolve().parents[2] / "rampion"
CLI, APPS = sorted((ROOT / "cli").glob("*.py")), sorted((ROOT / "apps").glob("*.py"))
MOST = 60  # lines of a function, with its signature

# Flags that name the thing a command works on. Each has as many texts as there are such things.
OWN = {"--out", "--dev", "--test", "--pairs", "--longest", "--top", "--compare", "--group", "--lenient"}


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def walk(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that can be run, with its name."""
    for part, child in getattr(command, "commands", {}).items():
        if not hasattr(child, "commands") or child.invoke_without_command:
            yield f"{name}{part}", child
        yield from walk(child, f"{name}{part} ")


PARAMETERS = [
    (name, parameter)
    for name, command in walk(typer.main.get_command(app))
    for parameter in command.params
    if parameter.param_type_name == "option" and "--help" not in parameter.opts
]


@pytest.mark.parametrize("path", CLI, ids=lambda path: path.stem)
def test_functions_of_commands_are_short(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            assert lines <= MOST, f"{path.name}:{node.lineno}: {node.name} has {lines} lines; move work to rampion/apps"


@pytest.mark.parametrize("path", [*CLI, *APPS], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_commands_and_apps_are_typed(path):
    for node in ast.walk(tree(path)):
        named = isinstance(node, ast.Name) and node.id == "Any"
        assert not named, f"{path}:{node.lineno}: give it a type"


@pytest.mark.parametrize("path", [path for path in CLI if path.stem not in ("options", "__init__")], ids=str)
def test_options_are_declared_in_one_file(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) != "typer.Option", f"{path}:{node.lineno}: declare it in cli/options.py"


def test_apps_do_not_import_commands():
    for path in [*APPS, *(ROOT / "experiments").rglob("*.py")]:
        assert "rampion.cli" not in path.read_text("utf-8"), path


def test_a_flag_has_one_help_text_in_all_commands():
    texts: dict[str, set[str]] = defaultdict(set)
    for _, parameter in PARAMETERS:
        texts[max(parameter.opts, key=len)].add(parameter.help)
    several = {flag for flag, found in texts.items() if len(found) > 1}
    assert several <= OWN, several - OWN
    assert several == OWN, f"{OWN - several} have one text by now"


def test_short_flags_mean_the_same_everywhere():
    longs: dict[str, set[str]] = defaultdict(set)
    for _, parameter in PARAMETERS:
        for flag in parameter.opts:
            if not flag.startswith("--"):
                longs[flag].add(max(parameter.opts, key=len))
    assert all(len(found) == 1 for found in longs.values()), longs


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS, ids=lambda item: getattr(item, "name", item))
def test_help_texts_are_sentences(name, parameter):
    assert parameter.help.endswith("."), f"{name} {parameter.opts}: {parameter.help}"


def test_every_command_is_in_a_panel_and_in_order():
    group = typer.main.get_command(app)
    assert list(group.list_commands(None)) == list(COMMANDS)
    assert set(group.commands) == set(COMMANDS)
    panels = [group.commands[name].rich_help_panel for name in COMMANDS]
    assert all(isinstance(panel, str) for panel in panels), dict(zip(COMMANDS, panels, strict=True))
    changes = sum(one != other for one, other in pairwise(panels))
    assert changes == len(set(panels)) - 1, "the commands of a panel stand together"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rampion tune x --recipe soft-r", ["soft-ramp1", "soft-ramp2", "soft-ramp3"]),
        ("rampion tune x --recipe mert,ris", ["mert,risk", "mert,risk-annealed", "mert,risk-l1"]),
        ("rampion inspect x --metric ch", ["chrf", "chrf++"]),
        ("rampion score x --metric bleu:13a,l", ["bleu:13a,lin-och", "bleu:13a,lc"]),
        ("rampion features x --add consensus:ch", ["consensus:chrf", "consensus:chrf++"]),
        ("rampion features x --add le", ["length", "letters"]),
    ],
)
def test_the_shell_completes_names(words, expected):
    command, *_ = words.split()[1:]
    last = words.split()[-1]
    option = next(one for name, one in PARAMETERS if name == command and words.split()[-2] in one.opts)
    found = option.shell_complete(None, last)
    assert {one.value for one in found} == set(expected)
