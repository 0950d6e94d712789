"""setuptools' build backend, which refuses first of all to build where nothing can be compiled.

pip asks a backend what it needs before it downloads anything, so that the sentence comes at once.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

NEEDS = ["setuptools>=77", "Cython>=3.1"]
Config = Mapping[str, object] | None


def lacking() -> str | None:
    """What a compiler build lacks, as a sentence; nothing on Windows, where setuptools looks for the compiler."""
    if os.name == "nt":
        return None
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if not shutil.which(compiler):
        return f"rampion: no C compiler: {compiler!r} was not found; install gcc or clang, or set CC"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "rampion: Python.h was not found; install Python's headers (python3-dev or python3-devel)"
    return None


def get_requires_for_build_wheel(config_settings: Config = None) -> list[str]:
    if sentence := lacking():
        raise SystemExit(sentence)
    return NEEDS


def get_requires_for_build_editable(config_settings: Config = None) -> list[str]:
    return get_requires_for_build_wheel(config_settings)


def get_requires_for_build_sdist(config_settings: Config = None) -> list[str]:
    return NEEDS


def build_wheel(folder: str, config_settings: Config = None, metadata: str | None = None) -> str:
    from setuptools import build_meta

    return str(build_meta.build_wheel(folder, config_settings, metadata))


def build_editable(folder: str, config_settings: Config = None, metadata: str | None = None) -> str:
    from setuptools import build_meta

    return str(build_meta.build_editable(folder, config_settings, metadata))


def build_sdist(folder: str, config_settings: Config = None) -> str:
    from setuptools import build_meta

    return str(build_meta.build_sdist(folder, config_settings))
