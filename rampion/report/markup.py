"""HTML from Python: every text is escaped, unless it is markup that these functions have made."""

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
    """What may stand in a page as it is."""

    __slots__ = ()


def safe(text: str) -> Markup:
    return text if isinstance(text, Markup) else Markup(escape(text))


def joined(parts: Iterable[str]) -> Markup:
    return Markup("".join(map(safe, parts)))


def tag(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """An element. class_ is class and aria_label aria-label; attributes that are None or False are left out."""
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{told} />") if name in EMPTY else Markup(f"<{name}{told}>{joined(children)}</{name}>")


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def data(facts: Any, id_: str) -> Markup:
    """Facts for a script to read; no text in them can end the element."""
    held = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{escape(id_)}">{held}</script>')


def number(value: float | None, places: int | None = None, sign: bool = False) -> str:
    """38.47, or 0.8342 where a number is less than 2; nothing for what is not known."""
    if value is None or not math.isfinite(value):
        return "" if value is None else "–"
    if isinstance(value, int) and places is None:
        return f"{value:{'+' if sign else ''},}".replace("-", MINUS)
    places = (4 if abs(value) < 2 else 2) if places is None else places
    return f"{value:{'+' if sign else ''}.{places}f}".replace("-", MINUS)


def short(value: float) -> str:
    """At most four figures, or a whole number of fewer than seven."""
    told = f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.4g}"
    return told.replace("-", MINUS)


def size(count: float) -> str:
    """Bytes, as people say them."""
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
    """Columns of words to the left, others to the right; the first cell of a row names it. Wide ones scroll."""
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
    """Names and what they are."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", told)) for name, told in pairs), class_="facts")


def folded(summary: str, *children: str, shown: bool = False) -> Markup:
    """What is shown when asked for."""
    return tag("details", tag("summary", summary), *children, open=shown)


class Section(NamedTuple):
    """A part of a page that its contents name."""

    id: str
    title: str
    parts: tuple[str, ...]

    @property
    def html(self) -> Markup:
        heading = f"{self.id}-title"
        return tag("section", tag("h2", self.title, id=heading), *self.parts, id=self.id, aria_labelledby=heading)


def section(id_: str, title: str, *parts: str) -> Section | None:
    """None where there is nothing to tell."""
    return Section(id_, title, parts) if any(parts) else None


def together(id_: str, title: str, *parts: Section | str | None) -> Section | None:
    """One section of what sections hold, and of what stands between them."""
    whole: list[str] = []
    for part in parts:
        whole += part.parts if isinstance(part, Section) else [part] if part else []
    return section(id_, title, *whole)
