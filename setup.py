"""Installs rampion/, and decoder/ as rampion.decoder. Every rampion/_core/*.pyx and decoder/_core/*.pyx becomes one
extension module. Environment:

  RAMPION_CHECKED=1      bounds, None and initialisation checks in every kernel; the same suite must pass
  RAMPION_TRACE=1        line tracing for profilers (line_profiler, coverage)
  RAMPION_SANITIZE=a,b   compile with -fsanitize=a,b (address,undefined)
"""

import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

sys.path.append(str(Path(__file__).parent / "packaging"))
from backend import lacking
from sbom import sbom

CHECKED, TRACE = (os.environ.get(name) == "1" for name in ("RAMPION_CHECKED", "RAMPION_TRACE"))
SANITIZE = os.environ.get("RAMPION_SANITIZE", "")
DIRECTIVES = {
    "language_level": "3",
    "boundscheck": CHECKED,
    "initializedcheck": CHECKED,
    "nonecheck": CHECKED,
    "wraparound": False,
    "cdivision": True,
    "autotestdict": False,
    "freethreading_compatible": True,
    "linetrace": TRACE,
}
# Every machine must compute the same bits: no -ffast-math, no -march, and no fused multiply-add (-ffp-contract=off).
# -fno-math-errno only lets sqrt be one instruction, which IEEE 754 rounds correctly; exp, log and pow still call libm.
DEBUG = CHECKED or bool(SANITIZE)
COMMON = ["-ffp-contract=off", "-fno-math-errno", *(["-O1", "-g"] if DEBUG else ["-O3", "-g0", "-fvisibility=hidden"])]
SANITIZERS = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"] if SANITIZE else []
STRIPPED = ["-Wl,-s"] if sys.platform == "linux" and not DEBUG else []  # symbols are a fifth of a module
MACROS = [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")] if TRACE else []
FLAGS = {"extra_compile_args": COMMON + SANITIZERS, "extra_link_args": SANITIZERS + STRIPPED, "define_macros": MACROS}
MSVC = {"extra_compile_args": ["/O2", "/fp:precise"], "extra_link_args": []}  # instead of gcc's and clang's flags
FLAGS["include_dirs"] = ["rampion/_core"]  # machine.h, slab.h, ...
FLAGS["depends"] = sorted(map(str, Path("rampion/_core").glob("*.h")))
# Each combination builds in a folder of its own, so that none ever reuses what another has compiled.
FOLDER = f"build/{zlib.crc32(repr((DIRECTIVES, FLAGS, Cython.__version__)).encode()):08x}"


class Build(build_ext):
    def build_extensions(self):
        if sentence := lacking():
            raise SystemExit(sentence)
        if self.compiler.compiler_type == "msvc":
            for module in self.extensions:
                vars(module).update(MSVC)
        super().build_extensions()

    def copy_extensions_to_source(self):
        self.force = True  # an in-place build always lands, also over a newer one of another combination
        super().copy_extensions_to_source()


class Wheel(bdist_wheel):
    def write_wheelfile(self, folder, *arguments, **named):
        super().write_wheelfile(folder, *arguments, **named)
        path = Path(folder, "sboms", "rampion.cdx.json")
        path.parent.mkdir()
        path.write_text(sbom(self.distribution.get_version()), "utf-8")


def installed(name: str) -> str:
    """The name under which a package or module of the source tree is installed."""
    return f"rampion.{name}" if name.split(".")[0] == "decoder" else name


# What all modules need of memoryviews is compiled once.
SHARED = "rampion._core._shared"
shared = Path(FOLDER, "_shared.c")
if not shared.exists():
    shared.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "cython", "-X", "freethreading_compatible=True", f"--generate-shared={shared}"]
    subprocess.run(command, check=True)
# Cython looks for `rampion.decoder._core` in a folder of that path.
shutil.rmtree(Path(FOLDER, "include"), ignore_errors=True)
include = Path(FOLDER, "include/rampion/decoder/_core")
include.mkdir(parents=True)
for header in Path("decoder/_core").glob("*.pxd"):
    shutil.copy2(header, include)
sources = sorted([*Path("rampion/_core").glob("*.pyx"), *Path("decoder/_core").glob("*.pyx")])
modules = [Extension(installed(".".join(source.with_suffix("").parts)), [str(source)], **FLAGS) for source in sources]
setup(
    packages=[installed(name) for name in find_packages(include=["rampion", "rampion.*", "decoder", "decoder.*"])],
    package_dir={"rampion.decoder": "decoder"},
    cmdclass={"build_ext": Build, "bdist_wheel": Wheel},
    ext_modules=[
        Extension(SHARED, [str(shared)], **FLAGS),
        *cythonize(
            modules,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            build_dir=FOLDER,
            include_path=[".", f"{FOLDER}/include"],
            quiet=True,
            nthreads=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        ),
    ],
    options={"build": {"build_base": FOLDER}, "build_ext": {"parallel": True}},
)
