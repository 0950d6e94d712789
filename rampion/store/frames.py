"""Candidates from data frames of any library. NumPy reads their columns by name, so no such library is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import ends
from rampion.errors import InputError
from rampion.store import gaps
from rampion.store.coded import Coded
from rampion.store.columns import GUESSED, INDEX
from rampion.store.names import Names
from rampion.store.rows import Rows
from rampion.store.text import Texts, blank


class Frame:
    """A data frame of pandas, Polars or PyArrow, or a dict of columns."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        for attribute in ("column_names", "columns", "keys"):
            if hasattr(frame, attribute):
                names = getattr(frame, attribute)
                self.names: list[str] = [str(name) for name in (names() if callable(names) else names)]
                return
        raise InputError(
            f"a {type(frame).__name__} is no data frame; give one of pandas, Polars or PyArrow, a dict of columns, or "
            "records to from_records"
        )

    def column(self, name: str) -> NDArray[Any]:
        """A column as an array."""
        if name not in self.names:
            raise InputError(f"the data frame has no column {name!r}; it has {', '.join(map(repr, self.names))}")
        return np.asarray(self.frame[name])

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers. One of objects does if any is a number; its other cells are missing."""
        column = self.column(name)
        return column.dtype.kind in "iufb" or (
            column.dtype.kind == "O" and any(isinstance(cell, Number) for cell in column if cell == cell)
        )

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers, NaN where one is missing."""
        column = self.column(name)
        if column.dtype.kind not in "iufb" and not self.is_numeric(name):
            raise InputError(f"the column {name!r} holds no numbers; name columns of numbers")
        numbers = np.array([_number(cell) for cell in column] if column.dtype.kind == "O" else column, np.float64)
        for row in np.flatnonzero(np.isposinf(numbers))[:1].tolist():
            raise InputError(f"row {row} of the column {name!r} is not finite; fill it in, or drop the row")
        return numbers

    def strings(self, name: str) -> list[str]:
        """A column of strings, or of whole numbers, which are written as strings."""
        column = self.column(name)
        if column.dtype.kind in "iu":
            return list(map(str, column.tolist()))
        cells = column.tolist()
        for row, cell in enumerate(cells):
            if not isinstance(cell, str):
                raise InputError(f"row {row} of the column {name!r} is {cell!r}; expected a string")
        return list(cells)

    def shown(self, name: str) -> list[str]:
        """A column of any type as strings, empty where a cell is missing."""
        return ["" if cell is None or cell != cell else str(cell) for cell in self.column(name).tolist()]


def _number(cell: Any) -> float:
    return float(cell) if isinstance(cell, Number) else np.nan  # type: ignore[arg-type]


def rows_of_frame(
    frame: Any,
    names: Names,
    segment: str,
    text: str,
    features: Sequence[str] | None,
    metrics: Sequence[str],
    score: str | None,
    fields: Mapping[str, str],
) -> tuple[Rows, list[str]]:
    """The rows of a data frame, a candidate each, and notices about missing values. Features are added to `names`."""
    table = Frame(frame)
    taken = {segment, text, *metrics, *([score] if score else []), *fields.values()}
    told: list[str] = []
    if features is None:
        numbered = [name for name in table.names if name not in taken and table.is_numeric(name)]
        left = [name for name in numbered if GUESSED.get(name) == "target" or INDEX.fullmatch(name)]
        features = [name for name in numbered if name not in left]
        if left:
            told.append(f"no features, since they look like labels or an index: {', '.join(left)} (or: features=[…])")
    segments, texts = table.strings(segment), table.strings(text)
    numbers: dict[str, int] = {}
    owners = np.array([numbers.setdefault(one, len(numbers)) for one in segments], np.int64)
    order = np.argsort(owners, kind="stable")
    cells = [table.numbers(name)[order] for name in features]
    ids = names.intern_all(Texts.from_strings(features))
    count, width = len(texts), len(features)
    rows = Rows(
        segments=Texts.from_strings(numbers),
        bounds=ends(np.bincount(owners, minlength=len(numbers))),
        texts=Texts.from_strings(texts).take(order),
        entry_bounds=np.arange(count + 1) * width,
        ids=np.tile(ids, count).astype(np.uint32),
        values=np.stack(cells, axis=1).ravel() if cells else np.zeros(0),
        scores=table.numbers(score)[order] if score else np.full(count, np.nan),
        notes=blank(count),
        metrics={name: table.numbers(name)[order] for name in metrics},
        fields={role: Coded.from_strings(table.shown(name)).take(order) for role, name in fields.items()},
    )
    told += gaps.weights_told(rows)
    [rows], notices = gaps.filled([rows], names, frozenset(features))
    return rows, [*told, *notices]
