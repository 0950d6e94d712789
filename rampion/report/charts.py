"""Charts as SVG, inside a page or as separate files. Lines differ in colour, stroke and mark.

Colours and strokes come from a style sheet: page.css in a page, STYLE in a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rampion.errors import InputError
from rampion.formats.files import replacing
from rampion.report.markup import Markup, folded, number, short, table, tag

HEIGHT = 300
LEFT, TOP, BOTTOM, INNER = 68, 14, 46, 382
LEADING = 15  # pixels between two labels
LETTER = 7.2  # about the greatest width of a letter, in pixels
COLOURS, STROKES = 6, 4
MARKS = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "M-3.2-3.2h6.4v6.4h-6.4z",
    "M0-4.2 4 3.2H-4z",
    "M0-4.6 4.6 0 0 4.6-4.6 0z",
    "M0 4.2 4-3.2H-4z",
    "M-4-1.3h2.7V-4h2.6v2.7H4v2.6H1.3V4h-2.6V1.3H-4z",
)


class Line(NamedTuple):
    """The points (x, y) of a line; `band` is the range of the runs around it, as (x, low, high)."""

    label: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()


class Scale(NamedTuple):
    """A linear map from values to pixels."""

    low: float
    high: float
    first: float
    last: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = map(math.log10, (self.low, self.high, value)) if self.logarithmic else (*self[:2], value)
        return round(self.first + (at - low) / (high - low) * (self.last - self.first), 1)

    def ticks(self) -> list[float]:
        if not self.logarithmic:
            return ticks(self.low, self.high)
        low, high = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**power for power in range(low, high + 1, max(1, (high - low) // 5))]


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high: 1, 2 or 5 times a power of ten apart."""
    step = 10 ** math.floor(math.log10((high - low) / most))
    step *= next(times for times in (1, 2, 5, 10, 20) if (high - low) / (times * step) <= most)
    return [round(n * step, 12) for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def brief(value: float) -> str:
    """The label of a tick, such as 250k or 1.5M."""
    if abs(value) >= 1e9 or abs(value) < 1e5:
        return short(value)
    return short(value / 1e6) + "M" if abs(value) >= 1e6 else short(value / 1e3) + "k"


def widened(values: Sequence[float]) -> tuple[float, float]:
    """The range of the values, with a margin on both sides."""
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    return low - room, high + room


class Frame(NamedTuple):
    """The size of a chart, which depends on the length of the labels to the right of the lines."""

    letters: int = 18  # longer labels are cut
    inside: bool = False  # a page, whose style says how large the chart is

    @classmethod
    def of_page(cls, labels: Iterable[str]) -> Frame:
        """A frame for these labels; if all are short, a telephone can show the whole chart."""
        return cls(10 if max(map(len, labels)) <= 8 else 18, inside=True)

    @property
    def right(self) -> int:
        """The x of the labels, in pixels."""
        return LEFT + INNER

    @property
    def width(self) -> int:
        return self.right + 20 + math.ceil(self.letters * LETTER)

    def cut(self, label: str) -> str:
        return label if len(label) <= self.letters else label[: self.letters - 1] + "…"


Groups = Mapping[str, Sequence[tuple[float, float]]]


def chart(title: str, lines: Sequence[Line], x: str, y: str) -> Markup:
    """A line chart; each line has its name at its end, and a folded table below shows the numbers."""
    lines = [line for line in lines if line.points]
    if not lines:
        return Markup()
    picture = _drawn_lines(title, lines, x, y, Frame.of_page(line.label for line in lines))
    return tag("figure", tag("figcaption", title), tag("div", picture, class_="wide"), _numbers(title, lines, x))


def scatter(title: str, groups: Groups, x: str, y: str) -> Markup:
    """A scatter plot of groups, with a legend. Of a name such as `A, B`, A chooses the colour and B the mark."""
    groups = {name: points for name, points in groups.items() if points}
    if not groups:
        return Markup()
    rows = [[name, number(a), number(b)] for name, points in groups.items() for a, b in points]
    numbers = folded("Numbers", table(title, ["", x, y], rows))
    picture = _drawn_groups(title, groups, x, y, Frame.of_page(groups))
    return tag("figure", tag("figcaption", title), tag("div", picture, class_="wide"), numbers)


def write_lines(
    path: Path, lines: Groups, title: str = "", x: str = "iteration", y: str = "BLEU", logarithmic: bool = False,
    whole: bool = True,
) -> None:  # fmt: skip
    """Write an SVG file with a line for each series of points. Values that the axis cannot show are left out.

    With `whole`, ticks of the x axis are whole numbers.
    """
    shown = [
        Line(name, kept)
        for name, points in lines.items()
        if (kept := [(at, v) for at, v in points if math.isfinite(v) and (v > 0 or not logarithmic)])
    ]
    frame = _frame(path, (line.label for line in shown))
    written(path, title, _drawn_lines(title, shown, x, y, frame, logarithmic, whole), frame)


def write_scatter(path: Path, groups: Groups, title: str, x: str, y: str) -> None:
    """Write an SVG file with groups of points."""
    groups = {name: points for name, points in groups.items() if points}
    frame = _frame(path, groups)
    written(path, title, _drawn_groups(title, groups, x, y, frame), frame)


def check_name(path: Path) -> None:
    """Raise InputError unless the file name ends in .svg."""
    if path.suffix != ".svg":
        raise InputError(f"{path}: pictures are SVG; name a file that ends in .svg")


def _frame(path: Path, labels: Iterable[str]) -> Frame:
    """The frame with space for the longest label."""
    check_name(path)
    if not (sizes := [len(label) for label in labels]):
        raise InputError(f"{path}: there is no curve to draw")
    return Frame(min(math.ceil(1.15 * max(*sizes, Frame().letters)), 70))


def written(path: Path, title: str, picture: Markup, frame: Frame, box: tuple[float, float] | None = None) -> None:
    """Write a chart with its title as an SVG file; its size is that of the frame, or of the box."""
    above, (width, height) = 24, box or (frame.width, HEIGHT)
    parts = [tag("style", Markup(STYLE)), tag("rect", width="100%", height="100%", class_="paper")]
    parts.append(tag("text", title, x=LEFT, y=18, class_="title"))
    whole = tag(
        "svg", *parts, tag("g", picture, transform=f"translate(0 {above})"), xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height + above}", width=width, height=height + above,
    )  # fmt: skip
    with replacing(path) as file:
        file.write(whole.encode() + b"\n")


