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
        console.show(rows, ["feature", *found.runs, "change"])
        console.say(f"cosine of the weights {found.likeness['cosine']:.4f}")
    else:
        console.say("the weights are the same")
    typer.echo()
    if found.choices:
        _show_choices(found.choices, found.runs)
    else:
        console.say(f"the choices are not compared: {found.why}")


def _show_settings(found: Difference) -> None:
    """Print the settings and inputs that differ."""
    rows = [(name, *("" if value is None else str(value) for value in pair)) for name, pair in found.settings.items()]
    if rows:
        console.show(rows, ["setting", *found.runs])
    else:
        console.say("all settings are the same")
    for path in found.inputs:
        console.say(f"{path} has other content")
    typer.echo()


def _show_choices(found: Choices, runs: tuple[str, str]) -> None:
    """The gain and how sure it is, how many choices changed, and the segments where most is gained or lost."""
    one, other, gain, low, high = console.numbers([found.score, found.other_score, found.gain, found.low, found.high])
    change = [one, other, _signed(gain), f"[{_signed(low)}, {_signed(high)}]", f"{found.p:.4f}"]
    console.show([[found.metric, *change]], ["metric", *runs, "change", "95% interval", "p"])
    equal = found.changed - found.better - found.worse
    share = f"{found.changed} of {found.segments} segments have another choice"
    console.say(f"{share}: {found.better} better, {found.worse} worse, {equal} of the same score")
    width = max(map(len, runs))
    for row in found.largest:
        console.say(f"\n{row.segment}  {found.metric} {row.score:.3g}, then {row.other_score:.3g}")
        for run, text in zip(runs, (row.one, row.other), strict=True):
            console.say(f"  {run:{width}}  {' '.join(text.split())}")


def _signed(told: str) -> str:
    return told if told.startswith("-") else f"+{told}"
