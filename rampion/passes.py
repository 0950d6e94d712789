"""Online passes over relevant sets (S10.7): a step after every segment, exact and sequential inside a shard.

Orders come from seed, iteration and epoch alone, and shards are a setting of the run: threads change no bit.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.errors import InputError, RecipeError, TuningError
from rampion.ranking import Ranking, Regression

if TYPE_CHECKING:
    from rampion.slabs import Slabs

Reals = NDArray[np.float64]
Singles = NDArray[np.float32]
Offsets = NDArray[np.int64]
Watch = Callable[[int, float, int], None]  # told the epoch (1, 2, …), its summed losses as met, the visits that moved


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
        _prove(slabs, weights, own)
        cuts = np.linspace(0, len(slabs.bounds) - 1, self.shards + 1).astype(np.int64).tolist()
        parts = [(_paged(weights), own.copy()) for _ in range(self.shards)]
        rooms = [Room.of(slabs) for _ in parts]

        def run(shard: int) -> tuple[float, int]:
            return self._epoch(loss, slabs, orders[shard], *parts[shard], rooms[shard])

        with ThreadPoolExecutor(min(self.shards, threads or os.cpu_count() or 1)) as pool:
            for epoch in range(self.epochs):
                random = np.random.default_rng((self.seed, iteration, epoch))
                orders = [self._order(random, *span) for span in pairwise(cuts)]
                objectives, moved = zip(*pool.map(run, range(self.shards)), strict=True)
                for column in zip(*parts, strict=True):
                    _mix(column)
                lost = not math.isfinite(sum(objectives))
                if lost or (epoch == self.epochs - 1 and not np.isfinite(sum(_total(array) for array in parts[0]))):
                    raise TuningError(
                        f"the weights grew beyond all bounds in epoch {epoch + 1}; use a rate below {self.rate:g}"
                    )
                if watch:
                    watch(epoch + 1, sum(objectives), sum(moved))
        return parts[0]

    def _order(self, random: np.random.Generator, start: int, end: int) -> Offsets:
        blocks = np.arange(start, end, self.window or max(1, end - start))
        random.shuffle(blocks)
        order = [first + random.permutation(min(self.window or end, end - first)) for first in blocks.tolist()]
        return np.concatenate([np.zeros(0, np.int64), *order])

    def _epoch(
        self, loss: Ranking | Regression, slabs: Slabs, order: Offsets, weights: Singles, own: Reals, room: Room
    ) -> tuple[float, int]:
        pace = self.rate, self.rate * self.l2
        if isinstance(loss, Ranking):
            return _kernels.rank(slabs, order, astuple(loss), pace, weights, own, False, room)
        return _kernels.regress(slabs, order, pace, weights, own, False, room)


def _prove(slabs: Slabs, weights: Singles, own: Reals) -> None:
    if (len(weights), len(own)) != (slabs.awake + 1, slabs.width):
        raise InputError(
            f"{len(weights):,} weights of places and {len(own):,} of real-valued features; expected "
            f"{slabs.awake + 1:,}, the first for place 0, and {slabs.width:,}"
        )
    if weights[0] != 0 or not np.isfinite(_total(weights) + _total(own)):
        raise InputError("a weight to start from is not finite, or that of place 0 is not 0; start from finite weights")


def _paged(weights: Singles) -> Singles:
    """A copy on huge pages, where the system has them: weights are read all over."""
    memory = mmap.mmap(-1, max(1, weights.nbytes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(AttributeError, OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    copy = np.frombuffer(memory, np.float32, len(weights))
    copy[:] = weights
    return copy


def _mix(arrays: tuple[NDArray[Any], ...]) -> None:
    """All become their mean, summed in order."""
    for array in arrays[1:]:
        arrays[0][:] += array
    if len(arrays) > 1:
        arrays[0][:] /= len(arrays)
    for array in arrays[1:]:
        array[:] = arrays[0]


def _total(array: NDArray[Any]) -> float:
    with np.errstate(invalid="ignore"):
        return float(array.sum(dtype=np.float64))
