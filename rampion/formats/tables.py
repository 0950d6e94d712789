"""Tables with a candidate a row and names in the first one: CSV, TSV (docs/formats.md), and Parquet by pyarrow."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rampion.errors import FormatError, InputError
from rampion.formats.files import LONGEST_LINE, FilePath, Skipped, line_blocks, not_utf8, shown
from rampion.store.columns import GUESSED, PLAIN, Columns
from rampion.store.readings import WrongError

PARQUET = b"PAR1"
_DELIMITERS = "\t", ",", ";"


def recognises(head: bytes, columns: Columns) -> bool:
    """Whether the first line holds names of columns: one that the user gives, or a common one."""
    names = _names(head)
    return len(names) > 1 and bool(columns.roles().keys() & set(names) or _plain(names))


def names_references(head: bytes) -> bool:
    """Whether the first line names a column of names of segments, one of references, and none of candidates."""
    roles = [GUESSED.get(name) for name in _names(head)]
    return "id" in roles and "refs" in roles and "text" not in roles


def referred(row: dict[str, str]) -> list[str]:
    """The name of a segment, and its references."""
    name = next(one for one in PLAIN["id"] if one in row)
    return [row[name].strip(), *(cell.strip() for column, cell in row.items() if GUESSED.get(column) == "refs")]


def refuse(path: FilePath, head: bytes) -> None:
    """Raise FormatError if this looks like a table whose column names are not recognised."""
    names = _names(head)
    if len(names) > 1:
        some = ", ".join(names[:8])
        raise FormatError.at(
            shown(path),
            1,
            f"is no n-best list (id ||| text ||| features); if it is a table with the columns {some[:200]}, say what "
            "they hold: --columns id=COLUMN,text=COLUMN",
        )


def _plain(names: list[str]) -> bool:
    """Whether at least the columns of the text and of the segment have common names."""
    roles = {GUESSED.get(name) for name in names}
    return "text" in roles and bool(roles & {"id", "source"})


def _names(head: bytes) -> list[str]:
    line = head.split(b"\n", 1)[0].decode(errors="replace").strip("\r")
    delimiter = _delimiter(line)
    if not delimiter or "|||" in line:
        return []
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:  # a line of a table has no carriage return inside
        return []


def _delimiter(line: str) -> str:
    found = max(_DELIMITERS, key=line.count)
    return found if found in line else ""


def records(path: FilePath, skipped: Skipped | None = None) -> Iterator[tuple[int, Any]]:
    """Every row as a record, with the line where it begins."""
    csv.field_size_limit(LONGEST_LINE)
    rest = _lines(path)
    header = next(rest, "")
    delimiter = _delimiter(header)
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    if twice := sorted(name or "(none)" for name, times in Counter(names).items() if times > 1):
        raise FormatError.at(shown(path), 1, f"several columns have the name {', '.join(twice)}; give each its own")
    reader, line = csv.reader(rest, delimiter=delimiter, strict=True), 2
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FormatError.at(
                shown(path), line, f"is no row of a table: {error}; quote cells with quotes"
            ) from error
        if cells:
            yield line, (delimiter == "\t" and _swallowed(cells)) or _record(names, cells)
        line = reader.line_num + 2


def _record(names: list[str], cells: list[str]) -> Any:
    if len(cells) != len(names):
        return WrongError(f"has {len(cells)} cells, and the first line names {len(names)} columns; mend the row")
    return {name: cell for name, cell in zip(names, cells, strict=True) if name}  # a frame's index has no name


def _swallowed(cells: list[str]) -> WrongError | None:
    """What is wrong with a row whose cell has taken in the next row: it begins with a quote that is only a quote."""
    for cell in cells:
        if "\t" in cell and "\n" in cell:
            return WrongError(
                f'"{cell[:40]!r} begins with a quote and goes on in the next line, with its tabs; put the cell in '
                'quotes and write "" for each quote in it'
            )
    return None


def _lines(path: FilePath) -> Iterator[str]:
    """Every line with its end; a cell in quotes may have several."""
    for first, block in line_blocks(path):
        for number, line in enumerate(_split(block), first):
            try:
                yield line.decode()
            except UnicodeDecodeError as mistake:
                raise not_utf8(path, number, mistake) from mistake


def _split(block: bytes) -> list[bytes]:
    return [line + b"\n" for line in block[:-1].split(b"\n")]


def parquet(path: FilePath) -> Iterator[tuple[int, Any]]:
    """Every row of a Parquet file as a record."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise InputError(
            f"{shown(path)}: is a Parquet file; to read it, install pyarrow (pip install pyarrow)"
        ) from error
    row = 0
    try:
        with ParquetFile(path) as file:
            for batch in file.iter_batches():
                for record in batch.to_pylist():
                    row += 1
                    yield row, record
    except (ArrowException, OSError, ArithmeticError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{shown(path)}: is no Parquet file that pyarrow can read: {why}") from error
