"""The kernels of agreement equal their twins bit by bit, whatever room and how many lists they start with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twins import both, same_bits, tokens

from rampion.metrics.consensus import Room
from rampion.metrics.tokens import totals

IDS = st.one_of(st.integers(0, 3), st.sampled_from([2**31 - 1, 2**31, 2**32 - 1]))
TEXTS = st.lists(st.lists(IDS, max_size=14), max_size=7)
LISTS = st.lists(TEXTS, min_size=1, max_size=4)
WEIGHTS = st.integers(0, 2**32).map(np.random.default_rng)


def room(layers, orders, few=False):
    lengths = sum(np.diff(layer.bounds) for layer in layers)
    made = Room.of(8 * int(lengths.sum()), len(lengths), orders, int(lengths.max(initial=0)))
    for array in made:
        array[...] = 251  # what was there before must not matter
    return made._replace(bits=made.bits[:1]) if few else made


def run(function, arguments, layers, orders, count, few=False):
    """As the caller does: again with more bits until all lists are done."""
    expected, space, done = np.full(count, -7.0), room(layers, orders, few), 0
    segments = len(layers[0].segments) - 1
    while (done := function(*arguments, done, space, expected)) < segments:
        space = space.wider()
    return expected


@given(LISTS, WEIGHTS, st.booleans())
def test_expected_bleu_equals_its_twin(lists, random, few):
    texts = tokens(lists)
    grams = totals(texts, 4).astype(float)
    product = grams[:, 0] * (grams[:, 1:] + 1).prod(axis=1)
    scales = np.where(product > 0, 1 / np.maximum(product, 1) ** 0.25, 0.0)
    arguments = texts, scales, random.random(len(scales))
    kernel, twin = both("agree", "agree_bleu")
    same_bits(run(kernel, arguments, (texts,), 4, len(scales), few), run(twin, arguments, (texts,), 4, len(scales)))


@pytest.mark.parametrize(("letters", "words"), [(6, 0), (6, 2), (2, 3), (1, 0)])
@given(lists=LISTS, random=WEIGHTS, few=st.booleans(), factor=st.sampled_from([1.0, 4.0]))
def test_expected_chrf_equals_its_twin(letters, words, lists, random, few, factor):
    first, second = tokens(lists), tokens([[text[::2] for text in texts] for texts in lists])
    grams = np.hstack([totals(first, letters), totals(second, words)])
    shares = np.where(grams > 0, 1 / np.maximum(grams, 1), 0.0)
    arguments = first, second, np.array([letters, words]), shares, random.random(len(grams)), factor
    kernel, twin = both("agree", "agree_chrf")
    layers = first, second
    same_bits(
        run(kernel, arguments, layers, letters + words, len(grams), few),
        run(twin, arguments, layers, letters + words, len(grams)),
    )


@given(LISTS, WEIGHTS, st.integers(1, 5))
def test_posteriors_equal_their_twin(lists, random, order):
    texts = tokens(lists)
    weights, found = random.random(len(texts.bounds) - 1), []
    for function in both("agree", "agree_posteriors"):
        means = np.full((len(weights), order), -7.0)
        function(texts, weights, room((texts,), order), means)
        found.append(means)
    same_bits(*found)
