"""Work for executors under test: it squares numbers, and does what it is told to do wrong on the way."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

import errands
import numpy as np

from rampion.errors import InputError
from rampion.executors import Coordinator, Job, Patience, Task
from rampion.executors.local import Local
from rampion.formats import container

FAULTS = ("kill", "poison", "hang", "late", "full", "wrong", "broken")


def tasks(count, faults=None, seconds=0.0, folder=None, inputs=()):
    """Tasks of ten segments each; faults are kinds, and the shards that have them; their folder remembers."""
    settings = '{"faults": %s, "folder": "%s", "seconds": %s}' % (  # noqa: UP031 - braces are JSON's
        str(faults or {}).replace("'", '"'),
        folder or "",
        seconds,
    )
    return [Task("errands:square", settings, tuple(inputs), n, (10 * n, 10 * n + 10)) for n in range(count)]


def square(files, settings, span, out):
    """The squares of the span, each plus what stands in the input, if there is one."""
    for kind, shards in settings["faults"].items():
        if span[0] // 10 in shards:
            mark = Path(settings["folder"], f"{kind}-{span[0] // 10}")
            first = not mark.exists()
            mark.touch()
            if first or kind in ("poison", "wrong", "broken"):
                _fail(kind, out)
    time.sleep(settings["seconds"])
    more = container.opened(files["more"], "more")[0]["more"] if "more" in files else np.zeros(1)
    container.write(out, "squares", {"squares": np.arange(*span) ** 2.0 + more}, {})


def _fail(kind, out):
    if kind in ("kill", "poison"):
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "hang":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "late":
        time.sleep(3)
    elif kind == "full":  # the system refuses to write so much: as on a full disk, in the middle of a file
        limit = 1 << 14  # that no journal of a test reaches, which another thread may be writing
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            container.write(out, "squares", {"squares": np.zeros(limit)}, {})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    elif kind == "wrong":
        raise InputError("line 7 has no number; expected one")
    else:
        raise ZeroDivisionError("a defect")


def read(path):
    return container.opened(path, "squares")[0]["squares"].copy()


def expected(count, more=0.0):
    return [np.arange(10 * n, 10 * n + 10) ** 2.0 + more for n in range(count)]


def same(found, wanted):
    return len(found) == len(wanted) and all(map(np.array_equal, found, wanted))


def answers(room, tasks, executor=None, patience=None, **more):
    with Coordinator(executor or Local(2), room, patience or Patience(deadline=60)) as coordinator:
        return list(coordinator.answers(Job("squares", "numbers.txt"), tasks, errands.read, **more))


def events(room, kind):
    return [entry for entry in room.journal.entries() if entry["event"] == kind]
