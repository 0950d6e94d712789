"""rampion weights: look into weights, convert and compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import INSIDE

if TYPE_CHECKING:
    from rampion.apps.weights import Named, OfRun

EXAMPLE = """
[bold]Examples[/bold]

  rampion weights run --top 20

  rampion weights run --compare other-run

  rampion weights run --out weights.bin   (binary: quick to read, for millions of features)

  rampion weights run --top 50 --group word --iteration 3   (of [bold]rampion train[/bold])
"""


@app.command(epilog=EXAMPLE, rich_help_panel=INSIDE)
def weights(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Weights, text or binary, or the folder of a run.")],
    top: opt.TopWeights = 20,
    group: opt.Templates = None,
    iteration: opt.Iteration = None,
    compare: opt.OtherWeights = None,
    out: opt.WeightsOut = None,
    as_json: opt.Json = False,
) -> None:
    """Look into weights: all dense ones, the largest sparse ones."""
    from rampion.apps import weights as looking

    found, quiet = looking.look(file, top, group, iteration, compare, out), out == "-"
    if isinstance(found, looking.OfRun):
        _show_run(found, as_json, quiet)
    else:
        _show_named(found, as_json, quiet)


def _show_named(found: Named, as_json: bool, quiet: bool) -> None:
    if as_json:
        console.show_json(found.summary | found.likeness | {"weights": found.shown}, err=quiet)
        return
    head, rows = ["feature", "weight"], [[name, f"{value:.6g}"] for name, value in found.shown.items()]
    if (theirs := found.other) is not None:
        head.append("other")
        rows = [[*row, f"{theirs[row[0]]:.6g}"] for row in rows]
    console.show(rows, head, err=quiet)
    for facts in filter(None, (found.summary, found.likeness)):
        typer.echo(", ".join(f"{name} {_short(value)}" for name, value in facts.items()), err=quiet)


def _show_run(found: OfRun, as_json: bool, quiet: bool) -> None:
    """A table of templates, and the largest weights."""
    if as_json:
        facts = {"iteration": found.iteration, "templates": found.templates, "weights": found.shown}
        console.show_json(facts, err=quiet)
        return
    if found.templates:
        rows = [
            [name, f"{row['features']:,}", f"{row['nonzero']:,}", f"{row['norm']:.6g}"]
            for name, row in found.templates.items()
        ]
        console.show(rows, ["template", "features", "nonzero", "norm"], err=quiet)
        typer.echo(err=quiet)
    rows = [
        [name, f"{row['weight']:.6g}", f"{row['count']:,}" if "count" in row else ""]
        for name, row in found.shown.items()
    ]
    console.show(rows, ["feature", "weight", "count"], err=quiet)
    typer.echo(f"iteration {found.iteration}", err=quiet)


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
