"""rampion align: word alignments of parallel text."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli.options import Json

EXAMPLE = """
[bold]Examples[/bold]

  rampion align train.de train.en --out train.align.gz

  rampion align train.de train.en --out train.align --symmetrise union --save de-en.aligner

  rampion align test.de test.en --out test.align --load de-en.aligner --score test.gold

  rampion align train.de train.en --out train.align --with eflomal
"""


@app.command(epilog=EXAMPLE)
def align(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Source sentences, tokenised, a line each.", show_default=False)
    ],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Their translations, line by line.", show_default=False)
    ],
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="Points 0-0 1-2 …, a line a pair.", show_default=False),
    ],
    symmetrise: Annotated[
        str,
        typer.Option("--symmetrise", metavar="METHOD", help="intersection, union, grow-diag or grow-diag-final-and."),
    ] = "grow-diag-final-and",
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", min=1, metavar="N", help="Threads; the result is the same.  [default: all]", show_default=False
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="PROGRAM", help="Let eflomal do it, or a program called like it.", show_default=False
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long the other program may take.")
    ] = 86400.0,
    load: Annotated[
        str | None,
        typer.Option("--load", metavar="FILE", help="Use a trained aligner, learn nothing.", show_default=False),
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Keep the trained aligner.", show_default=False)
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            "--score", metavar="GOLD", help="Compare with the true alignment, a file like FILE.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Align the words of parallel text: an HMM in both directions that learn to agree."""
    from rampion.decoder.alignment import align as aligning
    from rampion.decoder.alignment import links
    from rampion.errors import FormatError, InputError, RecipeError
    from rampion.formats import texts
    from rampion.formats.files import shown

    if sum(choice is not None for choice in (program, load, save)) > 1:
        raise RecipeError("--with, --load and --save: one says who aligns and another who learns; give one of them")
    if symmetrise not in links.METHODS:
        raise RecipeError(f"--symmetrise {symmetrise}: expected one of {', '.join(links.METHODS)}")
    sources, targets = texts.read(source), texts.read(target)
    if len(sources) != len(targets):
        raise FormatError(
            f"{shown(target)}: has {len(targets)} lines, and {shown(source)} has {len(sources)}; "
            "expected a translation in every line"
        )
    if not len(sources):
        raise InputError(f"{shown(source)}: holds no lines; expected a sentence in every line")
    lengths = links.lengths_of(sources), links.lengths_of(targets)
    truth = links.read(score, lengths) if score else None
    live = console.Live(["model", "round", "forward", "backward"], [7, 5, 9, 9], err=True)

    def watch(told: aligning.Round) -> None:
        live.row([told.model, str(told.number), f"{told.forward:.4f}", f"{told.backward:.4f}"])

    if program:
        command = "eflomal-align" if program == "eflomal" else program
        found = links.external(sources, targets, command=command, method=symmetrise, timeout=timeout)
    else:
        aligner = aligning.Aligner.load(load) if load else None
        aligner = aligner or aligning.Aligner.train(sources, targets, threads=threads, watch=watch)
        found = aligner.align(sources, targets, method=symmetrise, threads=threads)
        if save:
            aligner.save(save)
    links.write(out, found)
    passed = int(((lengths[0] > aligning.LONGEST) | (lengths[1] > aligning.LONGEST)).sum())
    if passed and not program:
        console.note(f"{passed} pairs with more than {aligning.LONGEST} words on a side were left without points")
    facts: dict[str, object] = {"pairs": len(found), "points": len(found.sources)}
    if truth:
        agreement = links.compare(found, truth)
        facts |= {"precision": agreement.precision, "recall": agreement.recall, "error_rate": agreement.error_rate}
    if as_json:
        console.show_json(facts, err=out == "-")
    else:
        console.show([tuple(facts.values())], list(facts), err=out == "-")
