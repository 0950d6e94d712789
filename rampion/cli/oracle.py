"""rampion oracle: source sentences and references in; the translations of highest BLEU out."""

from __future__ import annotations

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER

EXAMPLE = """
[bold]Examples[/bold]

  rampion oracle dev.de --refs dev.en.0 --refs dev.en.1 --blocks de-en.blocks --out dev.oracle

  rampion oracle dev.de --refs dev.en --weights run   (the blocks of a run of [bold]rampion train[/bold])
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
def oracle(
    source: opt.Source,
    refs: opt.NeededRefs,
    out: opt.TranslationsOut = "-",
    weights: opt.Weights = None,
    blocks: opt.Blocks = None,
    reordering: opt.Reordering = None,
    adjacent_swaps: opt.AdjacentSwaps = False,
    options: opt.BlockOptions = None,
    longest: opt.SourceLongest = None,
    threads: opt.Threads = None,
    executor: opt.Executor = None,
    run: opt.ShardsFolder = None,
    as_json: opt.Json = False,
) -> None:
    """Find the translations of highest BLEU that the bundled decoder could give.

    The search uses the references instead of weights. It shows how good the blocks are: no weights lead to better
    translations.
    """
    from rampion.apps.oracle import search_oracles
    from rampion.apps.systems import Shared, SystemOptions

    system = SystemOptions(
        blocks=blocks, weights=weights, reordering=reordering, adjacent_swaps=adjacent_swaps, options=options,
        longest=longest, threads=threads,
    )  # fmt: skip
    found = search_oracles(source, refs, system, out, Shared(executor, run))
    if as_json:
        console.show_json(found._asdict(), err=out == "-")
        return
    if out != "-":
        console.note(f"wrote {out}")
    console.note(f"BLEU {found.corpus_bleu:.2f}; mean of sentences {100 * found.sentence_bleu:.2f}")
