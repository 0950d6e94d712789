"""Curves and points as pictures: SVG, or PNG by the name; matplotlib draws them (the extra `plot`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rampion.errors import InputError
from rampion.formats.files import replacing

Points = Sequence[tuple[float, float]]

# Okabe & Ito's colours, told apart by all eyes; yellow is left out on white. Strokes and marks tell them apart in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
STROKES = ("-", "--", "-.", ":")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
# Files are equal for equal curves, and their words stay words.
STYLE = {"svg.hashsalt": "rampion", "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False}


def prove(path: Path) -> None:
    """Raise InputError unless a picture of that name can be drawn."""
    if not find_spec("matplotlib"):
        raise InputError(
            f"{path}: is not drawn, because matplotlib is not there; install the extra: pip install 'rampion[plot]'"
        )
    if path.suffix not in (".svg", ".png"):
        raise InputError(f"{path}: cannot be drawn; name a file that ends in .svg or .png")


def draw(
    path: Path,
    lines: Mapping[str, Points],
    title: str = "",
    x: str = "iteration",
    y: str = "BLEU",
    logarithmic: bool = False,
) -> None:
    """A line for each series of points. Names like `A, B` belong together: A has a colour and a mark, B a stroke.

    Values that are not finite, or not positive where the axis is logarithmic, have no place and are left out.
    """
    with _picture(path, bool(lines)) as axes:
        from matplotlib.ticker import MaxNLocator

        for name, points, first, last in _families(lines):
            shown = [(at, value) for at, value in points if math.isfinite(value) and (value > 0 or not logarithmic)]
            axes.plot(
                *_columns(shown),
                label=name,
                color=COLOURS[first % len(COLOURS)],
                linestyle=STROKES[last % len(STROKES)],
                marker=MARKS[first % len(MARKS)],
                markersize=4,
                markevery=max(1, len(shown) // 15),
            )
        axes.set(title=title, xlabel=x, ylabel=y, yscale="log" if logarithmic else "linear")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def scatter(path: Path, groups: Mapping[str, Points], title: str, x: str, y: str) -> None:
    """Points in groups. Names like `A, B` belong together: A has a colour, B a mark."""
    with _picture(path, bool(groups)) as axes:
        for name, points, first, last in _families(groups):
            colour, mark = COLOURS[first % len(COLOURS)], MARKS[last % len(MARKS)]
            axes.plot(*_columns(points), mark, label=name, color=colour, markersize=7, fillstyle="none")
        axes.set(title=title, xlabel=x, ylabel=y)


def _columns(points: Points) -> tuple[list[float], list[float]]:
    return [at for at, _ in points], [value for _, value in points]


def _families(series: Mapping[str, Points]) -> Iterator[tuple[str, Points, int, int]]:
    """Each series with the numbers of A and of B in its name `A, B`."""
    parts = [name.rpartition(", ")[::2] if ", " in name else (name, "") for name in series]
    firsts, lasts = (list(dict.fromkeys(column)) for column in zip(*parts, strict=True))
    for (name, points), (first, last) in zip(series.items(), parts, strict=True):
        yield name, points, firsts.index(first), lasts.index(last)


@contextmanager
def _picture(path: Path, something: bool) -> Iterator[Any]:
    """Axes to draw on, which are written when all is drawn."""
    prove(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    if not something:
        raise InputError(f"{path}: there is no curve to draw")
    with rc_context(STYLE):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.add_subplot()
        yield axes
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.legend(frameon=False)
        kind = path.suffix[1:]
        with replacing(path) as file:
            figure.savefig(file, format=kind, dpi=144, metadata={"Date": None} if kind == "svg" else None)
