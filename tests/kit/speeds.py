"""How long tests take: those that only the full suite runs, and how many examples they draw."""

from __future__ import annotations

import pytest
from hypothesis import settings


def slow(*values):
    """Parameters of a test that only the full suite runs with them."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def examples(count):
    """A test that draws so many examples in the full suite, and in others in proportion (tests/conftest.py)."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100))
