"""Units of features: how much each differs within lists, so that learning does not depend on the features' scales.

A feature's unit is the size of its differences within the lists that are learnt from. In units, a candidate's dense
feature is its distance from the median of its own list. So neither the scale of a feature nor a number that all
candidates of a list share changes what is learnt. The weight of a raw feature is its weight in units divided by the
unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Reals
from rampion.errors import InputError
from rampion.store.candidates import Candidates
from rampion.store.features import Features
from rampion.store.lists import Lists

CALM = 0.9  # larger differences than this quantile count as the quantile
GRID = 2.0**20  # numbers in units are multiples of 1 / GRID, which removes the rounding errors of rescaled features
STEM = re.compile(r"[^\W\d_]+")  # a template


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The unit of every feature; 0 for a dense one that is constant in every list.

    A dense feature's unit is the root mean square of its differences from the medians of lists, where it differs;
    differences above their 90 % quantile count as that quantile. The sparse features of a template, such as `PL_1,2`
    and `PL_3,1`, share a unit: the median size of their values. The units of counts are 1.

    Parameters
    ----------
    features : Features
        The features.
    sizes : numpy.ndarray of float64
        The unit of every one of them.

    Examples
    --------
    >>> from rampion.store.units import Units
    >>> units = Units.of(lists)
    >>> units.sizes[:2]
    array([1., 1.])
    >>> units.outward(units.inward(np.array([0.5, 1.0, 2.0])))
    array([0.5, 1. , 2. ])
    """

    features: Features
    sizes: Reals

    @classmethod
    def of(cls, candidates: Candidates) -> Self:
        """The units of these lists."""
        lists = candidates.lists
        with np.errstate(over="ignore"):
            away = np.abs(_centred(lists.dense, lists.bounds, lists.width))
        columns = _columns(lists, away)
        for name, column in zip(candidates.features.names, columns, strict=False):
            if not np.isfinite(column).all():
                raise InputError(f"values of the feature {name!r} differ by more than a number can hold; scale it down")
        dense = np.array([_typical(column) for column in columns])
        return cls(candidates.features, np.append(dense, _sparse(candidates)))

    def inward(self, weights: Reals) -> Reals:
        """Weights of features in units from weights of raw features, with the same differences of scores."""
        return weights * self.sizes

    def outward(self, weights: Reals) -> Reals:
        """Weights of raw features from weights of features in units; 0 for a feature without a unit."""
        return np.divide(weights, self.sizes, out=np.zeros(len(weights)), where=self.sizes > 0)

    def applied(self, candidates: Candidates) -> Candidates:
        """The lists in units; a feature that the units do not have keeps its values."""
        lists, sizes = candidates.lists, self._onto(candidates.features)
        shares = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        lengths = np.diff(lists.bounds)
        dense = _centred(lists.dense, lists.bounds, lists.width) * np.repeat(
            np.tile(shares[: lists.width], len(lengths)), np.repeat(lengths, lists.width)
        )
        values = lists.values
        if len(values):
            values = _rounded(values * shares[_owners(lists)])
        return candidates.with_lists(lists._replace(dense=_rounded(dense), values=values))

    def _onto(self, features: Features) -> Reals:
        if features.same(self.features):
            return self.sizes
        known = dict(zip(self.features.names, self.sizes.tolist(), strict=True))
        return np.array([known.get(name, 1.0) for name in features.names])


def spread(values: Reals, bounds: NDArray[np.int64]) -> float:
    """The typical difference of the candidates' numbers from the median of their list, where they differ."""
    return _typical(np.abs(_centred(values, bounds, 1)))


LEAST = 1e-300  # smaller differences give no unit, because its inverse could be infinite


def _rounded(numbers: Reals) -> Reals:
    return np.rint(numbers * GRID) / GRID


def _centred(dense: Reals, bounds: NDArray[np.int64], width: int) -> Reals:
    """Dense features minus their medians in the list: the lower of two medians, so that constants give exactly 0."""
    centred, lengths = np.empty_like(dense), np.diff(bounds)
    for length in np.unique(lengths[lengths > 0]):
        starts = width * bounds[:-1][lengths == length]
        places = starts[:, np.newaxis] + np.arange(width * length)
        block = dense[places].reshape(len(starts), width, length)
        middle = (length - 1) // 2
        medians = np.partition(block, middle, axis=2)[:, :, middle : middle + 1]
        centred[places] = (block - medians).reshape(places.shape)
    return centred


def _columns(lists: Lists, dense: Reals) -> list[Reals]:
    """The values of every dense feature."""
    heads, strides = lists.columns()
    return [dense[heads + f * strides] for f in range(lists.width)]


def _typical(away: Reals) -> float:
    """The typical size of the distances that are not 0."""
    away = away[away > LEAST]
    if not len(away):
        return 0.0
    middle = int(CALM * (len(away) - 1))
    most = np.partition(away, middle)[middle]
    return float(most * np.sqrt(np.square(np.minimum(away / most, 1.0)).mean()))


def _owners(lists: Lists) -> NDArray[np.int64]:
    """The feature of every entry."""
    shifts = np.repeat(lists.feature_bounds[:-1], np.diff(lists.entry_bounds[lists.bounds]))
    return np.asarray(lists.features[lists.entries + shifts], np.int64)


def _sparse(candidates: Candidates) -> Reals:
    """The unit of every sparse feature: that of its template."""
    lists, names = candidates.lists, candidates.features.names
    count = len(names) - lists.width
    if not len(lists.values):
        return np.ones(count)
    known: dict[str, int] = {}
    stems = [STEM.match(name) for name in names.take(np.arange(lists.width, len(names)))]
    templates = np.array([known.setdefault(stem[0] if stem else "", len(known)) for stem in stems], np.int64)
    filled = lists.values != 0
    sizes, owners = np.abs(lists.values[filled]), templates[_owners(lists)[filled] - lists.width]
    units = np.ones(len(known))
    order = np.lexsort((sizes, owners))
    starts = np.searchsorted(owners[order], np.arange(len(known) + 1))
    present = np.flatnonzero(np.diff(starts))
    units[present] = sizes[order[(starts[present] + starts[present + 1] - 1) // 2]]
    return units[templates]
