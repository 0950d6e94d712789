"""rampion lattice: source sentences in; everything that the search kept out."""

from __future__ import annotations

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER

EXAMPLE = """
[bold]Examples[/bold]

  rampion lattice dev.de --blocks de-en.blocks --lm en.lm --out dev.lattice

  rampion lattice dev.de --blocks de-en.blocks --lm en.lm --weights run --beam 20 --out dev.graphs.gz
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
def lattice(
    source: opt.Source,
    out: opt.LatticeOut,
    weights: opt.Weights = None,
    iteration: opt.Iteration = None,
    lenient: opt.ForeignWeights = False,
    blocks: opt.Blocks = None,
    lm: opt.Lm = None,
    features: opt.Features = None,
    reordering: opt.Reordering = None,
    adjacent_swaps: opt.AdjacentSwaps = False,
    beam: opt.Beam = None,
    options: opt.BlockOptions = None,
    longest: opt.SourceLongest = None,
    leave_one_out: opt.LeaveOneOut = None,
    align: opt.Align = None,
    penalty: opt.Penalty = None,
    threads: opt.Threads = None,
    as_json: opt.Json = False,
) -> None:
    """Write the search graph of every line: all translations that the search kept, with their scores."""
    from rampion.apps.decode import write_lattices
    from rampion.apps.systems import LeaveOneOut, SystemOptions

    system = SystemOptions(
        blocks=blocks, lm=lm, weights=weights, iteration=iteration, features=features, reordering=reordering,
        adjacent_swaps=adjacent_swaps, beam=beam, options=options, longest=longest, threads=threads,
        lenient=lenient,
        leave_one_out=LeaveOneOut(target=leave_one_out, align=align, penalty=penalty),
    )  # fmt: skip
    found = write_lattices(source, system, out)
    if as_json:
        console.show_json(found._asdict(), err=out == "-")
    else:
        console.note(f"wrote {out}")
