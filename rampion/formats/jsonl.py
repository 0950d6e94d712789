"""JSONL lists, one segment a line: {"id": "7", "hyps": [{"text": "…", "feats": {"LM": -3.5}}]} (docs/formats.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from rampion.errors import FormatError
from rampion.formats.files import FilePath, Skipped, lines, replacing, shown
from rampion.store.lists import Rows
from rampion.store.names import Labels
from rampion.store.records import Builder, WrongError, records_of
from rampion.store.text import References, Texts

_RUN = 10_000  # hypotheses that make a run of rows


def read(
    path: FilePath, labels: Labels, skipped: Skipped | None = None, referred: list[tuple[int, Any]] | None = None
) -> Iterator[Rows]:
    """The candidates, whole segments at a time. A bad line is an error, or, with `skipped`, left out and counted.

    What records say of references is added to `referred`, with the number of their line; nobody has looked at it yet.
    """
    builder = Builder(labels, shown(path))
    for line, text in lines(path, skipped):
        if not text:
            continue
        try:
            record = parsed(text)
            builder.add(record)
            if referred is not None and "refs" in record:
                referred.append((line, {"id": record["id"], "refs": record["refs"]}))
        except WrongError as wrong:
            error = FormatError.at(shown(path), line, str(wrong))
            if skipped is None:
                raise error from wrong
            skipped.add(error)
        if len(builder.texts) >= _RUN:
            yield builder.rows()
    if builder.texts:
        yield builder.rows()
    if not builder.seen:
        raise FormatError(f"{shown(path)}: holds no candidates")


def write(path: FilePath, runs: Iterable[Rows], names: Texts, references: References | None = None) -> None:
    """Write the candidates, and the references of their segments if given; feature j is called names[j]."""
    given = iter(references or ())
    with replacing(path) as file:
        for rows in runs:
            for record in records_of(rows, names):
                if references is not None:
                    record["refs"] = next(given)
                file.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def parsed(text: str) -> Any:
    """The value of one line."""
    try:
        return json.loads(text, parse_constant=_no_number, object_pairs_hook=_distinct)
    except RecursionError as error:
        raise WrongError("is nested too deeply") from error
    except ValueError as error:
        raise WrongError(f"is not JSON: {error}") from error


def _no_number(text: str) -> NoReturn:
    raise WrongError(f"{text} is not a finite number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise WrongError("an object holds the same key twice")
    return found
