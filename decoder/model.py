"""What weights say of blocks: a score of every block for every way to come, computed once per weight vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decoder import _kernels
from decoder.blocks import COLUMNS, Blocks
from rampion import _kernels as tables
from rampion.errors import InputError
from rampion.keys import ABSENT, SLOT, Keys

Reals = NDArray[np.float64]
Ids = NDArray[np.uint32]
DENSE = (*COLUMNS, "Phrases", "Words", "Jump")
ROOM = 2.5  # slots a feature: most keys that a search asks for are in no table, and a crowded one says so late
SIFT = 0.4  # bytes a slot of the sifter
KINDS = 4  # STEP, OPEN (and REOPEN), FILL, CLOSE


class _Room(NamedTuple):
    keys: NDArray[np.uint64]
    homes: NDArray[np.int64]
    marks: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Model:
    """A weight vector, and what has been computed from it.

    `slots` hold the features that weigh anything. local[b, k] is what block b brings when it comes by move k, NaN where no
    one has asked yet. Threads may ask at the same time: they write the same numbers.
    """

    blocks: Blocks
    mask: int
    slots: NDArray[np.void]
    sifter: NDArray[np.uint8]
    columns: Reals
    phrases: float
    words: float
    jump: float
    local: Reals
    user: Callable[[int], float] | None

    @classmethod
    def of(
        cls,
        blocks: Blocks,
        mask: int,
        keys: Keys,
        dense: Mapping[str, float],
        user: Callable[[int], float] | None = None,
    ) -> Model:
        """`user` is one more score of a block, in Python: slow, but asked once a block."""
        for name, weight in dense.items():
            if name not in DENSE:
                raise InputError(f"the model has no feature {name}; its real-valued ones are {', '.join(DENSE)}")
            if not np.isfinite(weight):
                raise InputError(f"the weight of {name} is {weight}; a decoder needs finite weights")
        columns = np.array([dense.get(name, 0.0) for name in COLUMNS])
        rest = [float(dense.get(name, 0.0)) for name in ("Phrases", "Words", "Jump")]
        slots = _roomy(keys)
        sifter = np.zeros(int(SIFT * len(slots)) + 1, np.uint8)
        _kernels.sift(slots, sifter)
        local = np.full((len(blocks.sources), KINDS), np.nan)
        return cls(blocks, mask, slots, sifter, columns, *rest, local, user)

    def assess(self, asked: Ids) -> None:
        """Fill local for these blocks."""
        fresh: Any = np.unique(asked[np.isnan(self.local[asked]).any(axis=1)]) if self.user else None
        done, size = 0, 512
        while done < len(asked):
            room = _Room(np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(6 * 32, np.int64))
            done = _kernels.assess(asked, done, self.blocks, self, room, self.local)
            size *= 2
        if self.user:
            for block in fresh.tolist():
                self.local[block] += self.user(block)


def _roomy(keys: Keys) -> NDArray[Any]:
    """A copy of the table for those who look up only; refuses weights that are no numbers, set behind its back."""
    slots = keys.slots
    if not (finite := np.isfinite(slots["weight"])).all():
        bad = slots[int(np.argmin(finite))]
        raise InputError(f"the weight of feature {bad['id']} (key {bad['key']:#x}) is {bad['weight']}; a decoder needs finite weights")
    places = np.full(len(keys), ABSENT, np.uint32)
    heavy = slots["id"][slots["weight"] != 0]
    places[heavy] = heavy
    roomy = np.zeros(int(ROOM * len(heavy)) + 1, SLOT)
    tables.settle(slots, places, ABSENT, roomy)
    return roomy
