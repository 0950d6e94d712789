"""References of segments: line-aligned files, one file of `id ||| text` lines, or the "refs" of JSONL lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rampion.errors import FormatError, InputError
from rampion.formats import tables
from rampion.formats.files import BOM, FilePath, UnwritableError, head, lines, replacing, shown
from rampion.formats.jsonl import parsed
from rampion.store.readings import WrongError
from rampion.store.records import references_in, segment_id
from rampion.store.text import References, Texts

_NUMBER = re.compile(r"\d{1,18}")
_FEATURES = re.compile(r" \|\|\| \S+[=:] ?[-+]?[.\d]")  # of a candidate


@dataclass(frozen=True, slots=True)
class Records:
    """The references in lists, by segment."""

    path: FilePath
    found: dict[str, list[str]]

    def references(self, segments: Texts) -> References:
        """The references of the segments, in their order."""
        return _by_id(self.path, self.found, segments)


def read(paths: Sequence[FilePath], segments: Texts, *, aligned: bool = False) -> References:
    """The references of the segments, in their order.

    Several files, or one of plain lines: line n of every file belongs to one segment; a blank line is no reference.
    With as many lines as segments they are in order, unless the names of the segments are the numbers of the lines in
    another order. With other numbers of lines (unless `aligned`) a segment's number is its line, from 0.
    """
    if len(paths) == 1:
        start = head(paths[0])
        if start.lstrip().startswith(b"{"):
            return _by_id(paths[0], _referred(paths[0], _records(paths[0])), segments)
        if b" ||| " in start.split(b"\n", 1)[0]:
            return _by_id(paths[0], _labelled(paths[0]), segments)
        if tables.names_references(start):
            return _by_id(paths[0], _tabled(paths[0]), segments)
    files = [[text for _, text in lines(path)] for path in paths]
    if len(paths) == 1 and not aligned and (named := _named(files[0], segments)):
        return _by_id(paths[0], named, segments)
    for path, file in zip(paths, files, strict=True):
        if len(file) != len(files[0]):
            found = f"{len(file)} lines, and {shown(paths[0])} has {len(files[0])}"
            raise FormatError(f"{shown(path)}: has {found}; reference files must be line-aligned")
    ids, count = list(segments), len(files[0])
    rows = list(range(len(ids)))
    if count != len(ids):
        if aligned or not all(_NUMBER.fullmatch(identity) and int(identity) < count for identity in ids):
            raise FormatError(
                f"{shown(paths[0])}: has {count} lines for {len(ids)} segments; expected a line for every segment"
                + ("" if aligned else ", or segments numbered by line from 0")
            )
        rows = list(map(int, ids))
        if sorted(rows) == list(range(1, len(rows) + 1)):
            raise FormatError(
                f"{shown(paths[0])}: has {count} lines for the segments 1 to {len(ids)}, and lines may be counted from "
                "0 or from 1; write 'id ||| reference' lines, or keep the lines of these segments"
            )
    elif not aligned and all(map(_NUMBER.fullmatch, ids)):
        numbers = list(map(int, ids))
        if sorted(numbers) == list(range(min(numbers), min(numbers) + count)) and min(numbers) in (0, 1):
            rows = [number - min(numbers) for number in numbers]
    chosen = [[file[row] for file in files if file[row]] for row in rows]
    for row, texts in zip(rows, chosen, strict=True):
        if not texts:
            raise FormatError.at(shown(paths[0]), row + 1, "no reference in this line; every segment needs one")
    return References.from_lists(chosen)


def write(paths: Sequence[FilePath], references: References) -> None:
    """Write line-aligned files, one for every reference of the segment that has the most."""
    segments = [references[s] for s in range(len(references))]
    most = max(map(len, segments), default=0)
    if len(paths) != most:
        raise InputError(f"there are up to {most} references of a segment and {len(paths)} files; name {most} files")
    for place, path in enumerate(paths):
        with replacing(path) as file:
            for segment, texts in enumerate(segments):
                raw = (texts[place] if place < len(texts) else "").encode()
                # If there is only one file, readers decide by its first line what it holds.
                other = segment == 0 and (raw.startswith((b"{", BOM)) or (len(paths) == 1 and b" ||| " in raw + b" "))
                if other or raw.strip() != raw or b"\n" in raw:
                    raise UnwritableError(f"the reference {raw.decode()[:60]!r} cannot stand in a line; write JSONL")
                file.write(raw + b"\n")


def _named(texts: list[str], segments: Texts) -> dict[str, list[str]] | None:
    """The references of Kaldi's text, whose lines begin with the name of an utterance; None if most do not."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, _, said = text.replace("\t", " ", 1).partition(" ")
        found.setdefault(name, []).append(said.strip())
    known = sum(name in found for name in segments)
    return (
        found if known and 2 * known > len(segments) and len(found) == len([text for text in texts if text]) else None
    )


def _by_id(path: FilePath, found: dict[str, list[str]], segments: Texts) -> References:
    ids = list(segments)
    for identity in ids:
        if identity not in found or not any(found[identity]):
            raise FormatError(f"{shown(path)}: has no reference of segment {identity}; every segment needs one")
    return References.from_lists(found[identity] for identity in ids)


def _labelled(path: FilePath) -> dict[str, list[str]]:
    """The references of `id ||| text` lines."""
    found: dict[str, list[str]] = {}
    for line, text in lines(path):
        identity, bar, reference = text.partition("|||")
        if not bar or not identity.strip():
            raise FormatError.at(shown(path), line, f"{text[:60]!r} is no reference; expected 'id ||| text'")
        if _FEATURES.search(reference):
            raise FormatError.at(
                shown(path), line, f"{text[:60]!r} is a line of an n-best list; references are 'id ||| text'"
            )
        found.setdefault(identity.strip(), []).extend([reference.strip()] if reference.strip() else [])
    return found


def _tabled(path: FilePath) -> dict[str, list[str]]:
    """The references of a table with a column of names of segments and one or several of references."""
    found: dict[str, list[str]] = {}
    for line, row in tables.records(path):
        if isinstance(row, WrongError):
            raise FormatError.at(shown(path), line, str(row)) from row
        [identity, *texts] = tables.referred(row)
        known = found.setdefault(identity, [])
        known += [text for text in texts if text and text not in known]
    return found


def _records(path: FilePath) -> Iterator[tuple[int, Any]]:
    """The records of JSONL lists, with the numbers of their lines."""
    for line, text in lines(path):
        if text:
            try:
                yield line, parsed(text)
            except WrongError as wrong:
                raise FormatError.at(shown(path), line, str(wrong)) from wrong


def _referred(path: FilePath, records: Iterable[tuple[int, Any]]) -> dict[str, list[str]]:
    """The "refs" of records."""
    found: dict[str, list[str]] = {}
    for line, record in records:
        try:
            found.setdefault(segment_id(record), []).extend(references_in(record))
        except WrongError as wrong:
            raise FormatError.at(shown(path), line, str(wrong)) from wrong
    return found
