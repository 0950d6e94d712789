"""The command line: one file a command, each a thin reading of its arguments around a call of the library."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from rampion import __version__
from rampion.errors import RampionError, TuningError

app = typer.Typer(
    name="rampion",
    help="Train linear models that choose among candidates, and rerank n-best lists with them.",
    epilog="Try [bold]rampion demo[/bold], or [bold]rampion tune dev.nbest.gz --refs dev.ref --out run[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS = ("demo", "tune", "rerank", "inspect", "score", "compare", "weights", "store", "recipes", "cite")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rampion {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None: ...


for command in COMMANDS:
    import_module(f"rampion.cli.{command}")


def main() -> None:
    """Run, and turn what went wrong into one sentence and an exit code: 2 bad input, 1 a result not to be used."""
    try:
        app(standalone_mode=True)
    except RampionError as error:
        typer.echo(f"rampion: {error}", err=True)
        sys.exit(1 if isinstance(error, TuningError) else 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        typer.echo(f"rampion: {where}{error.strerror or error}", err=True)
        sys.exit(2)
