"""Learn weights of all features from parallel text: prepare a system, decode, learn, and keep everything in a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from rampion import console
from rampion.apps.inputs import changed, order_of
from rampion.apps.workers import team
from rampion.decoder.block_decoder import features_of
from rampion.decoder.remote import SIZE, Spread
from rampion.decoder.system import Settings, System
from rampion.errors import RecipeError
from rampion.executors import Coordinator
from rampion.protocols import KeyedDecoder
from rampion.report.charts import check_name, write_lines
from rampion.runs.folder import RunFolder
from rampion.runs.lock import owned
from rampion.runs.sets_run import SetRun
from rampion.threads import processors
from rampion.training.memory import need
from rampion.training.policies import RelevantSets
from rampion.training.recipes import Recipe, recipe_named
from rampion.training.relevant import Frozen, Lines, SetIteration, Text
from rampion.training.relevant import train as learn

# What may change when a run goes on.
FREE = ("corpus", "system", "iterations", "threads", "memory", "base_run", "executor")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SCORES = "train", "dev", "test"

Show = Callable[[SetIteration], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainTask:
    """The text to learn from, the settings, and the output folder; None keeps a setting of the recipe."""

    corpus: str
    out: Path
    recipe: str = "costmargin"
    features: str = "all"
    reordering: str = "swap"
    fixed: list[str] = field(default_factory=list)
    base: Path | None = None
    settings: list[str] = field(default_factory=list)
    iterations: int | None = None
    k: int | None = None
    seed: int | None = None
    shards: int | None = None
    window: int | None = None
    pairs: int | None = None
    beam: int = 100
    options: int = 20
    system: Path | None = None
    pair: str | None = None
    least: int = 2
    memory: str | None = None
    threads: int | None = None
    executor: str | None = None
    curves: Path | None = None
    resume: bool = False
    force: bool = False

    def chosen(self) -> Recipe:
        """The recipe with its settings."""
        shorthand = {
            "iterations": self.iterations, "k": self.k, "seed": self.seed, "shards": self.shards, "window": self.window,
        }  # fmt: skip
        found = changed(recipe_named(self.recipe, "sets"), self.settings, barred=())
        return found.set(**{name: value for name, value in shorthand.items() if value is not None})

    def asked(self, features: str, threads: int) -> dict[str, object]:
        """The options that the run folder keeps."""
        return {
            "corpus": self.corpus, "recipe": self.recipe, "features": features, "reordering": self.reordering,
            "fixed": self.fixed, "base_run": str(self.base.absolute()) if self.base else None, "pairs": self.pairs,
            "beam": self.beam, "options": self.options, "pair": self.pair, "least": self.least,
            "system": str(self.system.absolute()) if self.system else None, "memory": self.memory, "threads": threads,
            "executor": self.executor,
        }  # fmt: skip


class Trained(NamedTuple):
    """The iteration that is best on dev, with its BLEU and its weights; and all iterations."""

    iteration: int
    dev: float
    test: float
    weights: str
    rows: list[SetIteration]


def train(task: TrainTask, show: Show) -> Trained:
    """Learn from relevant sets until the run has all iterations; `show` receives all of them, also earlier ones."""
    with owned(task.out, console.note):
        return _train(task, show)


def _train(task: TrainTask, show: Show) -> Trained:
    if task.curves:
        check_name(task.curves)
    chosen, order = task.chosen(), order_of(task.reordering)
    if order.limit:
        raise RecipeError(f"--reordering {task.reordering}: truths are found in mon and swap only; choose one of them")
    limit, fixed = bytes_of(task.memory), dict(map(fixed_of, task.fixed))
    threads = task.threads or processors()
    below = SetRun.open(task.base) if task.base else None
    frozen = below.keyed() if below else None
    features = ",".join([*(name for name in fixed if name not in task.features.split(",")), task.features])
    policy = cast("RelevantSets", chosen.policy)
    Frozen.of(policy, features_of(features)[0], fixed, frozen)
    if not task.resume and not task.force:
        RunFolder(task.out).refuse_begun()
    home = task.system or task.out / "system"
    with console.progress() as watch:
        made = System.prepare(task.corpus, home, Settings(task.pair, least=task.least), threads, watch)
    text = _text(made, policy, task.pairs)
    fits = need(chosen, len(text.learn.source)).fits(limit)
    with ExitStack() as stack:
        bar = stack.enter_context(console.decoding(sum(map(len, (part.source for part in text)))))
        keyed = made.decoder(
            features, order, threads=threads, beam=task.beam, pops=10 * task.beam, options=task.options,
            progress=bar.tick,
        )  # fmt: skip
        facts = {"corpus": text.fingerprint, "decoder": keyed.fingerprint, "base": below and below.fingerprint}

        def record(row: SetIteration) -> None:
            bar.again()
            show(row)

        given = task.out, task.asked(features, threads) | chosen.settings(), _files(task.corpus), facts, record
        if task.force:
            RunFolder(task.out).clear()
        run = SetRun.resume(*given, free=FREE) if task.resume else SetRun.begin(*given)
        decoder: KeyedDecoder = keyed
        coordinator: Coordinator | None = None
        if task.executor:
            workers = stack.enter_context(team(task.executor, task.out))
            bar.speeds = lambda: workers.coordinator.speeds
            decoder = Spread(keyed, workers.coordinator, workers.size or SIZE, task.corpus)
            if not task.executor.startswith("local"):  # threads of this process learn faster without files
                coordinator = workers.coordinator
        learn(
            chosen, decoder, text, run, fixed=fixed, base=frozen, spill=None if fits else task.out, threads=threads,
            coordinator=coordinator,
        )  # fmt: skip
    return _finished(run, task.curves)


def _text(made: System, policy: RelevantSets, pairs: int | None) -> Text:
    """The text of a system to learn from, to choose the iteration, and to judge."""
    parts = {"train": made.corpus.train, "dev": made.dev, "test": made.test}
    lines = {name: Lines(part.source, part.references) for name, part in parts.items()}
    text = Text(lines[policy.text], lines["dev"], lines["test"])
    return text._replace(learn=text.learn.first(pairs or len(text.learn.source)))


def _finished(run: SetRun, curves: Path | None) -> Trained:
    """The result of a run, which is written to its folder."""
    best = run.chosen
    path = str(run.file(best.iteration))
    run.folder.event("done", {"iteration": best.iteration, "dev": best.dev, "test": best.test, "weights": path})
    if curves:
        write_lines(curves, {name: [(row.iteration, getattr(row, name)) for row in run.rows] for name in SCORES})
    return Trained(best.iteration, best.dev, best.test, path, run.rows)


def _files(corpus: str) -> list[str]:
    return sorted(str(path) for path in Path(corpus).glob("*") if path.is_file())


def fixed_of(option: str) -> tuple[str, float]:
    """NAME=WEIGHT."""
    name, equals, text = option.partition("=")
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not name or not equals or not math.isfinite(weight):
        raise RecipeError(f"--fixed {option!r}: expected a feature and its weight, for example --fixed LM=0.1")
    return name, weight


def bytes_of(size: str | None) -> int | None:
    """The number of bytes of a size such as 12G."""
    if size is None:
        return None
    number, unit = size.upper().removesuffix("B"), ""
    if number[-1:] in UNITS:
        number, unit = number[:-1], number[-1]
    try:
        found = float(number) * UNITS[unit]
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise RecipeError(f"--memory {size!r}: expected a size, for example 12G")
    return int(found)
