"""The suite tests the installed package, and every run draws the same examples."""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

pytest_plugins = ["trained"]

# Checked and sanitizer builds are slow on purpose, so nothing here depends on the clock.
settings.register_profile(
    "full", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("full"), max_examples=15)
settings.load_profile("full")


# A shell starts what it puts into the background deaf to Ctrl-C; some tests send it, to themselves and to children.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure() -> None:
    spec = find_spec("rampion")
    if spec is None:
        raise pytest.UsageError("rampion is not installed; run the tests with 'make test'")
    if os.environ.get("RAMPION_IN_PLACE") != "1" and str(ROOT / "rampion") in spec.submodule_search_locations:
        raise pytest.UsageError(
            f"rampion is imported from the source folder {ROOT}, but the tests are for the installed package; "
            "run them with 'make test', or set RAMPION_IN_PLACE=1 to test an in-place build"
        )