# The colours of Okabe and Ito, which colour-blind readers can tell apart, darkened for legibility on white. Programs
# that show SVG outside a browser do not support CSS variables.
INKS = ("#0067a3", "#b94e00", "#007a5a", "#a34a80", "#1f7aae", "#956400")
STYLE = """
svg { font-family: system-ui, "Segoe UI", "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif; }
text { fill: #5a6168; font-size: 13px; }
.paper { fill: #ffffff; } .title { fill: #1b1f23; font-weight: 600; } .name { fill: #1b1f23; }
.grid { stroke: #e3e3e0; } .axis { stroke: #5a6168; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; } .leader { fill: none; opacity: 0.5; }
.s1 .line { stroke-dasharray: 6 4; } .s2 .line { stroke-dasharray: 8 3 2 3; } .s3 .line { stroke-dasharray: 2 3; }
.crowd { fill: #5a6168; opacity: 0.45; } .ruler { stroke: #5a6168; stroke-dasharray: 4 4; fill: none; }
.sure { fill: #0067a3; } .unsure { fill: #b9bec4; } .whisker { stroke: #1b1f23; stroke-width: 1.5; }
.pin { fill: #ffffff; stroke: #1b1f23; stroke-width: 0.9; }
.band { opacity: 0.16; } .mark { stroke: #ffffff; stroke-width: 1; } .label { font-weight: 600; }
""" + "".join(
    f".c{n} .line, .c{n} .leader {{ stroke: {ink}; }} .c{n} .band, .c{n} .mark, .c{n} .label {{ fill: {ink}; }}\n"
    for n, ink in enumerate(INKS)
)


