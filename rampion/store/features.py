"""Features and their weights, by name: dense features first, then sparse ones, each numbered by first appearance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Index, Selection
from rampion.errors import InputError
from rampion.store.names import Names
from rampion.store.text import Texts


class Features(Sequence[str]):
    """The names of features, in the order of their ids; the dense ones come first.

    A feature is dense if every candidate has it. Only dense features take memory in every candidate.

    Parameters
    ----------
    names : Texts
        The name of every feature.
    width : int
        The number of dense features.

    Examples
    --------
    >>> lists.features
    Features(2 dense + 1 sparse)
    >>> list(lists.features), lists.features[0], "LM" in lists.features
    (['LM', 'TM', 'Cat'], 'LM', True)
    """

    def __init__(self, names: Texts, width: int) -> None:
        self.names, self.width = names, width

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: Index) -> str: ...

    @overload
    def __getitem__(self, index: Selection) -> Texts: ...

    def __getitem__(self, index: Index | Selection) -> str | Texts:
        return self.names[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.ids

    def __repr__(self) -> str:
        return f"Features({self.width} dense + {len(self) - self.width} sparse)"

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of every feature, by name. For millions of features `places` is faster and takes less memory."""
        return {name: f for f, name in enumerate(self.names)}

    @cached_property
    def _table(self) -> Names:
        return Names.of(self.names)

    def places(self, names: Texts) -> NDArray[np.int64]:
        """The ids of features by name.

        Parameters
        ----------
        names : Texts
            The names to look up.

        Returns
        -------
        numpy.ndarray of int64
            The id of every name, -1 for those that are no features.

        Examples
        --------
        >>> lists.features.places(rampion.Texts.from_strings(["TM", "Dog"])).tolist()
        [1, -1]
        """
        if "_table" in self.__dict__ or len(names) >= len(self):
            return self._table.find_all(names)
        # A hash table of the smaller set of names is built faster.
        asked = Names(1 << max(len(names) - 1, 1).bit_length())
        numbers = asked.intern_all(names)
        places, found = np.full(len(asked), -1, np.int64), asked.find_all(self.names)
        here = np.flatnonzero(found >= 0)
        places[found[here]] = here
        return places[numbers]

    def same(self, other: Features) -> bool:
        """Whether both have the same names in the same order, and the same dense features.

        Parameters
        ----------
        other : Features
            What to compare with.

        Returns
        -------
        bool
            True if every id means the same feature in both.

        Examples
        --------
        >>> lists.features.same(lists[:1].features)
        True
        """
        return self is other or (self.width == other.width and self.names == other.names)

    def union(self, other: Features) -> tuple[Features, NDArray[np.uint32], NDArray[np.uint32]]:
        """All features of both; a feature is dense if it is dense in both.

        Parameters
        ----------
        other : Features
            What to add.

        Returns
        -------
        features : Features
            The features of both.
        mine, theirs : numpy.ndarray of uint32
            The new id of every feature of this, and of the other.

        Examples
        --------
        >>> one, two = (rampion.Weights.from_dict(dict.fromkeys(names, 1.0)).features for names in ("ab", "bc"))
        >>> both, mine, theirs = one.union(two)
        >>> list(both), mine.tolist(), theirs.tolist()
        (['b', 'a', 'c'], [1, 0], [0, 2])
        """
        if self.same(other):
            same = np.arange(len(self), dtype=np.uint32)
            return self, same, same
        table = Names.of(self.names)
        mine, theirs = np.arange(len(self)), table.intern_all(other.names)
        shared = np.zeros(len(table), np.bool_)
        shared[theirs[: other.width]] = True
        shared[self.width :] = False
        order = np.concatenate([np.flatnonzero(shared), np.flatnonzero(~shared)])
        places = np.empty(len(table), np.uint32)
        places[order] = np.arange(len(table))
        return Features(table.texts().take(order), int(shared.sum())), places[mine], places[theirs]


