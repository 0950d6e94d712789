"""How to measure beside others at work: CPU time, contestants taking turns in one process, the best of several runs."""

from __future__ import annotations

import gc
import os
import platform
import re
import subprocess
import sysconfig
from collections.abc import Callable, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import NamedTuple

ROUNDS = 7
TURN, REPEATS = 0.02, 50  # a turn ends after so many seconds of CPU, or so many runs
BUDGET = 1.0  # seconds of CPU, after which a contestant has no more turns


class Run(NamedTuple):
    """One contestant: `work(*prepare())`, of which only the work is timed."""

    prepare: Callable[[], tuple[object, ...]]
    work: Callable[..., object]


def best(runs: Mapping[str, Run]) -> dict[str, float]:
    """The least CPU seconds of each."""
    least, spent = dict.fromkeys(runs, float("inf")), dict.fromkeys(runs, 0.0)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for name, run in runs.items():
                if spent[name] < BUDGET:
                    seconds = turn(run)
                    least[name] = min(least[name], *seconds)
                    spent[name] += sum(seconds)
    finally:
        if collecting:
            gc.enable()
    return least


def turn(run: Run) -> list[float]:
    """CPU seconds of one run, or of several if it is quick, so that it finds its data in the cache."""
    seconds: list[float] = []
    while sum(seconds) < TURN and len(seconds) < REPEATS:
        arguments = run.prepare()
        start = process_time()
        run.work(*arguments)
        seconds.append(process_time() - start)
    return seconds


def machine() -> dict[str, str]:
    """What the numbers were measured on: no name of a host, no path."""
    packages = ("rampion", "numpy", "scipy", "sacrebleu")
    return {
        "processor": f"{_field('/proc/cpuinfo', 'model name')}, {os.cpu_count()} CPUs",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}, {platform.libc_ver()[0]} {platform.libc_ver()[1]}",
        "compiler": _compiler(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": ", ".join(f"{name} {_version(name)}" for name in packages),
        "commit": _commit(),
    }


def _field(path: str, name: str) -> str:
    found = re.search(rf"^{name}\s*:\s*(.+)$", Path(path).read_text(), re.MULTILINE) if Path(path).exists() else None
    return found[1] if found else platform.processor() or "unknown"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(in place)"


def _compiler() -> str:
    """As the kernels that run were built: compilers sign what they make."""
    spec = find_spec("rampion._core.score")
    made = Path(spec.origin).read_bytes() if spec and spec.origin else b""
    signature = re.search(rb"(GCC: \([^)]*\) [\d.]+|clang version [\d.]+)", made)
    return signature[1].decode() if signature else str(sysconfig.get_config_var("CC"))


def _commit() -> str:
    git = ("git", "-C", str(Path(__file__).resolve().parent))
    try:
        head, changed = (
            subprocess.run([*git, *command], capture_output=True, text=True, check=True).stdout.strip()
            for command in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + (", with changes" if changed else "")
