"""Tasks: what may be done anywhere, because what it answers follows from what it is given and from nothing else.

A task names its work, its settings, its input files by what they hold, and its segments; a hash of all of that names
its result, one file, which appears whole or not at all. So who did it, when, and how often, makes no difference.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rampion import __version__, _kernels
from rampion.errors import RampionError

# (files by role, settings, segments, where the result goes); raises RampionError if the input is wrong
Work = Callable[[Mapping[str, Path], Mapping[str, Any], tuple[int, int], Path], None]
T = TypeVar("T")


class Task(NamedTuple):
    """Work on the segments from span[0] to span[1] - 1; settings are JSON, inputs are roles and names of blobs."""

    work: str  # module:function
    settings: str
    inputs: tuple[tuple[str, str], ...]
    shard: int
    span: tuple[int, int]

    @property
    def name(self) -> str:
        """Of its result."""
        facts = json.dumps([__version__, *self])
        return hashlib.sha256(facts.encode()).hexdigest()[:32]

    @property
    def items(self) -> int:
        return self.span[1] - self.span[0]


class Place(NamedTuple):
    """Where inputs are and results go, and who asks; what a worker must find to share the folder."""

    folder: str
    token: str
    version: str
    kernels: str

    @classmethod
    def of(cls, folder: Path, token: str) -> Place:
        return cls(str(folder), token, __version__, _kernels.NAME)

    @property
    def shared(self) -> bool:
        """Whether this process sees the folder."""
        try:
            return Path(self.folder, "token").read_text() == self.token
        except OSError:
            return False

    def blob(self, name: str) -> Path:
        return Path(self.folder, "blobs", name)

    def result(self, name: str) -> Path:
        return Path(self.folder, "results", name)


_LOCK = threading.Lock()
_KEPT: dict[str, dict[Callable[[], Any], Any]] = {}  # by the folder of the results


def kept(out: Path, make: Callable[[], T]) -> T:
    """What work in this process keeps for later tasks of a run, to be quicker; its result goes to `out`."""
    with _LOCK:
        shelf = _KEPT.setdefault(str(out.parent), {})
        if make not in shelf:
            shelf[make] = make()
        found: T = shelf[make]
        return found


def forget(folder: Path) -> None:
    """The run whose results went to the folder needs nothing more of what was kept."""
    with _LOCK:
        _KEPT.pop(str(folder), None)


class Answer(NamedTuple):
    """How a task went.

    done     its result stands
    refused  this worker is of another version, or does not see the folder
    trouble  of this worker, such as a full disk: another may do it
    wrong    as it would be anywhere: the kind of error, a colon, its sentence
    broken   a defect of the work itself
    """

    kind: str
    name: str
    told: str = ""
    seconds: float = 0.0


def performed(task: Task, name: str, place: Place, inputs: Mapping[str, Path], out: Path) -> Answer:
    """Do it here, unless it has been done; another version would give it another name."""
    if (place.version, place.kernels) != (__version__, _kernels.NAME):
        found, wanted = (f"Rampion {v} with {k} kernels" for v, k in ((__version__, _kernels.NAME), place[2:]))
        return Answer("refused", name, f"has {found}, and the run is of {wanted}; install that there")
    start = time.perf_counter()
    try:
        if not out.exists():
            module, _, function = task.work.partition(":")
            work: Work = getattr(import_module(module), function)
            work(inputs, json.loads(task.settings), task.span, out)
    except RampionError as error:
        if isinstance(error.__cause__, OSError):
            return Answer("trouble", name, str(error))
        return Answer("wrong", name, f"{type(error).__name__}:{error}")
    except OSError as error:
        return Answer("trouble", name, f"{error.filename or 'a file'}: {error.strerror}")
    except MemoryError:
        return Answer("trouble", name, os.strerror(errno.ENOMEM))
    except Exception:
        return Answer("broken", name, traceback.format_exc())
    return Answer("done", name, seconds=time.perf_counter() - start)