def _families(names: Iterable[str]) -> list[tuple[int, int]]:
    """The numbers of A and of B in each name `A, B`. They choose the colour and the stroke (or the mark)."""
    parts = [name.partition(", ")[::2] for name in names]
    firsts, lasts = (list(dict.fromkeys(column)) for column in zip(*parts, strict=True))
    return [(firsts.index(first), lasts.index(last)) for first, last in parts]


def _drawn_lines(
    title: str, lines: Sequence[Line], x: str, y: str, frame: Frame, logarithmic: bool | None = None, whole: bool = True
) -> Markup:
    values = [value for line in lines for _, value in line.points]
    values += [value for line in lines for _, *both in line.band for value in both]
    if logarithmic is None:
        logarithmic = min(values) > 0 and max(values) / min(values) > 1000
    low, high = (min(values) / 1.5, max(values) * 1.5) if logarithmic else widened(values)
    places = [at for line in lines for at, _ in line.points]
    first, last = min(places), max(places)
    across = Scale(first, last if last > first else first + 1, LEFT, frame.right)
    down = Scale(low, high, HEIGHT - BOTTOM, TOP, logarithmic)
    labels = spread([(down(line.points[-1][1]), n) for n, line in enumerate(lines)])
    families = _families(line.label for line in lines)
    drawn = [_line(line, families[n], across, down, labels[n], frame) for n, line in enumerate(lines)]
    return svg(title, x, y, frame, [*axes(across, down, x, y, frame, whole), *drawn])


def _drawn_groups(title: str, groups: Groups, x: str, y: str, frame: Frame) -> Markup:
    xs, ys = (widened([point[axis] for points in groups.values() for point in points]) for axis in (0, 1))
    across, down = Scale(*xs, LEFT, frame.right), Scale(*ys, HEIGHT - BOTTOM, TOP)
    drawn = []
    for n, ((name, points), (first, last)) in enumerate(zip(groups.items(), _families(groups), strict=True)):
        mark, label = MARKS[last % len(MARKS)], TOP + (n + 0.5) * LEADING
        spots = [(across(a), down(b), tag("title", f"{name}: {number(a)}, {number(b)}")) for a, b in points]
        key = (frame.right + 10, label, tag("title", name))
        marks = [tag("g", tag("path", d=mark), told, transform=f"translate({a} {b})", class_="mark")
                 for a, b, told in (*spots, key)]  # fmt: skip
        text = tag("text", frame.cut(name), x=frame.right + 20, y=label, dy="0.35em", class_="label")
        drawn.append(tag("g", *marks, text, class_=f"series c{first % COLOURS} s0"))
    return svg(title, x, y, frame, [*axes(across, down, x, y, frame, whole=False), *drawn])


def svg(title: str, x: str, y: str, frame: Frame, parts: Sequence[Markup]) -> Markup:
    """The picture of a chart, as wide as its frame."""
    said = f"{title}: {y} by {x}; the numbers are in the table below" if frame.inside else f"{title}: {y} by {x}"
    box = f"0 0 {frame.width} {HEIGHT}"
    return tag(
        "svg", *parts, viewBox=box, width=None if frame.inside else frame.width,
        height=None if frame.inside else HEIGHT, role="img", class_="chart" if frame.letters < 12 else "chart long",
        aria_label=said,
    )  # fmt: skip


def charts(*drawn: Markup) -> Markup:
    """The charts side by side, as far as the page is wide enough."""
    return tag("div", *drawn, class_="charts") if any(drawn) else Markup()


def spread(heights: Sequence[tuple[float, int]]) -> dict[int, float]:
    """The heights of labels near their lines, moved apart where they would overlap."""
    placed: dict[int, float] = {}
    above = -math.inf
    for height, n in sorted(heights):
        placed[n] = above = max(height, above + LEADING)
    below = HEIGHT - BOTTOM + LEADING / 2
    for _, n in sorted(heights, reverse=True):
        placed[n] = min(placed[n], below)
        below = placed[n] - LEADING
    return placed


