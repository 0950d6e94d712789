"""The papers at the papers' size: every row as a command that can be stopped and given again.

    python benchmarks/papers/at_size.py DATA OUT                     what there is to run, and what is done
    python benchmarks/papers/at_size.py DATA OUT wuebker learn   run these, one after the other (all: all of them)
    python benchmarks/papers/at_size.py DATA OUT --page              the headlines, from the results that are kept

DATA holds folders of parallel text, OUT takes systems, lists and runs (some 100 GB for all of them). What a command
leaves in OUT it does not make again, so that another sitting, or another machine with a copy of OUT, goes on. The
numbers, a few kilobytes for each experiment, are copied to benchmarks/results/papers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

KEPT = Path(__file__).parent.parent / "results" / "papers"
SEEDS = "1,2,3"


class Text(NamedTuple):
    """A corpus: the folder, and how it is cut."""

    folder: str
    cut: tuple[str, ...] = ()


TEXTS = {
    "europarl": Text("europarl-de-en"),  # 230,000 pairs; 1,500 and 2,000 sentences to tune and to test on
    "fisher": Text("fisher-es-en"),  # 29,011; 3,942 and 3,608 with four independent references
    "bible": Text("bible-ar-en", ("--versions",)),  # 189,609, seven English versions; 995 and 996 with four
    "tatoeba": Text("tatoeba-de-en", ("--held-out", "3000")),  # 157,784; 3,000 and 3,000 with one
}


class Run(NamedTuple):
    """What is run on which corpora: an experiment of `rampion reproduce`."""

    experiment: str
    texts: tuple[str, ...]


RUNS = (
    Run("wuebker/table-2", ("europarl", "tatoeba")),
    Run("wuebker/figure-2", ("europarl", "tatoeba")),
    Run("wuebker/efficiency", ("europarl",)),
    Run("wuebker/sensitivity", ("europarl", "tatoeba")),
    Run("wuebker/larger", ("europarl",)),
    Run("gimpel-smith/table-1", ("fisher", "europarl")),
    Run("gimpel-smith/figure-3", ("fisher", "europarl")),
    Run("gimpel-smith/losses", ("fisher", "europarl")),
    Run("gimpel-smith/table-2", ("fisher", "europarl")),
    Run("gimpel-smith/hyper-parameters", ("fisher",)),
    Run("tillmann-zhang/table-5", ("europarl", "bible")),
    Run("tillmann-zhang/figure-2", ("europarl", "bible")),
    Run("tillmann-zhang/figure-3", ("europarl", "bible")),
    Run("tillmann-zhang/footnote-1", ("europarl",)),
    Run("tillmann-zhang/regression", ("europarl",)),
    Run("tillmann-zhang/table-6", ("fisher",)),
    Run("tillmann-zhang/table-7", ("fisher",)),
    Run("tillmann-zhang/table-8", ("fisher",)),
    Run("tillmann-zhang/table-9", ("fisher",)),
)
LEARNT = ("tatoeba", "europarl", "fisher")  # of rampion learn, from the texts as they are cut for the experiments

# The headline of each paper: the relation, what it says, and how far apart the paper's numbers are.
HEADLINES = (
    ("wuebker/table-2", "X20e", "Wuebker et al.: RPROP is above the baseline", "+0.9"),
    ("wuebker/table-2", "X20d", "Wuebker et al.: all features are above phrase pairs", "+0.3"),
    ("gimpel-smith/table-1", "X1b", "Gimpel & Smith: tuning is above untuned weights", ""),
    ("gimpel-smith/table-1", "X1e", "Gimpel & Smith: RAMPION is no worse than MERT and PRO", "+0.2"),
    ("tillmann-zhang/table-5", "X7c", "Tillmann & Zhang: swaps are above monotone order", "+0.4 to +2.3"),
    ("tillmann-zhang/table-5", "X7d", "Tillmann & Zhang: word features are above phrase features", "+3.9, +5.8"),
    ("tillmann-zhang/table-9", "X13b", "Tillmann & Zhang: binary features first are better", "+0.5"),
)


class Job(NamedTuple):
    """A command, where it works, and the numbers that it leaves there."""

    name: str
    arguments: list[str]
    data: Path
    found: Path
    kept: Path


def jobs(data: Path, out: Path) -> Iterator[Job]:
    """All commands, paper by paper; then what a user would want, on texts that the experiments have cut."""
    for run in RUNS:
        for name in run.texts:
            text, folder = TEXTS[name], out / name
            arguments = ["reproduce", run.experiment, "--corpus", str(data / text.folder), *text.cut]
            arguments += ["--scale", "full", "--seeds", SEEDS, "--out", str(folder)]
            file = f"{run.experiment.replace('/', '-')}.json"
            yield Job(f"{run.experiment}/{name}", arguments, data, folder / file, KEPT / f"{name}-{file}")
    for name in LEARNT:
        text, folder = TEXTS[name], out / "learn" / name
        corpus = data / text.folder
        if text.cut:  # as reproduce has cut it
            corpus = out / name / "-".join(["text", *(part.strip("-") for part in text.cut[-1:])])
        arguments = ["learn", str(corpus), "--out", str(folder), "--seeds", SEEDS]
        yield Job(f"learn/{name}", arguments, data, folder / "results.json", KEPT / f"learn-{name}.json")


def perform(job: Job) -> bool:
    """Run a command, or go on with it; keep its numbers. Whether it came to its end."""
    print(f"rampion {' '.join(job.arguments)}", flush=True)
    if subprocess.run([sys.executable, "-m", "rampion", *job.arguments], check=False).returncode:
        print(f"{job.name}: ended with an error; what it has made is kept", flush=True)
        return False
    KEPT.mkdir(parents=True, exist_ok=True)
    job.kept.write_text(job.found.read_text("utf-8").replace(f"{job.data}/", ""), "utf-8")  # no folders of this machine
    return True


def page() -> Iterator[str]:
    """The headlines as Markdown: the paper's difference, ours by corpus with interval and p, and the verdict."""
    yield "| paper and headline | the paper | corpus | ours | p | verdict |"
    yield "|---|---|---|---|---|---|"
    for experiment, relation, said, paper in HEADLINES:
        for name in next(run.texts for run in RUNS if run.experiment == experiment):
            path = KEPT / f"{name}-{experiment.replace('/', '-')}.json"
            cells = judged(json.loads(path.read_text()), relation) if path.exists() else "| | | not run"
            yield f"| {said} ({relation}) | {paper} | {name} {cells} |"
    for name in LEARNT:
        path = KEPT / f"learn-{name}.json"
        cells = gained(json.loads(path.read_text())) if path.exists() else "| | | not run"
        yield f"| `rampion learn`: learnt features are above dense tuning | | {name} {cells} |"


