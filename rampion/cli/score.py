"""rampion score: metrics of system outputs, with signatures."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS

EXAMPLE = """
[bold]Examples[/bold]

  rampion score test.out --refs test.en.0 --refs test.en.1

  rampion score test.out --refs test.en --metric bleu:13a --metric chrf++ --metric ter
"""


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def score(
    outputs: Annotated[
        list[str], typer.Argument(metavar="OUTPUT", help="System outputs, one segment on each line; - is stdin.")
    ],
    refs: opt.NeededRefs,
    metric: opt.Metrics = None,
    as_json: opt.Json = False,
) -> None:
    """Score system outputs against references."""
    from rampion.apps import score as scoring

    found = scoring.score(outputs, refs, metric or [])
    if as_json:
        console.show_json([one._asdict() for one in found])
        return
    console.show([(one.output, *one.scores.values()) for one in found], ["output", *found[0].scores])
    for name, signature in found[-1].signatures.items():
        typer.echo(f"{name}: {signature}")
