"""Features and their weights, by name: dense features first, then sparse ones, each numbered by first appearance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rampion.errors import InputError
from rampion.store.text import Texts


@dataclass(frozen=True, eq=False)
class Features:
    """Names in the order of their ids; those below `width` are dense."""

    names: Texts
    width: int

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {name: f for f, name in enumerate(self.names)}

    def same(self, other: Features) -> bool:
        return self is other or (self.width == other.width and self.names == other.names)

    def union(self, other: Features) -> tuple[Features, NDArray[np.uint32], NDArray[np.uint32]]:
        """All features of both, and the new ids of each one's features; dense is what both hold dense."""
        if self.same(other):
            same = np.arange(len(self), dtype=np.uint32)
            return self, same, same
        mine, theirs = list(self.names), list(other.names)
        both = set(mine[: self.width]) & set(theirs[: other.width])
        dense = [name for name in mine[: self.width] if name in both]
        ids = {name: f for f, name in enumerate(dict.fromkeys([*dense, *mine, *theirs]))}
        places = [np.array([ids[name] for name in names], np.uint32) for names in (mine, theirs)]
        return Features(Texts.from_strings(ids), len(dense)), places[0], places[1]


@dataclass(frozen=True, eq=False)
class Weights(Mapping[str, float]):
    """One weight for every feature; as a mapping, name to weight."""

    features: Features
    vector: NDArray[np.float64] = field(repr=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> Weights:
        """Weights by name, all of them dense."""
        return cls(
            Features(Texts.from_strings(values), len(values)), np.fromiter(values.values(), np.float64, len(values))
        )

    def __getitem__(self, name: str) -> float:
        return float(self.vector[self.features.ids[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self.features.names)

    def __len__(self) -> int:
        return len(self.features)

    def onto(self, features: Features, *, lenient: bool = False) -> NDArray[np.float64]:
        """The weights in the order of other features; sparse features either side lacks weigh 0.

        A dense feature that only one side has is an error, because a weight would be lost or invented.
        """
        if self.features.same(features):
            return self.vector.copy()
        vector = np.zeros(len(features))
        for name, weight in zip(self.features.names, self.vector.tolist(), strict=True):
            if (f := features.ids.get(name)) is not None:
                vector[f] = weight
        if not lenient:
            unweighted = [
                features.names[f] for f in range(features.width) if features.names[f] not in self.features.ids
            ]
            if unweighted:
                raise InputError(
                    f"the lists have the dense feature {_some(unweighted)}, for which there is no weight; "
                    "add a weight, or pass --lenient to give it 0"
                )
            unknown = [
                name
                for f, name in enumerate(self.features.names)
                if f < self.features.width and name not in features.ids
            ]
            if unknown:
                raise InputError(
                    f"the weights name the dense feature {_some(unknown)}, which no candidate has; "
                    "use the weights of these lists, or pass --lenient to ignore it"
                )
        return vector

    def over(self, earlier: Weights) -> Weights:
        """These weights, and those of sparse features that the earlier ones alone have."""
        ids = self.features.ids
        left = [f for f, name in enumerate(earlier.features.names) if name not in ids]
        if not left:
            return self
        names = Texts.join([self.features.names, earlier.features.names.take(np.array(left))])
        return Weights(Features(names, self.features.width), np.append(self.vector, earlier.vector[left]))


def _some(names: list[str]) -> str:
    return repr(names[0]) if len(names) == 1 else f"{names[0]!r} (and {len(names) - 1} more)"
