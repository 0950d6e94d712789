"""--executor: who does the work, and in what folder the parts of it stand until it is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from rampion import console

if TYPE_CHECKING:
    from rampion.executors import Coordinator

SHARDS = "shards"  # the folder in that of a run

Executor = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME[,…]",
        help="Do the work shard by shard, so that whoever is stopped goes on: local (threads), dask (processes of this "
        "machine), or the address of a Dask scheduler. Behind commas: workers=2, size=100 (segments of a shard), "
        "deadline=600 (seconds for one), deaths=3, poison=skip. The result is the same for any.",
        show_default=False,
    ),
]


class Team(NamedTuple):
    """A coordinator with its workers, and how many segments a shard has, if that was said."""

    coordinator: Coordinator
    size: int | None


@contextmanager
def team(spec: str, run: Path) -> Iterator[Team]:
    """The executor that a specification names, at work in the folder of a run; what is done outlives an error."""
    from rampion.executors import Coordinator, Workspace, named

    executor, patience, size = named(spec)
    room = Workspace(run / SHARDS)
    with Coordinator(executor, room, patience) as coordinator:
        for number in room.journal.damaged():
            console.note(f"{room.journal.path}:{number}: is damaged, and passed over; what it told of is made again")
        yield Team(coordinator, size)
    room.lasting.clear()
    room.keep([], [])
    for told in coordinator.skipped:
        console.note(f"went on without {told}")
