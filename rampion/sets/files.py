"""Relevant sets on disk (S10.8): a folder with a container of kind "records" for the truths and for every iteration.

A file is written once, whole, and never changed. The ids of a file's new `keys` continue those of the file before, so
that all files together hold the table of keys.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion.arrays import KeyRow
from rampion.errors import InputError, StoreError
from rampion.formats import container
from rampion.formats.files import FilePath
from rampion.schema import Row, Schema, below, bounds, nonzero, reals, rising
from rampion.sets.records import Records
from rampion.store.keys import Keys

ENDING = ".records"
TRUTHS = "oracle"  # the name of the optional file before 000
PIECE = 1 << 20  # ids that are checked together

SCHEMA = Schema(
    "records",
    {
        "bounds": bounds("segments", "gains"),
        "id_bounds": bounds("candidates", "ids"),
        "values": reals("candidates", "width"),
        "gains": reals("candidates"),
        "prints": Row("<u8", ("candidates",)),
        "keys": Row("<u8", ("keys",), (nonzero,)),
        "ids": Row("<u4", ("ids",), (below("first+keys"), rising("id_bounds", strictly=False))),
    },
    {"first": int, "corpus": str},
    "the file cannot be used",
)


class Part(NamedTuple):
    """One file: its records, and the keys whose ids are first, first + 1, …"""

    records: Records
    keys: KeyRow
    first: int
    corpus: str

    def release(self) -> None:
        """Release the mapped memory. A part is read twice: when it is opened and when it is learnt from."""
        container.release(self.keys)

    @property
    def known(self) -> int:
        """The number of keys with ids after this file."""
        return self.first + len(self.keys)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of segments and of real-valued features."""
        return len(self.records.bounds) - 1, self.records.values.shape[1]


@dataclass(slots=True)
class Sets:
    """The files of a folder by name, in order: oracle if there are truths, then 000, 001, …; mapped from the disk."""

    folder: Path
    corpus: str | None
    parts: dict[str, Part] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: FilePath, corpus: str | None = None) -> Sets:
        """Open the files of a folder; a missing folder holds none. Every byte is checked, and the order of the files.

        Without a fingerprint of the corpus there must be files, and all of them must have the same fingerprint.
        """
        found = {path.stem for path in Path(folder).glob(f"*{ENDING}")}
        truths = sorted(found & {TRUTHS})
        names = truths + [f"{number:03}" for number in range(len(found) - len(truths))]
        if corpus is None and not names:
            raise InputError(f"{folder}: holds no {ENDING} files; name the folder of a run, or its sets")
        sets = cls(Path(folder), corpus)
        for name in names:
            if name not in found:
                strange = min(found.difference(names))
                raise StoreError(
                    f"{folder}: holds {strange}{ENDING} but no {name}{ENDING}; put that back, or remove what follows it"
                )
            sets._take(name)
        return sets

    @property
    def known(self) -> int:
        """The number of keys with ids."""
        return next((part.known for part in reversed(self.parts.values())), 0)

    @property
    def keys(self) -> KeyRow:
        """The keys of all files, in the order of their ids."""
        return np.concatenate([np.zeros(0, np.uint64), *(part.keys for part in self.parts.values())])

    def append(self, name: str, records: Records, table: Keys) -> None:
        """Write the next file, with the keys of the table that earlier files do not have.

        If writing fails, the files are unchanged. What a killed run left unfinished is removed first.
        """
        for left in self.folder.glob(f".*{ENDING}.*.part"):
            with suppress(OSError):
                left.unlink()
        arrays = records._asdict() | {"keys": table.listed()[self.known :]}
        meta = {"first": self.known, "corpus": self.corpus}
        container.write(self.path(name), SCHEMA.kind, arrays, meta)
        self._take(name)

    def table(self) -> Keys:
        """The table of all keys by id, with their counts in the records."""
        keys = self.keys
        counts = np.zeros(len(keys), np.uint32)
        for part in self.parts.values():
            for start in range(0, len(part.records.ids), PIECE):
                np.add.at(counts, part.records.ids[start : start + PIECE], 1)
        try:
            return Keys.of(keys, counts)
        except InputError as error:
            raise StoreError(f"{self.folder}: {error}") from error

    def path(self, name: str) -> Path:
        """The path of a part."""
        return self.folder / f"{name}{ENDING}"

    def _take(self, name: str) -> None:
        """Open the next file; it must follow on from the others."""
        path = self.path(name)
        part = read(path)
        if self.corpus not in (None, part.corpus):
            raise StoreError(f"{path}: is of another corpus; expected that of the run")
        if part.first != self.known:
            raise StoreError(f"{path}: its first new id is {part.first}, expected {self.known}; it is of another run")
        expected = next(iter(self.parts.values()), part).shape
        if part.shape != expected:
            found, wanted = (
                "{} segments and {} real-valued features".format(*shape) for shape in (part.shape, expected)
            )
            raise StoreError(f"{path}: has {found}, the files before it {wanted}; it is of another run")
        self.corpus = part.corpus
        self.parts[name] = part


def read(path: FilePath) -> Part:
    """Map one file, after every byte and the sizes of its arrays have been checked."""
    arrays, meta = container.read(path, SCHEMA)
    records = Records(*(arrays[name] for name in Records._fields))
    part = Part(records, arrays["keys"], meta["first"], meta["corpus"])
    part.release()
    return part
