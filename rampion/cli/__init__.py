"""The command line: one file a command, each a thin reading of its arguments around a call of the library."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from tempfile import NamedTemporaryFile
from typing import Annotated

import typer
from typer.core import TyperGroup

from rampion import __version__, console, signals
from rampion.cli.files import App
from rampion.errors import RampionError, TuningError

# In the order in which --help shows them, panel by panel.
COMMANDS = (
    "tune", "rerank", "features", "attach", "inspect", "score", "compare", "report", "recipes",
    "corpus", "align", "lm", "blocks", "counts", "decode", "oracle", "explain", "lattice", "train", "condense", "learn",
    "demo", "reproduce", "cite",
    "weights", "diff", "rerun", "plot", "status", "store",
)  # fmt: skip


class Commands(TyperGroup):
    """The commands in the order of the list, the groups of commands among them."""

    def list_commands(self, ctx: object) -> list[str]:
        return list(COMMANDS)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]  # typer keeps its own class private
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # typer would say 1
            raise SystemExit(UNREAD) from None


app = App(
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
    trust: Annotated[
        bool,
        typer.Option("--trust", metavar="", help="Open binary files unchecked: only those that you made yourself."),
    ] = False,
) -> None:
    if trust:
        from rampion.formats import container

        container.trust()


for command in COMMANDS:
    import_module(f"rampion.cli.{command}")


# Exit codes beside 0 and Python's own; 128 + the number of a signal is what shells show of it.
UNUSABLE, WRONG, DEFECT, UNREAD = 1, 2, 70, 128 + 13

# By command, what to do if memory is not enough.
LESS = {
    "tune": "--folder keeps the working data of a store in files, and --shards learns part by part",
    "train": "--memory SIZE keeps in files what does not fit, and fewer --threads or a smaller --beam take less",
    "align": "fewer --threads, or a part of the text, take less",
    "lm": "a lower --order, or --prune, takes less",
    "blocks": "fewer --threads, a smaller --longest or a greater --least take less",
    **dict.fromkeys(
        ("decode", "oracle", "lattice", "explain"),
        "fewer --threads, a smaller --beam or fewer lines at a time take less",
    ),
}


def main() -> None:
    """Run a command, and turn any error into one sentence and an exit code.

    Codes: 1 for a result that must not be used, 2 for bad input, 70 for a defect of Rampion, 130 for an interruption
    (Ctrl-C), 141 if the reader of the output has gone.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # ignore characters that a terminal cannot show
    try:
        try:
            app(prog_name="rampion")
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        if end.code == signals.INTERRUPTED:
            signals.tell()
        raise
    except OSError as error:
        _drop_output()
        if isinstance(error, BrokenPipeError):
            sys.exit(UNREAD)
        _say(f"{error.filename or '<stdout>'}: {error.strerror or error}")
        sys.exit(WRONG)
    except Exception as error:
        sentence, code = _verdict(error)
        _say(sentence)
        sys.exit(code)


def _verdict(error: Exception) -> tuple[str, int]:
    """The sentence about an error, and the exit code."""
    if isinstance(error, RampionError):
        return str(error), UNUSABLE if isinstance(error, TuningError) else WRONG
    if isinstance(error, MemoryError):
        asked = f": {error}".replace(": U", ": u") if str(error) else ""
        less = LESS.get(sys.argv[1] if len(sys.argv) > 1 else "", "smaller parts of the input take less")
        return f"out of memory{asked}; {less}", WRONG
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "the system lets this process start no more threads; name fewer (--threads), or raise ulimit -u", WRONG
    if isinstance(error, ImportError) and error.name == "rampion._kernels":
        return str(error), WRONG
    return _defect(error), DEFECT


def _defect(error: Exception) -> str:
    """The last resort: a sentence, and a file with the traceback and versions for a bug report."""
    last = (str(error).strip().splitlines() or [""])[-1][:200]
    sentence = f"this is a defect of Rampion ({type(error).__name__}: {last}); please report it to the project's issues"
    facts = [f"rampion {__version__}, Python {platform.python_version()}, {platform.platform()}", shlex.join(sys.argv)]
    try:
        with NamedTemporaryFile("w", encoding="utf-8", errors="backslashreplace", prefix="rampion-defect-",
                                suffix=".txt", delete=False) as file:  # fmt: skip
            file.write("\n".join([*facts, "", *traceback.format_exception(error)]))
    except OSError:
        return sentence
    return f"{sentence}, with the file {file.name}"


def _say(sentence: str) -> None:
    """Print one line to stderr, with control characters from files escaped."""
    with suppress(OSError):  # there may be no stderr
        typer.echo(f"rampion: {console.plain(sentence)}", err=True)


def _drop_output() -> None:
    """Drop buffered output, which Python would try to write again at its end, with a second error."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
