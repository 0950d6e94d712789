"""Learning curves as pictures: SVG, or PNG by the name; matplotlib draws them (the extra `plot`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

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
    prove(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    if not lines:
        raise InputError(f"{path}: there is no curve to draw")
    with rc_context(STYLE):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.add_subplot()
        parts = [(name.rpartition(", ")[0] or name, name.rpartition(", ")[2]) for name in lines]
        firsts, lasts = (list(dict.fromkeys(column)) for column in zip(*parts, strict=True))
        for (name, points), (first, last) in zip(lines.items(), parts, strict=True):
            n = firsts.index(first)
            shown = [(at, value) for at, value in points if math.isfinite(value) and (value > 0 or not logarithmic)]
            axes.plot(
                [at for at, _ in shown],
                [value for _, value in shown],
                label=name,
                color=COLOURS[n % len(COLOURS)],
                linestyle=STROKES[lasts.index(last) % len(STROKES)],
                marker=MARKS[n % len(MARKS)],
                markersize=4,
                markevery=max(1, len(shown) // 15),
            )
        axes.set(title=title, xlabel=x, ylabel=y, yscale="log" if logarithmic else "linear")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.legend(frameon=False)
        kind = path.suffix[1:]
        with replacing(path) as file:
            figure.savefig(file, format=kind, dpi=144, metadata={"Date": None} if kind == "svg" else None)
