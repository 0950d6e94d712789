"""Readable tables and live rows; plain text where the output is not a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

    from rampion.metrics import Metric


def show(rows: Iterable[Sequence[Any]], head: Sequence[str], *, title: str = "", err: bool = False) -> None:
    """An aligned table: the first column and words to the left, numbers to the right."""
    columns = [_column(cells) for cells in zip(*rows, strict=True)] or [[] for _ in head]
    widths = [max(map(len, [name, *cells])) for name, cells in zip(head, columns, strict=True)]
    left = [place == 0 or any(cell[:1].isalpha() for cell in cells) for place, cells in enumerate(columns)]
    if title:
        typer.secho(title, bold=True, err=err)
    typer.secho(_line(head, widths, left), dim=True, err=err)
    for row in zip(*columns, strict=True):
        typer.echo(_line(row, widths, left), err=err)


def show_gains(
    metric: Metric, scores: Mapping[str, Sequence[float]], columns: Sequence[str] = ("score",), *, err: bool = False
) -> None:
    """A table of scores, with the difference of each from the first score of its column."""
    name, change = (metric.name, "gain") if metric.higher_is_better else (f"{metric.name} (less is better)", "change")
    places = _places(value for row in scores.values() for value in row)
    first = next(iter(scores.values()))
    rows = []
    for who, row in scores.items():
        pairs = zip(row, first, strict=True)
        rows.append([who, *(cell for value, base in pairs for cell in (value, f"{value - base:+.{places}f}"))])
    show(rows, [name, *(head for column in columns for head in (column, change))], err=err)


class Live:
    """A table whose rows are printed as they come."""

    def __init__(self, head: Sequence[str], widths: Sequence[int], err: bool) -> None:
        self.head, self.widths, self.err, self.begun = head, widths, err, False
        self.left = [place == 0 for place in range(len(head))]

    def row(self, cells: Sequence[str]) -> None:
        if not self.begun:
            typer.secho(_line(self.head, self.widths, self.left), dim=True, err=self.err)
            self.begun = True
        typer.echo(_line(cells, self.widths, self.left), err=self.err)


class Bar:
    """A progress bar over sentences; one bar serves several decodings in succession."""

    def __init__(self, bar: Progress, total: int) -> None:
        self.bar, self.task, self.total = bar, bar.add_task("decoding", total=total, rate=""), total
        self.before = self.last = 0
        self.speeds: Callable[[], Sequence[float]] = lambda: ()  # sentences a second of each worker

    def tick(self, done: int) -> None:
        """Report the number of decoded sentences. A smaller number than before begins the next decoding."""
        if done <= self.last:
            self.before += self.last
        self.last = done
        speed = self.bar.tasks[0].speed or 0.0
        rate = f"{speed:.0f} sentences/s" if speed else ""
        if speeds := self.speeds():
            shown = ", ".join(f"{each:.0f}" for each in speeds[:8]) + ", …" * (len(speeds) > 8)
            rate += f", {len(speeds)} workers at {shown}"
        completed = self.before + done
        self.bar.update(self.task, completed=completed, total=max(self.total, completed), rate=rate)

    def again(self) -> None:
        """Start again from 0."""
        self.before = self.last = 0
        self.bar.reset(self.task, total=self.total, rate="")


@contextmanager
def decoding(total: int) -> Iterator[Bar]:
    """A bar on a terminal with the speed in sentences a second and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal, redirect_stdout=sys.stdout.isatty()
    ) as bar:
        yield Bar(bar, total)


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each pass over the text, on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, Any] = {}

        def watch(title: str, done: int, total: int) -> None:
            if title not in tasks:
                tasks[title] = bar.add_task(title, total=total)
            bar.update(tasks[title], completed=done)

        yield watch


def show_json(facts: Any, *, err: bool = False) -> None:
    text = json.dumps(facts, ensure_ascii=False, indent=2)
    typer.echo("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text), err=err)


def note(sentence: str) -> None:
    """Print a remark to stderr; it is no result."""
    typer.secho(f"rampion: {plain(sentence)}", err=True, dim=True)


def plain(text: str) -> str:
    """The text with its control characters escaped, because text from files must not control the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def say(text: str) -> None:
    """Print lines that contain text from files, with control characters escaped."""
    typer.echo("\n".join(map(plain, text.split("\n"))))


def number(value: float) -> str:
    """One score as text: 38.47, or 0.8342 on a scale of 0 to 1."""
    return numbers([value])[0]


def numbers(values: Sequence[float]) -> list[str]:
    """Several scores as text, all with the same number of decimals."""
    return [f"{value:.{_places(values)}f}" for value in values]


def _places(values: Iterable[float]) -> int:
    """Decimals for numbers of one scale."""
    return 4 if max(map(abs, values)) < 2 else 2


def _column(cells: Sequence[Any]) -> list[str]:
    places = _places([0.0, *(cell for cell in cells if isinstance(cell, float))])
    return [f"{cell:.{places}f}" if isinstance(cell, float) else plain(str(cell)) for cell in cells]


def _line(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> str:
    padded = zip(map(plain, cells), widths, left, strict=True)
    return "  ".join(cell.ljust(width) if words else cell.rjust(width) for cell, width, words in padded).rstrip()
