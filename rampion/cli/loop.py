"""rampion tune with a decoder: decode, learn, decode again, in a run folder that goes on where it was stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from rampion import console
from rampion.apps.inputs import changed, read_source, read_weights, weights_file
from rampion.cli.decoders import Wanted
from rampion.cli.executor import team
from rampion.errors import InputError, RecipeError

if TYPE_CHECKING:
    from rampion.store.text import Texts
    from rampion.training.loop import Iteration, Judged

# What may change when a run goes on; of texts, weights and decoders the content may not.
FREE = (
    "source", "refs", "weights", "dev", "dev_refs", "system", "blocks", "lm", "counts", "threads", "timeout", "retries",
    "iterations", "executor",
)  # fmt: skip


def loop(
    wanted: Wanted,
    lists: Sequence[str],
    refs: Sequence[str] | None,
    *,
    out: Path,
    weights: str | None,
    recipe: str,
    policy: str | None,
    settings: Sequence[str],
    dev: Sequence[str] | None,
    dev_refs: Sequence[str] | None,
    lenient: bool,
    resume: bool,
    as_json: bool,
    executor: str | None,
) -> None:
    """Decode, learn, and decode again; a line an iteration."""
    from rampion.runs.lists_run import Loop
    from rampion.training.loop import answer, train
    from rampion.training.recipes import looped, recipe_named
    from rampion.training.tuning import policy_named

    chosen = changed(looped(recipe_named(recipe, "lists")), settings, barred=())
    if policy:
        chosen = replace(chosen, policy=policy_named(policy))
    text = _text("the text to tune on", lists, refs, chosen.metric, chosen.alpha, wanted.longest)
    held = _text("--dev", dev, dev_refs, chosen.metric, chosen.alpha, wanted.longest) if dev else None
    measure = text.judge.metric
    with ExitStack() as stack:
        bar = stack.enter_context(console.decoding(sum(len(part.segments) for part in (text, held) if part)))
        decoder, start, fingerprint = wanted.decoder(bar.tick)
        if weights:
            start = read_weights(weights)
        if start is None:
            raise RecipeError("a decoder command needs weights to begin with: a weight for each feature (--weights)")
        asked = wanted.asked() | {
            "recipe": recipe, "source": lists[0], "refs": refs or [], "weights": weights, "policy": policy,
            "dev": dev or [], "dev_refs": dev_refs or [], "lenient": lenient,
            "executor": executor,
        }  # fmt: skip
        inputs = [*lists, *(refs or []), *([weights_file(weights)] if weights else []), *(dev or []), *(dev_refs or [])]
        facts = {"text": _print(text, held), "first weights": _name(*_arrays(start.features.names), start.vector)}
        columns = {"iter": 4, measure.name: 9, "learnt": 9, **({"dev": 9} if held else {}), "moved": 9}
        columns |= {"candidates": 10, "decode s": 8, "learn s": 7}
        live = console.Live(list(columns), list(columns.values()), err=as_json)

        def told(row: Iteration) -> None:
            bar.again()
            live.row(_cells(row))

        given = out, asked | chosen.settings(), inputs, facts | {"decoder": fingerprint}, told
        run = Loop.resume(*given, FREE) if resume else Loop.begin(*given)
        if executor:
            workers = stack.enter_context(team(executor, out))
            bar.speeds = lambda: workers.coordinator.speeds
            decoder = wanted.spread(decoder, *workers, lists[0])
        tuned = train(
            chosen, decoder, text.segments, text.judge, start, lambda row, _: run.folder.round(row),
            dev=held, journal=run, lenient=lenient,
        )  # fmt: skip
    rows = run.rows[: chosen.iterations]
    best = answer(chosen, rows, measure.higher_is_better)
    last = tuned if best == len(rows) else run.weights(len(rows))
    path, signature = str(run.folder.weights), measure.signature(text.judge.references)
    found = {"recipe": recipe, "metric": measure.name, "signature": signature, "iteration": best, "weights": path}
    run.folder.finish(tuned, last, found)
    if chosen.keep == "dev" and not held:
        console.note("this recipe keeps the iteration that is best on dev; without --dev these are the last weights")
    if as_json:
        console.show_json(found | {"iterations": [asdict(row) for row in rows]})
        return
    if chosen.keep == "dev" and held:
        typer.echo(f"iteration {best} is best on dev")
    typer.echo(f"{signature}\nwrote {path}")


def _text(
    what: str, files: Sequence[str], refs: Sequence[str] | None, metric: str, alpha: float, longest: int | None
) -> Judged:
    """Sentences and their references."""
    from rampion.formats import references
    from rampion.store.text import Texts
    from rampion.training.loop import Judged
    from rampion.training.tuning import judge

    if len(files) != 1:
        raise RecipeError(f"{what} is {len(files)} files; a decoder translates one, a sentence a line")
    lines = read_source(files[0], longest)
    numbers = Texts.from_strings(map(str, range(len(lines))))
    if refs:
        found = references.read(refs, numbers, aligned=True)
    elif metric.startswith("metric:"):
        found = None
    else:
        raise InputError(f"the metric {metric} needs references of {what}: --{'dev-' * (what == '--dev')}refs")
    return Judged(list(lines), judge(numbers, found, metric, alpha))


def _cells(row: Iteration) -> list[str]:
    """The row of the table."""
    scores = [row.decoded, row.learnt, *([row.dev] if row.dev is not None else [])]
    learning = sum(row.seconds[part] for part in ("merging", "judging", "learning"))
    seconds = [f"{value:.2f}" for value in (row.seconds["decoding"], learning)]
    return [str(row.iteration), *console.numbers(scores), f"{row.moved:.4f}", str(row.candidates), *seconds]


def _print(text: Judged, held: Judged | None) -> str:
    """A name of the texts and their references."""
    from rampion.store.text import Texts

    arrays = list[NDArray[Any]]()
    for segments, arbiter in filter(None, (text, held)):
        references = arbiter.references
        arrays += [*_arrays(Texts.from_strings(segments)), *_arrays(references.texts), references.bounds]
    return _name(*arrays)


def _arrays(texts: Texts) -> tuple[NDArray[Any], ...]:
    return texts.bounds, texts.blob


def _name(*arrays: NDArray[Any]) -> str:
    """A name of what is in arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]
