"""Tasks: pure functions of their inputs, which can therefore run anywhere, at any time, and more than once.

A task names its function, its settings, the hashes of its input files, and its segments. A hash of all of these names
its result, which is one file that is written whole or not at all.
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
from typing import Any, Generic, NamedTuple, TypeVar

from rampion import __version__, _kernels
from rampion.errors import InputError, RampionError

# The function of a task: (input files by role, settings, span of segments, path of the result). It raises RampionError
# if the input is wrong.
Work = Callable[[Mapping[str, Path], Mapping[str, Any], tuple[int, int], Path], None]
T = TypeVar("T")


class Task(NamedTuple):
    """A function to run on the segments span[0] .. span[1] - 1, with its settings (JSON) and inputs (role, blob)."""

    work: str  # module:function
    settings: str
    inputs: tuple[tuple[str, str], ...]
    shard: int
    span: tuple[int, int]

    @property
    def name(self) -> str:
        """The name of its result: a hash of the task and of Rampion's version."""
        facts = json.dumps([__version__, *self])
        return hashlib.sha256(facts.encode()).hexdigest()[:32]

    @property
    def items(self) -> int:
        return self.span[1] - self.span[0]


class Place(NamedTuple):
    """The paths of inputs and results. A worker must find the same token there, and have this version and kernels."""

    folder: str
    token: str
    version: str
    kernels: str

    @classmethod
    def of(cls, folder: Path, token: str) -> Place:
        return cls(str(folder), token, __version__, _kernels.NAME)

    @property
    def shared(self) -> bool:
        """Whether this process sees the folder: the file `token` has the expected content."""
        try:
            return Path(self.folder, "token").read_text() == self.token
        except OSError:
            return False

    def blob(self, name: str) -> Path:
        return Path(self.folder, "blobs", name)

    def proved(self, name: str) -> Path:
        """The blob. One that is a link leads to a file of others, whose content must be what the name says."""
        blob = self.blob(name)
        if blob.is_symlink():
            try:
                found = os.stat(blob)
            except OSError as error:
                raise InputError(f"{os.readlink(blob)}: cannot be read: {error.strerror}") from error
            seen = (str(blob), found.st_ino, found.st_size, found.st_mtime_ns)
            if seen not in _PROVED:
                if fingerprint(blob) != name:
                    raise InputError(f"{os.readlink(blob)}: has changed since the run took it; put it back, and go on")
                _PROVED.add(seen)
        return blob

    def result(self, name: str) -> Path:
        return Path(self.folder, "results", name)


def fingerprint(path: Path) -> str:
    """The name of a file's content: the first 32 hexadecimal digits of its SHA-256."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


_PROVED = set[tuple[str, int, int, int]]()  # files whose content this process knows: path, inode, size and time
_LOCK = threading.Lock()
_KEPT: dict[str, dict[Callable[[], Any], Any]] = {}  # what `kept` caches, by the folder of the results


def kept(out: Path, make: Callable[[], T]) -> T:
    """The cached result of make() in this process, for all tasks of the run whose results stand beside `out`."""
    with _LOCK:
        shelf = _KEPT.setdefault(str(out.parent), {})
        if make not in shelf:
            shelf[make] = make()
        found: T = shelf[make]
        return found


class Latest(Generic[T]):
    """The last value that was made, by its name; it is dropped before the next one is made, so memory holds one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = dict[str, T]()

    def get(self, name: str, make: Callable[[], T]) -> T:
        """The value of this name; other threads wait while it is made."""
        with self._lock:
            if name not in self._known:
                self._known.clear()
                self._known[name] = make()
            return self._known[name]


def forget(folder: Path) -> None:
    """Drop this process's cache of a finished run, named by its results folder."""
    with _LOCK:
        _KEPT.pop(str(folder), None)


class Answer(NamedTuple):
    """The outcome of a task, as a worker reports it.

    kind     one of
             done     the result file exists
             refused  the worker has another version of Rampion, or does not see the folder
             trouble  the worker has a problem, such as a full disk; another worker may succeed
             wrong    the input is wrong, on every worker; the message is the class of the error, a colon, its sentence
             broken   the function has a defect; the message is a traceback
    name     the task
    message  why, unless it is done
    seconds  the time that it took, if it is done
    """

    kind: str
    name: str
    message: str = ""
    seconds: float = 0.0


def performed(task: Task, name: str, place: Place, out: Path) -> Answer:
    """Run the task in this process, unless its result exists, and return the answer. Other versions are refused."""
    if (place.version, place.kernels) != (__version__, _kernels.NAME):
        found, wanted = (f"Rampion {v} with {k} kernels" for v, k in ((__version__, _kernels.NAME), place[2:]))
        return Answer("refused", name, f"has {found}, and the run is of {wanted}; install that there")
    start = time.perf_counter()
    try:
        if not out.exists():
            module, _, function = task.work.partition(":")
            work: Work = getattr(import_module(module), function)
            inputs = {role: place.proved(blob) for role, blob in task.inputs}
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
