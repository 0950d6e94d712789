"""rampion status: how a run with an executor stands, asked from another terminal."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import INSIDE

if TYPE_CHECKING:
    from rampion.apps.status import Standing

EXAMPLE = """
[bold]Examples[/bold]

  rampion status run

  rampion status run --every 10   (again and again, until it ends)

  rampion status run --json
"""


@app.command(epilog=EXAMPLE, rich_help_panel=INSIDE)
def status(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run with --executor.")],
    every: opt.Every = None,
    as_json: opt.Json = False,
) -> None:
    """Show how far a run with an executor is, what each worker does, how long it will take, and what went wrong."""
    from rampion.apps import status as looking

    while True:
        found = looking.status(run)
        if as_json:
            console.show_json(found)
        else:
            _show(found)
        if every is None or found["state"] != "running":
            return
        time.sleep(every)
        if not as_json:
            typer.echo()


def _show(facts: Standing) -> None:
    share = 100 * facts["done"] / facts["segments"] if facts["segments"] else 0.0
    typer.secho(f"{facts['run']}: {facts['state']}", bold=True)
    if facts["job"]:
        console.say(
            f"{facts['job']}: {facts['done']:,} of {facts['segments']:,} segments ({share:.0f} %), "
            f"{facts['speed']:.0f} a second{_time(facts['seconds left'])}"
        )
    if rounds := facts["iterations"]:
        left = _time(rounds["seconds left"]) if facts["state"] == "running" else ""
        typer.echo(f"iteration {rounds['done']} of {rounds['wanted']}{left}")
    rows = [
        [name, hand["state"], hand["shards"], f"{hand['items']:,}", f"{hand['speed']:.0f}", f"{hand['silent']:.0f} s"]
        for name, hand in facts["workers"].items()
    ]
    if rows:
        console.show(rows, ["worker", "state", "shards", "segments", "a second", "silent for"])
    if facts["faults"]:
        counts = ", ".join(f"{kind} {count}" for kind, count in facts["faults"].items())
        console.say(f"faults: {counts}; the last: {facts['last fault']}")
    for line in facts["damaged lines"]:
        typer.echo(f"line {line} of the journal is damaged")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f", {hours} h {minutes:02} min left" if hours else f", {minutes} min {rest:02} s left"
