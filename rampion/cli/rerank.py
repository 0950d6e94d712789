"""rampion rerank: the best candidate of every list, or the lists in a new order."""

from __future__ import annotations

from dataclasses import asdict

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS

EXAMPLE = """
[bold]Examples[/bold]

  rampion rerank test.nbest.gz --weights run --out test.out

  rampion rerank test.nbest.gz --weights run --refs test.en.0 --refs test.en.1 --out test.out   (and what was gained)

  rampion rerank labelled.jsonl --weights run --target is_correct --out picks.jsonl

  rampion rerank samples.jsonl --weights run --columns id=prompt_id,text=answer,keep=model --top 3 --out best.jsonl

  rampion rerank - --weights run --lists reranked.nbest.gz < test.nbest
"""


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def rerank(
    lists: opt.Lists,
    weights: opt.NeededWeights,
    out: opt.BestOut = "-",
    top: opt.PickTop = 1,
    jsonl: opt.PickLines = False,
    reordered: opt.Reordered = None,
    listed: opt.Listed = False,
    refs: opt.Refs = None,
    metric: opt.Metric = None,
    target: opt.Target = None,
    columns: opt.Columns = None,
    lenient: opt.Lenient = False,
    as_json: opt.Json = False,
) -> None:
    """Choose the best candidate of every list."""
    from rampion.apps import rerank as reranking
    from rampion.apps.inputs import one_metric

    task = reranking.RerankTask(
        lists=lists, weights=weights, out=out, top=top, jsonl=jsonl, reordered=reordered, listed=listed,
        refs=refs or [], metric=one_metric(metric, target), columns=columns or [], lenient=lenient,
    )  # fmt: skip
    made, quiet = reranking.rerank(task), "-" in (out, reordered)
    scored = made.scored
    if as_json:
        judged = (
            {"metric": scored.metric.name, "signature": scored.signature, **asdict(scored.standing)} if scored else {}
        )
        console.show_json({name: fact for name, fact in made._asdict().items() if name != "scored"} | judged, err=quiet)
    elif scored:
        found = scored.standing
        scores = {"as listed": [found.listed], "reranked": [found.chosen], "oracle": [found.oracle]}
        console.show_gains(scored.metric, scores, err=quiet)
        typer.echo(scored.signature, err=quiet)
