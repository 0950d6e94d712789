"""JSON lists: a record a line, an array of records, or one object (docs/formats.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rampion.errors import FormatError
from rampion.formats.files import FilePath, Skipped, UnwritableError, lines, replacing, shown
from rampion.store.readings import WrongError
from rampion.store.records import records_of
from rampion.store.rows import Rows
from rampion.store.text import References, Texts


def recognises(head: bytes) -> bool:
    """Whether the content begins like JSON."""
    return head.lstrip().startswith((b"{", b"["))


def records(path: FilePath, skipped: Skipped | None = None) -> Iterator[tuple[int, Any]]:
    """Every record with its line; for a bad line the error is in the record's place."""
    found = lines(path, skipped)
    for line, text in found:
        if not text:
            continue
        if text.startswith("[") or not text.endswith("}"):
            yield from _whole(path, line, [text, *(rest for _, rest in found)])
            return
        yield line, _parsed(text)
        break
    for line, text in found:
        if text:
            yield line, _parsed(text)


def write(path: FilePath, runs: Iterable[Rows], names: Texts, references: References | None = None) -> None:
    """Write the candidates, and the references of their segments if given; feature j is called names[j]."""
    given = iter(references or ())
    with replacing(path) as file:
        for rows in runs:
            for record in records_of(rows, names):
                if references is not None:
                    record["refs"] = next(given)
                    if not all(map(str.strip, record["refs"])):
                        raise UnwritableError(f"segment {record['id']}: a reference is blank; leave it out")
                try:
                    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
                except ValueError as error:
                    raise UnwritableError(
                        f"segment {record['id']}: a number is not finite, and JSON has none such"
                    ) from error
                file.write(line.encode() + b"\n")


def parsed(text: str) -> Any:
    """The value of one line."""
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise WrongError("is nested too deeply") from error
    except ValueError as error:
        raise WrongError(f"is not JSON: {error}") from error


def _parsed(text: str) -> Any:
    """The value of one line, or what is wrong with it."""
    try:
        return parsed(text)
    except WrongError as wrong:
        return wrong


def _whole(path: FilePath, first: int, texts: list[str]) -> Iterator[tuple[int, Any]]:
    """The records of a value that has lines: the elements of an array, or an object."""
    text, at, line = "\n".join(texts), 0, first
    if not text.startswith("["):
        yield first, _value(path, text, 0, first)[0]
        if rest := text[_value(path, text, 0, first)[1] :].strip():
            raise FormatError.at(
                shown(path), first, f"after the first object stands {rest[:60]!r}; write one on each line"
            )
        return
    place = 1
    while True:
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1
        line, at = line + text.count("\n", at, place), place
        if text[place : place + 1] == "]" or place >= len(text):
            break
        value, place = _value(path, text, place, line)
        yield line, value
    if text[place + 1 :].strip() or place >= len(text):
        found = (
            f"the array goes on with {text[place + 1 :].strip()[:60]!r}"
            if place < len(text)
            else "the array breaks off"
        )
        raise FormatError.at(shown(path), line, f"is not JSON: {found}; get the file again")


def _value(path: FilePath, text: str, place: int, line: int) -> tuple[Any, int]:
    """The value that begins at the place, and where it ends."""
    try:
        return _DECODER.raw_decode(text, place)
    except RecursionError as error:
        raise FormatError.at(shown(path), line, "is nested too deeply") from error
    except WrongError as wrong:
        raise FormatError.at(shown(path), line, str(wrong)) from wrong
    except json.JSONDecodeError as error:
        at = line + text.count("\n", place, error.pos)
        raise FormatError.at(shown(path), at, f"is not JSON: {error.msg}") from error
    except ValueError as error:
        raise FormatError.at(shown(path), line, f"is not JSON: {error}") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise WrongError("an object holds the same key twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)
