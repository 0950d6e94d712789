"""Kernels beside their twins."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from hypothesis import strategies as st


def both(module, function):
    return [getattr(import_module(f"rampion.{package}.{module}"), function) for package in ("_core", "_reference")]


def same_bits(left, right):
    assert np.asarray(left).tobytes() == np.asarray(right).tobytes()


seeds = st.integers(0, 2**32).map(np.random.default_rng)
