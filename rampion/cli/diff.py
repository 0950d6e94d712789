"""rampion diff: what differs between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import INSIDE

if TYPE_CHECKING:
    from rampion.analysis.difference import Choices, Difference

EXAMPLE = """
[bold]Examples[/bold]

  rampion diff run other-run

  rampion report run --compare other-run   (the same as a page)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=INSIDE)
def diff(
    one: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run of rampion tune.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The folder of another one.")],
    top: opt.TopRows = 10,
    as_json: opt.Json = False,
) -> None:
    """Compare two runs: settings that differ, weights that moved, segments whose choice changed."""
    from rampion.apps.diff import difference

    found = difference(one, other, top)
    if as_json:
        console.show_json(found.facts())
        return
    _show_settings(found)
    rows = [(row.feature, f"{row.one:.4g}", f"{row.other:.4g}", f"{row.other - row.one:+.4g}") for row in found.moved]
    if rows:
        console.show(rows, ["feature", "weight", "other", "change"])
        console.say(f"cosine of the weights {found.likeness['cosine']:.4f}")
    else:
        console.say("the weights are the same")
    typer.echo()
    if found.choices:
        _show_choices(found.choices)
    else:
        console.say(f"the choices are not compared: {found.why}")


def _show_settings(found: Difference) -> None:
    """Settings and inputs that differ."""
    rows = [(name, *("" if value is None else str(value) for value in pair)) for name, pair in found.settings.items()]
    if rows:
        console.show(rows, ["setting", *found.runs])
    else:
        console.say("all settings are the same")
    for path in found.inputs:
        console.say(f"{path} has other content")
    typer.echo()


def _show_choices(found: Choices) -> None:
    """How many choices changed, and the segments where most is gained or lost."""
    one, other = console.numbers([found.score, found.other_score])
    console.say(f"{found.metric} {one}, other {other}")
    share = f"{found.changed} of {found.segments} segments have another choice"
    equal = found.changed - found.better - found.worse
    console.say(f"{share}: {found.better} better, {found.worse} worse, {equal} that cost the same")
    for row in found.largest:
        gain = row.cost - row.other_cost
        console.say(f"\n{row.segment}  {'costs less' if gain > 0 else 'costs more'} by {abs(gain):.3g}")
        console.say(f"  one    {row.one}\n  other  {row.other}")
