"""An estimate of the memory that learning from relevant sets needs."""

from __future__ import annotations

from typing import NamedTuple, cast

from rampion.errors import InputError
from rampion.losses.ranking import Ranking
from rampion.system import resident
from rampion.training.policies import RelevantSets
from rampion.training.recipes import Recipe

# Between the 35 million features that Tillmann & Zhang count in 230,000 sets of 31 candidates (S10.2), and the 190 a
# sentence of a small corpus after 6 iterations. Bytes are measured.
FIRED, ADDED = 100, 3  # new features of another sentence, and of another candidate of it
TABLE, WEIGHTS, PACKED, RECORD = 24, 24, 250, 1300  # bytes of a feature in the table, of its weight, and of a candidate


class Need(NamedTuple):
    """An estimate of the bytes that training needs; `present` are in use before: blocks and language model."""

    features: int
    present: int
    table: int
    weights: int
    records: int  # of one iteration, while they are decoded and written
    sets: int  # twice, while candidates are added

    def fits(self, limit: int | None) -> bool:
        """Whether the sets fit in memory, too; raise InputError if even the rest does not."""
        least = sum(self[1:-1])
        if limit is not None and least > limit:
            raise InputError(
                f"--memory {gigabytes(limit)}: about {self.features / 1e6:.1f} million features need "
                f"{gigabytes(self.table)} for their table and {gigabytes(self.weights)} for weights, the candidates of "
                f"an iteration {gigabytes(self.records)}, blocks and language model {gigabytes(self.present)}; "
                f"allow {gigabytes(least)}, or learn from fewer sentences (--pairs)"
            )
        return limit is None or least + self.sets <= limit


def need(recipe: Recipe, sentences: int) -> Need:
    """The estimate for a recipe and a number of sentences."""
    loss, sets = cast(Ranking, recipe.loss), cast(RelevantSets, recipe.policy)
    truths = sets.truths if loss.packed.every else min(sets.truths, 1)
    candidates = sentences * (truths + 1 + recipe.k * recipe.iterations)
    features = 0 if sets.learn == "real" else FIRED * sentences + ADDED * candidates
    records = 3 * RECORD * sentences * max(sets.truths, recipe.k)
    return Need(features, resident(), TABLE * features, WEIGHTS * features, records, 2 * PACKED * candidates)


def gigabytes(count: int) -> str:
    return f"{count / (1 << 30):.2g}G"
