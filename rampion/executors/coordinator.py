"""The coordinator: it sends tasks to workers, and handles all faults of tasks and workers.

THEORY OF OPERATION

A job is a sequence of tasks. `answers` yields their results in the order of the tasks, whatever order they are done in.
To yield a result, the coordinator repeats one step until its task is done or skipped:

    1. send waiting tasks to free workers;
    2. receive events from the executor, for at most TICK seconds;
    3. look at the clock: mark late workers as stuck, and stop the run if no worker is left.

A worker of n threads is sent up to n + 1 tasks: n that it runs, and one that it can begin at once. `_Worker.sent` lists
them in the order of sending, so its first n tasks are the ones in hand.

Tasks. The result file of a task exists or not; a run that is opened again marks tasks whose file exists as done.

    state     event                                            next state and effect
    --------  -----------------------------------------------  ---------------------------------------------------------
    waiting   a worker is free                                 sent
    sent      answer "done"                                    done
    sent      answer "refused"                                 waiting, before all others; the worker is refused
    sent      answer "trouble", fewer than `tries` so far      waiting, after all others; another worker may take it
    sent      answer "trouble", `tries` of them                the run stops with an InputError
    sent      answer "wrong" or "broken"                       the run stops: every worker would answer the same
    sent      its worker is lost, and its result file exists   done: only the answer was lost
    sent      its worker is lost or late; it was not in hand   waiting, before all others
    sent      its worker is lost or late; it was in hand       waiting, before all others; one more death is counted
    sent      the same, and its deaths reach `deaths`          poison: skipped (poison=skip), or the run stops
    done      its result file turns out to be damaged          waiting, before all others; at most `tries` times
    done      another answer comes (the task was sent twice)   done; the answer is ignored
    skipped   -                                                skipped; its result is None

Workers.

    state     event                                            next state and effect
    --------  -----------------------------------------------  ---------------------------------------------------------
    (new)     Joined                                           free
    free      is sent more tasks than it has threads           busy
    busy      any answer                                       free, if few enough tasks are left in `sent`
    free,     `deadline` seconds without an answer, while it   stuck: it gets no more tasks, its tasks wait again, and
     busy      has tasks                                        the executor may replace it (`Executor.drop`)
    stuck     any answer                                       free; its answers count like any other
    any       answer "refused"                                 refused: it is never used again, unless it is lost and a
                                                                new worker joins under its name
    any       Lost                                             gone; the deaths of a stuck worker are not counted twice

The run stops if all workers are refused for BRIEF seconds; or if no worker is there, or only stuck ones, for LONELY
seconds (or `deadline`, if that is longer). Results stay in the workspace, so the same command resumes the run.
A result depends on its task alone. Therefore it does not matter that two workers may do the same task.
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
from rampion.executors.protocol import Answered, Event, Executor, Joined, Lost
from rampion.executors.tasks import Task
from rampion.executors.workspace import Workspace

T = TypeVar("T")
TICK = 0.5  # seconds between looks at the clock
BRIEF = 5.0  # seconds to wait for a worker that is not refused
LONELY = 60.0  # seconds that workers may take to join, or to be started again


@dataclass(frozen=True, slots=True)
class Patience:
    """How many faults a run tolerates.

    deadline  seconds that a worker has for a task
    deaths    the number of workers that a task may kill, or hold beyond the deadline; then the task is poison
    tries     the number of workers that may report trouble with a task, such as a full disk; then the run stops
    poison    what a poison task does: "stop" stops the run, "skip" leaves its segments out
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
    """The name of a job, and of the text whose lines are its segments; both are for messages and for the journal."""

    name: str
    text: str = "the text"

    def lines(self, task: Task) -> str:
        first, last = task.span
        return f"shard {task.shard}, lines {first + 1} to {last} of {self.text}"


@dataclass(slots=True)
class _Worker:
    """A worker: the tasks that it was sent and has not answered, and its speed."""

    threads: int
    sent: deque[str] = field(default_factory=deque)  # names of tasks, in the order of sending
    since: float = 0.0  # when it began the first of them: the clock of the deadline
    stuck: bool = False  # it missed the deadline and has not answered since
    items: int = 0  # segments that it has done
    seconds: float = 0.0  # the time that these took

    @property
    def free(self) -> bool:
        return not self.stuck and len(self.sent) <= self.threads


