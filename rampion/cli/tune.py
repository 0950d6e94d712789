"""rampion tune: lists and references in, weights and a run folder out."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rampion.cli import app, table
from rampion.cli.options import (
    Json,
    Lenient,
    Lists,
    MetricOption,
    Refs,
    changed,
    read_runs,
    read_weights,
    references_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rampion.features import Weights
    from rampion.tuning import Tuned

EXAMPLE = """
[bold]Examples[/bold]

  rampion tune dev.nbest.gz --refs dev.en.0 --refs dev.en.1 --out run

  rampion tune run1.nbest run2.nbest run3.nbest --refs dev.en --weights start.weights --out run   (merged lists)

  rampion tune dev.nbest --refs dev.en --recipe xbleu-rprop --dev held.nbest --dev-refs held.en   (best round)

  rampion tune samples.jsonl --metric metric:comet --recipe rampion-mira --set cap=0.001 --out run
"""


@app.command(epilog=EXAMPLE)
def tune(
    lists: Lists,
    refs: Refs = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The run folder to write.")] = Path(
        "rampion-run"
    ),
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights", "-w", metavar="FILE", help="Initial weights; without them all begin at 0.", show_default=False
        ),
    ] = None,
    recipe: Annotated[
        str, typer.Option("--recipe", "-r", metavar="NAME", help="A row of [bold]rampion recipes[/bold].")
    ] = "rampion",
    metric: MetricOption = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            help="What to keep of several files, the lists of successive decodings: merge, replace, fixed, window:N.",
        ),
    ] = "merge",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another setting of the recipe, such as rate=1e-3, rounds=20, alpha=5, seed=1.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Held-out lists, scored after every round; recipes with keep=dev return the round that is best there.",
            show_default=False,
        ),
    ] = None,
    dev_refs: Annotated[
        list[str] | None, typer.Option("--dev-refs", metavar="FILE", help="Their references.", show_default=False)
    ] = None,
    keep_rounds: Annotated[
        bool, typer.Option("--keep-rounds", help="Write the weights of every round too: weights/NNN.bin.")
    ] = False,
    lenient: Lenient = False,
    as_json: Json = False,
) -> None:
    """Tune weights on n-best lists with references."""
    from rampion.report import RunFolder
    from rampion.training import Round
    from rampion.tuning import recipe_named, segments_of
    from rampion.tuning import tune as learn

    settings = changed(set_ or [])
    chosen = recipe_named(recipe, **settings)
    runs = read_runs(lists, lenient)
    references = references_of(segments_of(runs), lists, refs, metric or chosen.metric)
    start = read_weights(weights) if weights else None
    held = read_runs(dev, lenient) if dev else None
    held_references = references_of(segments_of(held), dev, dev_refs, metric or chosen.metric) if held and dev else None
    config = {
        "recipe": recipe,
        "lists": lists,
        "refs": refs or [],
        "weights": weights,
        "dev": dev or [],
        "dev_refs": dev_refs or [],
        "policy": policy,
        **chosen.settings(),
    }
    inputs = [*lists, *(refs or []), *([weights] if weights else []), *(dev or []), *(dev_refs or [])]
    folder = RunFolder.begin(out, config | ({"metric": metric} if metric else {}), inputs)
    columns = {"round": 5, "loss": 12, "metric": 9, "moved": 9} | ({"dev": 9} if dev else {})
    live = table.Live(list(columns), list(columns.values()), err=as_json)

    def record(row: Round, reached: Weights) -> None:
        folder.round(row)
        if keep_rounds:
            folder.keep(row, reached)
        cells = [str(row.round), f"{row.loss:.4f}", f"{row.score:.2f}", f"{row.moved:.4f}"]
        live.row(cells if row.dev is None else [*cells, f"{row.dev:.2f}"])

    tuned = learn(
        runs, references, recipe=chosen, start=start, metric=metric, policy=policy, record=record, lenient=lenient,
        dev=held, dev_references=held_references,
    )  # fmt: skip
    facts = {
        "recipe": recipe, "metric": tuned.metric, "signature": tuned.signature, "round": tuned.round,
        "before": asdict(tuned.before), "after": asdict(tuned.after), "last": asdict(tuned.last),
        "dev": {name: asdict(at) for name, at in tuned.dev._asdict().items()} if tuned.dev else None,
        "weights": str(folder.weights),
    }  # fmt: skip
    folder.finish(tuned.weights, tuned.last_weights, facts)
    for warning in _doubts(tuned):
        table.note(warning)
    if as_json:
        table.show_json(facts)
        return
    head = [tuned.metric, "score", "gain", *(["dev", "gain"] if tuned.dev else [])]
    table.show(_table(tuned, initial=weights is not None), head)
    typer.echo(f"{tuned.signature}\nwrote {folder.weights}")


def _table(tuned: Tuned, initial: bool) -> Iterator[list[str | float]]:
    """Where the weights stand on the lists, and on the held-out ones beside them."""
    before, after, last = ([at] for at in (tuned.before, tuned.after, tuned.last))
    if tuned.dev:
        before, after, last = [*before, tuned.dev.before], [*after, tuned.dev.after], [*last, tuned.dev.last]
    unlike = tuned.last_weights is not tuned.weights
    rows = {
        "as listed": [at.listed for at in before],
        **({"initial weights": [at.chosen for at in before]} if initial else {}),
        f"tuned, round {tuned.round}" if unlike else "tuned": [at.chosen for at in after],
        **({"tuned, last round": [at.chosen for at in last]} if unlike else {}),
        "oracle": [at.oracle for at in before],
    }
    for name, scores in rows.items():
        gains = [f"{score - at.listed:+.2f}" for score, at in zip(scores, before, strict=True)]
        yield [name, *(cell for pair in zip(scores, gains, strict=True) for cell in pair)]


def _doubts(tuned: Tuned) -> Iterator[str]:
    """What should make one look twice at weights that are not plainly useless."""
    before, after = tuned.before.chosen, tuned.after.chosen
    if after < before:
        yield (
            f"the tuned weights score lower on these lists than the initial ones ({after:.2f} < {before:.2f}); "
            "try a smaller rate (--set rate=...) or another recipe"
        )
    if tuned.shrunk < 0.05:
        yield (
            f"the weights have shrunk to {100 * tuned.shrunk:.2g} % of their initial length; a loss without a margin "
            "(ramp2, the perceptrons) is content with weights near 0"
        )
    if tuned.recipe.keep == "dev" and not tuned.dev:
        yield "this recipe keeps the round that is best on held-out lists; without --dev these are the last round's"
    if tuned.recipe.base == "listed":
        yield "these weights are to be added to the decoder's own totals: rampion rerank --listed"
