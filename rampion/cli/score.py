"""rampion score: metrics of system outputs, with signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS

if TYPE_CHECKING:
    from rampion.apps.score import Scored

EXAMPLE = """
[bold]Examples[/bold]

  rampion score test.out --refs test.en.0 --refs test.en.1

  rampion score test.out --refs test.en --metric bleu:13a --metric chrf++ --metric ter

  rampion score listed feature:logprob consensus run oracle --from test.jsonl --target is_correct
"""


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def score(
    outputs: Annotated[
        list[str],
        typer.Argument(
            metavar="OUTPUT", help="System outputs, one segment on each line; - is stdin. With --from: systems."
        ),
    ],
    refs: opt.Refs = None,
    metric: opt.Metrics = None,
    target: opt.Target = None,
    lists: opt.From = None,
    columns: opt.Columns = None,
    lenient: opt.Lenient = False,
    as_json: opt.Json = False,
) -> None:
    """Score system outputs against references, or what weights and baselines choose from lists."""
    from rampion.apps import score as scoring
    from rampion.apps.inputs import with_target

    metrics = with_target(metric, target)
    if lists:
        found = scoring.score_choices(outputs, lists, refs or [], metrics, columns, lenient)
    else:
        found = scoring.score(outputs, refs or [], metrics)
    if as_json:
        console.show_json([one._asdict() for one in found])
        return
    _show(found)
    for name, signature in found[-1].signatures.items():
        typer.echo(f"{name}: {signature}")


def _show(found: Sequence[Scored]) -> None:
    heads = list(dict.fromkeys(head for one in found for head in one.scores))
    from rampion.metrics.base import decimals

    places = {head: decimals(one.scores[head] for one in found if head in one.scores) for head in heads}
    rows = []
    for one in found:
        cells = (f"{one.scores[head]:.{places[head]}f}" if head in one.scores else "-" for head in heads)
        rows.append((one.output, *cells))
    console.show(rows, ["output", *heads])
