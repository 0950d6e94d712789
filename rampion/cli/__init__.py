"""The command line: one file a command, each a thin reading of its arguments around a call of the library."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.core import TyperGroup

from rampion import __version__
from rampion.errors import RampionError, TuningError

# In the order in which --help shows them, panel by panel.
COMMANDS = (
    "tune", "rerank", "inspect", "score", "compare", "report", "recipes",
    "corpus", "align", "lm", "blocks", "counts", "decode", "oracle", "explain", "lattice", "train", "condense",
    "demo", "reproduce", "cite",
    "weights", "status", "store",
)  # fmt: skip


class Commands(TyperGroup):
    """The commands in the order of the list, the groups of commands among them."""

    def list_commands(self, ctx: object) -> list[str]:
        return list(COMMANDS)


app = typer.Typer(
    name="rampion",
    cls=Commands,
    help="Train linear models that choose among candidates, and rerank n-best lists with them.",
    epilog="Try [bold]rampion demo[/bold], or [bold]rampion tune dev.nbest.gz --refs dev.ref --out run[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rampion {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None: ...


for command in COMMANDS:
    import_module(f"rampion.cli.{command}")


INTERRUPTED = 130


def main() -> None:
    """Run, and turn what went wrong into one sentence and an exit code.

    2 is bad input, 1 a result not to be used or a reader of the output that has gone, 130 an interruption (Ctrl-C).
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show is no reason to stop
    try:
        try:
            app(prog_name="rampion")
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _say("interrupted; files that stood before are whole")
        raise
    except RampionError as error:
        _say(str(error))
        sys.exit(1 if isinstance(error, TuningError) else 2)
    except OSError as error:
        _drop_output()
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        _say(f"{error.filename or '<stdout>'}: {error.strerror or error}")
        sys.exit(2)


def _say(sentence: str) -> None:
    """One line to stderr, whatever control characters a file has put into the sentence."""
    typer.echo("rampion: " + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in sentence), err=True)


def _drop_output() -> None:
    """What stdout could not take would be tried again, and complained about, when Python ends."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
