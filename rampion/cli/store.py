"""rampion store: lists in binary form, verified by checksums."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.apps.inputs import read_runs
from rampion.cli import app
from rampion.cli.options import Json, Lenient, Lists

if TYPE_CHECKING:
    from rampion.sets.files import Part

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
    from rampion.training.loop import absorbed
    from rampion.training.policies import Merge

    runs = read_runs(lists, lenient).lists
    merged = runs[0] if len(runs) == 1 else absorbed(Merge(), runs)
    store.write(out, merged)
    typer.echo(
        f"wrote {out}: {len(merged.segments)} segments, {merged.size} candidates, {len(merged.features)} features",
        err=out == "-",
    )


@stores.command(
    epilog="[bold]Examples[/bold]\n\n  rampion store verify dev.store\n\n  rampion store verify run   (its sets)"
)
def verify(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="STORE", help="Stores, files of records, or folders of them: a run's.", show_default=False
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check every byte of a store, and that its parts fit together."""
    facts = [fact for path in paths for fact in _checked(path)]
    if as_json:
        console.show_json(facts)
    else:
        console.show([tuple(fact.values()) for fact in facts], list(facts[0]))
        typer.echo("whole")


def _checked(path: str) -> Iterator[dict[str, str | int]]:
    """What each file there holds."""
    from rampion.formats import store
    from rampion.sets import files

    if os.path.isdir(path):
        sets = os.path.join(path, "sets")
        folder = sets if os.path.isdir(sets) else path
        for name, part in files.Sets.open(folder).parts.items():
            yield _told(os.path.join(folder, name + files.ENDING), part)
    elif path.endswith(files.ENDING):
        yield _told(path, files.read(path))
    else:
        found = store.read(path)
        features = found.features
        yield _fact(path, len(found.segments), found.size, len(features), features.width)


def _told(path: str, part: Part) -> dict[str, str | int]:
    segments, width = part.shape
    return _fact(path, segments, len(part.records.gains), part.known, width)


def _fact(path: str, segments: int, candidates: int, features: int, dense: int) -> dict[str, str | int]:
    return {
        "store": path,
        "segments": segments,
        "candidates": candidates,
        "features": features,
        "dense": dense,
        "bytes": os.stat(path).st_size,
    }
