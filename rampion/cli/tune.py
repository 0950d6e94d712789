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

    from rampion.tuning import Tuned

EXAMPLE = """
[bold]Examples[/bold]

  rampion tune dev.nbest.gz --refs dev.en.0 --refs dev.en.1 --out run

  rampion tune run1.nbest run2.nbest run3.nbest --refs dev.en --weights start.weights --out run   (merged lists)

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
    config = {
        "recipe": recipe,
        "lists": lists,
        "refs": refs or [],
        "weights": weights,
        "policy": policy,
        **chosen.settings(),
    }
    folder = RunFolder.begin(
        out, config | ({"metric": metric} if metric else {}), [*lists, *(refs or []), *([weights] if weights else [])]
    )
    live = table.Live(["round", "loss", "metric", "moved"], [5, 12, 9, 9], err=as_json)

    def record(row: Round) -> None:
        folder.round(row)
        live.row([str(row.round), f"{row.loss:.4f}", f"{row.score:.2f}", f"{row.moved:.4f}"])

    tuned = learn(
        runs, references, recipe=chosen, start=start, metric=metric, policy=policy, record=record, lenient=lenient
    )
    facts = {
        "recipe": recipe, "metric": tuned.metric, "signature": tuned.signature,
        "before": asdict(tuned.before), "after": asdict(tuned.after), "weights": str(folder.weights),
    }  # fmt: skip
    folder.finish(tuned.weights, facts)
    for warning in _doubts(tuned):
        table.note(warning)
    if as_json:
        table.show_json(facts)
        return
    before = [("initial weights", tuned.before.chosen)] if weights else []
    rows = [("as listed", tuned.before.listed), *before, ("tuned", tuned.after.chosen), ("oracle", tuned.after.oracle)]
    table.show(
        [(name, value, f"{value - tuned.before.listed:+.2f}") for name, value in rows], [tuned.metric, "score", "gain"]
    )
    typer.echo(f"{tuned.signature}\nwrote {folder.weights}")


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
