"""rampion align: word alignments of parallel text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER

if TYPE_CHECKING:
    from rampion.decoder.alignment.align import Round

EXAMPLE = """
[bold]Examples[/bold]

  rampion align train.de train.en --out train.align.gz

  rampion align train.de train.en --out train.align --symmetrise union --save de-en.aligner

  rampion align test.de test.en --out test.align --load de-en.aligner --score test.gold

  rampion align train.de train.en --out train.align --with eflomal
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
def align(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Source sentences, tokenised, one on each line.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Their translations, line by line.")],
    out: opt.PointsOut,
    symmetrise: opt.Symmetrise = "grow-diag-final-and",
    threads: opt.Threads = None,
    program: opt.Program = None,
    timeout: opt.LongTimeout = 86400.0,
    load: opt.LoadAligner = None,
    save: opt.SaveAligner = None,
    score: opt.Gold = None,
    as_json: opt.Json = False,
) -> None:
    """Align the words of parallel text: an HMM in both directions that learn to agree."""
    from rampion.apps import align as aligning

    live = console.Live(["model", "round", "forward", "backward"], [7, 5, 9, 9], err=True)

    def watch(row: Round) -> None:
        live.row([row.model, str(row.number), f"{row.forward:.4f}", f"{row.backward:.4f}"])

    task = aligning.AlignTask(
        source=source, target=target, out=out, symmetrise=symmetrise, threads=threads, program=program,
        timeout=timeout, load=load, save=save, gold=score,
    )  # fmt: skip
    made = aligning.align(task, watch)
    facts: dict[str, object] = {"pairs": made.pairs, "points": made.points}
    if made.agreement:
        truth = made.agreement
        facts |= {"precision": truth.precision, "recall": truth.recall, "error_rate": truth.error_rate}
    if as_json:
        console.show_json(facts, err=out == "-")
    else:
        console.show([tuple(facts.values())], list(facts), err=out == "-")
