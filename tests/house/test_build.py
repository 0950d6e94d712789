"""What is installed, and what is said when something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

import pytest
import rampion.decoder._kernels

import rampion._kernels

SETUP = Path(__file__).resolve().parents[2] / "setup.py"


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
    heavy = "{'scipy', 'sacrebleu', 'rapidfuzz', 'typer', 'rich', 'rampion.decoder'}"
    assert run(f"import sys, rampion; print(sorted({heavy} & set(sys.modules)))").stdout == "[]\n"


def test_a_module_of_the_user_called_decoder_breaks_nothing(tmp_path):
    (tmp_path / "decoder.py").write_text("raise SystemExit('the decoder of the user was imported')\n")
    code = "from rampion.decoder.block_decoder import BlockDecoder\nprint(BlockDecoder.__name__)\n"
    (tmp_path / "task.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "task.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("BlockDecoder\n", "")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("os.environ['CC'] = 'nonesuch'", "no C compiler: 'nonesuch' was not found; install gcc or clang, or set CC"),
        ("sysconfig.get_path = lambda *_: 'nowhere'", "Python.h was not found; install Python's headers (python3-dev"),
    ],
)
def test_what_a_build_lacks_is_said_before_anything_is_downloaded(broken, said):
    ask = f"import os, sysconfig, backend; {broken}; backend.get_requires_for_build_wheel()"
    done = run(ask, PYTHONPATH=str(SETUP.parent / "packaging"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"rampion: {said}")
    assert done.stderr.count("\n") == 1


def test_pip_asks_the_backend_before_it_downloads_anything():
    """An sdist is refused at once, in one sentence, if nothing can be compiled."""
    project = tomllib.loads((SETUP.parent / "pyproject.toml").read_text())
    assert project["build-system"]["requires"] == []
    said = run("import backend; print(backend.NEEDS)", PYTHONPATH=str(SETUP.parent / "packaging")).stdout
    assert said == "['setuptools>=77', 'Cython>=3.1']\n"


# .ci/run leaves the variables of a build set while it runs the suite on it; checks see lies before the sanitizer does.
@pytest.mark.skipif("RAMPION_CHECKED" not in os.environ, reason="not a build with RAMPION_CHECKED")
def test_a_checked_build_sees_bounds_that_lie():
    assert "IndexError" in bounds_that_lie()


@pytest.mark.skipif("RAMPION_SANITIZE" not in os.environ, reason="not a build with RAMPION_SANITIZE")
def test_a_build_under_sanitizers_has_them():
    if "RAMPION_CHECKED" not in os.environ:
        assert "AddressSanitizer: heap-buffer-overflow" in bounds_that_lie()
    modules = [path for path in files("rampion") if path.suffix == ".so"]
    assert modules
    assert all(b"__asan_report" in path.locate().read_bytes() for path in modules)


def bounds_that_lie():
    """What a process says that reads beyond its arrays."""
    code = (
        "import numpy as np; from rampion._core.contrast import side; a = np.zeros(1000); "
        "side(a, (a, 0.0), np.array([0, 100_000]), a, a, a)"
    )
    return run(code).stderr


@pytest.mark.skipif(os.environ.get("RAMPION_IN_PLACE") == "1", reason="an in-place build is not installed")
def test_wheel_holds_what_it_must_and_no_source():
    names = [str(path) for path in files("rampion")]
    assert "rampion/py.typed" in names
    tops = {name.split("/")[0] for name in names if not name.startswith("..")}  # .. leads to the command in bin
    assert {top.partition("-")[0] for top in tops} == {"rampion"}
    for suffix in (".pyx", ".c", ".pxd", ".h"):
        assert not [name for name in names if name.endswith(suffix)]
    folder = next(top for top in tops if top.endswith(".dist-info"))
    assert {f"{folder}/licenses/LICENSE", f"{folder}/sboms/rampion.cdx.json"} <= set(names)
    doors = {"rampion": rampion._kernels, "rampion/decoder": rampion.decoder._kernels}
    twins = {f"{room}/_core/{module}" for room, door in doors.items() for module in door.MODULES}
    compiled = {name.split(".")[0] for name in names if name.endswith(".so")}
    assert twins | {"rampion/_core/_shared"} == compiled  # which is Cython's own
