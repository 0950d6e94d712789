"""The coordinator: gives tasks to workers, and takes care of what goes wrong with them.

Every worker has a task in hand and one more to begin with at once. Who dies is blamed on what it had in hand; the rest
is given to others. Who does not answer in time is left alone until it does. Results come in the order of the tasks.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Self, TypeVar

from rampion import errors
from rampion.errors import InputError, RampionError, RecipeError, StoreError
from rampion.executors.protocol import Event, Executor, Heard, Joined, Lost
from rampion.executors.tasks import Task
from rampion.executors.workspace import Room

T = TypeVar("T")
TICK = 0.5  # seconds between looks at the clock
BRIEF = 5.0  # seconds that one may wait for a worker that is not refused
LONELY = 60.0  # seconds that workers may take to come, or to be started again


@dataclass(frozen=True, slots=True)
class Patience:
    """How much may go wrong.

    deadline  seconds that a worker has for a task
    deaths    workers that a task may kill, or hold beyond the deadline, before it is poison
    tries     workers that may have trouble with a task, such as a full disk
    poison    what happens then: the run stops, or goes on without these segments
    """

    deadline: float = 600.0
    deaths: int = 3
    tries: int = 3
    poison: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        for name in ("deadline", "deaths", "tries"):
            if not getattr(self, name) > 0:
                raise RecipeError(f"{name} is {getattr(self, name)}; expected more than 0")
        if self.poison not in ("stop", "skip"):
            raise RecipeError(f"poison is {self.poison!r}; expected stop or skip")


class Job(NamedTuple):
    """What tasks are for, and the text that their segments are lines of."""

    name: str
    text: str = "the text"

    def lines(self, task: Task) -> str:
        first, last = task.span
        return f"shard {task.shard}, lines {first + 1} to {last} of {self.text}"


@dataclass(slots=True)
class _Worker:
    """What it was sent and has not answered yet, in order, and since when the first of that is in its hands."""

    threads: int
    sent: deque[str] = field(default_factory=deque)
    since: float = 0.0
    stuck: bool = False
    items: int = 0  # segments that it has done, and in how many seconds
    seconds: float = 0.0

    @property
    def free(self) -> bool:
        return not self.stuck and len(self.sent) <= self.threads


class Coordinator(AbstractContextManager["Coordinator"]):
    """Has one job after another done in a room."""

    def __init__(
        self,
        executor: Executor,
        room: Room,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.executor, self.room, self.patience, self.clock = executor, room, patience or Patience(), clock
        self.workers: dict[str, _Worker] = {}
        self.refused: dict[str, str] = {}  # workers, and why
        self.homes: dict[tuple[str, int], str] = {}  # which worker knows a shard from before, of loyal work
        self.skipped: list[str] = []

    def __enter__(self) -> Self:
        self.room.journal.tell("opened", process=os.getpid())
        self.executor.open(self.room)
        return self

    def __exit__(self, *_: object) -> None:
        self.room.journal.tell("closed")
        self.executor.close()

    def answers(
        self, job: Job, tasks: Sequence[Task], read: Callable[[Path], T], *, loyal: bool = False
    ) -> Iterator[T | None]:
        """What is read from the result of every task, in order; None for what is skipped.

        Results stay until another job begins. Loyal tasks go to the worker that had the same shard before, if they can.
        """
        names = [task.name for task in tasks]
        blobs = sorted({blob for task in tasks for _, blob in task.inputs})
        self.room.keep(blobs, names)
        work = _Work(job, dict(zip(names, tasks, strict=True)), loyal)
        total = sum(task.items for task in tasks)
        done = sum(task.items for task in work.tasks.values() if self.room.place.result(task.name).exists())
        self.room.journal.tell("job", job=job.name, tasks=len(names), items=total, done=done)
        work.waiting.extend(name for name in names if not self.room.place.result(name).exists())
        work.done.update(set(names) - set(work.waiting))
        self._forget()
        for name in names:
            yield self._answer(work, name, read)
        self.room.journal.tell("finished", job=job.name)

    def _answer(self, work: _Work, name: str, read: Callable[[Path], T]) -> T | None:
        while True:
            while name not in work.done and name not in work.skipped:
                self._step(work)
            if name in work.skipped:
                return None
            try:
                return read(self.room.place.result(name))
            except StoreError as error:
                self._damaged(work, name, error)

    @property
    def speeds(self) -> list[float]:
        """Segments a second of every worker, by its own hours of work."""
        return [worker.items / worker.seconds for worker in self.workers.values() if worker.seconds]

    def _forget(self) -> None:
        """Nobody has anything of an earlier job in hand that still counts."""
        for worker in self.workers.values():
            if not worker.stuck:
                worker.sent.clear()

    def _step(self, work: _Work) -> None:
        """Give out what can be given out, and hear what there is to hear."""
        free = [name for name, worker in self.workers.items() if worker.free]
        while free and work.waiting:
            name = min(free, key=lambda one: len(self.workers[one].sent) / self.workers[one].threads)
            if (taken := work.take(name, self.workers, self.homes)) is None:
                free.remove(name)
                continue
            worker, task = self.workers[name], work.tasks[taken]
            if work.loyal:
                self.homes[task.work, task.shard] = name
            if not worker.sent:
                worker.since = self.clock()
            worker.sent.append(task.name)
            self.executor.send(name, task)
            if not worker.free:
                free.remove(name)
        for event in self.executor.hear(TICK):
            self._hear(work, event)
        self._watch(work)

    def _hear(self, work: _Work, event: Event) -> None:
        if isinstance(event, Joined):
            if event.worker not in self.refused:
                self.workers[event.worker] = _Worker(event.threads)
                self.room.journal.tell("joined", worker=event.worker)
        elif isinstance(event, Lost):
            self._lost(work, event.worker)
        else:
            self._answered(work, event)

    def _answered(self, work: _Work, heard: Heard) -> None:
        name, worker = heard.answer.name, self.workers.get(heard.worker)
        if worker:
            worker.stuck, worker.since = False, self.clock()
            if name in worker.sent:
                worker.sent.remove(name)
        task = work.tasks.get(name)
        if task is None or name in work.done:
            return
        told = heard.answer.told
        if heard.answer.kind == "done":
            self._done(work, name, heard.worker, heard.answer.seconds)
        elif heard.answer.kind == "refused":
            self._refuse(work, heard.worker, name, told)
        elif heard.answer.kind == "trouble":
            self._trouble(work, heard.worker, name, told)
        elif heard.answer.kind == "wrong":
            kind, _, sentence = told.partition(":")
            raise getattr(errors, kind, RampionError)(sentence)
        else:
            raise RuntimeError(f"{work.job.lines(task)}, on {heard.worker}:\n{told}")

    def _done(self, work: _Work, name: str, worker: str, seconds: float) -> None:
        task = work.tasks[name]
        work.finish(name)
        if hand := self.workers.get(worker):
            hand.items, hand.seconds = hand.items + task.items, hand.seconds + seconds
        self.room.journal.tell("done", shard=task.shard, items=task.items, worker=worker, seconds=round(seconds, 4))

    def _unanswered(self, work: _Work, worker: _Worker) -> list[str]:
        """What it was sent of this job and nobody has done."""
        return [name for name in worker.sent if name in work.tasks and name not in work.done]

    def _refuse(self, work: _Work, worker: str, name: str, told: str) -> None:
        """This worker is not one of ours."""
        if worker not in self.refused:
            self.room.journal.tell("refused", worker=worker, why=told)
        self.refused[worker] = told
        lost = self.workers.pop(worker, None)
        work.again([name, *(self._unanswered(work, lost) if lost else [])])

    def _trouble(self, work: _Work, worker: str, name: str, told: str) -> None:
        """Let another worker try."""
        work.tries[name] += 1
        self.room.journal.tell("trouble", shard=work.tasks[name].shard, worker=worker, why=told)
        if work.tries[name] >= self.patience.tries:
            raise InputError(
                f"{work.job.lines(work.tasks[name])}: {work.tries[name]} tries failed, the last on {worker}: {told}; "
                "put that right and go on: what is done is kept"
            )
        self.homes.pop((work.tasks[name].work, work.tasks[name].shard), None)
        work.waiting.append(name)

    def _lost(self, work: _Work, name: str) -> None:
        """Blame what it had in hand; the rest did nothing."""
        self.refused.pop(name, None)
        worker = self.workers.pop(name, None)
        if worker is None or worker.stuck:  # who was stuck has been blamed
            return
        for one in self._unanswered(work, worker):
            if self.room.place.result(one).exists():  # its last words were lost, not what it did
                self._done(work, one, name, 0.0)
        sent = self._unanswered(work, worker)
        blamed, shards = sent[: worker.threads], [work.tasks[one].shard for one in sent[: worker.threads]]
        self.room.journal.tell("lost", worker=name, shards=shards)
        self._blame(work, blamed, f"killed {{}} workers, the last of them {name}")
        work.again([one for one in sent if one not in work.skipped])

    def _watch(self, work: _Work) -> None:
        """Leave alone who does not answer in time, and do not wait for ever while nobody is at work."""
        now = self.clock()
        for name, worker in list(self.workers.items()):
            if worker.sent and not worker.stuck and now - worker.since > self.patience.deadline:
                worker.stuck = True
                self.executor.drop(name)
                sent = self._unanswered(work, worker)
                self.room.journal.tell("late", worker=name, shards=[work.tasks[one].shard for one in sent])
                self._blame(work, sent[: worker.threads], f"held {{}} workers for {self.patience.deadline:g} seconds")
                work.again([one for one in sent if one not in work.skipped])
        if not self.workers or all(worker.stuck for worker in self.workers.values()):
            work.idle = now if work.idle is None else work.idle
            if self.refused and now - work.idle > BRIEF:
                who, why = next(reversed(self.refused.items()))
                raise InputError(f"the worker {who} {why}")
            if now - work.idle > max(self.patience.deadline, LONELY):
                who = "no worker came" if not self.workers else f"none of {len(self.workers)} workers answered"
                waited = now - work.idle
                raise InputError(f"{who} within {waited:.0f} seconds; look at them, then go on: what is done is kept")
        else:
            work.idle = None

    def _blame(self, work: _Work, names: Sequence[str], deed: str) -> None:
        for name in names:
            work.deaths[name] += 1
            if work.deaths[name] < self.patience.deaths:
                continue
            told = f"{work.job.lines(work.tasks[name])}, {deed.format(work.deaths[name])}"
            self.room.journal.tell("poison", shard=work.tasks[name].shard, told=told)
            if self.patience.poison == "stop":
                raise InputError(
                    f"{told}; look at these lines, or go on without them (poison=skip): what is done is kept"
                )
            work.skipped.add(name)
            self.skipped.append(told)

    def _damaged(self, work: _Work, name: str, error: StoreError) -> None:
        """Make a result again that is not as it was written."""
        task = work.tasks[name]
        self.room.journal.tell("damaged", shard=task.shard, why=str(error))
        work.tries[name] += 1
        if work.tries[name] > self.patience.tries:
            raise error
        self.room.place.result(name).unlink(missing_ok=True)
        work.done.discard(name)
        work.again([name])


@dataclass(slots=True)
class _Work:
    """A job on the way."""

    job: Job
    tasks: dict[str, Task]
    loyal: bool
    waiting: deque[str] = field(default_factory=deque)
    done: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    deaths: Counter[str] = field(default_factory=Counter)
    tries: Counter[str] = field(default_factory=Counter)
    back: set[str] = field(default_factory=set)  # have been given out more than once
    idle: float | None = None  # since when nobody has been at work

    def take(self, worker: str, workers: Mapping[str, _Worker], homes: Mapping[tuple[str, int], str]) -> str | None:
        """The next task for this worker. A loyal shard stays at home, unless that is gone or has more to bear."""
        if not self.loyal:
            return self.waiting.popleft()
        at = {name: homes.get((task.work, task.shard), "") for name, task in self.tasks.items()}
        shards = Counter(at.values())

        def open_to_all(home: str) -> bool:
            if home not in workers or workers[home].stuck:
                return True
            return shards[home] / workers[home].threads > (shards[worker] + 1) / workers[worker].threads

        for fits in (worker.__eq__, open_to_all):
            for name in self.waiting:
                if fits(at[name]):
                    self.waiting.remove(name)
                    return name
        return None

    def again(self, names: Sequence[str] | deque[str]) -> None:
        """These come first."""
        self.back.update(names)
        self.waiting.extendleft(reversed([name for name in names if name in self.tasks and name not in self.waiting]))

    def finish(self, name: str) -> None:
        self.done.add(name)
        if name in self.back and name in self.waiting:  # somebody who was late has done it after all
            self.waiting.remove(name)
