"""The suite tests the installed package; quick and full runs draw the same examples each time, long runs new ones."""

from __future__ import annotations

import os
import signal
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

ROOT = Path(__file__).resolve().parent.parent

pytest_plugins = ["trained"]

# Checked and sanitizer builds are slow on purpose, so nothing here depends on the clock.
settings.register_profile(
    "full", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("full"), max_examples=15)
settings.register_profile(
    "long",
    settings.get_profile("full"),
    max_examples=1000,
    derandomize=False,
    print_blob=True,
    database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples"),
)
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with the most work come first, so that no worker is left with a long one at the end.

    A worker runs whole files (--dist loadfile), because their fixtures are expensive. A slow test counts as fifty.
    """
    work = Counter()
    for item in items:
        work[item.path] += 50 if item.get_closest_marker("slow") else 1
    items.sort(key=lambda item: (-work[item.path], item.path))
