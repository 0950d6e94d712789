"""What runs on Dask's side: tasks on workers, and a depot on the scheduler for those who do not see the run's folder.

The depot takes and gives files of the run piece by piece, by names that are hashes, so that no path goes over the net.
On a node they stand once, in a folder of their own, whichever worker fetched them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Scheduler, Worker, get_worker
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.utils import sync

from rampion.errors import RampionError
from rampion.executors.tasks import Answer, Place, Task, forget, performed
from rampion.executors.workspace import fingerprint
from rampion.formats.files import replacing

PIECE = 4 << 20
HERE = "in the depot"  # told of a result
SPARE = 1 << 28  # bytes of the scheduler's disk that are left alone
NAME = re.compile(r"[0-9a-f]{32}")

Call = Callable[..., Any]  # of the depot: its verb, then what it takes


class Depot(SchedulerPlugin):  # type: ignore[misc]
    """Files on the scheduler, for as long as the run has it."""

    name = "rampion-depot"

    def start(self, scheduler: Scheduler) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rampion-depot-"))
        for verb in ("put", "take", "drop", "held"):
            scheduler.handlers[f"rampion_{verb}"] = getattr(self, verb)

    async def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def put(self, name: str, writer: str, offset: int, piece: bytes, last: bool) -> str:
        """Take the next piece of a file; the answer is what is wrong with it."""
        if not NAME.fullmatch(name) or not NAME.fullmatch(writer) or len(piece) > PIECE:
            return "that is no file of a run"
        draft = self.folder / f"{name}.{writer}"
        if shutil.disk_usage(self.folder).free < SPARE + len(piece):
            draft.unlink(missing_ok=True)
            return f"{os.strerror(errno.ENOSPC)} on the scheduler"
        with open(draft, "ab" if offset else "wb") as file:
            if file.tell() != offset:
                return "a piece of the file is missing"
            file.write(piece)
        if last:
            os.replace(draft, self.folder / name)
        return ""

    def take(self, name: str, offset: int) -> bytes | None:
        """A piece of a file, b"" at its end; None if it is not here."""
        if not NAME.fullmatch(name) or not (path := self.folder / name).exists():
            return None
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(PIECE)

    def drop(self, name: str) -> None:
        """The file is no longer needed; "" is all of them."""
        for path in self.folder.iterdir() if not name else [self.folder / name] if NAME.fullmatch(name) else []:
            path.unlink(missing_ok=True)

    def held(self) -> list[str]:
        """The names of all files."""
        return [path.name for path in self.folder.iterdir() if NAME.fullmatch(path.name)]


def upload(call: Call, path: Path, name: str, writer: str) -> None:
    """Put a file into the depot."""
    with open(path, "rb") as file:
        piece, offset, more = file.read(PIECE), 0, True
        while more:
            following = file.read(PIECE)
            more = bool(following)
            if trouble := call("put", name=name, writer=writer, offset=offset, piece=piece, last=not more):
                raise OSError(errno.EIO, trouble, str(path))
            offset += len(piece)
            piece = following


def download(call: Call, name: str, path: Path) -> None:
    """Write a file of the depot to the path, whole or not at all."""
    offset = 0
    with replacing(path) as file:
        while piece := call("take", name=name, offset=offset):
            file.write(piece)
            offset += len(piece)
        if piece is None:
            raise OSError(errno.ENOENT, "neither the folder of the run nor its depot has this file", name)


def perform(task: Task, name: str, place: Place, topic: str) -> None:
    """On a worker: do the task, and tell the run how it went."""
    worker = get_worker()
    try:
        answer = _performed(worker, task, name, place)
    except (OSError, RampionError) as error:
        answer = Answer("trouble", name, str(error))
    except Exception:
        answer = Answer("broken", name, traceback.format_exc())
    worker.log_event(topic, {"worker": worker.address, "answer": list(answer)})


def _performed(worker: Worker, task: Task, name: str, place: Place) -> Answer:
    if place.shared:
        inputs = {role: place.blob(blob) for role, blob in task.inputs}
        return performed(task, name, place, inputs, place.result(name))

    def call(verb: str, **facts: Any) -> Any:
        return sync(worker.loop, getattr(worker.scheduler, f"rampion_{verb}"), **facts)

    folder, wanted = node_folder(place.token), {blob for _, blob in task.inputs}
    with locked(folder):
        held = _held(call)  # what other tasks of the run may want is among it
        if held is None or not wanted <= held:
            return Answer("blind", name)
        for path in folder.glob("[0-9a-f]*"):
            if path.name not in held:
                path.unlink(missing_ok=True)  # who still reads it keeps it
        for blob in wanted:
            if not (folder / blob).exists():
                download(call, blob, folder / blob)
                if fingerprint(folder / blob) != blob:
                    (folder / blob).unlink()
                    raise OSError(errno.EIO, "arrived damaged", blob)
    out = folder / f"result-{worker.id.replace('/', '-')}-{name}"
    try:
        answer = performed(task, name, place, {role: folder / blob for role, blob in task.inputs}, out)
        if answer.kind == "done":
            upload(call, out, name, os.urandom(16).hex())
            answer = answer._replace(told=HERE)
    finally:
        out.unlink(missing_ok=True)
    return answer


def _held(call: Call) -> set[str] | None:
    """What the depot has; None if there is no depot."""
    try:
        return set(call("held"))
    except Exception:  # the scheduler knows no such call
        return None


def node_folder(token: str) -> Path:
    """The folder of a run on this machine, which nobody else can write to."""
    folder = Path(tempfile.gettempdir(), f"rampion-{os.getuid()}-{token[:16]}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise OSError(errno.EPERM, "belongs to somebody else", str(folder))
    return folder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Alone among the workers of this machine."""
    with open(folder / ".lock", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cleared(place: Place) -> None:
    """On a worker: the run is over."""
    folder = node_folder(place.token)
    forget(folder)
    forget(Path(place.folder, "results"))
    shutil.rmtree(folder, ignore_errors=True)
