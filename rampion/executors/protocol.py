"""What the coordinator asks of whoever has workers: five verbs, and three things that it is told."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from rampion.executors.tasks import Answer, Task
from rampion.executors.workspace import Room


class Joined(NamedTuple):
    """A worker that can do so many tasks at a time."""

    worker: str
    threads: int


class Lost(NamedTuple):
    """A worker that is no more."""

    worker: str


class Heard(NamedTuple):
    """What a worker answers."""

    worker: str
    answer: Answer


Event = Joined | Lost | Heard


class Executor(Protocol):
    """Has workers. It neither repeats nor reassigns anything: that is the coordinator's."""

    def open(self, room: Room) -> None:
        """Make ready to work in this room."""
        ...

    def send(self, worker: str, task: Task) -> None:
        """Have it done by this worker, after what it was sent before."""
        ...

    def hear(self, seconds: float) -> list[Event]:
        """What has happened; at least one thing, unless nothing does for so long."""
        ...

    def drop(self, worker: str) -> None:
        """It does not answer; have another in its place if that can be."""
        ...

    def close(self) -> None:
        """Let go of all workers."""
        ...
