"""Online passes over relevant sets (S10.7): a step after every segment, exact and sequential inside a shard.

Orders follow from seed, iteration and epoch alone, and shards are a setting of the run, so threads change no bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Offsets, Reals, Singles
from rampion.errors import InputError, RecipeError, TuningError
from rampion.losses.ranking import PackedLoss
from rampion.protocols import Loss, Solver, Watcher
from rampion.system import private
from rampion.threads import processors

if TYPE_CHECKING:
    from rampion.sets.packed import Slabs


class SetWeights(NamedTuple):
    """Weights over packed sets, by place and of real-valued features, with figures of the epoch before."""

    places: Singles
    own: Reals
    objective: float = 0.0  # the sum of the losses
    moved: int = 0  # visits that changed the weights

    @property
    def total(self) -> float:
        """The sum of all weights: finite if each of them is."""
        with np.errstate(invalid="ignore"):
            return float(self.places.sum(dtype=np.float64)) + float(self.own.sum(dtype=np.float64))


# A function (epoch, weights) that runs one epoch (0, 1, …) of all shards from these weights, and yields the result of
# each shard in order. The first result's arrays belong to the caller; those of others last until the next one is made.
Walk = Callable[[int, SetWeights], Iterable[SetWeights]]


class SetBatch(Protocol):
    """Packed sets to run epochs over: in this process, or on workers with a shard each."""

    def walking(self, solver: OnlineSgd, loss: PackedLoss, weights: SetWeights) -> AbstractContextManager[Walk]:
        """Prepare for the epochs of a solver that start from these weights. The weights are not changed."""
        ...


class WorkArrays(NamedTuple):
    """Work arrays for the largest segment, each an allocation of its own, so that a sanitizer sees any overrun."""

    found: Singles  # the weights of its places, which are no more than the words of its blob
    sums: Singles  # of its chunks, which are no more than its places
    totals: Singles
    touched: NDArray[np.uint64]
    scores: Reals
    steps: Reals

    @classmethod
    def of(cls, slabs: Slabs) -> WorkArrays:
        words = int(np.diff(slabs.bounds).max(initial=0)) // 64 + 1
        places = max(1, int(np.diff(slabs.starts).max(initial=0)))
        return cls(
            np.zeros(places, np.float32), np.zeros(places, np.float32), np.zeros(64 * words, np.float32),
            np.zeros(words, np.uint64), np.zeros(64 * words), np.zeros(64 * words),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Here:
    """Packed sets of this process; each thread runs a shard."""

    slabs: Slabs
    iteration: int = 0
    threads: int | None = None

    @contextmanager
    def walking(self, solver: OnlineSgd, loss: PackedLoss, weights: SetWeights) -> Iterator[Walk]:
        slabs, segments = self.slabs, len(self.slabs.bounds) - 1
        prove(slabs.awake, slabs.width, weights)
        parts = [SetWeights(paged(weights.places), weights.own.copy()) for _ in range(solver.shards)]
        rooms = [WorkArrays.of(slabs) for _ in parts]

        def run(shard: int, order: Offsets) -> SetWeights:
            return solver.epoch(loss, slabs, order, parts[shard], rooms[shard])

        def walk(epoch: int, weights: SetWeights) -> Iterator[SetWeights]:
            for part in parts:
                if part.places is not weights.places:  # those of the first shard are the mean of the epoch before
                    part.places[:], part.own[:] = weights.places, weights.own
            return pool.map(run, range(solver.shards), list(solver.orders(self.iteration, epoch, segments)))

        with ThreadPoolExecutor(min(solver.shards, self.threads or processors())) as pool:
            yield walk


@dataclass(frozen=True, slots=True)
class OnlineSgd(Solver[SetBatch, SetWeights]):
    """Stochastic gradient descent: `epochs` passes over all segments, each in a new random order.

    The regulariser is l2 / 2 * |weights|^2 for each segment.
    """

    form = "sets"

    rate: float = 1e-4
    epochs: int = 40
    l2: float = 0.0
    seed: int = 0
    shards: int = 1  # parts of the segments, each with weights of its own during an epoch, which then become the mean
    window: int = 0  # shuffle segments in blocks of `window` neighbours, for stores beyond memory; 0: shuffle freely

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

    def check(self, loss: Loss) -> None:
        if not isinstance(getattr(loss, "packed", None), PackedLoss):
            raise RecipeError(
                f"OnlineSgd needs a loss in numbers (`packed`), such as costmargin; {type(loss).__name__} has none: "
                "use another solver"
            )

    def solve(
        self, loss: Loss, batch: SetBatch, weights: SetWeights, origin: SetWeights | None = None,
        watch: Watcher[SetWeights] | None = None,
    ) -> SetWeights:  # fmt: skip
        """The weights after all epochs. In each epoch every shard starts from the mean of the epoch before."""
        self.check(loss)
        if origin is not None and (origin.places.any() or origin.own.any()):
            raise RecipeError("OnlineSgd pulls weights to 0, and cannot pull them elsewhere: leave the origin out")
        with batch.walking(self, cast(Any, loss).packed, weights) as walk:
            for epoch in range(self.epochs):
                weights = _mean(walk(epoch, weights))
                lost = not math.isfinite(weights.objective)
                if lost or (epoch == self.epochs - 1 and not math.isfinite(weights.total)):
                    raise TuningError(
                        f"the weights grew beyond all bounds in epoch {epoch + 1}; use a rate below {self.rate:g}"
                    )
                if watch:
                    watch(epoch + 1, weights)
        return weights

    def spans(self, segments: int) -> list[tuple[int, int]]:
        """The first segment of every shard, and the one behind its last."""
        return list(pairwise(np.linspace(0, segments, self.shards + 1).astype(np.int64).tolist()))

    def orders(self, iteration: int, epoch: int, segments: int) -> Iterator[Offsets]:
        """The order in which each shard visits its segments in this epoch."""
        random = np.random.default_rng((self.seed, iteration, epoch))
        return (self._order(random, *span) for span in self.spans(segments))

    def epoch(
        self, loss: PackedLoss, slabs: Slabs, order: Offsets, weights: SetWeights, work: WorkArrays
    ) -> SetWeights:
        """Run the segments in this order. The arrays of `weights` are changed in place."""
        places, own, *_ = weights
        step = self.rate, self.rate * self.l2
        met = _kernels.rank(slabs, order, loss, step, places, own, False, work)
        return SetWeights(places, own, *met)

    def _order(self, random: np.random.Generator, start: int, end: int) -> Offsets:
        blocks = np.arange(start, end, self.window or max(1, end - start))
        random.shuffle(blocks)
        order = [first + random.permutation(min(self.window or end, end - first)) for first in blocks.tolist()]
        return np.concatenate([np.zeros(0, np.int64), *order])


def prove(awake: int, width: int, weights: SetWeights) -> None:
    """Raise InputError on weights that training cannot start from."""
    if (len(weights.places), len(weights.own)) != (awake + 1, width):
        raise InputError(
            f"{len(weights.places):,} weights of places and {len(weights.own):,} of real-valued features; expected "
            f"{awake + 1:,}, the first for place 0, and {width:,}"
        )
    if weights.places[0] != 0 or not np.isfinite(weights.total):
        raise InputError("a weight to start from is not finite, or that of place 0 is not 0; start from finite weights")


def paged(weights: Singles) -> Singles:
    """A copy on huge pages, where the system has them, because weights are read at random addresses."""
    copy = np.frombuffer(private(weights.nbytes), np.float32, len(weights))
    copy[:] = weights
    return copy


@np.errstate(over="ignore", invalid="ignore")
def _mean(shards: Iterable[SetWeights]) -> SetWeights:
    """The mean of the shards' weights, summed in order, with the sums of their losses and visits."""
    each = iter(shards)
    places, own, objective, moved = next(each)
    objectives, visits = [objective], [moved]
    for shard in each:
        places += shard.places
        own += shard.own
        objectives.append(shard.objective)
        visits.append(shard.moved)
    if len(visits) > 1:
        places /= len(visits)
        own /= len(visits)
    return SetWeights(places, own, sum(objectives), sum(visits))
