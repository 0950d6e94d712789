"""rampion condense: learnt weights of sparse features as ten more columns of the blocks that fire them."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.apps.inputs import read_weights
from rampion.cli import app
from rampion.cli.options import Json

EXAMPLE = """
[bold]Examples[/bold]

  rampion condense de-en.blocks --weights run --out learnt.blocks --save-weights start.weights

  rampion tune dev.de --refs dev.en --blocks learnt.blocks --features fourteen,learnt --weights start.weights
"""


@app.command(epilog=EXAMPLE)
def condense(
    blocks: Annotated[
        str,
        typer.Argument(
            metavar="BLOCKS", help="From [bold]rampion blocks[/bold]: those that listed the text.", show_default=False
        ),
    ],
    weights: Annotated[
        str,
        typer.Option(
            "--weights", "-w", metavar="FILE", help="Weights, or the folder of a run on lists.", show_default=False
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The condensed blocks to write.", show_default=False)
    ],
    save_weights: Annotated[
        str | None,
        typer.Option(
            "--save-weights",
            metavar="FILE",
            help="Write the weights of real-valued features, and 1 for each learnt one: where tuning should begin.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Put learnt weights of pairs, lexical, triplets and reordering into the blocks, as features named learnt.

    With weight 1 each, translations score as they did with the sparse features,
    and the search looks nothing up. Weights of real-valued features stay out.
    """
    from rampion.decoder.features.dense import DENSE
    from rampion.decoder.models.blocks import LEARNT, BlockSet
    from rampion.decoder.search.condense import condensed, shares
    from rampion.formats import weights as weights_format
    from rampion.store.features import Weights

    found, learnt = BlockSet.read(blocks), read_weights(weights)
    rows = shares(found, learnt)
    condensed(found, learnt).write(out)
    if save_weights:
        own = {name: weight for name, weight in learnt.items() if name in DENSE}
        weights_format.write(save_weights, Weights.from_dict(own | dict.fromkeys(LEARNT, 1.0)))
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
