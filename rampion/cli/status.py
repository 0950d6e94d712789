"""rampion status: how a run with an executor stands, asked from another terminal."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rampion import console
from rampion.cli import app
from rampion.cli.executor import SHARDS
from rampion.cli.options import Json

if TYPE_CHECKING:
    from rampion.executors.status import Status

EXAMPLE = """
[bold]Examples[/bold]

  rampion status run

  rampion status run --every 10   (again and again, until it ends)

  rampion status run --json
"""


@app.command(epilog=EXAMPLE)
def status(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run with --executor.")],
    every: Annotated[
        float | None,
        typer.Option("--every", min=0.1, metavar="SECONDS", help="Look again so often.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell how far a run with an executor is, what each worker does, how long it will take, and what went wrong."""
    from rampion.errors import InputError
    from rampion.executors.journal import Journal
    from rampion.executors.status import Status

    journal = Journal(run / SHARDS / "journal")
    if not journal.path.exists():
        raise InputError(f"{run}: holds no run with an executor; name the folder given with --out, or --run")
    while True:
        found, now = Status.of(journal.entries()), time.time()
        facts = _facts(run, found, now) | {"damaged lines": journal.damaged()}
        if as_json:
            console.show_json(facts)
        else:
            _show(facts)
        if every is None or facts["state"] != "running":
            return
        time.sleep(every)
        if not as_json:
            typer.echo()


def _facts(run: Path, found: Status, now: float) -> dict[str, Any]:
    state = "ended" if found.closed else "running" if _alive(found.process) else "stopped"
    present = now if state == "running" else found.last
    left = found.left(present)
    return {
        "run": str(run), "state": state, "job": found.job, "finished jobs": found.jobs, "shards": found.shards,
        "segments": found.items, "done": found.done, "speed": found.speed(present),
        "seconds left": left if state == "running" else None, "iterations": _iterations(run),
        "workers": {name: asdict(hand) | {"speed": hand.speed, "silent": now - hand.answered}
                    for name, hand in found.workers.items()},
        "faults": dict(found.faults), "last fault": found.fault,
    }  # fmt: skip


def _iterations(run: Path) -> dict[str, Any] | None:
    """How many of how many iterations of training are done, and what the rest will take."""
    from rampion.runs.folder import RunFolder

    folder = RunFolder(run)
    if not folder.begun or "iterations" not in (config := folder.config):
        return None
    rows = [event for event in folder.events if event["event"] == "iteration"]
    seconds = [sum(row["seconds"].values()) for row in rows[-3:]]
    wanted = config["iterations"]
    left = sum(seconds) / len(seconds) * (wanted - len(rows)) if seconds else None
    return {"done": len(rows), "wanted": wanted, "seconds left": left}


def _show(facts: dict[str, Any]) -> None:
    share = 100 * facts["done"] / facts["segments"] if facts["segments"] else 0.0
    typer.secho(f"{facts['run']}: {facts['state']}", bold=True)
    if facts["job"]:
        typer.echo(
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
        typer.echo(f"faults: {counts}; the last: {facts['last fault']}")
    for line in facts["damaged lines"]:
        typer.echo(f"line {line} of the journal is damaged")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f", {hours} h {minutes:02} min left" if hours else f", {minutes} min {rest:02} s left"


def _alive(process: int) -> bool:
    """Whether the process is at work, on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
