"""The n-gram kernel equals its twin, and the twin equals the definition."""

from __future__ import annotations

import inspect

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from twins import tokens

from rampion._core import ngrams as core
from rampion._reference import ngrams as reference
from rampion.metrics.tokens import empty_table

IDS = st.one_of(st.integers(0, 3), st.sampled_from([2**31 - 1, 2**31, 2**32 - 1]))
TEXTS = st.lists(st.lists(IDS, max_size=12), max_size=4)


def run(module, segments, order):
    candidates, references = tokens([c for c, _ in segments]), tokens([r for _, r in segments])
    matches = np.full((len(candidates.bounds) - 1, order), -7, np.int64)
    table = empty_table(references, order)
    table[:] = -9
    module.ngrams(candidates, references, table, matches)
    return matches


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4), st.integers(1, 6))
def test_the_kernel_equals_its_twin(segments, order):
    assert np.array_equal(run(core, segments, order), run(reference, segments, order))


@given(TEXTS, TEXTS, st.integers(1, 6))
def test_matches_are_the_definition(candidates, references, order):
    def count(text, gram):
        return sum(text[k : k + len(gram)] == gram for k in range(len(text)))

    expected = []
    for text in candidates:
        grams = [{tuple(text[k : k + n]) for k in range(len(text) - n + 1)} for n in range(1, order + 1)]
        limits = [[max((count(r, list(gram)) for r in references), default=0) for gram in g] for g in grams]
        counts = [[count(text, list(gram)) for gram in g] for g in grams]
        expected.append([sum(map(min, c, m)) for c, m in zip(counts, limits, strict=True)])
    assert run(core, [(candidates, references)], order).tolist() == expected


def test_the_twins_have_one_signature_and_one_promise():
    assert list(inspect.signature(core.ngrams).parameters) == list(inspect.signature(reference.ngrams).parameters)
    assert core.ngrams.__doc__ == reference.ngrams.__doc__