def axes(
    across: Scale, down: Scale, x: str, y: str, frame: Frame, whole: bool = True, grid: bool = True
) -> list[Markup]:
    """The axes with ticks and names. With `whole`, ticks of the x axis are whole numbers."""
    bottom, parts = HEIGHT - BOTTOM, list[Markup]()
    for value in down.ticks():
        at = down(value)
        if grid:
            parts.append(tag("line", x1=LEFT, x2=frame.right, y1=at, y2=at, class_="grid"))
        parts.append(tag("text", brief(value), x=LEFT - 8, y=at, dy="0.35em", text_anchor="end"))
    for value in (at for at in across.ticks() if not whole or at == round(at)):
        parts.append(tag("text", short(value), x=across(value), y=bottom + 18, text_anchor="middle"))
    parts.append(tag("line", x1=LEFT, x2=frame.right, y1=bottom, y2=bottom, class_="axis"))
    parts.append(tag("text", x, x=(LEFT + frame.right) / 2, y=HEIGHT - 8, text_anchor="middle", class_="name"))
    turned = f"translate(12 {(TOP + bottom) / 2}) rotate(-90)"
    parts.append(tag("text", y, transform=turned, text_anchor="middle", class_="name"))
    return parts


def _line(line: Line, family: tuple[int, int], across: Scale, down: Scale, label: float, frame: Frame) -> Markup:
    spots = [(across(x), down(y)) for x, y in line.points]
    parts = list[Markup]()
    if line.band:
        edge = [(x, low) for x, low, _ in line.band] + [(x, high) for x, _, high in reversed(line.band)]
        parts.append(tag("path", d=_path([(across(x), down(y)) for x, y in edge]) + "z", class_="band"))
    parts.append(tag("path", d=_path(spots), class_="line"))
    first, last = family
    mark, apart = MARKS[first % len(MARKS)], max(1, len(spots) // 15)
    for (x, y), (at, value) in list(zip(spots, line.points, strict=True))[::-apart]:
        told = tag("title", f"{line.label}, {short(at)}: {number(value)}")
        parts.append(tag("g", tag("path", d=mark), told, transform=f"translate({x} {y})", class_="mark"))
    x, y = spots[-1]
    parts.append(tag("path", d=f"M{x + 6} {y}L{frame.right + 14} {label}", class_="leader"))
    name = frame.cut(line.label), tag("title", line.label)
    parts.append(tag("text", *name, x=frame.right + 18, y=label, dy="0.35em", class_="label"))
    return tag("g", *parts, class_=f"series c{first % COLOURS} s{(first // COLOURS + last) % STROKES}")


def _path(spots: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in spots)


def _numbers(title: str, lines: Sequence[Line], x: str) -> Markup:
    columns = [dict(line.points) for line in lines]
    places = sorted({at for column in columns for at in column})
    rows = [[short(at), *(number(column.get(at)) for column in columns)] for at in places]
    return folded("Numbers", table(title, [x, *(line.label for line in lines)], rows, words=()))


def interval(value: float, low: float, high: float, least: float, most: float, beside: float | None = None) -> Markup:
    """A value and its interval, as a dot on a whisker, on a scale from `least` to `most`; a stroke marks `beside`."""
    across = Scale(least, most if most > least else least + 1, 6, 154)
    parts = [tag("line", x1=across(low), x2=across(high), y1=9, y2=9, class_="whisker")]
    if beside is not None and least <= beside <= most:
        parts.insert(0, tag("line", x1=across(beside), x2=across(beside), y1=0, y2=18, class_="axis"))
    parts.append(tag("circle", cx=across(value), cy=9, r=4, class_="dot"))
    return tag("svg", *parts, viewBox="0 0 160 18", class_="interval", aria_hidden="true")


def bar(value: float, greatest: float) -> Markup:
    """A number as a bar from the middle: to the right if it is positive."""
    length = 74 * abs(value) / greatest if greatest else 0
    parts = [tag("rect", x=round(80 - length * (value < 0), 1), y=3, width=round(length, 1), height=12,
                 class_="below" if value < 0 else "above"),
             tag("line", x1=80, x2=80, y1=0, y2=18, class_="axis")]  # fmt: skip
    return tag("svg", *parts, viewBox="0 0 160 18", class_="interval", aria_hidden="true")
