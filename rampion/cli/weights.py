"""rampion weights: look into weights, convert and compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.apps.inputs import read_weights
from rampion.cli import app
from rampion.cli.options import Json

if TYPE_CHECKING:
    from rampion.runs.sets_run import Run
    from rampion.store.features import Weights

EXAMPLE = """
[bold]Examples[/bold]

  rampion weights run --top 20

  rampion weights run --compare other-run

  rampion weights run --out weights.bin   (binary: quick to read, for millions of features)

  rampion weights run --top 50 --group word --iteration 3   (of [bold]rampion train[/bold])
"""


@app.command(epilog=EXAMPLE)
def weights(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Weights, text or binary, or the folder of a run.", show_default=False)
    ],
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many of the largest sparse weights.")] = 20,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="NAMES",
            help="Of a training run: these templates only, as in word,P1.",
            show_default=False,
        ),
    ] = None,
    iteration: Annotated[
        int | None,
        typer.Option(
            "--iteration",
            metavar="N",
            min=1,
            help="Of a training run: not the chosen one, but this.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option("--compare", metavar="FILE", help="Other weights, to compare with.", show_default=False),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write them again: .bin as binary, else as text.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Look into weights: all dense ones, the largest sparse ones."""
    import numpy as np

    from rampion.apps.runs import run_of
    from rampion.errors import RecipeError
    from rampion.formats import weights as weight_files

    if run := run_of(file):
        if compare:
            raise RecipeError(f"{file}: is a run of rampion train; write its weights by name (--out) and compare those")
        _look(run, iteration, group, top, out, as_json)
        return
    for option, given in (("--group", group), ("--iteration", iteration)):
        if given:
            raise RecipeError(f"{option} {given}: is for runs of rampion train, and {file} is none; leave it out")
    learnt = read_weights(file)
    width, vector, names = learnt.features.width, learnt.vector, learnt.features.names
    largest = width + np.argsort(-np.abs(vector[width:]), kind="stable")[:top]
    shown = {names[f]: float(vector[f]) for f in [*range(width), *largest.tolist()] if f < width or vector[f]}
    summary: dict[str, float] = {
        "features": len(vector),
        "dense": width,
        "nonzero": int(np.count_nonzero(vector)),
        "norm": float(np.linalg.norm(vector)),
    }
    likeness: dict[str, float] = {}
    head, rows = ["feature", "weight"], [[name, f"{value:.6g}"] for name, value in shown.items()]
    if compare:
        other = read_weights(compare)
        likeness = _likeness(learnt, other)
        head.append("other")
        rows = [[*row, f"{other.get(row[0], 0.0):.6g}"] for row in rows]
    if out:
        weight_files.write(out, learnt)
    quiet = out == "-"
    if as_json:
        console.show_json(summary | likeness | {"weights": shown}, err=quiet)
        return
    console.show(rows, head, err=quiet)
    for facts in filter(None, (summary, likeness)):
        typer.echo(", ".join(f"{name} {_short(value)}" for name, value in facts.items()), err=quiet)


def _look(run: Run, iteration: int | None, group: str | None, top: int, out: str | None, as_json: bool) -> None:
    """The weights of a run of rampion train: a table of templates, and the largest."""
    from rampion.apps.runs import Inside
    from rampion.formats import weights as weight_files

    inside, quiet = Inside(run, iteration, group), out == "-"
    templates, shown = inside.templates(), inside.shown(top)
    if out:
        weight_files.write(out, inside.named())
    if as_json:
        console.show_json({"iteration": inside.iteration, "templates": templates, "weights": shown}, err=quiet)
        return
    if templates:
        rows = [
            [name, f"{row['features']:,}", f"{row['nonzero']:,}", f"{row['norm']:.6g}"]
            for name, row in templates.items()
        ]
        console.show(rows, ["template", "features", "nonzero", "norm"], err=quiet)
        typer.echo(err=quiet)
    rows = [
        [name, f"{row['weight']:.6g}", f"{row['count']:,}" if "count" in row else ""] for name, row in shown.items()
    ]
    console.show(rows, ["feature", "weight", "count"], err=quiet)
    typer.echo(f"iteration {inside.iteration}", err=quiet)


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _likeness(one: Weights, other: Weights) -> dict[str, float]:
    """The cosine of two weight vectors over all features of both, and their distance."""
    import numpy as np

    features, mine, theirs = one.features.union(other.features)
    pair = np.zeros((2, len(features)))
    pair[0][mine], pair[1][theirs] = one.vector, other.vector
    product = float(np.linalg.norm(pair, axis=1).prod())
    return {
        "cosine": float(pair[0] @ pair[1]) / product if product else 0.0,
        "distance": float(np.linalg.norm(pair[0] - pair[1])),
    }
