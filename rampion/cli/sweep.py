"""rampion tune with several recipes or seeds: every run in a folder of its own, one ranked table at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rampion import console

if TYPE_CHECKING:
    from rampion.metrics import Metric
    from rampion.store.features import Weights
    from rampion.training.comparison import Trial
    from rampion.training.loop import Record, Round
    from rampion.training.recipes import Recipe
    from rampion.training.tuning import Task


def sweep(
    recipes: Mapping[str, Recipe],
    seeds: Sequence[int],
    metric: Metric,
    out: Path,
    asked: Mapping[str, Any],
    inputs: Sequence[str],
    as_json: bool,
    keep_rounds: bool,
    task: Task,
) -> None:
    """Tune every recipe with every seed; print the table, best first, and write it to console.json."""
    from rampion.formats.files import replacing
    from rampion.runs.folder import RunFolder, fingerprint
    from rampion.training.comparison import ranked
    from rampion.training.comparison import sweep as trials_of

    folders: dict[str, RunFolder] = {}
    read = {"inputs": [fingerprint(path) for path in inputs]}

    def records(label: str, recipe: Recipe) -> Record:
        name = label.partition(",")[0].partition(".")[0]
        folder = RunFolder.begin(out / label, {**asked, "recipe": name} | recipe.settings(), (), read)
        folders[label] = folder

        def record(row: Round, reached: Weights) -> None:
            folder.round(row)
            if keep_rounds:
                folder.keep(row, reached)

        return record

    trials = []
    for trial in trials_of(recipes, seeds, task, records):
        trials.append(trial)
        for label, run in trial.labelled.items():
            facts = {"metric": run.metric, "signature": run.signature, "tuned": run.after.chosen, "round": run.round}
            folders[label].finish(run.weights, run.last_weights, facts)
        console.note(f"{trial.name}: {trial.trouble or f'{trial.seconds:.2f} s'}")
    best_first = ranked(trials, metric.higher_is_better)
    with replacing(out / "table.json") as file:
        file.write(json.dumps([trial.facts() for trial in best_first], indent=2).encode() + b"\n")
    if as_json:
        console.show_json([trial.facts() for trial in best_first])
        return
    _show(best_first, metric, held_out=task.dev is not None)
    typer.echo(f"wrote {out / 'table.json'} and a folder for every run")


def _show(trials: Sequence[Trial], metric: Metric, held_out: bool) -> None:
    """Scores as mean and sd over the seeds, seconds a run, and the distance between the weights of two seeds."""
    done = [trial for trial in trials if trial.runs]
    head = ["recipe", "runs", "tuned", "sd", *(["held out", "sd"] if held_out else []), "seconds", "distance"]
    rows = []
    for trial in done:
        facts = trial.facts()
        scores = [facts["tuned"], *([facts["dev"]] if held_out else [])]
        cells = [cell for one in scores for cell in (console.number(one["mean"]), _sd(one["sd"], len(trial.runs)))]
        apart = "" if trial.distance is None else f"{trial.distance:.4f}"
        rows.append([trial.name, str(len(trial.runs)), *cells, f"{trial.seconds:.2f}", apart])
    if done:
        first = done[0].runs[0]
        for name, of in (("as listed", "listed"), ("oracle", "oracle")):
            here = [console.number(getattr(first.before, of)), ""]
            there = [console.number(getattr(first.dev.before, of)), ""] if first.dev else []
            rows.append([name, "", *here, *there, "", ""])
        console.show(rows, head, title=f"{metric.name}, {'more' if metric.higher_is_better else 'less'} is better")
        typer.echo(first.signature)


def _sd(sd: float, runs: int) -> str:
    return f"{sd:.2f}" if runs > 1 else ""
