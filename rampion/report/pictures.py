"""Pictures for papers and talks, as files: a surface, a plane of points, bars with whiskers. The engine is charts.py.

SVG needs nothing else. PNG and PDF are made from it by an installed Chromium or Chrome.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rampion.arrays import Reals
from rampion.errors import InputError
from rampion.formats.files import replacing
from rampion.report.charts import (
    COLOURS,
    HEIGHT,
    LEADING,
    LEFT,
    MARKS,
    TOP,
    Frame,
    Scale,
    axes,
    spread,
    svg,
    ticks,
    widened,
    written,
)
from rampion.report.markup import Markup, number, short, tag

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
ENDINGS = (".svg", ".png", ".pdf")
PATIENCE = 60  # seconds
LEVELS = 32  # of colour
POWER = 2.5  # colours are finer near the top, where weights are of interest
# From low to high, in equal steps of lightness, so that it reads in grey, too: dark blue, violet, rose, sand.
RAMP = ((22, 33, 84), (74, 60, 132), (140, 78, 143), (200, 103, 123), (240, 154, 101), (250, 226, 158))
BOTTOM = HEIGHT - 46


class Spot(NamedTuple):
    """A point that stands out, with its name."""

    label: str
    x: float
    y: float


class Surface(NamedTuple):
    """Heights over a grid of x and y, [y, x], and points of interest on it."""

    across: Reals
    up: Reals
    heights: Reals
    spots: Sequence[Spot]


class Bar(NamedTuple):
    """A number with its interval."""

    label: str
    value: float
    low: float
    high: float


def check(path: Path) -> None:
    """Raise InputError unless a picture can be written under this name here."""
    if path.suffix not in ENDINGS:
        raise InputError(f"{path}: pictures are SVG, PNG or PDF; name a file that ends in .svg, .png or .pdf")
    if path.suffix != ".svg" and browser() is None:
        raise InputError(
            f"{path}: {path.suffix[1:].upper()} is made from SVG by Chromium or Chrome, and none of "
            f"{', '.join(BROWSERS)} is installed; name a file that ends in .svg"
        )


def browser() -> str | None:
    """The browser that turns SVG into PNG and PDF."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def save(path: Path, draw: Callable[[Path], None]) -> None:
    """Write the picture that `draw` writes as SVG, in the format that the name asks for."""
    check(path)
    if path.suffix == ".svg":
        draw(path)
        return
    with tempfile.TemporaryDirectory(prefix="rampion-") as folder:
        drawing = Path(folder) / "picture.svg"
        draw(drawing)
        _convert(drawing, Path(folder) / f"picture{path.suffix}", path)


