"""rampion condense: learnt weights of sparse features as ten more columns of the blocks that fire them."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER

EXAMPLE = """
[bold]Examples[/bold]

  rampion condense de-en.blocks --weights run --out learnt.blocks --save-weights start.weights

  rampion tune dev.de --refs dev.en --blocks learnt.blocks --features fourteen,learnt --weights start.weights
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
def condense(
    blocks: Annotated[
        str,
        typer.Argument(
            metavar="BLOCKS", help="From [bold]rampion blocks[/bold]: the same blocks that the lists were made with."
        ),
    ],
    weights: opt.NeededWeights,
    out: opt.BlocksOut,
    save_weights: opt.SaveWeights = None,
    lenient: opt.ForeignWeights = False,
    as_json: opt.Json = False,
) -> None:
    """Put learnt weights of pairs, lexical, triplets and reordering into the blocks, as features named learnt.

    With weight 1 each, translations get the scores that they had with the sparse features, and the search is faster.
    Weights of real-valued features are not condensed; --save-weights writes them, with 1 for each learnt feature.
    """
    from rampion.apps import condense as condensing

    rows = condensing.condense(blocks, weights, out, save_weights, lenient)
    if as_json:
        console.show_json({label: row._asdict() for label, row in rows.items()})
        return
    cells = [(label, row.condensed, row.strange, _named(row.columns)) for label, row in rows.items()]
    console.show(cells, ["template", "weights", "of no block", "column"])
    console.note(f"wrote {out}")


def _named(columns: tuple[str, ...]) -> str:
    """LearntBackM, S, D."""
    first, *others = columns
    return ", ".join([first, *(name[-1] for name in others)])
