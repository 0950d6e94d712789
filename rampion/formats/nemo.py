"""Beams of NeMo: a line `text<tab>score` for each candidate, and a fixed number of lines for each utterance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rampion.formats.files import FilePath, Skipped, line_blocks, not_utf8
from rampion.store.readings import WrongError

_LINE = re.compile(rb"([^\t\n]*)\t\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*")


def recognises(head: bytes) -> bool:
    """Whether the first lines are a text, a tab and a number; the last one may be cut off."""
    first = head.split(b"\n")
    return all(_LINE.fullmatch(line) for line in first[: max(1, min(len(first) - 1, 5))])


def records(path: FilePath, skipped: Skipped | None = None) -> Iterator[tuple[int, Any]]:
    """Every candidate as a row. Utterances have no names, so the user must give the number of candidates."""
    for first, block in line_blocks(path):
        for number, line in enumerate(block[:-1].split(b"\n"), first):
            try:
                text, found = line.decode(), _LINE.fullmatch(line)
            except UnicodeDecodeError as mistake:
                raise not_utf8(path, number, mistake) from mistake
            if not found:
                yield number, WrongError(f"{text[:60]!r} is no candidate; expected a text, a tab and a score")
            else:
                yield number, {"text": found[1].decode().strip(), "beam_score": float(found[2])}
