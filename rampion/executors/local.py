"""The executor `local`: its workers are threads of this process."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress

from rampion.executors.protocol import Answered, Event, Joined
from rampion.executors.tasks import Task, forget, performed
from rampion.executors.workspace import Workspace
from rampion.threads import processors


class Local:
    """Threads as workers, one for each processor by default. They run in parallel, because kernels release the GIL."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or processors()
        self.events: queue.Queue[Event] = queue.Queue()
        self.tasks: dict[str, queue.Queue[Task | None]] = {}
        self.pool: dict[str, threading.Thread] = {}
        self.stuck = set[str]()

    def open(self, workspace: Workspace) -> None:
        self.workspace = workspace
        for _ in range(self.threads):
            self._begin()

    def send(self, worker: str, task: Task) -> None:
        self.tasks[worker].put(task)

    def receive(self, seconds: float) -> list[Event]:
        return drained(self.events, seconds)

    def drop(self, worker: str) -> None:
        """Start another thread, because a thread cannot be stopped."""
        self.stuck.add(worker)
        self._begin()

    def close(self) -> None:
        for tasks in self.tasks.values():
            with tasks.mutex:
                tasks.queue.clear()
            tasks.put(None)
        for name, thread in self.pool.items():
            if name not in self.stuck:
                thread.join()
        forget(self.workspace.path / "results")

    def _begin(self) -> None:
        name = f"thread {len(self.pool) + 1}"
        self.tasks[name] = queue.Queue()
        self.pool[name] = threading.Thread(target=self._work, args=(name,), name=name, daemon=True)
        self.pool[name].start()
        self.events.put(Joined(name, 1))

    def _work(self, name: str) -> None:
        place, take = self.workspace.place, self.tasks[name].get
        for task in iter(take, None):
            self.events.put(Answered(name, performed(task, task.name, place, place.result(task.name))))


def drained(waiting: queue.Queue[Event], seconds: float) -> list[Event]:
    """All events of the queue. If it is empty, wait `seconds` for the first one."""
    events: list[Event] = []
    with suppress(queue.Empty):
        events.append(waiting.get(timeout=seconds))
        while True:
            events.append(waiting.get_nowait())
    return events
