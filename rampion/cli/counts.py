"""rampion counts: word pairs, n-grams and triggers, as features of the bundled decoder."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER

EXAMPLE = """
[bold]Examples[/bold]

  rampion counts corpus --out de-en.counts

  rampion counts train.de train.en --align train.align.gz --pairs 500 --triggers 0 --out de-en.counts

  rampion counts de-en.counts

  rampion tune dev.de --refs dev.en --system run/system --counts de-en.counts --out large   (tune their weights)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
def counts(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="A folder of parallel text; or source and target sentences, tokenised; or a file of features.",
        ),
    ],
    out: opt.CountsOut = None,
    align: opt.Align = None,
    pair: opt.Pair = None,
    pairs: opt.WordPairs = 1000,
    unigrams: opt.Unigrams = 200,
    bigrams: opt.Bigrams = 1000,
    trigrams: opt.Trigrams = 1000,
    triggers: opt.Triggers = 4000,
    least: opt.Least = 3,
    self_triggers: opt.SelfTriggers = False,
    longest: opt.PhraseLongest = 7,
    threads: opt.Threads = None,
    as_json: opt.Json = False,
) -> None:
    """Choose count features of aligned text: frequent word pairs and n-grams, and triggers; or look into a file.

    Without --align the alignment in the folder is used, or a new one is made. Word pairs are taken from the links
    inside phrase pairs.
    """
    from rampion.apps.counts import CountsTask
    from rampion.apps.counts import counts as choose
    from rampion.decoder.features.counts import Settings

    settings = Settings(pairs, unigrams, bigrams, trigrams, triggers, least, self_triggers, longest)
    task = CountsTask(paths=paths, out=out, align=align, pair=pair, settings=settings, threads=threads)
    kinds = choose(task)
    if as_json:
        console.show_json({kind: [one._asdict() for one in members] for kind, members in kinds.items()})
        return
    rows = [(kind, len(own), ", ".join(" ".join(one.words) for one in own[:5])) for kind, own in kinds.items()]
    console.show(rows, ["kind", "features", "the first"])
