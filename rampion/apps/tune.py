"""Tune weights on lists: one run, or every run of a comparison of recipes, settings and seeds."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np

from rampion import console
from rampion.analysis.inspection.features import leaks
from rampion.apps.inputs import (
    OF_DECODERS,
    labelled,
    note_doubt,
    one_metric,
    read_runs,
    recipes_of,
    references_of,
    seeds_of,
    weighed,
    weights_file,
)
from rampion.apps.workers import team
from rampion.errors import InputError, RecipeError
from rampion.executors import Coordinator
from rampion.formats.files import replacing
from rampion.formats.references import Records
from rampion.metrics import Column, Metric
from rampion.metrics import metric as named
from rampion.optim.mert import LineSearch
from rampion.runs.folder import RunFolder, fingerprint
from rampion.runs.lock import owned
from rampion.store.candidates import Candidates
from rampion.store.columns import Columns
from rampion.store.features import Weights
from rampion.training.comparison import Trial, ranked
from rampion.training.comparison import sweep as trials_of
from rampion.training.inputs import segments_of
from rampion.training.loop import Record, Round
from rampion.training.policies import policy_named
from rampion.training.recipes import AUTO, Recipe
from rampion.training.task import Task
from rampion.training.tuned import Tuned
from rampion.training.tuning import refuse_shards, refuse_with_auto
from rampion.training.validation import FOLDS

Show = Callable[[str, Round], None]  # the metric's name, and the results of a round


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneTask:
    """The lists to tune on, the settings (NAME=VALUE), and the output folder."""

    lists: list[str]
    refs: list[str] = field(default_factory=list)
    out: Path
    weights: str | None = None
    recipe: str = AUTO
    settings: list[str] = field(default_factory=list)
    policy: str | None = None
    dev: list[str] = field(default_factory=list)
    dev_refs: list[str] = field(default_factory=list)
    keep_rounds: bool = False
    seeds: str | None = None
    folder: str | None = None
    shards: int | None = None
    executor: str | None = None
    columns: list[str] = field(default_factory=list)
    lenient: bool = False
    resume: bool = False
    folds: int = FOLDS
    group: str | None = None
    bends: bool = False
    force: bool = False

    def asked(self) -> dict[str, object]:
        """The options that a run folder keeps."""
        return {
            "recipe": self.recipe, "lists": self.lists, "refs": self.refs, "weights": self.weights,
            "policy": self.policy or MERGE, "dev": self.dev, "dev_refs": self.dev_refs, "columns": self.columns,
            "lenient": self.lenient, "shards": self.shards, "executor": self.executor, "folds": self.folds,
            "group": self.group, "bends": self.bends,
        }  # fmt: skip

    def inputs(self) -> list[str]:
        """The files that it reads."""
        weights = [weights_file(self.weights)] if self.weights else []
        return [*self.lists, *self.refs, *weights, *self.dev, *self.dev_refs]


def settings_of(given: Sequence[str] | None, metric: str | None, target: str | None) -> list[str]:
    """The settings of --set, and the metric of --metric or --target."""
    named = one_metric(metric, target)
    return [*(given or ()), *([f"metric={named}"] if named else [])]


MERGE = "merge"
WEIGHTS = "the segments have weights: learning and all figures count them"
ROSE = 0.05  # a share by which the loss may end above its first round: it counts without L2


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A task with its inputs read: recipes, lists, references and weights."""

    task: TuneTask
    recipes: dict[str, Recipe]
    seeds: list[int]
    metric: Metric
    lists: Task
    held_out: bool

    @property
    def several(self) -> bool:
        """Whether there is more than one run to do."""
        return bool(self.seeds) or len(self.recipes) > 1


