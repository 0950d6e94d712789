"""HTML from Python. Every text is escaped, except Markup, which these functions return."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

Attribute = str | float | bool | None

EMPTY = frozenset({"circle", "img", "input", "line", "meta", "path", "rect"})  # elements written without content
MINUS = "\N{MINUS SIGN}"


class Markup(str):
    """A string of HTML, which is not escaped again."""

    __slots__ = ()


def safe(text: str) -> Markup:
    return text if isinstance(text, Markup) else Markup(escape(text))


def joined(parts: Iterable[str]) -> Markup:
    return Markup("".join(map(safe, parts)))


def tag(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """An HTML element. class_ becomes class, aria_label aria-label; attributes that are None or False are left out."""
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{told} />") if name in EMPTY else Markup(f"<{name}{told}>{joined(children)}</{name}>")


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def data(facts: Any, id_: str) -> Markup:
    """A script element with JSON data. No text in the data can end the element."""
    held = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{escape(id_)}">{held}</script>')


def number(value: float | None, places: int | None = None, sign: bool = False) -> str:
    """A number as text: 38.47, with four decimals below 2 (0.8342); "" for None."""
    if value is None or not math.isfinite(value):
        return "" if value is None else "–"
    if isinstance(value, int) and places is None:
        return f"{value:{'+' if sign else ''},}".replace("-", MINUS)
    places = (4 if abs(value) < 2 else 2) if places is None else places
    rounded = round(value, places) + 0.0  # no minus before a zero
    return f"{rounded:{'+' if sign else ''}.{places}f}".replace("-", MINUS)


def short(value: float) -> str:
    """A number with at most four significant digits, or a whole number with fewer than seven."""
    told = f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.4g}"
    return told.replace("-", MINUS)


def size(count: float) -> str:
    """A number of bytes as text, with a unit."""
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} GB"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> Markup:
    """A table that scrolls if it is wide. Columns `words` are aligned left; the first cell of a row is its header."""
    sides = [None if place in words else "n" for place in range(len(head))]
    titles = [tag("th", title, scope="col", class_=side) for title, side in zip(head, sides, strict=True)]
    body = [
        tag("tr", *(
            tag("td" if place else "th", cell, scope=None if place else "row", class_=side)
            for place, (cell, side) in enumerate(zip(row, sides, strict=True))
        ))
        for row in rows
    ]  # fmt: skip
    told = tag("table", tag("caption", caption), tag("thead", tag("tr", *titles)), tag("tbody", *body))
    return tag("div", told, class_="scroll", tabindex=0, role="region", aria_label=caption)


def facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    """A list of names and values."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", told)) for name, told in pairs), class_="facts")


def folded(summary: str, *children: str, shown: bool = False) -> Markup:
    """Content that is hidden until the reader opens it."""
    return tag("details", tag("summary", summary), *children, open=shown)


class Section(NamedTuple):
    """A part of a page, listed in the page's contents."""

    id: str
    title: str
    parts: tuple[str, ...]

    @property
    def html(self) -> Markup:
        heading = f"{self.id}-title"
        return tag("section", tag("h2", self.title, id=heading), *self.parts, id=self.id, aria_labelledby=heading)


def section(id_: str, title: str, *parts: str) -> Section | None:
    """A section of these parts, or None if there is no part."""
    return Section(id_, title, parts) if any(parts) else None


def together(id_: str, title: str, *parts: Section | str | None) -> Section | None:
    """One section with the content of several sections, and of the text between them."""
    whole: list[str] = []
    for part in parts:
        whole += part.parts if isinstance(part, Section) else [part] if part else []
    return section(id_, title, *whole)
