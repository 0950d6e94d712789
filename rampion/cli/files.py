"""Checks before a command begins: no output is also an input, and no two outputs are the same file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import typer
from typer.core import TyperCommand

from rampion.errors import InputError

Function = TypeVar("Function", bound=Callable[..., object])
OUTPUTS = {"--out", "--lists", "--nbest", "--save", "--save-weights", "--svg", "--derivations", "--curves"}
# Placeholders in --help for inputs: files, folders, and words that may be files.
READ = {"FILE", "DIR", "RUN", "NBEST", "TEXT", "CORPUS", "OUTPUT", "TARGET", "SOURCE", "GOLD", "BLOCKS", "LM",
        "SYSTEM", "OTHER", "NAME=FILE"}  # fmt: skip
WORKED_IN = {"--folder", "--run", "--root"}  # folders that hold no inputs
# The parts of a run folder or a corpus; other files in it, such as a page, are no inputs.
PARTS = {"weights.txt", "weights.last.txt", "manifest.json", "config.toml", "events.jsonl", "sets", "lists", "weights",
         "system", "shards"}  # fmt: skip
TEXTS = {"train", "dev", "test"}


class Command(TyperCommand):
    """A command that checks its files first, and removes unfinished outputs of killed commands."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # as below
        """An empty word is most often a variable of a shell that is not set: it is no file, and no folder."""
        if "" in args:
            before = args[max(0, args.index("") - 1)]
            by = before if before.startswith("-") else "an argument"
            raise InputError(f"{by}: is empty; give it a value, or leave it out")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]  # typer keeps its own class private
        outputs, inputs = list[Named](), list[Named]()
        for param in self.params:
            flag, found = param.opts[0], list(_paths(ctx.params.get(param.name or "")))
            if flag in OUTPUTS:
                outputs += [Named(flag, path) for path in found]
            elif param.metavar in READ and flag not in WORKED_IN:
                found = [path.partition("=")[2] for path in found] if param.metavar == "NAME=FILE" else found
                inputs += [Named(flag if flag.startswith("-") else param.metavar or "", path) for path in found]
        refuse_overlaps(outputs, inputs)
        if outputs:
            from rampion.formats.files import swept_beside  # imported late, because --help does not need it

            for output in outputs:
                swept_beside(output.path)
        return super().invoke(ctx)


class App(typer.Typer):
    """An app of such commands."""

    def command(  # type: ignore[override]  # the arguments that our commands use
        self, name: str | None = None, *, epilog: str | None = None, rich_help_panel: str | None = None
    ) -> Callable[[Function], Function]:
        return super().command(name, cls=Command, epilog=epilog, rich_help_panel=rich_help_panel)


class Named(NamedTuple):
    """A path, and the option or argument that names it."""

    by: str
    path: str


def refuse_overlaps(outputs: list[Named], inputs: list[Named]) -> None:
    """Raise InputError if an output is an input, or another output."""
    for place, (flag, path) in enumerate(outputs):
        if path == "-" or (mine := _identity(path)) is None:
            continue
        for other, read in inputs:
            if mine == _identity(read) or _inside(path, read):
                raise InputError(f"{flag} {path}: would overwrite what {other} reads; name another")
        for other, written in outputs[:place]:
            if written != "-" and mine == _identity(written):
                raise InputError(f"{flag} {path}: is what {other} writes too; name another")


def _paths(value: object) -> Iterator[str]:
    if isinstance(value, (str, Path)):
        yield str(value)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _paths(one)


def _identity(path: str) -> object:
    """A value that is equal for two names of one file; None for devices and pipes, which are never replaced."""
    try:
        found = os.fstat(0) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path) if "\0" not in path else None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) else None


def _inside(path: str, folder: str) -> bool:
    """Whether the path is a part of the run or of the corpus in this folder."""
    real, home = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    if not real.is_file() or not home.is_dir() or home not in real.parents:
        return False
    part = real.relative_to(home).parts[0]
    return part in PARTS if (home / "manifest.json").exists() else part.partition(".")[0] in TEXTS
