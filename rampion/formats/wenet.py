"""N-best output of WeNet's decoder_main: `wav utt-1`, then a line `candidate score text` for each candidate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rampion.formats.files import FilePath, Skipped, lines
from rampion.store.readings import WrongError


def recognises(head: bytes) -> bool:
    """Whether the first two lines name an utterance and a candidate."""
    first, _, second = head.partition(b"\n")
    return first.startswith(b"wav ") and second.startswith(b"candidate ")


def records(path: FilePath, skipped: Skipped | None = None) -> Iterator[tuple[int, Any]]:
    """Every utterance as a record, with the line where it begins."""
    record: dict[str, Any] | None = None
    start = 0
    for line, text in lines(path, skipped):
        kind, _, rest = text.partition(" ")
        if kind == "wav" and rest:
            if record and record["hyps"]:
                yield start, record
            record, start = {"id": rest.strip(), "hyps": []}, line
        elif kind == "candidate" and record is not None:
            score, _, said = rest.partition(" ")
            try:
                record["hyps"].append({"text": said.strip(), "feats": {"score": float(score)}})
            except ValueError:
                yield line, WrongError(f"{score[:60]!r} is no score; expected 'candidate score text'")
        elif text:
            yield (
                line,
                WrongError(f"{text[:60]!r} is neither 'wav name' nor 'candidate score text'; get the file again"),
            )
    if record and record["hyps"]:
        yield start, record
