"""Rows of a file of records, whatever wrote it: bad records become one sentence with their line, or are skipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.errors import FormatError
from rampion.formats.files import FilePath, Skipped, shown
from rampion.store import gaps
from rampion.store.columns import Columns
from rampion.store.names import Labels
from rampion.store.records import Builder, WrongError
from rampion.store.rows import Rows

_RUN = 10_000  # candidates that make a run of rows


@dataclass(slots=True)
class Collected:
    """The rows of a file, the references that it holds by segment, and what should be said of it."""

    rows: list[Rows]
    order: NDArray[np.int64] | None  # of a table, a candidate a row: the row of every candidate
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
    builder, found = Builder(labels, shown(path), columns), list[Rows]()
    for line, record in records:
        try:
            if isinstance(record, WrongError):
                raise record
            builder.take(record)
        except WrongError as wrong:
            error = FormatError.at(shown(path), line, str(wrong))
            if skipped is None:
                raise error from wrong
            skipped.add(error)
        if len(builder.texts) >= _RUN and not builder.flat:
            found.append(_rows(path, builder))
    if builder.texts:
        found.append(_rows(path, builder))
    if not builder.seen:
        raise FormatError(f"{shown(path)}: holds no candidates")
    rows, notices = gaps.filled(found, labels.features, builder.whole)
    return Collected(
        rows,
        builder.order if builder.flat else None,
        builder.refs,
        [f"{shown(path)}: {notice}" for notice in [*builder.notices(), *notices]],
    )


def _rows(path: FilePath, builder: Builder) -> Rows:
    try:
        return builder.rows()
    except WrongError as wrong:
        raise FormatError(f"{shown(path)}: {wrong}") from wrong
