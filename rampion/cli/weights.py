"""rampion weights: look into weights, convert and compare them."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion.cli import app, table
from rampion.cli.options import Json, read_weights

EXAMPLE = """
[bold]Examples[/bold]

  rampion weights run --top 20

  rampion weights run --compare other-run

  rampion weights run --out weights.bin   (binary: quick to read, for millions of features)
"""


@app.command(epilog=EXAMPLE)
def weights(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Weights, text or binary, or the folder of a run.", show_default=False)
    ],
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many of the largest sparse weights.")] = 20,
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

    from rampion.formats import weights as weight_files

    learnt = read_weights(file)
    if out:
        weight_files.write(learnt, out, binary=out.endswith(".bin"))
    width, vector = learnt.features.width, learnt.vector
    largest = width + np.argsort(-np.abs(vector[width:]), kind="stable")[:top]
    shown = [*range(width), *(int(f) for f in largest if vector[f])]
    others = None
    if compare:
        other = read_weights(compare)
        features, mine, theirs = learnt.features.union(other.features)
        pair = np.zeros((2, len(features)))
        pair[0][mine], pair[1][theirs] = vector, other.vector
        lengths = np.linalg.norm(pair, axis=1)
        likeness = float(pair[0] @ pair[1] / (lengths.prod() or 1.0))
        others = {"cosine": likeness, "distance": float(np.linalg.norm(pair[0] - pair[1])), "values": other}
    summary = {
        "features": len(vector), "dense": width, "nonzero": int(np.count_nonzero(vector)), "norm": float(np.linalg.norm(vector)),
    }  # fmt: skip
    if others:
        summary |= {"cosine": others["cosine"], "distance": others["distance"]}
    if as_json:
        table.show_json(summary | {"weights": {learnt.features.names[f]: float(vector[f]) for f in shown}})
        return
    head, rows = ["feature", "weight"], [(learnt.features.names[f], f"{vector[f]:.6g}") for f in shown]
    if compare and others:
        head.append("other")
        rows = [(*row, f"{others['values'].get(row[0], 0.0):.6g}") for row in rows]
    table.show(rows, head)
    typer.echo(", ".join(f"{name} {value:.6g}" for name, value in summary.items()))
