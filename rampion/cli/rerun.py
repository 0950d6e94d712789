"""rampion rerun: repeat a run, and say whether its result is the same to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import INSIDE

if TYPE_CHECKING:
    from rampion.apps.rerun import Rerun

EXAMPLE = """
[bold]Examples[/bold]

  rampion rerun run   (into run-again)

  rampion rerun run --out check --json

  rampion diff run run-again   (if they are not the same: the weights and choices that differ)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=INSIDE)
def rerun(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run of rampion tune or train.")],
    out: opt.RerunOut = None,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:
    """Repeat a run with the settings and inputs that its folder names, and compare the two to the bit.

    What differs is named: inputs that have changed, versions, settings. The exit code is 1 if the results differ.
    """
    from rampion.apps.rerun import rerun as repeat

    found = repeat(run, out or run.with_name(f"{run.absolute().name}-again"), force, console.note)
    if as_json:
        console.show_json(found.facts())
    else:
        _show(found)
    if not found.same:
        raise typer.Exit(1)


def _show(found: Rerun) -> None:
    weights = found.weights
    if weights.differ:
        by = "" if weights.most is None else f", by {weights.most:.3g} at most"
        told = f"{weights.differ:,} of {weights.number:,} {weights.what} differ{by}"
    else:
        told = f"{weights.number:,} {weights.what}, all the same to the bit"
    rows = [
        ("inputs", "; ".join(found.inputs) or "as they were"),
        ("versions", "; ".join(found.versions) or "as they were"),
        ("settings", "; ".join(found.settings) or "as they were"),
        (f"{found.rows} rounds", found.first or "all figures the same to the bit"),
        ("weights", told),
    ]
    console.show(
        rows, ["what", "then and now"], title=f"{found.run} (recipe {found.recipe}), repeated in {found.again}"
    )
    if found.same:
        console.say(f"The result is the same to the bit: {found.run} is reproduced.")
    elif found.inputs or found.versions or found.settings:
        console.say("The result differs; what has changed since the run stands above.")
    else:
        console.say("The result differs, but inputs, versions and settings do not. Please report it.")
