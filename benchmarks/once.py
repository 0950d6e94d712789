"""One kernel on one workload, for profilers: python benchmarks/once.py [--lines] WORK LOAD [SEGMENTS [CALLS]]

--lines counts and times the lines of its .pyx, with line_profiler and a build for it (docs/profiling.md).
"""

from __future__ import annotations

import sys

from bench_kernels import RACES, Load, kernels


def main(lines: bool, work: str, load: str, segments: str = "1000", calls: str = "1") -> None:
    race = RACES[work](Load(load, segments=int(segments)))
    kernel = kernels("_core")[race.kernel]
    if lines:
        from line_profiler import LineProfiler

        profiler = LineProfiler(kernel)
        kernel = profiler.wrap_callable(kernel)
    for _ in range(int(calls)):
        kernel(*race.prepare())
    if lines:
        profiler.print_stats()


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--lines"]
    main("--lines" in sys.argv, *given)
