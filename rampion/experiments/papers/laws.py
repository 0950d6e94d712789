"""Laws of the mathematics, which are checked on random problems and must never be violated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rampion.experiments import Relation
from rampion.experiments.claims import AlwaysZero, Quantity
from rampion.experiments.samples import MEAN, Outcome

Checks = Iterator[NDArray[np.bool_]]  # for each check, whether it is violated
Law = Callable[[np.random.Generator], Checks]
COLUMNS = {"violated": "share of checks violated"}


def prove(law: Law, problems: int, seed: int) -> Outcome:
    """Check the law on so many random problems."""
    found = list[NDArray[np.bool_]]()
    for number in range(problems):
        found += law(np.random.default_rng([seed, number]))
    return Outcome({"violated": MEAN.rows(np.concatenate(found))})


def lawful(name: str, row: str, sentence: str) -> Relation:
    """The statement that no check of a row is violated."""
    return Relation(name, "must", sentence, (AlwaysZero(Quantity(row, "violated")),))
