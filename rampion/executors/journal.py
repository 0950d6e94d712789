"""A journal: an append-only log of events, a line each, with a checksum. A line that a kill cut off is ignored."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

from rampion.errors import InputError
from rampion.typed import misfit

Entry = dict[str, Any]


class Event(TypedDict):
    """What every event has."""

    time: float
    event: str


class Opened(TypedDict):
    """A coordinator is at work."""

    process: int


class Begun(TypedDict):
    """A job has begun."""

    job: str
    tasks: int
    items: int
    done: int


class Done(TypedDict):
    """A worker has done a task."""

    worker: str
    items: int
    seconds: float


class Joined(TypedDict):
    """A worker is there."""

    worker: str


class Fault(TypedDict, total=False):
    """Something went wrong."""

    worker: str
    why: str


FAULTS = ("lost", "late", "trouble", "damaged", "refused", "poison")
EVENTS: dict[str, Any] = {
    "opened": Opened,
    "job": Begun,
    "done": Done,
    "joined": Joined,
    **dict.fromkeys(FAULTS, Fault),
}


class Journal:
    """A file of events. A line is a CRC-32, a blank, and JSON with the time, the kind of event, and its facts."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def log(self, event: str, **facts: Any) -> None:
        content = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, ensure_ascii=False).encode()
        line = b"%08x %b\n" % (zlib.crc32(content), content)
        try:
            with open(self.path, "ab") as file:
                if torn(file.fileno(), self.path):
                    line = b"\n" + line
                file.write(line)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}; what is done is kept") from error

    def entries(self) -> Iterator[Entry]:
        """All events in order. Lines that are cut off, or whose checksum is wrong, are skipped."""
        return (entry for _, entry in self._lines() if entry is not None)

    def damaged(self) -> list[int]:
        """The numbers of the damaged lines, counted from 1."""
        return [number for number, entry in self._lines() if entry is None]

    def _lines(self) -> Iterator[tuple[int, Entry | None]]:
        try:
            with open(self.path, "rb") as file:
                for number, line in enumerate(file, 1):
                    if line != b"\n":
                        yield number, parsed(line)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror}") from error


def parsed(line: bytes) -> Entry | None:
    """The event of a line, or None if the line is damaged."""
    crc, blank, content = line.partition(b" ")
    if not blank or not content.endswith(b"\n") or crc != b"%08x" % zlib.crc32(content[:-1]):
        return None
    try:
        entry: Entry = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if misfit(entry, Event) or misfit(entry, EVENTS.get(entry["event"], Event)):
        return None
    return entry


def torn(handle: int, path: Path) -> bool:
    """Whether the file ends within a line."""
    size = os.fstat(handle).st_size
    if not size:
        return False
    with open(path, "rb") as file:
        file.seek(size - 1)
        return file.read(1) != b"\n"