class Coordinator(AbstractContextManager["Coordinator"]):
    """Runs one job after another in a workspace. The module's docstring describes its states."""

    def __init__(
        self,
        executor: Executor,
        workspace: Workspace,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.executor, self.workspace, self.patience, self.clock = executor, workspace, patience or Patience(), clock
        self.workers: dict[str, _Worker] = {}
        self.refused: dict[str, str] = {}  # reasons, by worker
        self.homes: dict[tuple[str, int], str] = {}  # (work, shard) -> the worker that did it last; for loyal jobs
        self.skipped: list[str] = []  # a sentence for each task that was skipped as poison

    def __enter__(self) -> Self:
        self.workspace.journal.log("opened", process=os.getpid())
        self.executor.open(self.workspace)
        return self

    def __exit__(self, *_: object) -> None:
        self.workspace.journal.log("closed")
        self.executor.close()

    def answers(
        self, job: Job, tasks: Sequence[Task], read: Callable[[Path], T], *, loyal: bool = False
    ) -> Iterator[T | None]:
        """Yield `read(result file)` for every task, in order, and None for a task that is skipped.

        Result files stay until another job begins. With `loyal`, a task goes to the worker that did the same shard
        before, if possible, because that worker has cached the shard's data.
        """
        names = [task.name for task in tasks]
        blobs = sorted({blob for task in tasks for _, blob in task.inputs})
        self.workspace.keep(blobs, names)
        work = _Work(job, dict(zip(names, tasks, strict=True)), loyal)
        total = sum(task.items for task in tasks)
        done = sum(task.items for task in work.tasks.values() if self.workspace.place.result(task.name).exists())
        self.workspace.journal.log("job", job=job.name, tasks=len(names), items=total, done=done)
        work.waiting.extend(name for name in names if not self.workspace.place.result(name).exists())
        work.done.update(set(names) - set(work.waiting))
        self._forget()
        for name in names:
            yield self._answer(work, name, read)
        self.workspace.journal.log("finished", job=job.name)

    def _answer(self, work: _Work, name: str, read: Callable[[Path], T]) -> T | None:
        while True:
            while name not in work.done and name not in work.skipped:
                self._step(work)
            if name in work.skipped:
                return None
            try:
                return read(self.workspace.place.result(name))
            except StoreError as error:
                self._damaged(work, name, error)

    @property
    def speeds(self) -> list[float]:
        """Segments per second of every worker, while it was working."""
        return [worker.items / worker.seconds for worker in self.workers.values() if worker.seconds]

    def _forget(self) -> None:
        """Forget what workers were sent in earlier jobs. Stuck workers keep it: they are still busy with it."""
        for worker in self.workers.values():
            if not worker.stuck:
                worker.sent.clear()

    def _step(self, work: _Work) -> None:
        """Send waiting tasks to free workers, receive events, and check deadlines."""
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
        for event in self.executor.receive(TICK):
            self._receive(work, event)
        self._watch(work)

    def _receive(self, work: _Work, event: Event) -> None:
        if isinstance(event, Joined):
            if event.worker not in self.refused:
                self.workers[event.worker] = _Worker(event.threads)
                self.workspace.journal.log("joined", worker=event.worker)
        elif isinstance(event, Lost):
            self._lost(work, event.worker)
        else:
            self._answered(work, event)

    def _answered(self, work: _Work, answered: Answered) -> None:
        name, worker = answered.answer.name, self.workers.get(answered.worker)
        if worker:
            worker.stuck, worker.since = False, self.clock()
            if name in worker.sent:
                worker.sent.remove(name)
        task = work.tasks.get(name)
        if task is None or name in work.done:
            return
        why = answered.answer.message
        if answered.answer.kind == "done":
            self._done(work, name, answered.worker, answered.answer.seconds)
        elif answered.answer.kind == "refused":
            self._refuse(work, answered.worker, name, why)
        elif answered.answer.kind == "trouble":
            self._trouble(work, answered.worker, name, why)
        elif answered.answer.kind == "wrong":
            kind, _, sentence = why.partition(":")
            raise getattr(errors, kind, RampionError)(sentence)
        else:
            raise RuntimeError(f"{work.job.lines(task)}, on {answered.worker}:\n{why}")

    def _done(self, work: _Work, name: str, worker: str, seconds: float) -> None:
        task = work.tasks[name]
        work.finish(name)
        if hand := self.workers.get(worker):
            hand.items, hand.seconds = hand.items + task.items, hand.seconds + seconds
        self.workspace.journal.log("done", shard=task.shard, items=task.items, worker=worker, seconds=round(seconds, 4))

    def _unanswered(self, work: _Work, worker: _Worker) -> list[str]:
        """The tasks of this job that the worker was sent and that no worker has done."""
        return [name for name in worker.sent if name in work.tasks and name not in work.done]

    def _refuse(self, work: _Work, worker: str, name: str, why: str) -> None:
        """Never use this worker again: it has another version, or does not see the workspace."""
        if worker not in self.refused:
            self.workspace.journal.log("refused", worker=worker, why=why)
        self.refused[worker] = why
        lost = self.workers.pop(worker, None)
        work.again([name, *(self._unanswered(work, lost) if lost else [])])

    def _trouble(self, work: _Work, worker: str, name: str, why: str) -> None:
        """Count the failed try, and let another worker take the task."""
        work.tries[name] += 1
        self.workspace.journal.log("trouble", shard=work.tasks[name].shard, worker=worker, why=why)
        if work.tries[name] >= self.patience.tries:
            raise InputError(
                f"{work.job.lines(work.tasks[name])}: {work.tries[name]} tries failed, the last on {worker}: {why}; "
                "put that right and go on: what is done is kept"
            )
        self.homes.pop((work.tasks[name].work, work.tasks[name].shard), None)
        work.waiting.append(name)

    def _lost(self, work: _Work, name: str) -> None:
        """Count a death for each task that the lost worker had in hand. Its other tasks had not begun."""
        self.refused.pop(name, None)
        worker = self.workers.pop(name, None)
        if worker is None or worker.stuck:  # the deaths of a stuck worker were counted when it became stuck
            return
        for one in self._unanswered(work, worker):
            if self.workspace.place.result(one).exists():  # it did the task; only its answer was lost
                self._done(work, one, name, 0.0)
        sent = self._unanswered(work, worker)
        in_hand, shards = sent[: worker.threads], [work.tasks[one].shard for one in sent[: worker.threads]]
        self.workspace.journal.log("lost", worker=name, shards=shards)
        self._count_deaths(work, in_hand, f"killed {{}} workers, the last of them {name}")
        work.again([one for one in sent if one not in work.skipped])

    def _watch(self, work: _Work) -> None:
        """Mark workers as stuck that miss the deadline. Stop the run if no worker has been usable for too long."""
        now, deadline = self.clock(), self.patience.deadline
        for name, worker in list(self.workers.items()):
            if worker.sent and not worker.stuck and now - worker.since > deadline:
                worker.stuck = True
                self.executor.drop(name)
                sent = self._unanswered(work, worker)
                self.workspace.journal.log("late", worker=name, shards=[work.tasks[one].shard for one in sent])
                self._count_deaths(work, sent[: worker.threads], f"held {{}} workers for {deadline:g} seconds")
                work.again([one for one in sent if one not in work.skipped])
        if not self.workers or all(worker.stuck for worker in self.workers.values()):
            work.idle = now if work.idle is None else work.idle
            if self.refused and now - work.idle > BRIEF:
                who, why = next(reversed(self.refused.items()))
                raise InputError(f"the worker {who} {why}")
            if now - work.idle > max(deadline, LONELY):
                who = "no worker came" if not self.workers else f"none of {len(self.workers)} workers answered"
                waited = now - work.idle
                raise InputError(f"{who} within {waited:.0f} seconds; look at them, then go on: what is done is kept")
        else:
            work.idle = None

    def _count_deaths(self, work: _Work, names: Sequence[str], deed: str) -> None:
        for name in names:
            work.deaths[name] += 1
            if work.deaths[name] < self.patience.deaths:
                continue
            why = f"{work.job.lines(work.tasks[name])}, {deed.format(work.deaths[name])}"
            self.workspace.journal.log("poison", shard=work.tasks[name].shard, why=why)
            if self.patience.poison == "stop":
                raise InputError(
                    f"{why}; look at these lines, or go on without them (poison=skip): what is done is kept"
                )
            work.skipped.add(name)
            self.skipped.append(why)

    def _damaged(self, work: _Work, name: str, error: StoreError) -> None:
        """Remove a damaged result, and let its task be done again."""
        task = work.tasks[name]
        self.workspace.journal.log("damaged", shard=task.shard, why=str(error))
        work.tries[name] += 1
        if work.tries[name] > self.patience.tries:
            raise error
        self.workspace.place.result(name).unlink(missing_ok=True)
        work.done.discard(name)
        work.again([name])


@dataclass(slots=True)
class _Work:
    """The state of the present job: its tasks by name, and the names that are waiting, done or skipped."""

    job: Job
    tasks: dict[str, Task]
    loyal: bool
    waiting: deque[str] = field(default_factory=deque)
    done: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    deaths: Counter[str] = field(default_factory=Counter)  # workers that a task killed, or held beyond the deadline
    tries: Counter[str] = field(default_factory=Counter)  # failures of a task that are no deaths
    back: set[str] = field(default_factory=set)  # tasks that have waited more than once
    idle: float | None = None  # since when no worker has been usable

    def take(self, worker: str, workers: Mapping[str, _Worker], homes: Mapping[tuple[str, int], str]) -> str | None:
        """Take the next task for this worker, or None.

        A loyal shard stays with its worker, unless that worker is gone, or has more shards a thread than this one.
        """
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
        """Let these tasks wait again, before all others."""
        self.back.update(names)
        self.waiting.extendleft(reversed([name for name in names if name in self.tasks and name not in self.waiting]))

    def finish(self, name: str) -> None:
        self.done.add(name)
        if name in self.back and name in self.waiting:  # a late worker has done it after all
            self.waiting.remove(name)
