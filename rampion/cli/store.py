"""rampion store: lists in binary form, verified by checksums."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.files import App
from rampion.cli.panels import INSIDE

stores = App(no_args_is_help=True, help="Keep lists in binary form: quick to open, every byte under a checksum.")
app.add_typer(stores, name="store", rich_help_panel=INSIDE)


@stores.command(epilog="[bold]Example[/bold]\n\n  rampion store pack run1.nbest.gz run2.nbest.gz --out dev.store")
def pack(lists: opt.Lists, out: opt.StoreOut, columns: opt.Columns = None, lenient: opt.Lenient = False) -> None:
    """Make a store of n-best lists; several files, the lists of successive decodings, are merged."""
    from rampion.apps import store

    made = store.pack(lists, out, lenient, columns)
    typer.echo(
        f"wrote {out}: {len(made.segments)} segments, {made.size} candidates, {len(made.features)} features",
        err=out == "-",
    )


VERIFY = """
[bold]Examples[/bold]

  rampion store verify dev.store

  rampion store verify run   (its sets and weights)

  rampion store verify system   (its blocks and language model)
"""


@stores.command(epilog=VERIFY)
def verify(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Binary files of any kind, or folders of them, such as a run or a system."),
    ],
    as_json: opt.Json = False,
) -> None:
    """Check every byte of a store, and that its parts fit together.

    Binary files of every other kind are checked, too: records, weights, blocks, language models, aligners, lattices.
    """
    from rampion.apps import store

    facts = store.verify(paths)
    if as_json:
        console.show_json([fact._asdict() for fact in facts])
    else:
        rows = [["" if cell is None else cell for cell in fact] for fact in facts]
        console.show(rows, list(store.Fact._fields))
        typer.echo("whole")
