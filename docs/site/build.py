"""Builds the site: python docs/site/build.py [FOLDER]. Warnings are errors, and nothing is fetched.

The pages of docs/ are staged in build/site beside pages that are made from the code: the commands from their parser,
the public names from their docstrings, the figures from the formulas. Quadrants say which page stands where.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import figures
import typer

import rampion
from rampion.cli import app

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
QUADRANTS = {
    "tutorials": ("Tutorials", "Each goes from raw files to a result that you can judge."),
    "how-to": ("How to", "One page for each task."),
    "reference": ("Reference", "What there is, in full."),
    "explanation": ("Explanation", "Why it is so."),
}
PAGES = {  # every page of docs/ and docs/site/, and where it stands, in this order
    "tutorials": (
        *("tutorial-samples", "notebook-samples", "tutorial-asr", "tutorial-nmt", "tour"),
        *("notebook-translations", "demo"),
    ),
    "how-to": (
        *("install", "tuning-lists", "features", "compare", "tune-a-decoder", "decoder"),
        *("expected-bleu", "relevant-sets"),
        *("reproduce", "report", "scaling", "add-a-loss", "profiling"),
        *("coming-from", "from-moses", "from-cdec", "from-travatar", "from-phrasal", "from-qaware-decode"),
        *("from-fairseq", "from-lightgbm"),
    ),
    "reference": ("api", "commands", "formats", "reliability", "security", "contributing"),
    "explanation": ("mathematics", "algorithms", "architecture"),
}
BESIDE = {"CHANGELOG.md": "changelog", "SECURITY.md": "security", "CONTRIBUTING.md": "contributing"}
GROUPS = {
    "Learn and choose": ("tune", "train", "pick", "rerank", "compare", "Tuned", "Comparison", "Compared", "Reranker"),
    "Lists": (
        "Candidates",
        "Segment",
        "Candidate",
        "References",
        "Texts",
        "Features",
        "Weights",
        "add_features",
        "from_generated",
    ),
    "Files": (
        *("load_nbest", "load_references", "load_runs", "load_weights"),
        *("save_nbest", "save_weights"),
    ),
    "Recipes and metrics": ("Recipe", "RECIPES", "LOSSES", "Metric", "metric"),
    "Errors": ("RampionError", "InputError", "FormatError", "StoreError", "RecipeError", "TuningError"),
}
MARKUP = re.compile(r"\[/?(?:bold|dim|italic|green|cyan)\]")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def linked(text: str) -> str:
    """The page with its links led to pages of the site; what is no page, such as a source file, is only named."""

    def led(found: re.Match[str]) -> str:
        label, target, anchor = found[1], found[2], found[3] or ""
        if not target or "://" in target:
            return found[0]
        name = Path(target).name
        if name in BESIDE:
            return f"[{label}]({BESIDE[name]}.md{anchor})"
        if name == "README.md":
            return f"[{label}](index.md)"
        staged = any(name.removesuffix(".md") in pages for pages in PAGES.values())
        return f"[{label}]({name}{anchor})" if name.endswith(".md") and staged else label

    return LINK.sub(led, text)


def api() -> str:
    """The public names, grouped."""
    grouped = [name for names in GROUPS.values() for name in names]
    if sorted(grouped) != sorted(set(dir(rampion)) - {"__version__"}):
        odd = sorted(set(grouped) ^ (set(dir(rampion)) - {"__version__"}))
        sys.exit(f"build.py: GROUPS and the public names differ in {', '.join(odd)}")
    parts = ["# Python\n"]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n\n```{{eval-rst}}\n.. currentmodule:: rampion\n")
        parts += [directive(name) for name in names]
        parts.append("```\n")
    return "\n".join(parts)


NOT_OURS = "Sequence, Mapping, tuple, Exception"  # bases whose members are not shown


def directive(name: str) -> str:
    """How Sphinx shows a name."""
    thing = getattr(rampion, name)
    if isinstance(thing, type):
        return f".. autoclass:: {name}\n   :members:\n   :inherited-members: {NOT_OURS}\n"
    if callable(thing):
        return f".. autofunction:: {name}\n"
    return f".. data:: {name}\n\n   A mapping from names to rows: {', '.join(f'``{one}``' for one in thing)}.\n"


def commands() -> str:
    """All commands with their options, from the parser."""
    parts = ["# Commands\n\n`rampion COMMAND --help` says the same, with examples.\n"]
    for name, command in walk(typer.main.get_command(app)):
        context = command.make_context(name, [], resilient_parsing=True)
        parts.append(f"## rampion {name}\n\n{plain(command.help)}\n")
        rows = [record for one in command.params if (record := one.get_help_record(context))]
        parts.append("```text\n" + command.get_usage(context).replace(name, f"rampion {name}", 1) + "\n```\n")
        if rows:
            cells = [[plain(part).replace("|", r"\|") for part in row] for row in rows]
            lines = "\n".join(f"| `{option}` | {meaning} |" for option, meaning in cells)
            parts.append(f"| option | meaning |\n| --- | --- |\n{lines}\n")
        epilog = MARKUP.sub("", command.epilog or "").splitlines()
        if shown := [line.strip() for line in epilog if line.startswith("  ")]:
            parts.append("```sh\n" + "\n".join(shown) + "\n```\n")
    return "\n".join(parts)


def plain(text: str | None) -> str:
    """The text on one line, without the marks of the terminal's markup."""
    return " ".join(MARKUP.sub("", text or "").split())


def walk(command: object, name: str = "") -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Every command that can be run, with its whole name."""
    for part, child in getattr(command, "commands", {}).items():
        if not hasattr(child, "commands"):
            yield f"{name}{part}", child
        yield from walk(child, f"{name}{part} ")


def front() -> str:
    """The front page with the first commands and results of the README, which its tests run, and its picture."""
    page, shown = (path.read_text("utf-8") for path in (HERE / "index.md", ROOT / "README.md"))
    block = re.search(r"^```console\n.*?^```\n", shown, re.MULTILINE | re.DOTALL)
    if block is None:
        sys.exit("build.py: README.md has no block of commands with their results")
    return page.replace("<!-- EXAMPLE -->\n", block[0])


def stage(folder: Path) -> None:
    """All pages of the site in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(HERE / "conf.py", folder)
    for path in [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/tutorials/*.md")]:
        (folder / path.name).write_text(linked(path.read_text("utf-8")), "utf-8")
    for name, page in BESIDE.items():
        (folder / f"{page}.md").write_text(linked((ROOT / name).read_text("utf-8")), "utf-8")
    (folder / "index.md").write_text(front(), "utf-8")
    (folder / "api.md").write_text(api(), "utf-8")
    (folder / "commands.md").write_text(commands(), "utf-8")
    for quadrant, (title, sentence) in QUADRANTS.items():
        listed = "\n".join(PAGES[quadrant])
        tree = f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
        (folder / f"{quadrant}.md").write_text(f"# {title}\n\n{sentence}\n\n{tree}", "utf-8")
    (folder / "_static").mkdir(exist_ok=True)
    figures.draw(folder / "_static")
    shutil.copy(ROOT / "docs/samples.svg", folder / "_static")


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/site")
    stage(out / "source")
    strict = ["-q", "-W", "--keep-going", "-b", "html"]
    command = [sys.executable, "-P", "-m", "sphinx", *strict, out / "source", out / "html"]
    if code := subprocess.run(list(map(str, command)), check=False).returncode:
        sys.exit(code)
    print(f"the site is in {out / 'html'}; open index.html")


if __name__ == "__main__":
    main()
