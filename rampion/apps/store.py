"""Stores of lists: made of other files, and proved byte by byte."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rampion.apps.inputs import read_runs
from rampion.formats import store
from rampion.sets import files
from rampion.store.candidates import Candidates


class Fact(NamedTuple):
    """What a file holds."""

    store: str
    segments: int
    candidates: int
    features: int
    dense: int
    bytes: int


def pack(lists: list[str], out: str, lenient: bool) -> Candidates:
    """Write lists as a store; those of successive decodings are merged."""
    merged = read_runs(lists, lenient).merged
    store.write(out, merged)
    return merged


def verify(paths: Sequence[str]) -> list[Fact]:
    """What each file holds, which must be whole."""
    return [fact for path in paths for fact in _checked(path)]


def _checked(path: str) -> Iterator[Fact]:
    if os.path.isdir(path):
        sets = os.path.join(path, "sets")
        folder = sets if os.path.isdir(sets) else path
        for name, part in files.Sets.open(folder).parts.items():
            yield _part(os.path.join(folder, name + files.ENDING), part)
    elif path.endswith(files.ENDING):
        yield _part(path, files.read(path))
    else:
        found = store.read(path)
        features = found.features
        yield Fact(path, len(found.segments), found.size, len(features), features.width, os.stat(path).st_size)


def _part(path: str, part: files.Part) -> Fact:
    segments, width = part.shape
    return Fact(path, segments, len(part.records.gains), part.known, width, os.stat(path).st_size)
