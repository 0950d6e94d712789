"""Scores of blocks under a weight vector: one for every block and every kind of move, computed once per vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.features.dense import DENSE
from rampion.decoder.models.blocks import LEARNT, Blocks
from rampion.decoder.models.jumps import Jumps
from rampion.decoder.models.lm import GRAM, PAST, UNIGRAM, Lm, Table
from rampion.decoder.search.states import TURNS

from rampion import _kernels as tables
from rampion.arrays import Ids, Reals
from rampion.errors import InputError
from rampion.store.keys import ABSENT, SLOT, Keys

FLUENCY = ("LM", "LMFirst", "LMRest")
DISTORTION = ("JumpOut", "JumpIn")
MUTE = Table(1, np.zeros(1, UNIGRAM), np.zeros(1, GRAM))
ROOM = 2.5  # slots per feature: most keys that a search looks up are missing, which a crowded table finds out slowly
RUNS = 9  # of keys, a block
SIFT = 0.4  # bytes of the sifter per slot
KINDS = 4  # STEP, OPEN (and REOPEN), FILL, CLOSE: what must follow each of them is known


class _Room(NamedTuple):
    batch: Ids
    keys: NDArray[np.uint64]
    homes: NDArray[np.int64]
    marks: NDArray[np.int64]
    states: NDArray[np.void]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A weight vector, and the scores that have been computed from it.

    local[b, k] is the score of block b after a move of kind k, NaN where it has not been computed. It includes the
    language model's score of the block's words alone; heads[b] is the part of its first words, whose scores depend on
    the words before. A model for distortion also has leaves[b, t], what the block lacks when the next one lies M, S or
    D of it: local then includes the best of the three, since the next move is not known. `single` and `pair` are
    Python functions that score a block and two neighbouring blocks. `single` runs once per block; `pair` makes the
    search itself run in plain Python, hundreds of times slower.
    """

    blocks: Blocks
    mask: int
    slots: NDArray[Any]
    sifter: NDArray[np.uint8]
    columns: Reals
    phrases: float
    words: float
    jump: float
    jump_out: float
    jump_in: float
    jumps: Jumps
    local: Reals
    leaves: Reals
    lm: Table
    spoken: Ids
    lm_first: float
    lm_rest: float
    heads: Reals
    ends: NDArray[np.void]
    single: Callable[[int], float] | None
    pair: Callable[[int, int], float] | None
    lock: Any

    @classmethod
    def of(
        cls,
        blocks: Blocks,
        mask: int,
        keys: Keys,
        dense: Mapping[str, float],
        lm: Lm | None = None,
        spoken: Ids | None = None,
        jumps: Jumps | None = None,
        single: Callable[[int], float] | None = None,
        pair: Callable[[int, int], float] | None = None,
        *,
        within_limit: bool = False,
    ) -> Model:
        """Make a model.

        mask    a bit for each template of templates.NAMES
        keys    the weights of the templates' features
        dense   the weights of the real-valued features, by name
        spoken  the id of every target word in the language model
        single  scores a block: the user's templates
        pair    scores two neighbouring blocks: the user's templates of pairs (slow)

        A search within a limit of distortion needs a model that was made for it.
        """
        if (lm is None) != (spoken is None):
            raise InputError("a language model needs the ids of its words, and they need the model; give both or none")
        if lm is None and (missing := [name for name in FLUENCY if dense.get(name)]):
            raise InputError(f"{missing[0]} has a weight, but there is no language model; give one, or no weight")
        for name, weight in dense.items():
            if name not in DENSE:
                raise InputError(f"the model has no feature {name}; its real-valued ones are {', '.join(DENSE)}")
            if not np.isfinite(weight):
                raise InputError(f"the weight of {name} is {weight}; a decoder needs finite weights")
        if jumps is None and (missing := [name for name in DISTORTION if dense.get(name)]):
            raise InputError(f"{missing[0]} has a weight, but jumps have no model; give one, or no weight")
        if missing := [name for name in LEARNT if dense.get(name) and name not in blocks.columns]:
            raise InputError(f"{missing[0]} has a weight, but the blocks are not condensed; give others, or no weight")
        slots = _roomy(keys)
        sifter = np.zeros(int(SIFT * len(slots)) + 1, np.uint8)
        _kernels.sift(slots, sifter)
        columns = np.array([dense.get(name, 0.0) for name in blocks.columns])
        phrases, words, jump, jump_out, jump_in = (
            float(dense.get(name, 0.0)) for name in ("Phrases", "Words", "Jump", *DISTORTION)
        )
        table = lm.table if lm else MUTE
        first, rest = (float(dense.get("LM", 0.0) + dense.get(name, 0.0)) for name in ("LMFirst", "LMRest"))
        count = len(blocks.sources)
        ends = np.empty(count * (table.order - 1), PAST)
        words_of = np.zeros(0, np.uint32) if spoken is None else spoken
        local = np.full((count, len(TURNS) if within_limit else KINDS), np.nan)
        leaves = np.zeros((count if within_limit else 0, 3))
        return cls(
            blocks, mask, slots, sifter, columns, phrases, words, jump, jump_out, jump_in, jumps or Jumps.none(0),
            local, leaves, table, words_of, first, rest, np.empty(count), ends, single, pair, Lock(),
        )  # fmt: skip

    def assess(self, asked: Ids) -> None:
        """Compute local for these blocks. Only one thread may call this at a time."""
        with self.lock:
            asked = asked[np.isnan(self.local[asked, 0])]
            done, size, past = 0, 512, self.lm.order - 1
            states = np.empty(2 * past, PAST)
            while done < len(asked):
                keys, homes = np.empty(size, np.uint64), np.empty(size, np.int64)
                room = _Room(np.empty(32, np.uint32), keys, homes, np.empty(RUNS * 32 + 1, np.int64), states)
                done = _kernels.assess(asked, done, self.blocks, self, room, self.local)
                size *= 2
            if self.single:
                for block in np.unique(asked).tolist():
                    self.local[block] += self.single(block)


def _roomy(keys: Keys) -> NDArray[Any]:
    """A copy of the table for fast look-ups. Raise InputError if a weight is not finite."""
    slots = keys.slots
    if not (finite := np.isfinite(slots["weight"])).all():
        bad = slots[int(np.argmin(finite))]
        raise InputError(
            f"the weight of feature {bad['id']} (key {int(bad['key']):#x}) is {bad['weight']}; "
            "a decoder needs finite weights"
        )
    places = np.full(len(keys), ABSENT, np.uint32)
    heavy = slots["id"][slots["weight"] != 0]
    places[heavy] = heavy
    roomy = np.zeros(int(ROOM * len(heavy)) + 1, SLOT)
    tables.settle(slots, places, ABSENT, roomy)
    return roomy
