"""--executor: the workers, and the folder that keeps finished shards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rampion import console
from rampion.executors import Coordinator, Workspace, named
from rampion.runs.lock import owned

SHARDS = "shards"  # the folder in that of a run


class Team(NamedTuple):
    """A coordinator with its workers, and the segments of a shard if the specification gives them."""

    coordinator: Coordinator
    size: int | None


@contextmanager
def team(spec: str, run: Path) -> Iterator[Team]:
    """The executor that a specification names, at work in the folder of a run; finished shards outlive an error."""
    executor, patience, size = named(spec)
    with owned(run, console.note):
        room = Workspace(run / SHARDS)
        with Coordinator(executor, room, patience) as coordinator:
            for number in room.journal.damaged():
                console.note(f"{room.journal.path}:{number}: is damaged and was skipped; its result is computed again")
            yield Team(coordinator, size)
        room.lasting.clear()
        room.keep([], [])
    for told in coordinator.skipped:
        console.note(f"went on without {told}")
