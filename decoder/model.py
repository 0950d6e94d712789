"""What weights say of blocks: a score of every block for every way to come, computed once per weight vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decoder import _kernels
from decoder.blocks import COLUMNS, Blocks
from rampion.errors import InputError

Reals = NDArray[np.float64]
Ids = NDArray[np.uint32]
DENSE = (*COLUMNS, "Phrases", "Words", "Jump")
KINDS = 4  # STEP, OPEN (and REOPEN), FILL, CLOSE


class _Room(NamedTuple):
    keys: NDArray[np.uint64]
    homes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Model:
    """A weight vector, and what has been computed from it.

    `slots` are those of rampion.keys.Keys. local[b, k] is what block b brings when it comes by move k, NaN where no
    one has asked yet. Threads may ask at the same time: they write the same numbers.
    """

    blocks: Blocks
    mask: int
    slots: NDArray[np.void]
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
        slots: NDArray[np.void],
        dense: Mapping[str, float],
        user: Callable[[int], float] | None = None,
    ) -> Model:
        """`user` is one more score of a block, in Python: slow, but asked once a block."""
        for name, weight in dense.items():
            if name not in DENSE:
                raise InputError(f"the model has no feature {name}; its real-valued ones are {', '.join(DENSE)}")
            if not np.isfinite(weight):
                raise InputError(f"the weight of {name} is {weight}; a decoder needs finite weights")
        if not (finite := np.isfinite(slots["weight"])).all():
            worst = slots[np.flatnonzero(~finite)[0]]
            raise InputError(
                f"the weight of feature {worst['id']} (key {worst['key']:#x}) is {worst['weight']}; "
                "a decoder needs finite weights"
            )
        columns = np.array([dense.get(name, 0.0) for name in COLUMNS])
        rest = [float(dense.get(name, 0.0)) for name in ("Phrases", "Words", "Jump")]
        local = np.full((len(blocks.sources), KINDS), np.nan)
        return cls(blocks, mask, slots, columns, *rest, local, user)

    def assess(self, asked: Ids) -> None:
        """Fill local for these blocks."""
        fresh: Any = np.unique(asked[np.isnan(self.local[asked]).any(axis=1)]) if self.user else None
        done, size = 0, 256
        while done < len(asked):
            room = _Room(np.empty(size, np.uint64), np.empty(size, np.int64))
            done = _kernels.assess(asked, done, self.blocks, self, room, self.local)
            size *= 2
        if self.user:
            for block in fresh.tolist():
                self.local[block] += self.user(block)
