"""Derivations as candidates: dense values, readable binary features and texts, in the store that tuning uses.

Each batch is packed when it arrives, and the store grows in memory or in files, because unpacked batches take ten times
the memory of the store.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import KeyRow, Offsets
from rampion.errors import InputError
from rampion.sets.records import DecodedBatch
from rampion.store.candidates import Candidates
from rampion.store.features import Features
from rampion.store.keys import Keys
from rampion.store.lists import Lists
from rampion.store.packing import pack
from rampion.store.rows import Rows
from rampion.store.text import Texts, blank


def candidates(
    batches: Iterable[DecodedBatch],
    names: Sequence[str],
    spelt: Callable[[KeyRow], Texts],
    folder: str | PathLike[str] | None = None,
) -> Candidates:
    """A store with every candidate of the batches. `names` are those of dense values; `spelt` names binary features.

    Binary features are numbered in the order in which they first fire. With a folder, the store is in unnamed files
    there instead of in memory.
    """
    table, width = Keys(), len(names)
    with _Room(folder) as room:
        bounds, texts, features, entries = (_Spans(room) for _ in range(4))
        blob, dictionary, held = _Column(np.uint8, room), _Column(np.uint32, room), _Column(np.uint32, room)
        dense, scores = _Column(np.float64, room), _Column(np.float64, room)
        for batch in batches:
            ids, lists = _packed(batch, table, width)
            bounds.add(lists.bounds)
            texts.add(batch.texts.bounds)
            features.add(lists.feature_bounds)
            entries.add(lists.entry_bounds)
            blob.add(batch.texts.blob)
            dictionary.add(ids[lists.features] + np.uint32(width))
            held.add(lists.entries)
            dense.add(lists.dense)
            scores.add(batch.scores)
        lists = Lists(
            bounds.whole(), dense.whole(), width, dictionary.whole(), features.whole(), held.whole(), entries.whole(),
            np.zeros(0),
        )  # fmt: skip
        said, listed = Texts(blob.whole(), texts.whole()), scores.whole()
    return Candidates(
        lists,
        Features(Texts.join([Texts.from_strings(names), spelt(table.listed())]), width),
        Texts.from_strings(map(str, range(len(lists.bounds) - 1))),
        said,
        listed,
        blank(len(said)),
        {},
        np.zeros(len(said), np.int32),
    )


def _packed(batch: DecodedBatch, table: Keys, width: int) -> tuple[NDArray[np.uint32], Lists]:
    """The lists of a batch, whose features are numbered in the order of their ids in the table; and these ids."""
    own, bounds, n = Keys(), batch.bounds, len(batch.texts)
    fired = own.enter(batch.keys)
    ids = table.enter(own.listed())
    order = np.argsort(ids)
    places = np.empty(len(ids), np.uint32)
    places[order] = np.arange(len(ids), dtype=np.uint32)
    segments, every = blank(len(bounds) - 1), np.arange(n)
    rows = Rows(
        segments, bounds, batch.texts, batch.key_bounds, fired, np.ones(len(fired)), batch.scores, blank(n),
        {},
    )  # fmt: skip
    lists = pack(rows, every, bounds, segments, places, Features(blank(len(ids)), 0)).lists.counted(np.inf)
    # The dense block of a segment is stored feature by feature.
    lists = lists._replace(dense=np.empty(width * n), width=width)
    heads, strides = lists.columns()
    lists.dense[heads[:, None] + strides[:, None] * np.arange(width)] = batch.values
    return ids[order], lists


class _Room(ExitStack):
    """The place of growing arrays: unnamed files of a folder, or memory."""

    def __init__(self, folder: str | PathLike[str] | None) -> None:
        super().__init__()
        self.folder = folder

    def file(self) -> IO[bytes] | None:
        with self.told():
            return None if self.folder is None else self.enter_context(tempfile.TemporaryFile(dir=self.folder))

    @contextmanager
    def told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"{self.folder}: cannot hold the lists: {error.strerror}; free some space or name another folder"
            ) from error


class _Column:
    """An array that grows at its end."""

    def __init__(self, dtype: type, room: _Room) -> None:
        self.dtype, self.room, self.file, self.size = np.dtype(dtype), room, room.file(), 0
        self.parts: list[NDArray[Any]] = [np.zeros(0, dtype)]

    def add(self, array: NDArray[Any]) -> None:
        self.size += len(array)
        if self.file is None:
            self.parts.append(array)
            return
        with self.room.told():
            self.file.write(np.ascontiguousarray(array, self.dtype).data)

    def whole(self) -> NDArray[Any]:
        if self.file is None or not self.size:
            return np.concatenate(self.parts)
        with self.room.told():
            self.file.flush()
            return np.memmap(self.file, self.dtype, "r")


class _Spans:
    """Bounds of spans that grow at their end."""

    def __init__(self, room: _Room) -> None:
        self.column, self.end = _Column(np.int64, room), 0
        self.column.add(np.zeros(1, np.int64))

    def add(self, bounds: Offsets) -> None:
        self.column.add(bounds[1:] + self.end)
        self.end += int(bounds[-1])

    def whole(self) -> Offsets:
        return self.column.whole()
