"""The binary form of a store of candidates: a container of kind "candidates"."""

from __future__ import annotations

from rampion.errors import StoreError
from rampion.formats import container
from rampion.formats.files import FilePath
from rampion.store.candidates import Candidates

KIND = "candidates"


def read(path: FilePath) -> Candidates:
    """The store, mapped from the file; every byte and every bound has been checked."""
    arrays, meta = container.read(path, KIND)
    try:
        return Candidates.from_arrays(arrays, meta)
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error


def write(path: FilePath, candidates: Candidates) -> None:
    container.write(path, KIND, candidates.arrays(), candidates.meta())
