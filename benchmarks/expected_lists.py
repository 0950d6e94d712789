"""Lists made by a seed to learn expected BLEU from, with the statistics of S11: a store of counts, and gains.

A sentence is a row of phrases, each with some ways to translate it. A candidate takes the first way of most phrases and
any other, by Zipf's law, of the rest. Each way brings its features along: the phrase pair, word pairs, triplets, two
orientations; ids follow Zipf's law, the smaller the more frequent, as ids by first appearance nearly do. What a
candidate gains is the logistic function of planted weights and noise; the base score knows some of it.

Means of 2000 sentences: a candidate has 60 features, of which another of the list has 82 % too; a list has 219, in 63
groups (groups.py), by 4.6 of which a candidate differs from what is usual. The word pairs alone of 400 real lists of 93
candidates are more alike: 89 %, and distinct ones are 1.64 times those of a candidate (cases.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import ends
from rampion.formats import store
from rampion.metrics.column import Column
from rampion.metrics.judging import Batch, Stakes
from rampion.store.candidates import Candidates
from rampion.store.features import Features
from rampion.store.lists import Lists
from rampion.store.text import Texts

STEP = 500  # sentences made at a time
NONE = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Shape:
    """Statistics of generated lists; a way to translate a phrase has `pieces` features."""

    sentences: int = 138_000
    candidates: int = 100
    features: int = 1_000_000
    phrases: tuple[int, int] = (6, 14)
    ways: int = 5
    pieces: int = 6
    kept: float = 0.9  # of the phrases are translated in the first way
    seed: int = 1


class Part(NamedTuple):
    """The lists of some sentences: the arrays of a store, gains and base scores."""

    features: NDArray[np.uint32]
    lengths: NDArray[np.int64]  # of the dictionaries
    entries: NDArray[np.uint32]
    counts: NDArray[np.int64]  # entries of every candidate
    gains: NDArray[np.float64]
    base: NDArray[np.float64]


def parts(shape: Shape) -> Iterator[Part]:
    for start in range(0, shape.sentences, STEP):
        yield part(shape, start, min(STEP, shape.sentences - start))


def part(shape: Shape, start: int, count: int) -> Part:
    random = np.random.default_rng([shape.seed, start])
    least, most = shape.phrases
    phrases = random.integers(least, most + 1, count)
    others = np.minimum(shape.ways ** random.random((count, shape.candidates, most)), shape.ways - 1).astype(np.int64)
    choice = np.where(random.random(others.shape) < shape.kept, 0, others)
    here = np.arange(most) < phrases[:, None]
    ids = ((shape.features + 1) ** random.random((count, most, shape.ways, shape.pieces))).astype(np.int64) - 1
    taken = np.zeros((count, most, shape.ways), bool)
    np.put_along_axis(taken, choice.transpose(0, 2, 1), True, axis=2)
    taken &= here[..., None]
    found, places = np.unique(
        (np.arange(count)[:, None, None, None] * shape.features + ids)[taken], return_inverse=True
    )
    owner = found // shape.features
    starts = np.searchsorted(owner, np.arange(count + 1))
    local = np.full(ids.shape, NONE)
    local[taken] = places.reshape(-1, shape.pieces) - starts[np.nonzero(taken)[0], None]
    rows = np.take_along_axis(local[:, None], choice[..., None, None], axis=3)[..., 0, :].reshape(
        count * shape.candidates, -1
    )
    rows.sort(axis=1)
    held = rows != NONE
    planted = 0.4 * np.sin(1e4 * ids**0.7)
    worth = np.where(taken, planted.sum(-1), 0.0)
    worth = np.take_along_axis(worth[:, None], choice[..., None], axis=3)[..., 0].sum(-1).ravel()
    noise = random.normal(size=(2, len(worth)))
    gains = 1 / (1 + np.exp(0.9 - 0.5 * worth - 0.3 * noise[0]))
    return Part(
        (found % shape.features).astype(np.uint32), np.diff(starts), rows[held], held.sum(1), gains,
        0.3 * worth + noise[1],
    )  # fmt: skip


def made(shape: Shape, folder: Path | None = None) -> Candidates:
    """The store, with the column gain and base scores; with a folder, mapped from a file there."""
    columns = list(zip(*parts(shape), strict=True)) if folder is None else _filed(shape, folder)
    features, lengths, entries, counts, gains, base = (
        column if isinstance(column, np.ndarray) else np.concatenate(column) for column in columns
    )
    n = len(counts)
    lists = Lists(
        np.arange(0, n + 1, shape.candidates), np.zeros(0), 0, features, ends(lengths), entries, ends(counts),
        np.zeros(0),
    )  # fmt: skip
    nothing, names = Texts(np.zeros(0, np.uint8), np.zeros(n + 1, np.int64)), _numbered(shape.features)
    segments, seen = _numbered(shape.sentences), np.zeros(n, np.int32)
    found = Candidates(lists, Features(names, 0), segments, nothing, base, nothing, {"gain": gains}, seen)
    if folder is None:
        return found
    store.write(folder / "lists", found)
    (folder / "entries").unlink()
    return store.read(folder / "lists")


def batch(shape: Shape, folder: Path | None = None, paged: str | None = None) -> Batch:
    """What a solver works on; costs are 1 - gain, base scores the offset."""
    lists = made(shape, folder)
    stakes = Stakes(lists.bounds, 1 - lists.metrics["gain"], np.zeros(lists.size, bool))
    return Batch(lists, np.zeros((lists.size, 1)), stakes, Column("none"), lists.scores, paged)


def _filed(shape: Shape, folder: Path) -> list[list[NDArray[np.generic]] | NDArray[np.generic]]:
    columns: list[list[NDArray[np.generic]]] = [[] for _ in Part._fields]
    path, at = folder / "entries", Part._fields.index("entries")
    with path.open("wb") as file:
        for one in parts(shape):
            for place, column in enumerate(one):
                if place == at:
                    column.tofile(file)
                else:
                    columns[place].append(column)
    return [*columns[:at], np.memmap(path, np.uint32, "r"), *columns[at + 1 :]]


def _numbered(count: int) -> Texts:
    """The names 00000000, 00000001, …"""
    digits = np.empty((count, 8), np.uint8)
    for place in range(8):
        digits[:, 7 - place] = np.arange(count) // 10**place % 10 + ord("0")
    return Texts(digits.ravel(), np.arange(count + 1) * 8)
