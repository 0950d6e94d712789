"""Rows of a file of records of any format. Bad records become one sentence with their line, or are skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rampion.errors import FormatError, InputError
from rampion.formats.files import FilePath, Remark, Skipped, shown
from rampion.store import gaps
from rampion.store.columns import Columns
from rampion.store.names import Labels
from rampion.store.readings import WrongError
from rampion.store.records import Builder
from rampion.store.rows import Rows

_RUN = 10_000  # candidates that make a run of rows
Found = TypeVar("Found")


@dataclass(slots=True)
class Collected:
    """The rows of a file, its references by segment, and notices about it."""

    rows: list[Rows]
    order: NDArray[np.int64] | None  # for a table with a candidate a row, the row of every candidate
    refs: dict[str, list[str]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def collect(
    path: FilePath,
    records: Iterable[tuple[int, Any]],
    labels: Labels,
    skipped: Skipped | None = None,
    columns: Columns | None = None,
) -> Collected:
    """The candidates of all records. A bad one is an error, or, with `skipped`, left out and counted."""
    builder, found, remarks = Builder(labels, shown(path), columns), list[Rows](), Counter[str]()
    for line, record in records:
        if isinstance(record, Remark):
            remarks[record] += 1
            continue
        try:
            if isinstance(record, WrongError):
                raise record
            builder.take(record, line)
        except WrongError as wrong:
            error = FormatError.at(shown(path), line, str(wrong))
            if skipped is None:
                raise error from wrong
            skipped.add(error)
        if len(builder.texts) >= _RUN and not builder.flat:
            found.append(_proved(path, builder.rows))
    if builder.texts:
        found.append(_proved(path, builder.rows))
    if not builder.seen:
        raise FormatError(f"{shown(path)}: holds no candidates")
    _proved(path, builder.prove)
    try:
        rows, notices = gaps.filled(found, labels.features, builder.whole)
    except InputError as error:
        raise InputError(f"{shown(path)}: {error}") from error
    return Collected(
        rows,
        builder.order if builder.flat else None,
        builder.refs,
        [f"{shown(path)}: {notice}" for notice in [*builder.notices(), *_said(remarks, builder), *notices]],
    )


def _said(remarks: Counter[str], builder: Builder) -> list[str]:
    return [f"{count} of {len(builder.seen)} lists {remark}" for remark, count in remarks.items()]


def _proved(path: FilePath, what: Callable[[], Found]) -> Found:
    """The result of a call; errors get the file, and the line if it is known."""
    try:
        return what()
    except WrongError as wrong:
        if wrong.at is None:
            raise FormatError(f"{shown(path)}: {wrong}") from wrong
        raise FormatError.at(shown(path), wrong.at, str(wrong)) from wrong
