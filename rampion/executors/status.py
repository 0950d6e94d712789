"""The progress of a run with an executor, read from its journal alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from rampion.executors.journal import FAULTS, Entry

RECENT = 60.0  # seconds over which the present speed is measured


@dataclass(slots=True)
class Hand:
    """What one worker has done, and its speed while it was working."""

    shards: int = 0
    items: int = 0
    seconds: float = 0.0
    answered: float = 0.0
    state: str = "at work"

    @property
    def speed(self) -> float:
        return self.items / self.seconds if self.seconds else 0.0


@dataclass(slots=True)
class Status:
    """The status of the last job. Faults and workers are counted since the run was last opened."""

    process: int = 0
    opened: float = 0.0
    closed: bool = False
    job: str = ""
    begun: float = 0.0
    shards: int = 0
    items: int = 0
    done: int = 0  # segments, including those whose results existed before
    fresh: list[tuple[float, int]] = field(default_factory=list)  # (time, segments) of each result
    finished: bool = False
    jobs: int = 0  # finished jobs
    last: float = 0.0
    workers: dict[str, Hand] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    fault: str = ""  # a sentence about the last one

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Status:
        status = cls()
        for entry in entries:
            status._take(entry)
        return status

    def _take(self, entry: Entry) -> None:
        kind, self.last = entry["event"], entry["time"]
        worker = entry.get("worker", "")
        if kind == "opened":
            self.__init__(entry["process"], self.last)  # type: ignore[misc]
            self.last = self.opened
        elif kind == "closed":
            self.closed = True
        elif kind == "job":
            self.job, self.begun, self.shards, self.items = entry["job"], self.last, entry["tasks"], entry["items"]
            self.done, self.finished, self.fresh = entry["done"], False, []
        elif kind == "finished":
            self.finished, self.jobs = True, self.jobs + 1
        elif kind == "joined":
            self.workers[worker] = Hand(answered=self.last)
        elif kind == "done":
            self._done(worker, entry)
        if kind in FAULTS:
            self.faults[kind] += 1
            self.fault = entry.get("why") or f"{worker} is {kind}"
            if kind in ("lost", "late", "refused") and worker in self.workers:
                self.workers[worker].state = kind

    def _done(self, worker: str, entry: Entry) -> None:
        hand = self.workers.setdefault(worker, Hand())
        hand.shards += 1
        hand.items += entry["items"]
        hand.seconds += entry["seconds"]
        hand.answered, hand.state = self.last, "at work"
        self.done += entry["items"]
        self.fresh.append((self.last, entry["items"]))

    def speed(self, now: float) -> float:
        """Segments per second over the last RECENT seconds of this job."""
        since = max(now - RECENT, self.begun)
        recent = sum(items for when, items in self.fresh if when >= since)
        return recent / (now - since) if now > since else 0.0

    def left(self, now: float) -> float | None:
        """The seconds that this job will still take, or None if its speed is unknown."""
        if self.finished:
            return 0.0
        speed = self.speed(now)
        return (self.items - self.done) / speed if speed else None