def _convert(drawing: Path, made: Path, path: Path) -> None:
    """Have the browser print a page that holds the picture alone."""
    text = drawing.read_text("utf-8")
    width, height = (int(text.partition(f'{name}="')[2].partition('"')[0]) for name in (" width", " height"))
    page = drawing.with_name("picture.html")
    style = f"@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} svg {{ display: block }}"
    page.write_text(f'<!doctype html><meta charset="utf-8"><style>{style}</style>{text}', "utf-8")
    options = ["--headless", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={drawing.parent / 'profile'}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")  # the browser refuses to start for root otherwise
    if made.suffix == ".png":
        options += [f"--screenshot={made}", f"--window-size={width},{height}", "--force-device-scale-factor=2"]
    else:
        options += [f"--print-to-pdf={made}", "--no-pdf-header-footer"]
    command = [str(browser()), *options, page.as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{path}: {command[0]} did not end within {PATIENCE} s; write .svg instead") from error
    if not made.exists():
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(f"{path}: {command[0]} has made no picture ({last}); write .svg instead")
    with replacing(path) as file:
        file.write(made.read_bytes())


# A surface


def write_surface(path: Path, surface: Surface, title: str, x: str, y: str, z: str) -> None:
    """Write an SVG file with heights as colours."""
    frame = Frame(max(18, *(len(spot.label) for spot in surface.spots)))
    low, high = float(surface.heights.min()), float(surface.heights.max())
    edges = [_edges(values) for values in (surface.across, surface.up)]
    across = Scale(edges[0][0], edges[0][-1], LEFT, frame.right)
    down = Scale(edges[1][0], edges[1][-1], BOTTOM, TOP)
    levels = [[_level(value, low, high) for value in row] for row in surface.heights.tolist()]
    parts = [tag("g", *_cells(levels, edges, across, down), shape_rendering="crispEdges")]
    parts += axes(across, down, x, y, frame, whole=False, grid=False)
    keys = list[Markup]()
    for n, spot in enumerate(surface.spots):
        mark, at = MARKS[n % len(MARKS)], TOP + (n + 0.5) * LEADING
        told = tag("title", f"{spot.label}: {short(spot.x)}, {short(spot.y)}")
        for a, b in ((across(spot.x), down(spot.y)), (frame.right + 12, at)):
            parts.append(tag("g", tag("path", d=mark), told, transform=f"translate({a} {b}) scale(1.6)", class_="pin"))
        keys.append(tag("text", spot.label, x=frame.right + 24, y=at, dy="0.35em", class_="name"))
    below = TOP + len(surface.spots) * LEADING + 26
    written(path, title, svg(title, x, y, frame, [*parts, *keys, *_key(frame, low, high, z, below)]), frame)


def _edges(values: Reals) -> list[float]:
    """The edges of the cells around the values."""
    half = float(values[1] - values[0]) / 2
    return [float(values[0]) - half, *(float(value) + half for value in values)]


def _level(value: float, low: float, high: float) -> int:
    return min(LEVELS - 1, int(LEVELS * ((value - low) / (high - low)) ** POWER)) if high > low else 0


def _colour(level: int) -> str:
    at = level / (LEVELS - 1) * (len(RAMP) - 1)
    first = min(int(at), len(RAMP) - 2)
    pairs = zip(RAMP[first], RAMP[first + 1], strict=True)
    return "#" + "".join(f"{round(a + (at - first) * (b - a)):02x}" for a, b in pairs)


def _cells(levels: list[list[int]], edges: list[list[float]], across: Scale, down: Scale) -> list[Markup]:
    """A rectangle for each stretch of one colour in a row."""
    parts = []
    for row, own in enumerate(levels):
        top, bottom, start = down(edges[1][row + 1]), down(edges[1][row]), 0
        for end in range(1, len(own) + 1):
            if end == len(own) or own[end] != own[start]:
                left, right = across(edges[0][start]), across(edges[0][end])
                parts.append(
                    tag("rect", x=left, y=top, width=round(right - left, 1), height=round(bottom - top, 1),
                        fill=_colour(own[start]))
                )  # fmt: skip
                start = end
    return parts


def _key(frame: Frame, low: float, high: float, z: str, top: float) -> list[Markup]:
    """The colours with their numbers."""
    left, tall = frame.right + 20, BOTTOM - top
    parts = [tag("text", z, x=left, y=top - 8, class_="name")]
    for level in range(LEVELS):
        y, height = round(top + tall * (1 - (level + 1) / LEVELS), 1), round(tall / LEVELS + 0.5, 1)
        parts.append(tag("rect", x=left, y=y, width=14, height=height, fill=_colour(level)))
    last = math.inf
    for value in [high, *reversed(ticks(low, high, 12))] if high > low else [low]:
        at = round(BOTTOM - tall * (((value - low) / (high - low)) ** POWER if high > low else 0), 1)
        if at > last + LEADING or math.isinf(last):
            parts.append(tag("text", short(value), x=left + 20, y=at, dy="0.35em"))
            last = at
    return parts


# A plane


def write_plane(
    path: Path, points: Sequence[tuple[float, float, str]], spots: Sequence[Spot],
    rulers: Mapping[str, tuple[float, float]], title: str, x: str, y: str,
) -> None:  # fmt: skip
    """Write an SVG file with points (x, y, text), some of them named, and lines y = first + second * x through them."""
    frame = Frame(max(18, *(len(spot.label) for spot in spots), *map(len, rulers)))
    (left, right), (low, high) = widened([x for x, _, _ in points]), widened([y for _, y, _ in points])
    across, down = Scale(left, right, LEFT, frame.right), Scale(low, high, BOTTOM, TOP)
    parts = axes(across, down, x, y, frame, whole=False)
    for start, slope in rulers.values():
        ends = _clipped(start, slope, (left, right), (low, high))
        drawn = "M" + "L".join(f"{across(a)} {down(b)}" for a, b in ends)
        parts.append(tag("path", d=drawn, class_="ruler") if ends else Markup())
    for a, b, text in points:
        told = tag("title", f"{text}: {number(a)}, {number(b)}")
        parts.append(tag("circle", told, cx=across(a), cy=down(b), r=3, class_="crowd"))
    heights = spread([(TOP + (n + 0.5) * LEADING * 1.3, n) for n in range(len(spots))])
    for n, spot in enumerate(spots):
        own = [tag("g", tag("path", d=MARKS[n % len(MARKS)]), transform=f"translate({a} {b}) scale(1.8)", class_="mark")
               for a, b in ((across(spot.x), down(spot.y)), (frame.right + 10, heights[n]))]  # fmt: skip
        name = tag("text", frame.cut(spot.label), x=frame.right + 22, y=heights[n], dy="0.35em", class_="label")
        parts.append(tag("g", *own, name, class_=f"series c{n % COLOURS} s0"))
    below = TOP + (len(spots) + 1) * LEADING * 1.3
    for n, label in enumerate(rulers):
        at = below + n * LEADING * 1.3
        parts.append(tag("path", d=f"M{frame.right + 3} {at}h14", class_="ruler"))
        parts.append(tag("text", frame.cut(label), x=frame.right + 22, y=at, dy="0.35em"))
    written(path, title, svg(title, x, y, frame, parts), frame)


def _clipped(start: float, slope: float, xs: tuple[float, float], ys: tuple[float, float]) -> list[tuple[float, float]]:
    """The ends of the line y = start + slope * x within the ranges; none if it is outside."""
    inside = [(x, start + slope * x) for x in xs if ys[0] <= start + slope * x <= ys[1]]
    inside += [((y - start) / slope, y) for y in ys if slope and xs[0] < (y - start) / slope < xs[1]]
    return inside[:2] if len(inside) > 1 else []


# Bars


def write_bars(path: Path, bars: Sequence[Bar], title: str, x: str) -> None:
    """Write an SVG file with a bar a row, from 0, with its interval as a whisker."""
    if not bars:
        raise InputError(f"{path}: there is nothing to draw")
    left = 20 + math.ceil(7.2 * min(32, max(len(bar.label) for bar in bars)))
    wide, step = 420, 24
    low, high = widened([0.0, *(bar.low for bar in bars), *(bar.high for bar in bars)])
    across = Scale(low, high, left, left + wide)
    bottom = TOP + step * len(bars)
    parts = []
    for value in across.ticks():
        at = across(value)
        parts.append(tag("line", x1=at, x2=at, y1=TOP - 4, y2=bottom, class_="grid"))
        parts.append(tag("text", short(value), x=at, y=bottom + 18, text_anchor="middle"))
    for n, bar in enumerate(bars):
        middle, ends = TOP + step * (n + 0.5), sorted((across(0.0), across(bar.value)))
        sure = "sure" if bar.low > 0 or bar.high < 0 else "unsure"
        label = bar.label if len(bar.label) <= 32 else bar.label[:31] + "…"
        told = tag("title", f"{bar.label}: {number(bar.value)} [{number(bar.low)}, {number(bar.high)}]")
        parts += [
            tag("text", label, told, x=left - 8, y=middle, dy="0.35em", text_anchor="end", class_="name"),
            tag("rect", told, x=ends[0], y=middle - 7, width=round(ends[1] - ends[0], 1), height=14, class_=sure),
            tag("path", d=f"M{across(bar.low)} {middle}H{across(bar.high)}", class_="whisker"),
            tag("text", number(bar.value, 2, sign=True), x=left + wide + 10, y=middle, dy="0.35em", class_="name"),
        ]
    parts.append(tag("line", x1=across(0.0), x2=across(0.0), y1=TOP - 4, y2=bottom, class_="axis"))
    parts.append(tag("text", x, x=left + wide / 2, y=bottom + 38, text_anchor="middle", class_="name"))
    box = (left + wide + 70, bottom + 50)
    picture = tag(
        "svg", *parts, viewBox=f"0 0 {box[0]} {box[1]}", width=box[0], height=box[1], role="img", class_="chart",
        aria_label=f"{title}: {x}",
    )  # fmt: skip
    written(path, title, picture, Frame(), box)
