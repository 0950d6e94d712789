"""rampion report: a run, or an experiment, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS

EXAMPLE = """
[bold]Examples[/bold]

  rampion report run

  rampion report run --out page.html   (of rampion tune; with --keep-rounds its explorer steps through the rounds)

  rampion report runs   (of rampion tune --recipe all --seeds 1,2,3)

  rampion report run --compare other-run   (weights that moved, choices that changed, settings that differ)

  rampion report paper   (of rampion reproduce --out paper; or paper/tillmann-zhang-table-5.json, one table of it)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def report(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="The folder of a run, or of rampion reproduce, or results of it."),
    ],
    out: opt.ReportOut = None,
    compare: opt.OtherRun = None,
) -> None:
    """Show a run as one HTML page that needs nothing else.

    Learning curves, tables, weights, time and memory, configuration and versions; for n-best lists an explorer of every
    segment: what the weights of each round predict, hope for and fear.
    """
    from rampion.apps.report import write_page

    typer.echo(f"wrote {write_page(run, out, compare)}")