class Weights(Mapping[str, float]):
    """One weight for every feature: a mapping from names to numbers.

    Parameters
    ----------
    features : Features
        The features that have weights.
    vector : numpy.ndarray of float64
        The weight of every feature, in the order of the features' ids.
    system : mapping of str to str, optional
        Fingerprints of the parts of the decoder that the weights belong to, such as its blocks; empty if unknown.

    Examples
    --------
    >>> weights = rampion.Weights.from_dict({"LM": 0.5, "TM": 1.0})
    >>> weights
    Weights({'LM': 0.5, 'TM': 1})
    >>> weights["LM"], len(weights), sorted(weights), weights.get("Cat", 0.0), "TM" in weights
    (0.5, 2, ['LM', 'TM'], 0.0, True)
    """

    def __init__(
        self, features: Features, vector: NDArray[np.float64], system: Mapping[str, str] | None = None
    ) -> None:
        self.features, self.vector, self.system = features, vector, dict(system or {})

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> Weights:
        """Weights by name, all of dense features.

        Parameters
        ----------
        values : mapping of str to float
            The weight of every feature.

        Returns
        -------
        Weights
            The same weights.

        Raises
        ------
        InputError
            If a name is not a string, or a weight is not a finite number.

        Examples
        --------
        >>> rampion.Weights.from_dict({"LM": 1}).vector
        array([1.])
        """
        if not isinstance(values, Mapping):
            raise InputError(f"weights by name are a {type(values).__name__}; give a dict, such as {{'LM': 0.5}}")
        for name in values:
            if not isinstance(name, str):
                raise InputError(f"the name of a feature is {name!r}; expected a string")
        vector = np.fromiter(map(_number, values.values()), np.float64, len(values))
        for name in compress(values, ~np.isfinite(vector)):
            raise InputError(f"the weight of {name!r} is {values[name]!r}; expected a finite number")
        return cls(Features(Texts.from_strings(values), len(values)), vector)

    def to_dict(self) -> dict[str, float]:
        """The weights as a plain dict, such as `from_dict` takes.

        Returns
        -------
        dict of str to float
            The weight of every feature.

        Examples
        --------
        >>> rampion.Weights.from_dict({"LM": 0.5}).to_dict()
        {'LM': 0.5}
        """
        return dict(zip(self.features, self.vector.tolist(), strict=True))

    def __getitem__(self, name: str) -> float:
        return float(self.vector[self.features.ids[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self.features.names)

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r}: {self.vector[f]:.6g}" for f, name in enumerate(self.features[:5]))
        if len(self) <= 5:
            return f"Weights({{{shown}}})"
        dense = self.features.width
        return f"Weights({{{shown}, ...}}, {dense} dense + {len(self) - dense} sparse)"

    def onto(self, features: Features, *, lenient: bool = False) -> NDArray[np.float64]:
        """The weights in the order of other features; sparse features that either side lacks weigh 0.

        A dense feature that only one side has is an error, because a weight would be lost or invented.

        Parameters
        ----------
        features : Features
            The features of the lists to score.
        lenient : bool
            Whether dense features may differ too.

        Returns
        -------
        numpy.ndarray of float64
            One weight for each of `features`.

        Raises
        ------
        InputError
            If only one side has a dense feature, unless lenient.

        Examples
        --------
        >>> rampion.Weights.from_dict({"TM": 1.0, "LM": 0.5}).onto(lists.features)
        array([0.5, 1. , 0. ])
        """
        if self.features.same(features):
            return self.vector.copy()
        vector, places = np.zeros(len(features)), features.places(self.features.names)
        vector[places[places >= 0]] = self.vector[places >= 0]
        if not lenient:
            dense = features.names.part(0, features.width)
            unweighted = dense.take(np.flatnonzero(self.features.places(dense) < 0))
            if len(unweighted):
                raise InputError(
                    f"the lists have the dense feature {_some(unweighted)}, for which there is no weight; "
                    "add a weight, or give it 0 (--lenient, lenient=True)"
                )
            unknown = self.features.names.take(np.flatnonzero(places[: self.features.width] < 0))
            if len(unknown):
                raise InputError(
                    f"the weights name the dense feature {_some(unknown)}, which no candidate has; "
                    "use the weights of these lists, or ignore it (--lenient, lenient=True)"
                )
        return vector

    def over(self, earlier: Weights) -> Weights:
        """These weights, and those of features that only the earlier ones have.

        Parameters
        ----------
        earlier : Weights
            Where to take the weights of other features from.

        Returns
        -------
        Weights
            The union.

        Examples
        --------
        >>> rampion.Weights.from_dict({"LM": 1.0}).over(rampion.Weights.from_dict({"LM": 2.0, "Cat": 3.0}))
        Weights({'LM': 1, 'Cat': 3})
        """
        left = np.flatnonzero(self.features.places(earlier.features.names) < 0)
        if not len(left):
            return self
        names = Texts.join([self.features.names, earlier.features.names.take(left)])
        return Weights(Features(names, self.features.width), np.append(self.vector, earlier.vector[left]))


def named(weights: Mapping[str, float]) -> Weights:
    """The weights as arrays, without a check of their values."""
    if isinstance(weights, Weights):
        return weights
    values = np.fromiter(weights.values(), np.float64, len(weights))
    return Weights(Features(Texts.from_strings(weights), 0), values)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _some(names: Texts) -> str:
    return repr(names[0]) if len(names) == 1 else f"{names[0]!r} (and {len(names) - 1} more)"
