"""A lock on run folders: only one process may write into a folder; readers are never blocked.

The file `lock` in the folder names the writing process, which holds a lock of the operating system on the file as long
as it lives. So the lock of a dead process is free, and the next process can be sure that nobody is writing.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypedDict

from rampion.errors import InputError
from rampion.formats.files import swept
from rampion.system import alive, locked
from rampion.typed import misfit

NAME = "lock"
_HELD = set[str]()  # folders that this process owns


class Owner(TypedDict):
    """The process that writes a run."""

    host: str
    process: int
    since: str


@contextmanager
def owned(folder: Path, tell: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Own the folder, and make it if it is missing; remove what a dead owner has left unfinished.

    Within a folder that this process owns already, nothing happens.
    """
    name = os.path.realpath(folder)
    if name in _HELD:
        yield
        return
    fresh = not folder.exists()
    handle = _taken(folder, tell)
    _HELD.add(name)
    try:
        swept(folder)
        yield
    finally:
        _HELD.discard(name)
        with suppress(OSError):
            os.unlink(folder / NAME)
        os.close(handle)
        if fresh:
            with suppress(OSError):
                folder.rmdir()  # if it is still empty


def _taken(folder: Path, tell: Callable[[str], None]) -> int:
    """An open file that holds the lock."""
    made(folder)
    path = folder / NAME
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error
        try:
            free, before = _locked(handle), _owner(handle)
            if not free or (before and before["host"] != platform.node()):
                raise InputError(_refusal(folder, before))
            if _same(handle, path):
                if before:
                    tell(f"{folder}: process {before['process']}, which wrote here, has ended; its lock is taken over")
                _sign(handle, path)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # another process has removed it since: try again


def made(folder: Path) -> None:
    """Make the folder of a run if it is not there."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; --out names the folder of the run")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error


def _locked(handle: int) -> bool:
    """Whether this process has the lock. Without locks in the file system the content of the file decides."""
    try:
        return locked(handle)
    except OSError:
        owner = _owner(handle)
        return owner is None or owner["host"] != platform.node() or not alive(owner["process"])


def _owner(handle: int) -> Owner | None:
    """The owner that the file names, if it names one."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        found: Owner = json.loads(os.read(handle, 4096))
    except (ValueError, RecursionError):
        return None
    return None if misfit(found, Owner) else found


def _same(handle: int, path: Path) -> bool:
    """Whether the locked file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _sign(handle: int, path: Path) -> None:
    owner = Owner(host=platform.node(), process=os.getpid(), since=time.strftime("%Y-%m-%d %H:%M:%S"))
    try:
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, json.dumps(owner).encode() + b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _refusal(folder: Path, owner: Owner | None) -> str:
    if owner is None:
        return f"{folder}: another process is writing there; wait until it has ended, or name another folder"
    who = f"process {owner['process']}" + (f" on {owner['host']}" if owner["host"] != platform.node() else "")
    gone = f", or remove {folder / NAME} if it is gone" if owner["host"] != platform.node() else ""
    return f"{folder}: {who} has been writing there since {owner['since']}; wait, or name another folder{gone}"
