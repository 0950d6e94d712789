"""The output of fairseq-generate: S-, T-, H-, D- and P- lines of every sentence; other lines are its log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rampion.formats.files import FilePath, Skipped, lines
from rampion.store.readings import WrongError

_LINE = re.compile(r"([STHDP])-(\d+)\t(.*)")
_FIRST = re.compile(rb"^[STHDP]-\d+\t", re.MULTILINE)


def recognises(head: bytes) -> bool:
    """Whether a line of the beginning is one of a sentence."""
    return _FIRST.search(head) is not None


def records(path: FilePath, skipped: Skipped | None = None) -> Iterator[tuple[int, Any]]:
    """Every sentence as a record, with the line where it begins."""
    record: dict[str, Any] = {}
    start = 0
    for line, text in lines(path, skipped):
        found = _LINE.fullmatch(text)
        if not found:
            continue
        kind, identity, rest = found.groups()
        if record.get("id") != identity:
            if record:
                yield start, _whole(record)
            record, start = {"id": identity, "hyps": []}, line
        wrong = _add(record, kind, rest)
        if wrong:
            yield line, WrongError(wrong)
    if record:
        yield start, _whole(record)


def _whole(record: dict[str, Any]) -> dict[str, Any] | WrongError:
    """The record of a sentence, or what is wrong: hypotheses of a sentence must have the same kinds of lines."""
    if not record["hyps"]:
        return WrongError(f"sentence {record['id']} has no hypothesis (H-{record['id']}); get the file again")
    names = {name for hyp in record["hyps"] for name in hyp["feats"]}
    for hyp in record["hyps"]:
        hyp["feats"] = dict.fromkeys(sorted(names)) | hyp["feats"]
    return record


def _add(record: dict[str, Any], kind: str, rest: str) -> str | None:
    """Add a line to the record of its sentence; return what is wrong with it."""
    hyps = record["hyps"]
    if kind == "S":
        record["source"] = rest
    elif kind == "T":
        record["refs"] = [rest]
    elif kind == "P":
        if not hyps:
            return "a P- line stands before any hypothesis; get the file again"
        numbers = [_number(cell) for cell in rest.split()]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers):
            return f"{rest[:60]!r} are no numbers; expected a log-probability for every token"
        hyps[-1]["feats"] |= {"logprob": sum(known), "tokens": len(known)}
    else:
        score, _, text = rest.partition("\t")
        number = _number(score)
        if number is None:
            return f"{rest[:60]!r} is no hypothesis; expected a score, a tab and a text"
        if kind == "H":
            hyps.append({"text": text, "feats": {"score": number}})
        elif hyps:
            hyps[-1]["text"] = text  # detokenised
    return None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
