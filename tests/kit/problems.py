"""Small problems to train on."""

from __future__ import annotations

from functools import cache

import numpy as np
from rampion.decoder.text import toy as lists
from strategies import random_store

from rampion.formats.jsonl import rows_of
from rampion.metrics import Column
from rampion.metrics.judging import Batch, Stakes
from rampion.store.candidates import Candidates
from rampion.store.names import Names
from rampion.store.text import References


@cache
def toy(segments=60, k=20):
    records, names = list(lists.task(3, segments, k)), Names()
    references = References.from_lists(record["refs"] for record in records)
    return Candidates.from_rows(names, [[rows_of(records, names)]])[0], references


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
