"""rampion rerank: the best candidate of every list, or the lists in a new order."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from rampion import console
from rampion.apps.inputs import read_runs, references_of, weights_for
from rampion.cli import app
from rampion.cli.options import Json, Lenient, Lists, MetricOption, Refs
from rampion.errors import InputError

EXAMPLE = """
[bold]Examples[/bold]

  rampion rerank test.nbest.gz --weights run --out test.out

  rampion rerank test.nbest.gz --weights run --refs test.en.0 --refs test.en.1 --out test.out   (and what was gained)

  rampion rerank - --weights run --lists reranked.nbest.gz < test.nbest
"""


@app.command(epilog=EXAMPLE)
def rerank(
    lists: Lists,
    weights: Annotated[
        str,
        typer.Option("--weights", "-w", metavar="FILE", help="Weights, or the folder of a run.", show_default=False),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where to write the best candidates, a line each.")
    ] = "-",
    reordered: Annotated[
        str | None,
        typer.Option(
            "--lists",
            metavar="FILE",
            help="Write the whole lists too, best first, with the new scores (.jsonl: as JSONL).",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option(
            "--listed", metavar="", help="Add the scores to the decoder's own totals (weights of base=listed)."
        ),
    ] = False,
    refs: Refs = None,
    metric: MetricOption = None,
    lenient: Lenient = False,
    as_json: Json = False,
) -> None:
    """Choose the best candidate of every list."""
    from rampion.formats import save_nbest
    from rampion.formats.files import replacing
    from rampion.training.loop import absorbed, standing
    from rampion.training.policies import Merge
    from rampion.training.tuning import judge, pick, rerank

    if out == reordered == "-":
        raise InputError("the best candidates and --lists cannot both go to stdout; name a file with --out")
    runs, records = read_runs(lists, lenient)
    merged = runs[0] if len(runs) == 1 else absorbed(Merge(), runs)
    learnt = weights_for(merged.features, weights, lenient)
    judged = refs or metric
    if judged:
        references = references_of(merged.segments, records, refs, metric or "bleu")
        arbiter = judge(merged, references, metric or "bleu", listed=listed)
        found = standing(arbiter.batch(merged), learnt.vector)
    best = merged.texts.take(pick(merged, learnt, listed=listed))
    with replacing(out) as file:
        file.write("".join(f"{text}\n" for text in best).encode())
    if reordered:
        save_nbest(reordered, rerank(merged, learnt, listed=listed))
    if not judged:
        return
    signature = arbiter.metric.signature(arbiter.references)
    quiet = "-" in (out, reordered)
    if as_json:
        console.show_json({"metric": arbiter.metric.name, "signature": signature, **asdict(found)}, err=quiet)
        return
    scores = {"as listed": [found.listed], "reranked": [found.chosen], "oracle": [found.oracle]}
    console.show_gains(arbiter.metric, scores, err=quiet)
    typer.echo(signature, err=quiet)