def prepare(task: TuneTask) -> Prepared:
    """Check the options and read the lists."""
    if task.resume:
        raise RecipeError(
            "--resume continues a run with a decoder; tuning on lists begins again, or with --shards continues by "
            "itself: leave it out"
        )
    if task.recipe == AUTO:
        others = [one for one in task.settings if not one.startswith("metric=")]
        refuse_with_auto(others, task.shards, task.executor is not None)
    recipes, seeds = recipes_of(task.recipe, task.settings), seeds_of(task.seeds)
    chosen = next(iter(recipes.values()))
    refuse_shards(chosen, task.shards, task.executor is not None)
    if task.shards and (seeds or len(recipes) > 1):
        raise RecipeError(f"--shards {task.shards}: is for one recipe at a time, with one value of every setting")
    metric = named(chosen.metric)
    policy_named(task.policy or MERGE)
    if not task.force:
        _refuse_others(task, recipes, several=bool(seeds) or len(recipes) > 1)
    runs, records = read_runs(task.lists, task.lenient, task.columns, [chosen.metric], task.group)
    if sole := _sole_column(task, runs, records):
        recipes = {name: recipe.set(metric=sole) for name, recipe in recipes.items()}
        chosen, metric = next(iter(recipes.values())), named(sole)
        console.note(f"there are no references, so the weights learn from the lists' only column: --metric {sole}")
    runs = labelled(runs, chosen.metric)
    references = references_of(segments_of(runs), records, task.refs, chosen.metric)
    if any("weight" in run.fields for run in runs):
        console.note(WEIGHTS)
    note_doubt(metric, references)
    start = weighed(runs[0], task.weights, task.lenient)[1] if task.weights else None
    held, held_references = None, None
    if task.dev:
        held, records = read_runs(task.dev, task.lenient, task.columns, [chosen.metric], task.group)
        held = labelled(held, chosen.metric)
        held_references = references_of(segments_of(held), records, task.dev_refs, chosen.metric)
    lists = Task(
        runs, references, start=start, policy=task.policy, lenient=task.lenient, dev=held,
        dev_references=held_references, folder=task.folder, groups=groups_of(runs, task.group),
        bends=task.bends,
    )  # fmt: skip
    for said in _unmoved(recipes, lists.lists.lists):
        console.note(said)
    if isinstance(metric, Column) and metric.column in lists.lists.lists.metrics:
        for said in leaks(lists.lists.lists, lists.lists.lists.metrics[metric.column]):
            console.note(said)
    return Prepared(task=task, recipes=recipes, seeds=seeds, metric=metric, lists=lists, held_out=held is not None)


def _unmoved(recipes: dict[str, Recipe], lists: Candidates) -> Iterator[str]:
    """Warnings about recipes that search along only some of the features."""
    for name, recipe in recipes.items():
        if isinstance(recipe.solver, LineSearch) and (left := recipe.solver.unmoved(lists)):
            yield (
                f"{name} leaves the weights of {left} sparse features as they are; --set sparse=100 searches along "
                "the most frequent ones, too"
            )


def _sole_column(task: TuneTask, runs: Sequence[Candidates], records: Records | None) -> str | None:
    """The metric of the only column, if neither a target nor references are given."""
    there = [name for name in runs[0].metrics if name != "reached"]
    asked = any(setting.startswith("metric=") for setting in task.settings)
    if asked or task.refs or not there or (records and any(records.found.values())):
        return None
    said = [name for name in Columns.parse(task.columns).target if name in there]
    if len(names := said or there) > 1:
        raise InputError(f"there are several columns to learn from: {', '.join(names)}; name one with --target")
    return f"metric:{names[0]}"


def groups_of(runs: Sequence[Candidates], column: str | None) -> list[str] | None:
    """The group of every segment: the number or the string that its candidates have in a column."""
    if column is None:
        return None
    found: dict[str, str] = {}
    for lists in runs:
        if column in lists.metrics:
            numbers, codes = np.unique(lists.metrics[column], return_inverse=True)
            values = [f"{number:.15g}" for number in numbers.tolist()]
        elif column in lists.fields:
            values, codes = list(lists.fields[column].values), lists.fields[column].codes.astype(np.intp)
        else:
            there = ", ".join([*lists.metrics, *lists.fields]) or "none"
            raise InputError(f"--group {column}: the lists have no such column; they have: {there}")
        for name, start, end in zip(lists.segments, lists.bounds[:-1], lists.bounds[1:], strict=True):
            if (codes[start:end] != codes[start : start + 1]).any():
                raise InputError(
                    f"--group {column}: the candidates of segment {name} have several values of it; name a column "
                    "that is the same in all candidates of a segment"
                )
            if start < end:
                found.setdefault(name, values[codes[start]])
    return [found.get(name, "") for name in segments_of(runs)]


