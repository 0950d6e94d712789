"""Online passes over relevant sets (S10.7): a step after every segment, exact and sequential inside a shard.

Orders come from seed, iteration and epoch alone, and shards are a setting of the run: threads change no bit.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.errors import InputError, RecipeError, TuningError
from rampion.losses.ranking import Ranking, Regression
from rampion.threads import processors

if TYPE_CHECKING:
    from rampion.sets.packed import Slabs

Reals = NDArray[np.float64]
Singles = NDArray[np.float32]
Offsets = NDArray[np.int64]
Watch = Callable[[int, float, int], None]  # told the epoch (1, 2, …), its summed losses as met, the visits that moved


class Gone(NamedTuple):
    """Where an epoch has taken a shard. The arrays of the first shard are the reader's; others only until the next."""

    weights: Singles
    own: Reals
    objective: float
    moved: int


Walk = Callable[[int, Singles, Reals], Iterable[Gone]]  # takes all shards, in order, through an epoch (0, 1, …)


class Room(NamedTuple):
    """What a kernel needs for the largest segment: weights of its places, their sums, numbers for its candidates."""

    found: Singles
    totals: Singles
    touched: NDArray[np.uint64]
    scores: Reals
    steps: Reals

    @classmethod
    def of(cls, slabs: Slabs) -> Room:
        words = int(np.diff(slabs.bounds).max(initial=0)) // 64 + 1
        places = 2 * int(np.diff(slabs.starts).max(initial=0)) + 16
        return cls(
            np.zeros(places, np.float32), np.zeros(64 * words, np.float32), np.zeros(words, np.uint64),
            np.zeros(64 * words), np.zeros(64 * words),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passes:
    """Stochastic gradient descent: `epochs` times through all segments in random order, each time another one.

    The pull of L2 is l2 / 2 * |weights|^2 a segment.
    """

    rate: float = 1e-4
    epochs: int = 40
    l2: float = 0.0
    seed: int = 0
    shards: int = 1  # each goes its own way through an epoch; the weights after it are the mean
    window: int = 0  # segments are shuffled in blocks of so many neighbours, for stores beyond memory; 0: freely

    def __post_init__(self) -> None:
        for name, least in {"epochs": 1, "seed": 0, "shards": 1, "window": 0}.items():
            if (value := getattr(self, name)) < least:
                raise RecipeError(f"{name} is {value}; expected {least} or more")
        if not 0 < self.rate < math.inf:
            raise RecipeError(f"rate is {self.rate:g}; expected a finite number above 0")
        if not 0 <= self.rate * self.l2 < 1:
            raise RecipeError(
                f"rate * l2 is {self.rate * self.l2:g}; expected 0 or more and less than 1, the whole way back to 0: "
                "choose a smaller l2"
            )

    def solve(
        self, loss: Ranking | Regression, slabs: Slabs, weights: Singles, own: Reals, watch: Watch | None = None,
        iteration: int = 0, threads: int | None = None,
    ) -> tuple[Singles, Reals]:  # fmt: skip
        """The weights of places and of real-valued features after training from those given, which stay as they are."""
        prove(slabs.awake, slabs.width, weights, own)
        segments = len(slabs.bounds) - 1
        parts = [(paged(weights), own.copy()) for _ in range(self.shards)]
        rooms = [Room.of(slabs) for _ in parts]

        def run(shard: int, order: Offsets) -> Gone:
            return Gone(*parts[shard], *self.epoch(loss, slabs, order, *parts[shard], rooms[shard]))

        def walk(epoch: int, weights: Singles, own: Reals) -> Iterator[Gone]:
            for part in parts[1:]:  # the first is what is told
                part[0][:], part[1][:] = weights, own
            return pool.map(run, range(self.shards), list(self.orders(iteration, epoch, segments)))

        with ThreadPoolExecutor(min(self.shards, threads or processors())) as pool:
            return self.mixed(walk, *parts[0], watch)

    def mixed(self, walk: Walk, weights: Singles, own: Reals, watch: Watch | None = None) -> tuple[Singles, Reals]:
        """The weights after all epochs; every shard is taken through each of them from the mean of the one before."""
        for epoch in range(self.epochs):
            weights, own, objective, moved = _mean(walk(epoch, weights, own))
            lost = not math.isfinite(objective)
            if lost or (epoch == self.epochs - 1 and not math.isfinite(_total(weights) + _total(own))):
                raise TuningError(
                    f"the weights grew beyond all bounds in epoch {epoch + 1}; use a rate below {self.rate:g}"
                )
            if watch:
                watch(epoch + 1, objective, moved)
        return weights, own

    def spans(self, segments: int) -> list[tuple[int, int]]:
        """The first segment of every shard, and the one behind its last."""
        return list(pairwise(np.linspace(0, segments, self.shards + 1).astype(np.int64).tolist()))

    def orders(self, iteration: int, epoch: int, segments: int) -> Iterator[Offsets]:
        """In which every shard visits its segments."""
        random = np.random.default_rng((self.seed, iteration, epoch))
        return (self._order(random, *span) for span in self.spans(segments))

    def epoch(
        self, loss: Ranking | Regression, slabs: Slabs, order: Offsets, weights: Singles, own: Reals, room: Room
    ) -> tuple[float, int]:
        """Take the weights through the segments of order: the losses met, summed, and the visits that moved."""
        pace = self.rate, self.rate * self.l2
        if isinstance(loss, Ranking):
            return _kernels.rank(slabs, order, astuple(loss), pace, weights, own, False, room)
        return _kernels.regress(slabs, order, pace, weights, own, False, room)

    def _order(self, random: np.random.Generator, start: int, end: int) -> Offsets:
        blocks = np.arange(start, end, self.window or max(1, end - start))
        random.shuffle(blocks)
        order = [first + random.permutation(min(self.window or end, end - first)) for first in blocks.tolist()]
        return np.concatenate([np.zeros(0, np.int64), *order])


def prove(awake: int, width: int, weights: Singles, own: Reals) -> None:
    """Raise InputError on weights that training cannot start from."""
    if (len(weights), len(own)) != (awake + 1, width):
        raise InputError(
            f"{len(weights):,} weights of places and {len(own):,} of real-valued features; expected "
            f"{awake + 1:,}, the first for place 0, and {width:,}"
        )
    if weights[0] != 0 or not np.isfinite(_total(weights) + _total(own)):
        raise InputError("a weight to start from is not finite, or that of place 0 is not 0; start from finite weights")


def paged(weights: Singles) -> Singles:
    """A copy on huge pages, where the system has them: weights are read all over."""
    memory = mmap.mmap(-1, max(1, weights.nbytes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(AttributeError, OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    copy = np.frombuffer(memory, np.float32, len(weights))
    copy[:] = weights
    return copy


@np.errstate(over="ignore", invalid="ignore")
def _mean(shards: Iterable[Gone]) -> Gone:
    """Weights become their mean, summed in order; losses and visits are summed."""
    each = iter(shards)
    weights, own, objective, moved = next(each)
    objectives, visits = [objective], [moved]
    for gone in each:
        weights += gone.weights
        own += gone.own
        objectives.append(gone.objective)
        visits.append(gone.moved)
    if len(visits) > 1:
        weights /= len(visits)
        own /= len(visits)
    return Gone(weights, own, sum(objectives), sum(visits))


def _total(array: NDArray[Any]) -> float:
    with np.errstate(invalid="ignore"):
        return float(array.sum(dtype=np.float64))