def judged(facts: dict[str, Any], name: str) -> str:
    """The first claim of a relation with its numbers, and the verdict on all of its claims."""
    relation = next((one for one in facts["relations"] if one["id"] == name), None)
    if relation is None:  # some of the rows have been run
        return "| | | not run"
    claim = relation["claims"][0]
    p = "" if claim["p"] is None else f"{claim['p']:.2g}"
    return f"| {claim['value']:+.2f} ({claim['low']:.2f} to {claim['high']:.2f}) | {p} | {relation['verdict']}"


def gained(facts: dict[str, Any]) -> str:
    """The gain of the last step of rampion learn on the test."""
    score = facts["table"]["and tuned again"]["test bleu"]
    verdict = "holds" if score["gain_low"] > 0 else "does not hold" if score["gain_high"] < 0 else "within noise"
    return (
        f"| {score['gain']:+.2f} ({score['gain_low']:.2f} to {score['gain_high']:.2f}) | {score['p']:.2g} | {verdict}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        print("\n".join(page()))
        return
    every = list(jobs(given.data, given.out))
    chosen = [job for job in every if any(name == "all" or job.name.startswith(name) for name in given.names)]
    if given.names and not chosen:
        parser.error(f"nothing is called {' '.join(given.names)}; without a name everything is listed")
    if not given.names:
        for job in every:
            print(f"{job.name:45}{'done' if job.kept.exists() else ''}")
        return
    failed = [job.name for job in chosen if not perform(job)]
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
