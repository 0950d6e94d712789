"""The weights in configurations of decoders: the section [weight] of moses.ini, `name number` of joshua.config."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rampion.formats.files import FilePath, head, line_blocks

_SECTION = re.compile(rb"^\[[^\]\s]+\][ \t\r]*$", re.MULTILINE)
_SETTING = re.compile(rb"^[\w-]+ = ?\S", re.MULTILINE)
_WEIGHT = re.compile(rb"\s*[^\s#=]\S*\s+[-+]?(\d+(?:\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")


def blocks(path: FilePath) -> Iterator[tuple[int, bytes]]:
    """Blocks of lines as `line_blocks` gives them; in a configuration all lines but those of weights are empty."""
    start = head(path)
    if _SECTION.search(start):
        return _moses(path)
    return _joshua(path) if _SETTING.search(start) else line_blocks(path)


def _moses(path: FilePath) -> Iterator[tuple[int, bytes]]:
    inside = False
    for first, block in line_blocks(path):
        kept = []
        for line in block.split(b"\n"):
            if _SECTION.fullmatch(line):
                inside, line = line.strip() == b"[weight]", b""
            kept.append(line if inside else b"")
        yield first, b"\n".join(kept)


def _joshua(path: FilePath) -> Iterator[tuple[int, bytes]]:
    for first, block in line_blocks(path):
        yield first, b"\n".join(line if _WEIGHT.fullmatch(line) else b"" for line in block.split(b"\n"))
