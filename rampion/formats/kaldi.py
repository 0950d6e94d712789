"""Kaldi's n-best texts, `utt-1-2 words of the second best`, and its archives of a number for each of these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rampion.errors import FormatError
from rampion.formats.files import FilePath, Skipped, lines, shown
from rampion.store.readings import WrongError

_NAME = re.compile(r"(.+)-([1-9][0-9]{0,8})")


def recognises(head: bytes) -> bool:
    """Whether the first lines are named name-1, name-2, or name-1 and other-1."""
    found = [
        _NAME.fullmatch(line.split()[0].decode(errors="replace")) for line in head.split(b"\n")[:2] if line.split()
    ]
    if not found or b"|||" in head or any(name is None for name in found):
        return False
    (first, number), *rest = [(name[1], int(name[2])) for name in found if name]
    return number == 1 and all(later == (2 if name == first else 1) for name, later in rest)


def records(path: FilePath, skipped: Skipped | None = None) -> Iterator[tuple[int, Any]]:
    """Every utterance as a record, with the line where it begins; a line with a name only is an empty hypothesis."""
    return joined(path, {}, skipped)


def joined(
    path: FilePath, costs: dict[str, dict[str, float]], skipped: Skipped | None = None
) -> Iterator[tuple[int, Any]]:
    """The same, each candidate with what the archives have under its name."""
    record: dict[str, Any] = {"id": None, "hyps": []}
    start = 0
    for line, text in lines(path, skipped):
        if not text:
            continue
        name, _, said = text.partition(" ") if "\t" not in text else text.partition("\t")
        found = _NAME.fullmatch(name)
        if not found:
            yield (
                line,
                WrongError(f"{name[:60]!r} is no name of a candidate; expected utterance-1, utterance-2 and so on"),
            )
            continue
        if found[1] != record["id"]:
            if record["hyps"]:
                yield start, record
            record, start = {"id": found[1], "hyps": []}, line
        feats = {label: numbers.get(name) for label, numbers in costs.items()}
        record["hyps"].append({"text": said.strip(), "feats": feats})
    if record["hyps"]:
        yield start, record


def numbers(path: FilePath) -> dict[str, float]:
    """An archive of a number for each name, as text; ESPnet writes tensor(-1.5) for -1.5."""
    found = {}
    for line, text in lines(path):
        cells = text.removesuffix(")").replace("tensor(", " ").split()
        if not cells:
            continue
        try:
            found[cells[0]] = float(cells[1].rstrip(",")) if len(cells) > 1 else float("nan")
        except ValueError as error:
            raise FormatError.at(shown(path), line, f"{text[:60]!r} is no name with a number; mend the line") from error
    return found


def texts(path: FilePath) -> Iterator[tuple[int, str, str]]:
    """The lines of a text: number, name and words."""
    for line, text in lines(path):
        if text:
            name, _, said = text.replace("\t", " ", 1).partition(" ")
            yield line, name, said.strip()
