"""Learning from the lists of several decoders together. Features with equal names are one feature.

An expectation loss needs only sums over lists. So nothing is copied into one store: each decoder's lists keep their
working form, their costs and their base scores. Parts are added up in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Integers, Reals
from rampion.losses.expectation import Expectation, Sums
from rampion.metrics.judging import Batch, Stakes
from rampion.protocols import Loss
from rampion.store.candidates import Candidates
from rampion.store.grouped import Grouped
from rampion.store.names import Names
from rampion.store.text import Texts
from rampion.training.sharded import expectation


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The lists of one decoder. Weights of their dense features are not learnt.

    form     the sparse features
    stakes   the costs
    base     the score of every candidate before anything is learnt
    names    the names of its features
    spread   the number of lists that have each; 0 for dense ones
    """

    form: Candidates | Grouped
    stakes: Stakes
    base: Reals
    names: Texts
    spread: Integers

    @classmethod
    def of(cls, batch: Batch, base: Reals) -> Part:
        """The part of judged lists."""
        lists, features = batch.candidates.lists, batch.candidates.features
        spread = np.bincount(lists.features, minlength=len(features))
        return cls(
            replace(batch, candidates=batch.candidates.narrowed(0)).form, batch.stakes, base, features.names, spread
        )


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The lists of all decoders, as a batch for a solver of an expectation loss.

    names   the features that learn
    parts   the lists
    places  the place of each part's features among the names; features that are not learnt come after the last
    spread  the number of lists that have each learnt feature
    """

    names: Texts
    parts: tuple[Part, ...]
    places: tuple[Integers, ...]
    spread: Integers

    @classmethod
    def of(cls, parts: Sequence[Part], least: int = 1) -> Pool:
        """The pool of these parts; features are learnt if at least `least` lists have them."""
        known, counts, owned = Names(), np.zeros(0, np.int64), list[Integers]()
        for part in parts:
            ids = known.intern_all(part.names)
            counts = np.pad(counts, (0, len(known) - len(counts)))
            counts[ids] += part.spread
            owned.append(ids)
        taken = counts >= max(1, least)
        places = np.where(taken, np.cumsum(taken) - 1, np.count_nonzero(taken))
        names = known.texts().take(np.flatnonzero(taken))
        return cls(names, tuple(parts), tuple(places[ids] for ids in owned), counts[taken])

    def __len__(self) -> int:
        """The number of learnt features."""
        return len(self.names)

    def only(self, first: int, last: int) -> Pool:
        """The same features with the parts from `first` to `last` - 1."""
        return replace(self, parts=self.parts[first:last], places=self.places[first:last])

    def gradient(self, loss: Loss, weights: Reals) -> tuple[float, Reals]:
        """The loss of all lists, and its gradient."""
        wanted, gradient, sums = expectation(loss), np.zeros(len(self) + 1), list[Sums]()
        for part, places in zip(self.parts, self.places, strict=True):
            found, slopes = wanted.sums(part.stakes, _scores(part, places, weights))
            sums.append(found)
            gradient += np.bincount(places, part.form.gather(slopes), len(gradient))
        value, divisor = wanted.whole(Sums.joined(sums))
        return value, gradient[:-1] / divisor

    def expected(self, loss: Expectation, weights: Reals) -> float:
        """The mean over all lists of the expected gain, in percent; a cost is 1 - gain, and an empty list gains 0."""
        sums = Sums.joined(
            loss.sums(part.stakes, _scores(part, places, weights))[0]
            for part, places in zip(self.parts, self.places, strict=True)
        )
        return 100.0 * (sums.filled - sums.costs) / max(1, sums.lists)

    def scaled(self, scale: float) -> Pool:
        """The same lists with base scores multiplied by a factor."""
        return replace(self, parts=tuple(replace(part, base=scale * part.base) for part in self.parts))


class Groups(Protocol):
    """Groups of features, each with a weight that all of its features share."""

    def __len__(self) -> int: ...

    def spread(self, weights: Reals) -> Reals:
        """The sum of the weights of each feature's groups."""
        ...

    def gather(self, slopes: Reals) -> Reals:
        """The slopes of the groups' weights from those of the features' weights."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Tied:
    """A pool whose features have their own weights plus the weights of their groups; both are learnt.

    pool     all features of the lists
    own      the features with a weight of their own; the weights of the groups follow after these
    groups   the groups
    """

    pool: Pool
    own: NDArray[np.bool_]
    groups: Groups

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.pool.parts

    @property
    def names(self) -> Texts:
        """The features with weights of their own."""
        return self.pool.names.take(np.flatnonzero(self.own))

    def __len__(self) -> int:
        """The number of weights."""
        return int(np.count_nonzero(self.own)) + len(self.groups)

    def only(self, first: int, last: int) -> Tied:
        """The same weights with the parts from `first` to `last` - 1."""
        return replace(self, pool=self.pool.only(first, last))

    def split(self, weights: Reals) -> tuple[Reals, Reals]:
        """The features' own weights, and those of the groups."""
        count = len(weights) - len(self.groups)
        return weights[:count], weights[count:]

    def whole(self, weights: Reals) -> Reals:
        """The weight of every feature of the lists."""
        own, shared = self.split(weights)
        found = self.groups.spread(shared)
        found[self.own] += own
        return found

    def gradient(self, loss: Loss, weights: Reals) -> tuple[float, Reals]:
        """The loss of all lists, and its gradient."""
        value, slopes = self.pool.gradient(loss, self.whole(weights))
        return value, np.concatenate([slopes[self.own], self.groups.gather(slopes)])

    def expected(self, loss: Expectation, weights: Reals) -> float:
        """The mean over all lists of the expected gain, in percent."""
        return self.pool.expected(loss, self.whole(weights))


def _scores(part: Part, places: Integers, weights: Reals) -> Reals:
    """The score of every candidate, up to a number that all candidates of a list share."""
    scores: Any = part.form.score(np.append(weights, 0.0)[places])
    scores += part.base
    return np.asarray(scores)


def volume(loss: Expectation, stakes: Stakes, scores: Reals, effective: float) -> float:
    """The factor of scores at which the effective number of candidates of a list has this value.

    A tuner that uses only the best candidates leaves the scale of scores open; an expectation depends on it.
    """
    quiet, shrill = -10.0, 10.0
    for _ in range(40):
        middle = (quiet + shrill) / 2
        wide = loss.effective(stakes, 2.0**middle * scores) > effective
        quiet, shrill = (middle, shrill) if wide else (quiet, middle)
    return float(2.0**quiet)
