"""Readable tables and live rows, plain when nobody watches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import typer


def show(rows: Iterable[Sequence[Any]], head: Sequence[str], *, title: str = "", err: bool = False) -> None:
    """An aligned table: the first column to the left, numbers to the right."""
    text = [[_cell(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *text, strict=True)]
    if title:
        typer.secho(title, bold=True, err=err)
    typer.secho(_line(head, widths), dim=True, err=err)
    for row in text:
        typer.echo(_line(row, widths), err=err)


class Live:
    """A table whose rows are printed as they come."""

    def __init__(self, head: Sequence[str], widths: Sequence[int], err: bool) -> None:
        self.head, self.widths, self.err, self.begun = head, widths, err, False

    def row(self, cells: Sequence[Any]) -> None:
        if not self.begun:
            typer.secho(_line(self.head, self.widths), dim=True, err=self.err)
            self.begun = True
        typer.echo(_line([_cell(cell) for cell in cells], self.widths), err=self.err)


def show_json(facts: Any, *, err: bool = False) -> None:
    typer.echo(json.dumps(facts, ensure_ascii=False, indent=2), err=err)


def note(sentence: str) -> None:
    """A remark that is no result: to stderr."""
    typer.secho(f"rampion: {sentence}", err=True, dim=True)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))]).rstrip()


def _cell(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.2f}" if abs(cell) >= 1 or cell == 0 else f"{cell:.4f}"
    return str(cell)
