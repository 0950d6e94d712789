"""Tune with a decoder: decode, learn, decode again, in a run folder that continues after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import console
from rampion.apps.decoders import LoopDecoder, spread
from rampion.apps.inputs import changed, read_source, read_weights, weights_file
from rampion.apps.tune import TuneTask
from rampion.apps.workers import team
from rampion.arrays import fingerprint
from rampion.errors import InputError, RecipeError
from rampion.formats import references
from rampion.metrics import needs_references
from rampion.protocols import Decoder
from rampion.runs.folder import RunFolder
from rampion.runs.lists_run import ListRun
from rampion.runs.lock import owned
from rampion.store.features import Weights
from rampion.store.text import Texts
from rampion.training.inputs import judge
from rampion.training.loop import Judged, ListIteration, answer, train
from rampion.training.policies import policy_named
from rampion.training.recipes import Recipe, looped, recipe_named

# What may change when a run continues; of texts, weights and decoders the content may not.
FREE = (
    "source", "refs", "weights", "dev", "dev_refs", "system", "blocks", "lm", "counts", "threads", "timeout", "retries",
    "iterations", "executor",
)  # fmt: skip

Show = Callable[[str, ListIteration], None]  # the metric's name, and the results of an iteration


class Looped(NamedTuple):
    """The result of a loop, and its iterations."""

    recipe: str
    metric: str
    signature: str
    iteration: int
    weights: str
    rows: list[ListIteration]
    best_on_dev: bool  # whether dev text has chosen the iteration


def loop(task: TuneTask, wanted: LoopDecoder, show: Show) -> Looped:
    """Decode, learn, and decode again; `show` receives every iteration."""
    with owned(task.out, console.note):
        return _loop(task, wanted, show)


def _loop(task: TuneTask, wanted: LoopDecoder, show: Show) -> Looped:
    refuse_for_lists(task)
    chosen = changed(looped(recipe_named(task.recipe, "lists")), task.settings, barred=())
    if task.policy:
        chosen = replace(chosen, policy=policy_named(task.policy))
    text = _text("the text to tune on", task.lists, task.refs, chosen, wanted.longest)
    held = _text("--dev", task.dev, task.dev_refs, chosen, wanted.longest) if task.dev else None
    measure = text.judge.metric
    with ExitStack() as stack:
        bar = stack.enter_context(console.decoding(sum(len(part.segments) for part in (text, held) if part)))
        found, start, identity, parts = wanted.open(bar.tick)
        if task.weights:
            start = read_weights(task.weights)
        if start is None:
            raise RecipeError("a decoder command needs weights to begin with: a weight for each feature (--weights)")

        def told(row: ListIteration) -> None:
            bar.again()
            show(measure.name, row)

        facts: dict[str, object] = {
            "text": _print(text, held), "first weights": fingerprint(*start.features.names.arrays, start.vector),
            "decoder": identity,
        }  # fmt: skip
        config = wanted.asked() | _asked(task) | chosen.settings()
        facts |= {"system": parts} if parts else {}
        given = task.out, config, _inputs(task), facts, told
        if task.force:
            RunFolder(task.out).clear()
        run = ListRun.resume(*given, free=FREE) if task.resume else ListRun.begin(*given)
        decoder: Decoder = found
        if task.executor:
            workers = stack.enter_context(team(task.executor, task.out))
            bar.speeds = lambda: workers.coordinator.speeds
            decoder = spread(found, *workers, task.lists[0])
        tuned = train(
            chosen, decoder, text.segments, text.judge, start, lambda row, _: run.folder.round(row),
            dev=held, journal=run, lenient=task.lenient,
        )  # fmt: skip
    if chosen.keep == "dev" and not held:
        console.note("this recipe keeps the iteration that is best on dev; without --dev these are the last weights")
    return _finished(run, task.recipe, chosen, text, tuned, chosen.keep == "dev" and held is not None)


def _finished(run: ListRun, name: str, chosen: Recipe, text: Judged, tuned: Weights, best_on_dev: bool) -> Looped:
    """The run with its final result."""
    measure = text.judge.metric
    rows = run.rows[: chosen.iterations]
    best = answer(chosen, rows, measure.higher_is_better)
    last = tuned if best == len(rows) else run.weights(len(rows))
    signature, path = measure.signature(text.judge.references), str(run.folder.home_of(tuned))
    facts = {"recipe": name, "metric": measure.name, "signature": signature, "iteration": best, "weights": path}
    run.folder.finish(tuned, last, facts)
    return Looped(name, measure.name, signature, best, path, rows, best_on_dev)


def refuse_for_lists(task: TuneTask) -> None:
    """Raise RecipeError on options that are for lists only."""
    if "," in task.recipe or task.recipe == "all" or task.seeds:
        raise RecipeError("with a decoder tune one recipe at a time, and draw with one seed: --set seed=1")
    if task.keep_rounds:
        raise RecipeError("--keep-rounds is for lists; with a decoder the weights of every iteration are kept")
    if task.bends:
        raise RecipeError("--bends is for lists: a decoder searches with the features that it has; leave it out")
    if task.folder:
        raise RecipeError(
            f"--folder {task.folder}: is for lists larger than memory; a decoder's are in the run: leave it out"
        )
    if task.shards:
        raise RecipeError(f"--shards {task.shards}: learns from lists that are there; with a decoder leave it out")


def _asked(task: TuneTask) -> dict[str, object]:
    """The options that the run folder keeps."""
    return {
        "recipe": task.recipe, "source": task.lists[0], "refs": task.refs, "weights": task.weights,
        "policy": task.policy, "dev": task.dev, "dev_refs": task.dev_refs, "lenient": task.lenient,
        "executor": task.executor,
    }  # fmt: skip


def _inputs(task: TuneTask) -> list[str]:
    weights = [weights_file(task.weights)] if task.weights else []
    return [*task.lists, *task.refs, *weights, *task.dev, *task.dev_refs]


def _text(what: str, files: Sequence[str], refs: Sequence[str], recipe: Recipe, longest: int | None) -> Judged:
    """Sentences and their references."""
    if len(files) != 1:
        raise RecipeError(f"{what} is {len(files)} files; a decoder translates one, a sentence a line")
    lines = read_source(files[0], longest)
    numbers = Texts.from_strings(map(str, range(len(lines))))
    if refs:
        found = references.read(refs, numbers, aligned=True)
    elif not needs_references(recipe.metric):
        found = None
    else:
        option = f"--{'dev-' * (what == '--dev')}refs"
        raise InputError(f"the metric {recipe.metric} needs references of {what}: {option}")
    return Judged(lines, judge(numbers, found, recipe.metric, recipe.alpha))


def _print(text: Judged, held: Judged | None) -> str:
    """A name of the texts and their references."""
    arrays = list[NDArray[np.generic]]()
    for segments, arbiter in filter(None, (text, held)):
        refs = arbiter.references
        arrays += [*segments.arrays, *refs.texts.arrays, refs.bounds]
    return fingerprint(*arrays)