@contextmanager
def claimed(task: TuneTask) -> Iterator[None]:
    """The folder of the run, locked while it is written."""
    with owned(task.out, console.note):
        yield


def _refuse_others(task: TuneTask, recipes: dict[str, Recipe], several: bool) -> None:
    """Refuse folders of other runs. Each of several recipes has folders of its own."""
    for name, recipe in recipes.items():
        paths = [task.out / name, *task.out.glob(f"{glob.escape(name)}.*")] if several else [task.out]
        config = task.asked() | {"recipe": name.partition(",")[0]} | _settings(recipe)
        free = {"executor", *((*OF_DECODERS, "seed") if several else ())}
        for folder in map(RunFolder, filter(Path.is_dir, paths)):
            folder.refuse_other(config, task.inputs(), free)


def _settings(recipe: Recipe) -> dict[str, object]:
    """The settings without those that have no effect on lists from files."""
    return {name: value for name, value in recipe.settings().items() if name not in OF_DECODERS}


class TunedRun(NamedTuple):
    """The result of one run on lists, its figures for --json, and warnings."""

    tuned: Tuned
    metric: Metric
    initial: bool  # whether it began with weights of the user's
    weights: Path
    facts: dict[str, object]
    doubts: list[str]


def tune(ready: Prepared, show: Show) -> TunedRun:
    """Tune by one recipe; `show` receives every round."""
    task, metric, chosen = ready.task, ready.metric, next(iter(ready.recipes.values()))

    @cache
    def folder() -> RunFolder:
        """Make the folder with the first round, when the input has been accepted."""
        RunFolder(task.out).clear()
        return RunFolder.begin(task.out, task.asked() | _settings(chosen), task.inputs())

    def record(row: Round, reached: Weights) -> None:
        folder().round(row)
        if task.keep_rounds:
            folder().keep(row, reached)
        show(metric.name, row)

    with ExitStack() as stack:
        workers: Coordinator | None = None
        if task.shards and task.shards > 1:
            workers, size = stack.enter_context(team(task.executor or "local", task.out))
            if size:
                raise RecipeError(f"--executor {task.executor}: --shards sets the size of a shard; leave size= out")
        if task.recipe == AUTO:
            tuned = ready.lists.choose(chosen.metric, record, task.folds)
        else:
            tuned = ready.lists.tune(chosen, record, shards=task.shards, executor=workers)
    if task.recipe != AUTO and (task.folds or task.dev) and not task.shards:
        tuned = ready.lists.proven(tuned, task.folds)
    facts = _facts(task, tuned, folder().home_of(tuned.weights))
    if tuned.held:
        folder().event("held", tuned.held.facts())
    folder().finish(tuned.weights, tuned.last_weights, facts)
    doubts = [*_twice(task), *_doubts(tuned, metric.higher_is_better)]
    return TunedRun(tuned, metric, task.weights is not None, folder().home_of(tuned.weights), facts, doubts)


def _facts(task: TuneTask, tuned: Tuned, weights: Path) -> dict[str, object]:
    return {
        "recipe": task.recipe, "metric": tuned.metric, "signature": tuned.signature, "round": tuned.round,
        "before": asdict(tuned.before), "after": asdict(tuned.after), "last": asdict(tuned.last),
        "dev": {name: asdict(at) for name, at in tuned.dev._asdict().items()} if tuned.dev else None,
        "weights": str(weights), "choice": tuned.choice or None, "held": tuned.held.facts() if tuned.held else None,
    }  # fmt: skip


