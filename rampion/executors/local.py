"""Workers that are threads of this process."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress

from rampion.executors.protocol import Event, Heard, Joined
from rampion.executors.tasks import Task, forget, performed
from rampion.executors.workspace import Room
from rampion.threads import processors


class Local:
    """Threads; kernels release the interpreter's lock."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or processors()
        self.heard: queue.Queue[Event] = queue.Queue()
        self.tasks: dict[str, queue.Queue[Task | None]] = {}
        self.pool: dict[str, threading.Thread] = {}
        self.stuck = set[str]()

    def open(self, room: Room) -> None:
        self.room = room
        for _ in range(self.threads):
            self._begin()

    def send(self, worker: str, task: Task) -> None:
        self.tasks[worker].put(task)

    def hear(self, seconds: float) -> list[Event]:
        return drained(self.heard, seconds)

    def drop(self, worker: str) -> None:
        """A thread cannot be stopped; another begins."""
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
        forget(self.room.path / "results")

    def _begin(self) -> None:
        name = f"thread {len(self.pool) + 1}"
        self.tasks[name] = queue.Queue()
        self.pool[name] = threading.Thread(target=self._work, args=(name,), name=name, daemon=True)
        self.pool[name].start()
        self.heard.put(Joined(name, 1))

    def _work(self, name: str) -> None:
        place, take = self.room.place, self.tasks[name].get
        for task in iter(take, None):
            inputs = {role: place.blob(blob) for role, blob in task.inputs}
            self.heard.put(Heard(name, performed(task, task.name, place, inputs, place.result(task.name))))


def drained(heard: queue.Queue[Event], seconds: float) -> list[Event]:
    """All that the queue holds; what comes first within so many seconds, if it is empty."""
    events: list[Event] = []
    with suppress(queue.Empty):
        events.append(heard.get(timeout=seconds))
        while True:
            events.append(heard.get_nowait())
    return events
