"""A string for every candidate, stored once however often it occurs: a source, a group, the name of a system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Index, Selection, place, places_of
from rampion.store.names import Names
from rampion.store.text import Texts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Coded(Sequence[str]):
    """A sequence of strings in which few are distinct; string i is values[codes[i]].

    Parameters
    ----------
    values : Texts
        The distinct strings.
    codes : numpy.ndarray of uint32
        For every element the place of its string in `values`.

    Examples
    --------
    >>> from rampion.store.coded import Coded
    >>> models = Coded.from_strings(["small", "large", "small"])
    >>> models
    Coded(3 strings, 2 distinct)
    >>> list(models), models[-1], list(models[:2])
    (['small', 'large', 'small'], 'small', ['small', 'large'])
    """

    values: Texts
    codes: NDArray[np.uint32]

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> Coded:
        """The same strings, distinct ones in order of first appearance."""
        known: dict[str, int] = {}
        codes = [known.setdefault(string, len(known)) for string in strings]
        return cls(Texts.from_strings(known), np.array(codes, np.uint32))

    @classmethod
    def join(cls, parts: Sequence[Coded]) -> Coded:
        """All strings of all parts, in order."""
        names = Names()
        codes = [names.intern_all(part.values)[part.codes].astype(np.uint32) for part in parts]
        return cls(names.texts(), np.concatenate(codes) if codes else np.zeros(0, np.uint32))

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Coded:
        """The strings at some places."""
        return Coded(self.values, self.codes[rows])

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: Index) -> str: ...

    @overload
    def __getitem__(self, index: Selection) -> Coded: ...

    def __getitem__(self, index: Index | Selection) -> str | Coded:
        if isinstance(index, int | np.integer):
            return self.values[int(self.codes[place(index, len(self))])]
        return self.take(places_of(index, len(self)))

    def __iter__(self) -> Iterator[str]:
        values = list(self.values)
        return (values[code] for code in self.codes.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coded) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"Coded({len(self)} strings, {len(self.values)} distinct)"


Fields = Mapping[str, Coded]


def joined(parts: Sequence[Fields], lengths: Sequence[int]) -> dict[str, Coded]:
    """The fields of all parts, one after another; a field that a part lacks is empty there."""
    names = dict.fromkeys(name for part in parts for name in part)
    blanks = [Coded(Texts.from_strings([""]), np.zeros(length, np.uint32)) for length in lengths]
    return {
        name: Coded.join([part.get(name, blank) for part, blank in zip(parts, blanks, strict=True)]) for name in names
    }
