"""Builds the compiled kernels: every rampion/_core/*.pyx and decoder/*.pyx is one extension module.

Environment:
  RAMPION_CHECKED=1         bounds, None and overflow checks in every kernel; the same suite must pass
  RAMPION_TRACE=1           line tracing for profilers (line_profiler, coverage)
  RAMPION_SANITIZE=a,b      compile with -fsanitize=a,b (address,undefined)
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

CHECKED = os.environ.get("RAMPION_CHECKED") == "1"
TRACE = os.environ.get("RAMPION_TRACE") == "1"
SANITIZE = os.environ.get("RAMPION_SANITIZE", "")

DIRECTIVES = {
    "language_level": "3",
    "boundscheck": CHECKED,
    "wraparound": False,
    "initializedcheck": CHECKED,
    "nonecheck": CHECKED,
    "overflowcheck": False,
    "cdivision": True,
    "freethreading_compatible": True,
    "linetrace": TRACE,
}

# No -ffast-math and no -march: every machine must compute the same bits (-ffp-contract=off forbids fused multiply-add).
FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno"]
if CHECKED or SANITIZE:
    FLAGS = ["-O1", "-g", "-ffp-contract=off"]
SANITIZERS = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"] if SANITIZE else []
MACROS = [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")]
if TRACE:
    MACROS += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")]

sources = sorted([*Path("rampion/_core").glob("*.pyx"), *Path("decoder").glob("*.pyx")])
extensions = [
    Extension(
        ".".join(source.with_suffix("").parts),
        [str(source)],
        define_macros=MACROS,
        extra_compile_args=FLAGS + SANITIZERS,
        extra_link_args=SANITIZERS,
    )
    for source in sources
]
# cythonize does not notice changed directives, so any build but the release one regenerates the C.
setup(ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES, force=CHECKED or TRACE or bool(SANITIZE), quiet=True))
