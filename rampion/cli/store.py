"""rampion store: lists in binary form, verified by checksums."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion.cli import app, table
from rampion.cli.options import Json, Lenient, Lists, read_runs

stores = typer.Typer(
    no_args_is_help=True, help="Keep lists in binary form: quick to open, every byte under a checksum."
)
app.add_typer(stores, name="store")


@stores.command(epilog="[bold]Example[/bold]\n\n  rampion store pack run1.nbest.gz run2.nbest.gz --out dev.store")
def pack(
    lists: Lists,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The store to write.", show_default=False)],
    lenient: Lenient = False,
) -> None:
    """Make a store of n-best lists; several files, the lists of successive decodings, are merged."""
    from rampion.formats import store
    from rampion.policies import Merge
    from rampion.training import absorbed

    runs = read_runs(lists, lenient)
    merged = runs[0] if len(runs) == 1 else absorbed(Merge(), runs)
    store.write(out, merged)
    typer.echo(
        f"wrote {out}: {len(merged.segments)} segments, {len(merged)} candidates, {len(merged.features)} features",
        err=out == "-",
    )


@stores.command(epilog="[bold]Example[/bold]\n\n  rampion store verify dev.store")
def verify(
    files: Annotated[list[str], typer.Argument(metavar="STORE", help="Stores to check.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Check every byte of a store, and that its parts fit together."""
    from rampion.formats import store

    facts = []
    for path in files:
        found = store.read(path)
        facts.append(
            {
                "store": path,
                "segments": len(found.segments),
                "candidates": len(found),
                "features": len(found.features),
                "dense": found.features.width,
            }
        )
    if as_json:
        table.show_json(facts)
    else:
        table.show([tuple(fact.values()) for fact in facts], ["store", "segments", "candidates", "features", "dense"])
        typer.echo("whole")
