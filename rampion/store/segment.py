"""The candidates of one segment, to look at: a small view of a store."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from rampion.arrays import Index, Selection, place, places_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rampion.store.candidates import Candidates


class Candidate(NamedTuple):
    """One candidate.

    Parameters
    ----------
    text : str
        What it says.
    features : dict of str to float
        Its features by name; those that it does not have are not there.
    score : float or None
        The score that came with it.
    metrics : dict of str to float
        The metric columns that came with it.
    note : str
        Other text that came with it.

    Examples
    --------
    >>> lists[0][1].text, lists[0][1].features["LM"]
    ('the cat sat', -1.5)
    """

    text: str
    features: dict[str, float]
    score: float | None
    metrics: dict[str, float]
    note: str


class Segment(Sequence[Candidate]):
    """The candidates of one segment: a sequence of `Candidate`.

    Parameters
    ----------
    store : Candidates
        The lists that hold the segment.
    number : int
        The place of the segment in them, from 0.

    Examples
    --------
    >>> segment = lists[0]
    >>> segment
    Segment('1', 2 candidates)
    >>> segment.id, segment.texts, segment.features[0]["LM"]
    ('1', ['a cat sits', 'the cat sat'], -1.0)
    >>> [candidate.text for candidate in segment]
    ['a cat sits', 'the cat sat']
    """

    def __init__(self, store: Candidates, number: int) -> None:
        self._store, self._number = store, number
        self._first, self._last = store.bounds[number : number + 2].tolist()

    @property
    def id(self) -> str:
        """The name of the segment."""
        return self._store.segments[self._number]

    @property
    def texts(self) -> list[str]:
        """The text of every candidate."""
        return list(self._store.texts.part(self._first, self._last))

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score that came with every candidate, NaN without one."""
        return self._store.scores[self._first : self._last]

    @property
    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """The metric columns of the candidates, by name."""
        return {name: column[self._first : self._last] for name, column in self._store.metrics.items()}

    @cached_property
    def features(self) -> list[dict[str, float]]:
        """The features of every candidate, by name."""
        lists, names = self._store.lists.part(self._number, self._number + 1).valued(), self._store.features.names
        dense = lists.dense.reshape(lists.width, len(self)).T.tolist()
        heads = [names[f] for f in range(lists.width)]
        ids = lists.features[lists.entries].tolist()
        ends, values = lists.entry_bounds.tolist(), lists.values.tolist()
        found = []
        for i, row in enumerate(dense if lists.width else [[]] * len(self)):
            span = slice(ends[i], ends[i + 1])
            sparse = {names[f]: value for f, value in zip(ids[span], values[span], strict=True)}
            found.append(dict(zip(heads, row, strict=True)) | sparse)
        return found

    def __len__(self) -> int:
        return int(self._last - self._first)

    @overload
    def __getitem__(self, index: Index) -> Candidate: ...

    @overload
    def __getitem__(self, index: Selection) -> list[Candidate]: ...

    def __getitem__(self, index: Index | Selection) -> Candidate | list[Candidate]:
        if isinstance(index, int | np.integer):
            return self._candidate(place(index, len(self)))
        return [self._candidate(i) for i in places_of(index, len(self)).tolist()]

    def _candidate(self, i: int) -> Candidate:
        store, row = self._store, self._first + i
        score = float(store.scores[row])
        metrics = {name: float(column[row]) for name, column in store.metrics.items()}
        return Candidate(
            store.texts[row], self.features[i], None if math.isnan(score) else score, metrics, store.notes[row]
        )

    def __iter__(self) -> Iterator[Candidate]:
        return (self._candidate(i) for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Segment) and self.id == other.id and list(self) == list(other)

    def __repr__(self) -> str:
        return f"Segment({self.id!r}, {len(self)} candidates)"
