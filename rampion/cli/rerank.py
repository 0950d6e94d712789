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

  rampion rerank - --weights run --lists reranked.nbest.gz < test.nbest
"""


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def rerank(
    lists: opt.Lists,
    weights: opt.NeededWeights,
    out: opt.BestOut = "-",
    reordered: opt.Reordered = None,
    listed: opt.Listed = False,
    refs: opt.Refs = None,
    metric: opt.Metric = None,
    lenient: opt.Lenient = False,
    as_json: opt.Json = False,
) -> None:
    """Choose the best candidate of every list."""
    from rampion.apps import rerank as reranking

    task = reranking.RerankTask(
        lists=lists, weights=weights, out=out, reordered=reordered, listed=listed, refs=refs or [], metric=metric,
        lenient=lenient,
    )  # fmt: skip
    if (scored := reranking.rerank(task)) is None:
        return
    judge, found, quiet = scored.metric, scored.standing, "-" in (out, reordered)
    if as_json:
        console.show_json({"metric": judge.name, "signature": scored.signature, **asdict(found)}, err=quiet)
        return
    scores = {"as listed": [found.listed], "reranked": [found.chosen], "oracle": [found.oracle]}
    console.show_gains(judge, scores, err=quiet)
    typer.echo(scored.signature, err=quiet)
