"""Hypothesis strategies: stores, weights, costs."""

from __future__ import annotations

import math

import numpy as np
from facts import name, word
from hypothesis import strategies as st

from rampion.store.candidates import Candidates
from rampion.store.features import Features
from rampion.store.packing import pack
from rampion.store.rows import Rows
from rampion.store.text import Texts


@st.composite
def stores(draw, counts_only=None, max_segments=5, max_candidates=7, min_candidates=0):
    """Small stores with dense and sparse features, empty lists and ties among them."""
    lengths = draw(st.lists(st.integers(min_candidates, max_candidates), min_size=1, max_size=max_segments))
    width, sparse = draw(st.integers(0, 3)), draw(st.integers(0, 12))
    counts_only = draw(st.booleans()) if counts_only is None else counts_only
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    return random_store(random, lengths, width, sparse, counts_only)


def random_store(random, lengths, width, sparse, counts_only=False, fill=0.4, texts=None):
    n = sum(lengths)
    ids, values, entry_bounds = [], [], [0]
    for _ in range(n):
        row = [*range(width), *(width + np.flatnonzero(random.random(sparse) < fill))]
        random.shuffle(row)
        ids += row
        values += [float(random.integers(1, 4)) if counts_only and f >= width else random.normal() for f in row]
        entry_bounds.append(len(ids))
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = ["a", "b", "c", "d", "e"]
    rows = Rows(
        Texts.from_strings(str(s) for s in range(len(lengths))),
        bounds,
        Texts.from_strings(texts or [" ".join(random.choice(words, 3)) for _ in range(n)]),
        np.array(entry_bounds, np.int64),
        np.array(ids, np.uint32),
        np.array(values, np.float64),
        np.full(n, np.nan),
        Texts.from_strings([""] * n),
        {},
    )
    features = Features(Texts.from_strings([f"D{j}" for j in range(width)] + [f"s{j}" for j in range(sparse)]), width)
    same = np.arange(width + sparse, dtype=np.uint32)
    return Candidates(*pack(rows, np.arange(n), bounds, rows.segments, same, features))


def arrays(random, size, ties=False):
    """Doubles; with ties, few distinct ones."""
    return random.integers(-2, 3, size).astype(float) if ties else random.normal(size=size)


__all__ = ["Candidates", "arrays", "random_store", "stores"]


finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def lists(draw):
    """Rows with dense groups, sparse features, totals, notes and metrics, and the names of the features."""
    sizes = draw(st.dictionaries(name, st.integers(1, 3), min_size=1, max_size=4))
    names = [n if size == 1 else f"{n}[{k}]" for n, size in sizes.items() for k in range(size)]
    width, sparse = len(names), draw(st.lists(name.filter(lambda n: n not in sizes), unique=True, max_size=4))
    names += sparse
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    n = sum(counts)
    active = [
        [*range(width), *sorted(draw(st.sets(st.sampled_from(range(width, len(names))))) if sparse else ())]
        for _ in range(n)
    ]
    entries = sum(map(len, active))
    return Rows(
        Texts.from_strings(f"s{s}" for s in range(len(counts))),
        np.cumsum([0, *counts]),
        Texts.from_strings(
            draw(
                st.lists(
                    st.lists(word.filter(lambda w: w != "|||"), min_size=1, max_size=3).map(" ".join),
                    min_size=n,
                    max_size=n,
                )
            )
        ),
        np.cumsum([0, *map(len, active)]),
        np.array([j for ids in active for j in ids], np.uint32),
        np.array(draw(st.lists(finite, min_size=entries, max_size=entries))),
        np.array(draw(st.lists(finite | st.just(math.nan), min_size=n, max_size=n))),
        Texts.from_strings(draw(st.lists(st.sampled_from(["", "0-0 1-1", "||| x"]), min_size=n, max_size=n))),
        {"m": np.array(draw(st.lists(finite, min_size=n, max_size=n)))} if draw(st.booleans()) else {},
    ), Texts.from_strings(names)
