"""Learning curves of all recipes: python benchmarks/curves.py [D] [S] [--segments N] [--out FILE.json].

Half of the lists are learnt from, half held out. After every round: BLEU of both halves, and the CPU seconds so far,
the scoring of both included. No list holds its reference, so for the recipes that need one the best candidate of every
second list is marked as reaching it. Prints a table; with matplotlib (the extra `plot`) draws pictures too.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import cases
import numpy as np
import scipy.optimize  # noqa: F401  # not on the clock of the first recipe that needs it
from measure import machine
from run import table

import rampion
from rampion.losses.contrast import ORACLE
from rampion.store.candidates import Candidates
from rampion.store.names import Names
from rampion.store.rows import Rows
from rampion.store.text import References, Texts
from rampion.training.inputs import judge
from rampion.training.loop import Round, Standing

Results = dict[str, Any]

# Every recipe has its place in one panel.
FAMILIES = {
    "ramp": ("rampion", "rampion-merge", "rampion-mira", "ramp1", "ramp2", "soft-hope-ramp3", "soft-fear-ramp3"),
    "soft ramp, log loss": (
        "soft-ramp1", "soft-ramp2", "soft-ramp3", "och-ney", "hope-log", "oracle-log", "log",
        "latent-log", "softmax-margin",
    ),
    "perceptron, hinge": (
        "kbest-perceptron", "averaged-kbest-perceptron", "gamma-perceptron", "averaged-gamma-perceptron",
        "perceptron", "averaged-perceptron", "hinge",
    ),
    "MIRA, PRO, MERT": ("mira", "mira-sentence", "mira-online", "pro", "pro-regularised", "mert"),
    "risk, expected BLEU": (
        "risk", "risk-annealed", "risk-l1", "xbleu-rprop", "xbleu-adagrad", "xbleu-sgd", "xbleu-fobos",
        "xbleu-lbfgs",
    ),
}  # fmt: skip
HALVES = ("tuned on", "held out")
BELOW = 1.5  # points of BLEU under the initial weights that a picture shows


class Half(NamedTuple):
    lists: Candidates
    references: References


def halves(case: str, segments: int, candidates: int) -> list[Half]:
    """The lists to learn from, and the held-out ones."""
    spelt, rows = cases.rows(case, segments=segments, candidates=candidates)
    names = Names()
    names.intern_all(Texts.from_strings(spelt))
    (lists,) = Candidates.from_rows(names, [[Rows(**rows)]])
    references = [[text] for text in cases.references(case, segments=segments)]
    lists = marked(lists, References.from_lists(references))
    middle = segments // 2
    return [Half(lists[part], References.from_lists(references[part])) for part in (slice(middle), slice(middle, None))]


def marked(lists: Candidates, references: References) -> Candidates:
    """The lists with the best candidate of every second one marked as reaching the reference."""
    stakes = judge(lists, references, "bleu:lin-och").batch(lists).stakes
    best = ORACLE.picks(stakes, np.zeros(lists.size))
    reached = np.zeros(lists.size)
    reached[best[::2]] = 1.0
    return replace(lists, metrics={"reached": reached})


def curve(recipe: str, dev: Half, test: Half) -> Results:
    """BLEU of both halves before and after every round, and CPU seconds."""
    rounds: list[list[float]] = []
    begin = process_time()

    def seconds() -> float:
        return round(process_time() - begin, 3)

    def record(row: Round, weights: rampion.Weights) -> None:
        assert row.dev is not None
        rounds.append([round(row.score, 3), round(row.dev, 3), seconds()])

    tuned = rampion.tune(
        *dev, recipe=recipe, start=cases.INITIAL, record=record, dev=test.lists, dev_references=test.references
    )
    assert tuned.dev is not None
    before: list[Standing] = [tuned.before, tuned.dev.before]
    return {"before": [round(half.chosen, 3) for half in before], "rounds": rounds, "seconds": seconds()}


def measure(loads: list[str], segments: int, candidates: int) -> Results:
    curves: Results = {}
    for load in loads:
        dev, test = halves(load, segments, candidates)
        curves[load] = {}
        for recipe in (recipe for family in FAMILIES.values() for recipe in family):
            print(f"{load} {recipe}", file=sys.stderr)
            curves[load][recipe] = curve(recipe, dev, test)
    return {"machine": machine(), "segments": segments, "candidates": candidates, "curves": curves}


def rows(curves: Results) -> list[list[str]]:
    """Where each recipe ends, and where it stood best on held-out lists."""
    found = []
    for recipe, row in curves.items():
        last, peak = row["rounds"][-1], max(range(len(row["rounds"])), key=lambda at: row["rounds"][at][1])
        scores = last[0], last[1], row["rounds"][peak][1]
        found.append(
            [
                recipe,
                str(len(row["rounds"])),
                *(f"{score:.2f}" for score in scores),
                str(peak + 1),
                f"{row['seconds']:.2f}",
            ]
        )
    return found


def rendered(results: Results) -> str:
    """The results as a page."""
    size = f"{results['segments']} lists of {results['candidates']} candidates, every first half learnt from."
    parts = ["# Learning curves", "\n".join(f"- {name}: {value}" for name, value in results["machine"].items()), size]
    head = ["recipe", "rounds", "tuned on", "held out", "best held out", "in round", "CPU, s"]
    for load, curves in results["curves"].items():
        before = next(iter(curves.values()))["before"]
        start = ["initial weights", "", *(f"{score:.2f}" for score in before), "", "", ""]
        parts += [f"## {load}", "\n".join(table(head, [start, *rows(curves)]))]
    return "\n\n".join(parts) + "\n"


def draw(load: str, curves: Results, path: Path) -> None:
    """A panel for each family and half; the legends tell where the curves end, and what they took."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    ran = list(curves.values())
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rampion", "font.size": 9}):
        figure = Figure(figsize=(15, 8), layout="constrained")
        panels = figure.subplots(2, len(FAMILIES), sharex="col", sharey="row")
        for column, (family, recipes) in enumerate(FAMILIES.items()):
            _column(panels[:, column], {recipe: curves[recipe] for recipe in recipes})
            panels[0, column].set_title(family)
        for half, line in enumerate(panels):
            before, top = ran[0]["before"][half], max(values[half] for row in ran for values in row["rounds"])
            line[0].set(ylabel=f"BLEU, {HALVES[half]}", ylim=(before - BELOW, top + 0.2))
            for panel in line:
                panel.axhline(before, color="0.6", zorder=0)
                panel.grid(alpha=0.3)
        figure.suptitle(f"{load}: BLEU by rounds, from the initial weights (grey); held-out BLEU at the end; CPU")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _column(panels: Any, curves: Results) -> None:
    for place, (recipe, row) in enumerate(curves.items()):
        *scores, _ = zip(*row["rounds"], strict=True)
        for panel, values in zip(panels, scores, strict=True):
            label = f"{recipe}: {values[-1]:.1f}, {row['seconds']:.2g} s"
            style = {"lw": 2.6 - 0.2 * place, "marker": "o", "markevery": [-1], "ms": 5}  # equal curves show both
            panel.plot(range(1, len(values) + 1), values, label=label, **style)
    panels[1].set(xlabel="round", xscale="log")
    panels[1].xaxis.set_major_formatter("{x:g}")
    panels[1].legend(loc="upper center", bbox_to_anchor=(0.45, -0.14), frameon=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loads", nargs="*", metavar="WORKLOAD", help="default: D S")
    parser.add_argument("--segments", type=int, default=300, help="default: %(default)s")
    parser.add_argument("--candidates", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path("build/curves.json"), help="default: %(default)s")
    parser.add_argument("--draw", action="store_true", help="draw the curves of FILE.json, and measure nothing")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    if not given.draw:
        results = measure(given.loads or ["D", "S"], given.segments, given.candidates)
        given.out.write_text(json.dumps(results, separators=(",", ":"), ensure_ascii=False) + "\n")
    results = json.loads(given.out.read_text())
    page = rendered(results)
    given.out.with_suffix(".md").write_text(page)
    print(page)
    if find_spec("matplotlib"):
        for load, curves in results["curves"].items():
            draw(load, curves, given.out.with_name(f"{given.out.stem}-{load}.svg"))


if __name__ == "__main__":
    main()
