"""rampion lattice: source sentences in, search graphs out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER
from rampion.cli.system import with_system

if TYPE_CHECKING:
    from rampion.apps.systems import SystemOptions

EXAMPLE = """
[bold]Examples[/bold]

  rampion lattice dev.de --blocks de-en.blocks --lm en.lm --out dev.lattice

  rampion lattice dev.de --blocks de-en.blocks --lm en.lm --weights run --beam 20 --out dev.graphs.gz
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
@with_system
def lattice(
    source: opt.Source,
    out: opt.LatticeOut,
    system: SystemOptions,
    as_json: opt.Json = False,
) -> None:
    """Write the search graph of every line: all translations that the search kept, with their scores."""
    from rampion.apps.decode import write_lattices

    found = write_lattices(source, system, out)
    if as_json:
        console.show_json(found._asdict(), err=out == "-")
    else:
        console.note(f"wrote {out}")
