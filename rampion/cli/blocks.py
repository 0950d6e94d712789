"""rampion blocks: pairs of phrases from aligned text, and what is known of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rampion import console
from rampion.cli import app
from rampion.cli.options import Json

EXAMPLE = """
[bold]Examples[/bold]

  rampion blocks corpus --out de-en.blocks

  rampion blocks train.de train.en --align train.align.gz --least 2 --top 20 --out de-en.blocks

  rampion blocks de-en.blocks

  rampion blocks de-en.blocks --show "das haus"
"""


@app.command(epilog=EXAMPLE)
def blocks(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="A folder of parallel text; or source and target sentences, tokenised; or a file of blocks.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="The blocks to write.", show_default=False)
    ] = None,
    align: Annotated[
        str | None,
        typer.Option(
            "--align",
            metavar="FILE",
            help="Points 0-0 1-2 …, a line a pair.  [default: what the folder has, or else align the text]",
            show_default=False,
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", metavar="SRC-TGT", help="The languages, where the folder does not tell.", show_default=False
        ),
    ] = None,
    longest: Annotated[int, typer.Option("--longest", min=1, max=20, help="Words of a phrase.")] = 7,
    least: Annotated[int, typer.Option("--least", min=1, help="Occurrences of a block.")] = 1,
    top: Annotated[int, typer.Option("--top", min=0, help="Blocks of a source phrase; 0 is all.")] = 100,
    ratio: Annotated[
        float,
        typer.Option("--ratio", min=0.0, help="One phrase may be this many times as long as the other; 0 is any."),
    ] = 0.0,
    tight: Annotated[
        bool, typer.Option("--tight", metavar="", help="No words without a link at the ends of phrases.")
    ] = False,
    no_mixing: Annotated[
        bool, typer.Option("--no-mixing", metavar="", help="No punctuation for words, no words for punctuation.")
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", min=1, metavar="N", help="Threads; the result is the same.  [default: all]", show_default=False
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="PHRASE", help="Print the blocks of a source phrase.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Extract pairs of phrases from aligned text, with their probabilities; or look into a file of them."""
    from rampion.apps.texts import links_of, texts_of
    from rampion.console import progress
    from rampion.decoder.models.blocks import BlockSet
    from rampion.decoder.models.extract import Settings, build
    from rampion.errors import RecipeError

    if len(paths) == 1 and not Path(paths[0]).is_dir():
        if out or align:
            raise RecipeError(f"{paths[0]}: is one file; blocks are made from a folder, or from two files of text")
        found = BlockSet.read(paths[0])
        if show is None:
            report(found, as_json)
        else:
            report_phrase(found, show, as_json)
        return
    if len(paths) > 2 or out is None:
        raise RecipeError("expected a folder or two files of text, and --out FILE; or one file of blocks to look into")
    settings = Settings(longest, not tight, least, top, ratio, not no_mixing)
    source, target, own = texts_of(paths, pair)
    links = links_of(source, target, align or own, threads)
    with progress() as watch:
        found = build(source, target, links, settings, threads=threads, watch=watch)
    found.write(out)
    if show is None:
        report(found, as_json)
    else:
        report_phrase(found, show, as_json)


def report(found: Any, as_json: bool) -> None:
    """How much there is of everything."""
    import numpy as np

    blocks = found.blocks
    facts: dict[str, Any] = {
        "blocks": len(blocks.sources) - 2,
        "once": int(np.count_nonzero(blocks.counts == 1)),
        "source_phrases": len(blocks.source_bounds) - 3,
        "target_phrases": len(blocks.target_bounds) - 3,
        "source_words": len(found.vocabularies.source),
        "target_words": len(found.vocabularies.target),
        **{name: found.meta[name] for name in ("sentences", "occurrences") if name in found.meta},
    }
    if as_json:
        console.show_json(facts | {"meta": dict(found.meta)})
        return
    console.show([(name.replace("_", " "), value) for name, value in facts.items()], ["what", "how many"])
    lengths = np.diff(blocks.source_bounds)[blocks.sources[2:]]
    others = np.diff(blocks.target_bounds)[blocks.targets[2:]]
    typer.echo()
    head = ["source words", *(f"{n}" for n in range(1, int(others.max(initial=0)) + 1))]
    cells = np.zeros((int(lengths.max(initial=0)) + 1, len(head)), np.int64)
    np.add.at(cells, (lengths, others), 1)
    console.show([(n, *row[1:]) for n, row in enumerate(cells.tolist()) if n], head, title="blocks by target words")


def report_phrase(found: Any, phrase: str, as_json: bool) -> None:
    """The blocks of a source phrase, the most frequent first; probabilities as such, learnt columns as they are."""
    import numpy as np

    from rampion.decoder.models.blocks import COLUMNS
    from rampion.decoder.models.options import Options, Sentences
    from rampion.errors import InputError
    from rampion.store.text import Texts

    sentences = Sentences.of(Texts.from_strings([phrase]), found.vocabularies.source)
    size = len(sentences.words)
    if not size:
        raise InputError("--show: expected a source phrase, one word at least")
    options = Options.match(sentences, found.blocks, longest=size, top=len(found.blocks.sources))
    rows = options.blocks[options.spans[size - 1] : options.spans[size]].astype(np.int64)
    rows = rows[rows > 1]
    if not len(rows):
        raise InputError(f"--show {phrase!r}: no block has this source phrase")
    chances = found.blocks.values[rows].astype(np.float64)
    np.exp(chances[:, : len(COLUMNS)], out=chances[:, : len(COLUMNS)])
    counts = found.blocks.counts[rows].tolist()
    listed = [(found.text(row)[1], n, *line) for row, n, line in zip(rows, counts, chances.tolist(), strict=True)]
    head = ["target", "count", *found.blocks.columns]
    if as_json:
        console.show_json([dict(zip(head, line, strict=True)) for line in listed])
    else:
        console.show([(text, n, *(f"{chance:.3g}" for chance in line)) for text, n, *line in listed], head)
