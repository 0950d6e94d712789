"""Small problems to train on."""

from __future__ import annotations

from functools import cache

import numpy as np
from rampion.decoder.text import toy as lists
from strategies import random_store

from rampion.metrics import Column
from rampion.metrics.judging import Batch, Stakes
from rampion.store.candidates import Candidates
from rampion.store.text import References


@cache
def toy(segments=60, k=20):
    records = list(lists.task(3, segments, k))
    return Candidates.from_records(records), References.from_records(records)


def task(seed, segments=6, width=2, sparse=6):
    """A batch whose costs are partly predicted by the features, and its feature matrix."""
    random = np.random.default_rng(seed)
    store = random_store(random, random.integers(1, 8, segments).tolist(), width, sparse)
    rows = store.rows()
    matrix = np.zeros((store.size, len(store.features)))
    matrix[np.repeat(np.arange(store.size), np.diff(rows.entry_bounds)), rows.ids] = rows.values
    costs = np.abs(matrix @ random.normal(size=matrix.shape[1]) + random.normal(size=store.size))
    reached = random.random(store.size) < 0.4
    batch = Batch(store, np.zeros((store.size, 1)), Stakes(store.bounds, costs, reached), Column("none"))
    return batch, matrix, random.normal(size=len(store.features))
