"""The pages say what is so: code runs, tables are fresh, links lead somewhere, and nothing is left out."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import typer
from speeds import slow

import rampion
from rampion import errors
from rampion.citations import BIBTEX
from rampion.cli import app
from rampion.losses.table import LOSSES
from rampion.metrics import METRICS
from rampion.training.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[2]
PAGES = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]}
COMMAND = typer.main.get_command(app)


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = generator()
COMMANDS = dict(GENERATE.walk(COMMAND))


# Code


class Block(NamedTuple):
    """A fenced piece of a page, and the line it begins at."""

    kind: str
    line: int
    text: str


def blocks(page: str) -> Iterator[Block]:
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL):
        yield Block(found[1], PAGES[page].count("\n", 0, found.start(2)), found[2])


RUN = [page for page in PAGES if any(block.kind in ("python", "pycon", "console") for block in blocks(page))]
SLOW = (
    *("README.md", "docs/tour.md", "docs/add-a-loss.md", "docs/compare.md"),
    *("docs/decoder.md", "docs/demo.md", "docs/expected-bleu.md", "docs/relevant-sets.md", "docs/tune-a-decoder.md"),
    *("docs/reproduce.md", "docs/tutorial-asr.md"),
)


@pytest.mark.parametrize("page", [page for page in RUN if page not in SLOW] + slow(*SLOW))
def test_code_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where dataclasses look
    names = vars(module)
    for kind, line, text in blocks(page):
        if kind == "python":
            exec(compile("\n" * line + text, page, "exec"), names)  # noqa: S102
        elif kind == "pycon":
            example = doctest.DocTestParser().get_doctest(text, names, page, page, line)
            told: list[str] = []
            runner = doctest.DocTestRunner(Checker())
            assert runner.run(example, out=told.append, clear_globs=False).failed == 0, "".join(told)
            names.update(example.globs)
        elif kind == "console":
            for command, expected in GENERATE.sessions(text):
                printed = GENERATE.elided(GENERATE.run(command, tmp_path), expected)
                assert alike(printed, expected), f"{page}: $ {command} prints\n{printed}"


class Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return alike(got, want)


NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.\d+(?:e[-+]?\d+)?")


def alike(printed: str, expected: str) -> bool:
    """The same words and integers, and nearly the same decimals: libm and SciPy differ in the last bits."""
    found, wanted = (timeless(re.sub(r"version:\S+", "", text)) for text in (printed, expected))
    skeletons = [NUMBER.sub("#", text).split() for text in (found, wanted)]
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (found, wanted)]
    return skeletons[0] == skeletons[1] and numbers[0] == pytest.approx(numbers[1], rel=0.03, abs=0.03)


MEASURED = ("seconds", "sent/s", "epoch ms", "memory", "decode s", "learn s")


def timeless(text: str) -> str:
    """The text without what the machine has to do with: columns of seconds, of speed and of memory."""
    lines, ends = [], list[int]()
    for line in re.sub(r"(?<=[:,] )\d+\.\d+ s(, about \d+ s left)?$", "", text, flags=re.MULTILINE).splitlines():
        if heads := [f"  {name}" for name in MEASURED if f"  {name}" in line]:
            ends = [line.index(head) + len(head) for head in heads]
        for end in reversed(ends):
            line = re.sub(r"[\d.]+G?$", "", line[:end]) + line[end:]
        lines.append(line)
    return "\n".join(lines)


# Tables and links


@pytest.mark.parametrize("page", GENERATE.PAGES)
def test_generated_parts_are_fresh(page):
    fresh = GENERATE.refreshed(PAGES[page], GENERATE.PARTS)
    assert fresh == PAGES[page], "run: python docs/generate.py"


def test_every_generated_part_has_its_place():
    whole = "\n".join(PAGES.values())
    for name in [*GENERATE.PARTS, "measured", "demonstrated"]:
        assert len(re.findall(rf"<!-- {name} -->\n[|`\w]", whole)) == 1, name


def anchors(page: str) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        place, _, anchor = target.partition("#")
        if place.startswith("http"):
            continue
        path = (ROOT / page).parent / place if place else ROOT / page
        assert path.exists(), f"{page}: {target}"
        if path.suffix == ".md" and anchor:
            assert anchor in anchors(path.read_text("utf-8")), f"{page}: {target}"


def test_cited_sections_exist():
    headings = set(re.findall(r"^##+ (S[\d.]*\d) ", PAGES["docs/algorithms.md"], re.MULTILINE))
    points = set(re.findall(r"\*\*([CF]\d)\b", PAGES["docs/algorithms.md"]))
    for room in ("rampion", "decoder", "tests", "benchmarks"):
        for path in (ROOT / room).rglob("*.p*"):
            if path.suffix in (".py", ".pyx", ".pxd"):
                text = re.sub(r"# noqa.*", "", path.read_text("utf-8"))
                for cited in re.findall(r"(?<!\w)S\d+(?:\.\d+)?(?!\w)(?!\")", text):
                    assert cited in headings, f"{path.relative_to(ROOT)} cites {cited}"
                for cited in re.findall(r"\(S1, (C\d)\)", text):
                    assert cited in points, f"{path.relative_to(ROOT)} cites S1, {cited}"


# Completeness


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_examples_that_parse(name):
    command = COMMANDS[name]
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"
    examples = re.findall(rf"^ +rampion ({name}\b.*)$", command.epilog or "", re.MULTILINE)
    assert examples
    for example in examples:
        words = shlex.split(re.sub(r"\s{2,}\(.*\)$", "", example).partition(" < ")[0].partition(" >> ")[0])
        command.make_context(name, words[len(name.split()) :])


def test_the_shell_examples_of_the_pages_name_what_exists():
    """Commands and options in pages, also where they are not run."""
    for page, text in PAGES.items():
        for line in re.findall(r"^(?: {4,}|\$ )rampion (.*)$", text, re.MULTILINE):
            name = max((name for name in COMMANDS if f"{line} ".startswith(f"{name} ")), key=len, default=None)
            assert name, f"{page}: rampion {line}"
            known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
            line = re.sub(r"'[^']*'", "", line)  # a command in a command
            assert set(re.findall(r"(?<!\S)--?[a-z][\w-]*", line)) <= known | {"--help"}, f"{page}: rampion {line}"


def test_every_recipe_setting_loss_metric_and_error_is_in_the_pages():
    algorithms, architecture = PAGES["docs/algorithms.md"], PAGES["docs/architecture.md"]
    settings = {name for recipe in RECIPES.values() for name in recipe.settings()}
    for name in [*RECIPES, *LOSSES, *METRICS, *settings]:
        assert f"`{name}`" in algorithms, name
    whose = algorithms.partition("## Whose numbers these are")[2].partition("\n## ")[0]
    for name in RECIPES:
        assert f"`{name}`" in whose, f"docs/algorithms.md does not say where the defaults of {name} are from"
    for name, thing in vars(errors).items():
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert f"`{name}`" in architecture, name


def test_every_public_name_can_be_imported():
    for name in dir(rampion):
        assert getattr(rampion, name)
    with pytest.raises(AttributeError, match="has no attribute 'rampoin'"):
        _ = rampion.rampoin


def test_one_version_and_the_paper_everywhere():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"\nversion: {rampion.__version__}\n" in citation
    assert project["version"] == rampion.__version__
    assert rampion.__version__ in PAGES["CHANGELOG.md"]
    for line in re.findall(r"^    title: (.+)", citation, re.MULTILINE):
        assert any(line in re.sub(r"[{}]", "", entry) for entry in BIBTEX.values()), line


def test_no_install_command_needs_what_is_not_published():
    """Rampion itself is installed from a checkout; what it needs besides is named by its own name."""
    sources = [path for room in ("rampion", "decoder") for path in (ROOT / room).rglob("*.py")]
    for path in [*sources, *(ROOT / page for page in PAGES)]:
        for command in re.findall(r"pip install ([^`\n\"]*)", path.read_text("utf-8")):
            assert not re.search(r"(?<![./\w-])rampion\b", command), f"{path}: pip install {command}"
