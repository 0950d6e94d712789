"""Memory: what learning from relevant sets will need."""

from __future__ import annotations

from typing import NamedTuple, cast

from rampion.errors import InputError
from rampion.losses.ranking import Ranking
from rampion.system import resident
from rampion.training.policies import RelevantSets
from rampion.training.recipes import Recipe

# Between the 35 million features that Tillmann & Zhang count in 230,000 sets of 31 candidates (S10.2), and the 190 a
# sentence of a small corpus after 6 iterations. Bytes are measured.
FIRED, ADDED = 100, 3  # features new with a sentence, and with a candidate more of it
TABLE, WEIGHTS, PACKED, RECORD = 24, 24, 250, 1300  # bytes a feature, in the table and of weights; bytes a candidate


class Need(NamedTuple):
    """Bytes that training will need, about; `present` are in use before it begins: blocks and language model."""

    features: int
    present: int
    table: int
    weights: int
    records: int  # of one iteration, while they are found and written
    sets: int  # twice, while candidates are added

    def fits(self, limit: int | None) -> bool:
        """Whether the sets fit too; raise InputError if all the rest does not."""
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
    """Of learning from so many sentences by the recipe."""
    loss, sets = cast(Ranking, recipe.loss), cast(RelevantSets, recipe.policy)
    truths = sets.truths if loss.packed.every else min(sets.truths, 1)
    candidates = sentences * (truths + 1 + recipe.k * recipe.iterations)
    features = 0 if sets.learn == "real" else FIRED * sentences + ADDED * candidates
    records = 3 * RECORD * sentences * max(sets.truths, recipe.k)
    return Need(features, resident(), TABLE * features, WEIGHTS * features, records, 2 * PACKED * candidates)


def gigabytes(count: int) -> str:
    return f"{count / (1 << 30):.2g}G"
