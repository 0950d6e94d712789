"""The interface between the coordinator and an executor: five methods, and three kinds of events."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from rampion.executors.tasks import Answer, Task
from rampion.executors.workspace import Workspace


class Joined(NamedTuple):
    """A worker joined; it runs `threads` tasks at a time."""

    worker: str
    threads: int


class Lost(NamedTuple):
    """A worker is gone."""

    worker: str


class Answered(NamedTuple):
    """A worker answered one of its tasks."""

    worker: str
    answer: Answer


Event = Joined | Lost | Answered


class Executor(Protocol):
    """Owns workers. It neither repeats nor reassigns a task: the coordinator does that."""

    def open(self, workspace: Workspace) -> None:
        """Start, or connect to, workers that read inputs from this workspace and write results to it."""
        ...

    def send(self, worker: str, task: Task) -> None:
        """Send the task to this worker, which does it after the tasks that it was sent before."""
        ...

    def receive(self, seconds: float) -> list[Event]:
        """The events since the last call. If there are none, wait `seconds` for the first."""
        ...

    def drop(self, worker: str) -> None:
        """Replace a worker that does not answer, if possible."""
        ...

    def close(self) -> None:
        """Release all workers."""
        ...
