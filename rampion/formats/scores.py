"""A value for every candidate: a line or a JSON record each, or the scores that COMET prints or writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rampion.errors import FormatError
from rampion.formats import jsonl
from rampion.formats.files import FilePath, head, lines, shown
from rampion.store.readings import WrongError, finite, plain_text

_COMET = re.compile(r".*\tSegment \d+\tscore: (\S+)")
_KEYS = "score", "value", "COMET"


def read(path: FilePath, name: str) -> list[float]:
    """The numbers; NaN where a line is blank or stands for a missing value."""
    found = []
    for line, cell in _cells(path, name):
        try:
            found.append(finite(cell, name))
        except WrongError as wrong:
            raise FormatError.at(shown(path), line, str(wrong)) from wrong
    return found


def strings(path: FilePath, name: str) -> list[str]:
    """The values as strings."""
    found = []
    for line, cell in _cells(path, name):
        try:
            found.append("" if cell is None else plain_text(cell, name))
        except WrongError as wrong:
            raise FormatError.at(shown(path), line, str(wrong)) from wrong
    return found


def _cells(path: FilePath, name: str) -> Iterator[tuple[int, Any]]:
    """Every value with its line."""
    if jsonl.recognises(head(path)):
        for line, record in jsonl.records(path):
            if isinstance(record, WrongError):
                raise FormatError.at(shown(path), line, str(record))
            yield from ((line, cell) for cell in _of_record(path, line, record, name))
        return
    rows = list(lines(path))
    if printed := [(line, found[1]) for line, text in rows if (found := _COMET.fullmatch(text))]:
        yield from printed  # other lines are its log, and the scores of systems
        return
    first = rows[0][1].strip('"').lower() if rows else ""
    yield from rows[1:] if first in {name.lower(), *(key.lower() for key in _KEYS)} else rows


def _of_record(path: FilePath, line: int, record: Any, name: str) -> list[Any]:
    """The value of a record, or the values of all segments in a file that COMET writes by --to_json."""
    if not isinstance(record, dict):
        return [record]
    for key in (name, *_KEYS):
        if key in record:
            return [record[key]]
    rows = next(iter(record.values())) if len(record) == 1 else None
    if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        return [cell for row in rows for cell in _of_record(path, line, row, name)]
    raise FormatError.at(shown(path), line, f"has no {name!r}; it has {', '.join(record) or 'nothing'}")
