"""Pages of reports, taken apart."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple


class Reader(HTMLParser):
    """The elements of a page, what ids and links it has, and whether every element is closed."""

    VOID = ("meta", "input")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.names, self.ids, self.links, self.texts = [], [], [], [], []
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.names.append(name)
        self.attributes += attributes
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if name not in self.VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.handle_starttag(name, attributes)
        if name not in self.VOID:
            self.open.pop()

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, text):
        self.texts.append(text)


class Shown(NamedTuple):
    """A page, and what its script finds."""

    html: str
    read: Reader
    held: dict

    @classmethod
    def of(cls, path: Path):
        html = path.read_text("utf-8")
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
        return cls(html, Reader(html), json.loads(found[1]) if found else {})
