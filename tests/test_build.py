"""What is installed, and what is said when something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import files

import pytest


def run(code, **environment):
    """A fresh interpreter, warnings as errors, this one's path."""
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_missing_kernel_names_the_build_command():
    hide = "import sys; sys.modules['rampion._core.score'] = None; import rampion._kernels"
    said = run(hide, RAMPION_KERNELS="compiled").stderr
    assert "rampion._core.score is missing; build it with 'pip install .'" in said


def test_unknown_kernels_are_refused():
    assert "RAMPION_KERNELS='fast'" in run("import rampion._kernels", RAMPION_KERNELS="fast").stderr


def test_reference_kernels_say_that_they_run():
    done = run("import rampion._kernels", RAMPION_KERNELS="reference")
    assert done.returncode == 0
    assert "plain-Python kernels" in done.stderr


def test_import_loads_nothing_heavy():
    heavy = "{'scipy', 'sacrebleu', 'rapidfuzz', 'typer', 'rich', 'decoder'}"
    assert run(f"import sys, rampion; print(sorted({heavy} & set(sys.modules)))").stdout == "[]\n"


@pytest.mark.skipif(os.environ.get("RAMPION_IN_PLACE") == "1", reason="an in-place build is not installed")
def test_wheel_holds_what_it_must_and_no_source():
    names = [str(path) for path in files("rampion")]
    assert "rampion/py.typed" in names
    for suffix in (".pyx", ".c", ".pxd", ".h"):
        assert not [name for name in names if name.endswith(suffix)]
    stubs = {name.removesuffix(".pyi") for name in names if name.endswith(".pyi")}
    compiled = {name.split(".")[0] for name in names if name.endswith(".so")}
    assert stubs == compiled != set()
