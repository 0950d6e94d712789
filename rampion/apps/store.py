"""Binary files: make stores of lists, and check files of every kind byte by byte."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rampion.apps.inputs import read_runs
from rampion.decoder import remote
from rampion.decoder.alignment.align import Aligner
from rampion.decoder.models import lm
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.search import lattice
from rampion.errors import StoreError
from rampion.formats import container, store, weights
from rampion.runs import sets_run
from rampion.sets import files
from rampion.store.candidates import Candidates
from rampion.training import mixing, sharded


class Fact(NamedTuple):
    """The contents of a file; None for contents that its kind does not have."""

    store: str
    segments: int | None
    candidates: int | None
    features: int | None
    dense: int | None
    bytes: int
    kind: str


# Each kind of file is checked by its reader. Kinds that a run writes only for itself need just their schema.
READERS: dict[str, Callable[[str], object]] = {
    "lm": lm.read, "blocks": BlockSet.read, "aligner": Aligner.load, "lattice": lattice.read,
}  # fmt: skip
SCHEMAS = {
    schema.kind: schema
    for schema in (
        sets_run.SCHEMA, sharded.SHARD, sharded.WEIGHTS, sharded.ANSWER, sharded.GRADIENT, mixing.NUMBERS, mixing.START,
        mixing.CHANGED, remote.TEXTS, remote.SAID, remote.WEIGHTS, remote.PAIRS, remote.FIRED,
    )
}  # fmt: skip


def pack(lists: list[str], out: str, lenient: bool, columns: Sequence[str] | None = None) -> Candidates:
    """Write lists as a store; those of successive decodings are merged."""
    merged = read_runs(lists, lenient, columns).merged
    store.write(out, merged)
    return merged


def verify(paths: Sequence[str]) -> list[Fact]:
    """The contents of each file; raise InputError if one is damaged."""
    return [fact for path in paths for fact in _checked(path)]


def _checked(path: str) -> Iterator[Fact]:
    if not os.path.isdir(path):
        yield _fact(path)
        return
    sets = os.path.join(path, "sets")
    folder = sets if os.path.isdir(sets) else path
    others = [
        file for file in sorted(map(str, Path(path).rglob("*"))) if not file.endswith(files.ENDING) and _is_ours(file)
    ]
    if not others or any(name.endswith(files.ENDING) for name in os.listdir(folder)):
        for name, part in files.Sets.open(folder).parts.items():
            yield _part(os.path.join(folder, name + files.ENDING), part)
    yield from map(_fact, others)


def _is_ours(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(container.NAME)) == container.NAME


def _fact(path: str) -> Fact:
    """What a file of any kind holds."""
    kind, size = container.kind_of(path), os.stat(path).st_size
    if kind == "candidates":
        found = store.read(path)
        features = found.features
        return Fact(path, len(found.segments), found.size, len(features), features.width, size, kind)
    if kind == "records":
        return _part(path, files.read(path))
    if kind == "weights":
        known = weights.read(path).features
        return Fact(path, None, None, len(known), known.width, size, kind)
    if kind in READERS:
        READERS[kind](path)
    elif kind in SCHEMAS:
        container.read(path, SCHEMAS[kind])
    else:
        raise StoreError(f"{path}: holds {kind[:60]}, which no command reads; name a file of Rampion")
    return Fact(path, None, None, None, None, size, kind)


def _part(path: str, part: files.Part) -> Fact:
    segments, width = part.shape
    return Fact(path, segments, len(part.records.gains), part.known, width, os.stat(path).st_size, "records")
