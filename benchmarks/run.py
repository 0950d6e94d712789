"""All benchmarks: python benchmarks/run.py [--out FILE.json]. Prints the tables and writes them beside the JSON as .md.

Times are CPU seconds of this machine; only the ratios say much about another one. benchmarks/README.md explains them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
SCRIPTS = ("bench_kernels.py", "bench_tune.py")

Results = dict[str, Any]


class Ratio(NamedTuple):
    """A kernel shall be so many times as fast as another way of doing the same work."""

    work: str
    rival: str
    loads: str
    least: float


class Limit(NamedTuple):
    """A figure shall not be larger."""

    what: str
    load: str
    most: float
    unit: str
    figure: Callable[[Results], float]


def kernel(work: str, load: str, scale: float) -> Callable[[Results], float]:
    """Seconds of a kernel's run, scaled."""
    return lambda results: scale * float(_row(results, work, load)["seconds"]["kernel"])


def unit(work: str, load: str, scale: float) -> Callable[[Results], float]:
    """Seconds of a kernel a unit, scaled."""
    return lambda results: kernel(work, load, scale)(results) / int(_row(results, work, load)["units"])


def tuned(load: str, field: str, scale: float = 1.0) -> Callable[[Results], float]:
    return lambda results: scale * float(_tune(results, load)[field])


def reading(load: str) -> Callable[[Results], float]:
    """Milliseconds a megabyte of n-best text."""
    return lambda results: 1e9 * _read(_tune(results, load)) / int(_tune(results, load)["bytes"])


def start(what: str) -> Callable[[Results], float]:
    return lambda results: float(results["starts"][what])


RATIOS = (
    *(Ratio(work, "twin", "DS", 100) for work in ("score", "gather", "epoch")),
    *(Ratio(work, "twin", "DS", 30) for work in ("contrast", "contrast, soft", "side")),
    Ratio("ngrams", "twin", "DS", 60),
    Ratio("ngrams", "sacrebleu", "DS", 100),
    Ratio("score", "SciPy", "S", 1.5),
    Ratio("epoch", "SciPy by segment", "DS", 5),
    Ratio("epoch", "SciPy, slicing", "DS", 5),
    Ratio("epoch, L2", "without L2", "DS", 0.95),
)
LIMITS = (
    Limit("one SSD pass", "D", 3, "ms", kernel("epoch", "D", 1e3)),
    Limit("one SSD pass", "S", 25, "ms", kernel("epoch", "S", 1e3)),
    *(Limit("ngrams, a candidate", load, 0.4, "µs", unit("ngrams", load, 1e6)) for load in "DS"),
    Limit("parse, a megabyte", "D", 10, "ms", unit("parse", "D", 1e9)),
    Limit("read a file, a megabyte", "D", 10, "ms", reading("D")),
    Limit("tune", "D", 1.5, "s", tuned("D", "seconds")),
    Limit("tune", "S", 6, "s", tuned("S", "seconds")),
    Limit("tune, memory", "S", 1.0, "GB", tuned("S", "peak", 1e-9)),
    *(Limit(what, "", 0.4, "s", start(what)) for what in ("import rampion", "rampion --help")),
)


def _row(results: Results, work: str, load: str) -> Results:
    return next(row for row in results["kernels"] if (row["work"], row["load"]) == (work, load))


def _tune(results: Results, load: str) -> Results:
    return next(row for row in results["tune"] if row["load"] == load)


def _read(row: Results) -> float:
    return next(float(step["seconds"]) for step in row["steps"] if step["step"] == "read")


def measure() -> Results:
    """Each script in a process of its own, everything on one thread."""
    results: Results = {}
    for script in SCRIPTS:
        print(f"{script}", file=sys.stderr)
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "RAMPION_KERNELS": "compiled"}
        done = subprocess.run([sys.executable, str(HERE / script)], stdout=subprocess.PIPE, env=environment)
        if done.returncode:
            raise SystemExit(done.returncode)
        results |= json.loads(done.stdout)
    return results


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table that can be read as it stands, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    signs = ["<" if any(cell[:1].isalpha() for cell in column) else ">" for column in zip(*rows, strict=True)]
    shape = " | ".join(f"{{:{sign}{width}}}" for sign, width in zip(signs, widths, strict=True))
    rule = "|".join("-" * width + {"<": "--", ">": "-:"}[sign] for sign, width in zip(signs, widths, strict=True))
    return [f"| {shape.format(*head)} |", f"|{rule}|", *(f"| {shape.format(*row)} |" for row in rows)]


def kernel_table(results: Results) -> list[str]:
    rows = []
    for row in results["kernels"]:
        seconds = dict(row["seconds"])
        own, twin = seconds.pop("kernel"), seconds.pop("twin")
        rivals = "; ".join(f"{name} {taken / own:.3g} ×" for name, taken in seconds.items())
        cells = f"{1e3 * own:.3f}", f"{1e9 * own / row['units']:.3g}", f"{1e3 * twin:.0f}", f"{twin / own:.0f} ×"
        rows.append([row["work"], row["load"], *cells[:2], row["unit"], *cells[2:], rivals])
    return table(["work", "on", "kernel, ms", "ns per", "", "twin, ms", "twin takes", "others take"], rows)


def goal_table(results: Results) -> list[str]:
    return table(["goal", "on", "measured", "wanted", "met"], list(_goals(results)))


def _goals(results: Results) -> Iterator[list[str]]:
    for work, rival, loads, least in RATIOS:
        for load in loads:
            seconds = _row(results, work, load)["seconds"]
            ratio = seconds[rival] / seconds["kernel"]
            yield [f"{work}: time of {rival}", load, f"{ratio:.3g} ×", f"≥ {least:g} ×", _met(ratio >= least)]
    for what, load, most, unit, figure in LIMITS:
        value = figure(results)
        yield [what, load, f"{value:.3g} {unit}", f"≤ {most:g} {unit}", _met(value <= most)]


def _met(held: bool) -> str:
    return "yes" if held else "NO"


def tune_table(results: Results) -> list[str]:
    rows = []
    for row in results["tune"]:
        for load, step in ((row["load"], row), *(("", step) for step in row["steps"])):
            what = step.get("step", "rampion tune")
            rows.append([load, what, f"{step['seconds']:.2f}", f"{step['peak'] / 1e6:.0f}"])
    return table(["on", "the command, then its steps", "CPU, s", "peak, MB"], rows)


def rendered(results: Results) -> str:
    """The results as a page."""
    head = [f"- {name}: {value}" for name, value in results["machine"].items()]
    parts = (
        ["# Benchmarks", "", *head],
        ["## Kernels", "", *kernel_table(results)],
        ["## From n-best text to weights", "", *tune_table(results)],
        ["## Goals", "", *goal_table(results)],
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks.json"), help="default: %(default)s")
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    results = measure()
    page = rendered(results)
    out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    out.with_suffix(".md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
