"""Kernels beside their twins."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from hypothesis import strategies as st

from rampion.metrics.tokens import Tokens


def both(module, function):
    return [getattr(import_module(f"rampion.{package}.{module}"), function) for package in ("_core", "_reference")]


def same_bits(left, right):
    assert np.asarray(left).tobytes() == np.asarray(right).tobytes()


def tokens(segments):
    """The tokens of texts, which are lists of ids."""
    texts = [text for segment in segments for text in segment]
    return Tokens(
        np.array([token for text in texts for token in text], np.uint32),
        np.cumsum([0, *map(len, texts)], dtype=np.int64),
        np.cumsum([0, *map(len, segments)], dtype=np.int64),
    )


seeds = st.integers(0, 2**32).map(np.random.default_rng)
