"""rampion blocks: pairs of phrases from aligned text, with their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER

if TYPE_CHECKING:
    from rampion.apps.blocks import PhraseBlock, Sizes

EXAMPLE = """
[bold]Examples[/bold]

  rampion blocks corpus --out de-en.blocks

  rampion blocks train.de train.en --align train.align.gz --least 2 --top 20 --out de-en.blocks

  rampion blocks de-en.blocks

  rampion blocks de-en.blocks --show "das haus"
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
def blocks(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="A folder of parallel text; or source and target sentences, tokenised; or a file of blocks.",
        ),
    ],
    out: opt.BlocksOutOrLook = None,
    align: opt.Align = None,
    pair: opt.Pair = None,
    longest: opt.PhraseLongest = 7,
    least: opt.Least = 1,
    top: opt.BlocksTop = 100,
    ratio: opt.BlockRatio = 0.0,
    tight: opt.Tight = False,
    no_mixing: opt.NoMixing = False,
    threads: opt.Threads = None,
    show: opt.ShowPhrase = None,
    as_json: opt.Json = False,
) -> None:
    """Extract pairs of phrases from aligned text, with their probabilities; or look into a file of them.

    Without --align the alignment in the folder is used, or a new one is made.
    """
    from rampion.apps import blocks as extracting

    task = extracting.BlocksTask(
        paths=paths, out=out, align=align, pair=pair, longest=longest, least=least, top=top, ratio=ratio, tight=tight,
        mixing=not no_mixing, threads=threads,
    )  # fmt: skip
    found = extracting.blocks(task)
    if show is None:
        _show_sizes(extracting.sizes(found), as_json)
    else:
        _show_phrase(extracting.of_phrase(found, show), as_json)


def _show_sizes(found: Sizes, as_json: bool) -> None:
    if as_json:
        console.show_json(found.facts | {"meta": dict(found.meta)})
        return
    console.show([(name.replace("_", " "), value) for name, value in found.facts.items()], ["what", "how many"])
    typer.echo()
    head = ["source words", *(f"{n}" for n in range(1, len(found.lengths[0])))]
    rows = [(n, *row[1:]) for n, row in enumerate(found.lengths) if n]
    console.show(rows, head, title="blocks by target words")


def _show_phrase(found: list[PhraseBlock], as_json: bool) -> None:
    if as_json:
        console.show_json([{"target": one.target, "count": one.times, **one.columns} for one in found])
        return
    rows = [(one.target, one.times, *(f"{value:.3g}" for value in one.columns.values())) for one in found]
    console.show(rows, ["target", "count", *found[0].columns])
