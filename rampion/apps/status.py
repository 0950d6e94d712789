"""The progress of a run with an executor, read from its folder while it works."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TypedDict

from rampion.apps.workers import SHARDS
from rampion.errors import InputError
from rampion.executors.journal import Journal
from rampion.executors.status import Status
from rampion.runs.folder import RunFolder
from rampion.system import alive


class Worker(TypedDict):
    """A worker: what it has done, its speed, and the seconds since its last message."""

    shards: int
    items: int
    seconds: float
    answered: float
    state: str
    speed: float
    silent: float


Iterations = TypedDict("Iterations", {"done": int, "wanted": int, "seconds left": float | None})
Standing = TypedDict(
    "Standing",
    {
        "run": str,
        "state": str,
        "job": str,
        "finished jobs": int,
        "shards": int,
        "segments": int,
        "done": int,
        "speed": float,
        "seconds left": float | None,
        "iterations": Iterations | None,
        "workers": dict[str, Worker],
        "faults": dict[str, int],
        "last fault": str,
        "damaged lines": list[int],
    },
)


def status(run: Path) -> Standing:
    """The progress of a run, its workers, and its faults."""
    journal = Journal(run / SHARDS / "journal")
    if not journal.path.exists():
        raise InputError(f"{run}: holds no run with an executor; name the folder given with --out, or --run")
    found, now = Status.of(journal.entries()), time.time()
    state = "ended" if found.closed else "running" if alive(found.process) else "stopped"
    present = now if state == "running" else found.last
    left = found.left(present)
    return {
        "run": str(run),
        "state": state,
        "job": found.job,
        "finished jobs": found.jobs,
        "shards": found.shards,
        "segments": found.items,
        "done": found.done,
        "speed": found.speed(present),
        "seconds left": left if state == "running" else None,
        "iterations": _iterations(run),
        "workers": {
            name: {
                "shards": hand.shards,
                "items": hand.items,
                "seconds": hand.seconds,
                "answered": hand.answered,
                "state": hand.state,
                "speed": hand.speed,
                "silent": now - hand.answered,
            }
            for name, hand in found.workers.items()
        },
        "faults": dict(found.faults),
        "last fault": found.fault,
        "damaged lines": journal.damaged(),
    }


def _iterations(run: Path) -> Iterations | None:
    """The numbers of finished and of all iterations of training, and the remaining time."""
    folder = RunFolder(run)
    if not folder.begun or "iterations" not in (config := folder.config):
        return None
    rows = [event for event in folder.events if event["event"] == "iteration"]
    seconds = [sum(row["seconds"].values()) for row in rows[-3:]]
    wanted = config["iterations"]
    left = sum(seconds) / len(seconds) * (wanted - len(rows)) if seconds else None
    return {"done": len(rows), "wanted": wanted, "seconds left": left}
