"""The binary form of a store of candidates: a container of kind "candidates"."""

from __future__ import annotations

from rampion.formats import container
from rampion.formats.files import FilePath
from rampion.store.candidates import Candidates
from rampion.store.stored import SCHEMA


def read(path: FilePath) -> Candidates:
    """The store, mapped from the file; every byte and every bound has been checked."""
    return Candidates.from_arrays(*container.read(path, SCHEMA), proved=True)


def write(path: FilePath, candidates: Candidates) -> None:
    container.write(path, SCHEMA.kind, candidates.arrays(), candidates.meta())
