"""Compiles every kernel for 64-bit ARM, and tests them there: python packaging/check_aarch64.py [TESTS...]

For Debian and Ubuntu, and the version of Python there. Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and
qemu-user. A Python for ARM is fetched from Debian's packages and unpacked, not installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOST = "aarch64-linux-gnu"
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
PACKAGES = [
    *(f"python{VERSION}-minimal", f"libpython{VERSION}-minimal", f"libpython{VERSION}-stdlib"),
    f"libpython{VERSION}-dev",
    *("libc6", "libgcc-s1", "libstdc++6", "libexpat1", "zlib1g", "libffi8", "libssl3", "libbz2-1.0", "liblzma5"),
    *("libsqlite3-0", "libuuid1"),
]
WHEELS = ["numpy", "scipy", "rapidfuzz", "regex", "lxml", "hypothesis"]
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
HERE = ["-k", "not larger_than_memory"]  # it starts a Python of its own, which only the emulator could
TESTS = ["kernels/test_signatures.py", "kernels/test_twins_agree.py", "sets/test_packed.py"]


def run(*command: object, **options: object) -> str:
    """The output of a command; if it fails, what it said ends everything."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"check_aarch64: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def system(folder: Path) -> Path:
    """A folder with an ARM Python and what it needs."""
    for part in ("state/lists/partial", "cache/archives/partial", "packages"):
        (folder / part).mkdir(parents=True)
    own = {"APT::Architecture": "arm64", "APT::Architectures": "arm64", "APT::Sandbox::User": "root"}
    own |= {"Dir::State": folder / "state", "Dir::State::status": os.devnull, "Dir::Cache": folder / "cache"}
    options = [f"-o{name}={value}" for name, value in own.items()]
    run("apt-get", *options, "-qq", "update")
    run("apt-get", *options, "-qq", "download", *PACKAGES, cwd=folder / "packages")
    for package in (folder / "packages").iterdir():
        run("dpkg", "-x", package, folder / "root")
    return folder / "root"


def cross_built(folder: Path, root: Path) -> Path:
    """The wheel of this tree for ARM."""
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns("build", ".venv", ".git", "*.so", "__pycache__"))
    headers = f"-I{root}/usr/include -I{root}/usr/include/python{VERSION}"
    cross = {"CC": f"{HOST}-gcc", "LDSHARED": f"{HOST}-gcc -shared", "CFLAGS": headers}
    cross |= {"_PYTHON_HOST_PLATFORM": "linux-aarch64"}
    cross |= {"SETUPTOOLS_EXT_SUFFIX": sysconfig.get_config_var("EXT_SUFFIX").replace("x86_64", "aarch64")}
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder / "wheels", source]
    run(*build, env=os.environ | cross)
    return next((folder / "wheels").glob("rampion-*aarch64.whl"))


def main() -> None:
    tests = sys.argv[1:] or TESTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = system(folder)
        wheel = cross_built(folder, root)
        modules = run(sys.executable, "-m", "zipfile", "-l", wheel).count(".so ")
        print(f"{wheel.name}: {modules} modules, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        platforms = [f"--platform={platform}" for platform in PLATFORMS]
        fetch = ["-q", "--no-deps", "--only-binary=:all:", *platforms, "--python-version", VERSION]
        run(sys.executable, "-m", "pip", "download", *fetch, "-d", folder / "wheels", *WHEELS)
        for one in (folder / "wheels").glob("*.whl"):
            run(sys.executable, "-m", "zipfile", "-e", one, folder / "site")
        here = [path for path in sys.path if path.endswith("-packages")]  # the rest is plain Python
        path = {"PYTHONPATH": ":".join([f"{folder / 'site'}", *here]), "PYTHONDONTWRITEBYTECODE": "1"}
        python = ["qemu-aarch64", "-L", root, root / f"usr/bin/python{VERSION}", "-P", "-W", "ignore"]
        quick = ["-m", "not slow", "--hypothesis-profile=quick", "-p", "no:cacheprovider", "-p", "no:xdist", *HERE]
        places = [ROOT / "tests" / test for test in tests]
        said = run(*python, "-m", "pytest", *quick, *places, cwd=ROOT, env=os.environ | path)
        print(said.splitlines()[-1])


if __name__ == "__main__":
    main()