def _twice(task: TuneTask) -> Iterator[str]:
    """Warn of held-out lists that are also learnt from."""
    known = {fingerprint(path).get("sha256", path): path for path in task.lists}
    for path in task.dev:
        if same := known.get(fingerprint(path).get("sha256", path)):
            yield f"--dev {path} is the same as {same}: the weights have learnt from it, so nothing is held out"


def _doubts(tuned: Tuned, higher_is_better: bool) -> Iterator[str]:
    """Warnings about doubtful weights; useless ones are errors."""
    before, after = tuned.before.chosen, tuned.after.chosen
    if after < before if higher_is_better else after > before:
        yield (
            "the tuned weights choose worse on these lists than the initial ones "
            f"({console.number(after)} after {console.number(before)}); {_advice(tuned.recipe)}"
        )
    if tuned.held and tuned.held.gain < 0 and tuned.held.sure:
        yield f"held out, the tuned weights choose worse than the {tuned.held.best.name} does; {_advice(tuned.recipe)}"
    if len(tuned.rounds) > 1 and tuned.rounds[-1].loss - tuned.rounds[0].loss > ROSE * abs(tuned.rounds[0].loss):
        risen = f"the loss rose from {tuned.rounds[0].loss:.4g} to {tuned.rounds[-1].loss:.4g}"
        yield f"{risen}: steps are too long, or L2 pulls the weights away; {_advice(tuned.recipe)}"
    if tuned.shrunk < 0.05:
        yield (
            f"the weights have shrunk to {100 * tuned.shrunk:.2g} % of their initial length; a loss without a margin "
            "(ramp2, the perceptrons) is least with weights near 0"
        )
    if tuned.recipe.keep == "dev" and not tuned.dev:
        yield "this recipe keeps the round that is best on held-out lists; without --dev these are the last round's"
    if tuned.recipe.base == "listed":
        yield "these weights are to be added to the decoder's own totals: rampion rerank --listed"


def _advice(recipe: Recipe) -> str:
    if recipe.scale == "none":
        return "leave --set scale=none out, so that features are seen in units of their spread, or try another recipe"
    return "try another recipe (--recipe all ranks them)"


class Compared(NamedTuple):
    """All trials, the best first, and the file that holds their table."""

    trials: list[Trial]
    metric: Metric
    held_out: bool
    table: Path


def _progress(trial: Trial, done: int, of: int, seconds: float) -> str:
    """Print the number of finished trials, and an estimate of the remaining time."""
    left = f", about {seconds / done * (of - done):.0f} s left" if done < of else ""
    return f"{done} of {of}: {trial.name}, {trial.trouble or f'{trial.seconds:.2f} s'}{left}"


def compare(ready: Prepared) -> Compared:
    """Tune every recipe with every seed, each run in a folder of its own; write the table, the best first."""
    task, trials, folders = ready.task, list[Trial](), dict[str, RunFolder]()
    read = {"inputs": [fingerprint(path) for path in task.inputs()]}

    def records(label: str, recipe: Recipe) -> Record:
        name = label.partition(",")[0].partition(".")[0]
        config = {**task.asked(), "recipe": name} | recipe.settings()
        RunFolder(task.out / label).clear()
        folders[label] = folder = RunFolder.begin(task.out / label, config, (), read)

        def record(row: Round, reached: Weights) -> None:
            folder.round(row)
            if task.keep_rounds:
                folder.keep(row, reached)

        return record

    began = monotonic()
    for trial in trials_of(ready.recipes, ready.seeds, ready.lists, records, task.folds):
        trials.append(trial)
        for label, run in trial.labelled.items():
            facts = {"metric": run.metric, "signature": run.signature, "tuned": run.after.chosen, "round": run.round}
            if run.held:
                folders[label].event("held", run.held.facts())
            folders[label].finish(run.weights, run.last_weights, facts)
        console.note(_progress(trial, len(trials), len(ready.recipes), monotonic() - began))
    best_first = ranked(trials, ready.metric.higher_is_better)
    table = task.out / "table.json"
    with replacing(table) as file:
        file.write(json.dumps([trial.facts() for trial in best_first], indent=2).encode() + b"\n")
    return Compared(best_first, ready.metric, ready.held_out, table)
