"""rampion features: more features for lists, made of what they hold."""

from __future__ import annotations

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS

EXAMPLE = """
[bold]Examples[/bold]

  rampion features dev.nbest.gz --add consensus:chrf --add length --out dev.more.jsonl

  rampion features samples.jsonl --add vote --answer '#### *(.+)' --add 'bins:logprob,5' --out more.jsonl

  rampion features test.nbest.gz --like run --out test.more.jsonl   (what the weights of a run need)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def features(
    lists: opt.OptionalLists = None,
    add: opt.Add = None,
    out: opt.ListsOut = None,
    like: opt.Like = None,
    source: opt.SourceText = None,
    lm: opt.Lm = None,
    answer: opt.Answer = None,
    columns: opt.Columns = None,
    lenient: opt.Lenient = False,
    as_json: opt.Json = False,
) -> None:
    """Add features that need no model: consensus, votes, lengths, products, bins. Without lists, list all of them."""
    from rampion.apps import features as making
    from rampion.errors import InputError
    from rampion.features import WEIGHED, described

    if not lists:
        rows = list(described())
        if as_json:
            console.show_json(dict(rows))
            return
        console.show(rows, ["feature", "what it is"])
        typer.echo(WEIGHED)
        return
    if out is None:
        raise InputError("name the lists to write with --out")
    task = making.FeaturesTask(
        lists=lists,
        add=add or [],
        out=out,
        like=like,
        source=source,
        lm=lm,
        answer=answer,
        columns=columns or [],
        lenient=lenient,
    )
    found = making.add(task)
    if as_json:
        console.show_json([one._asdict() for one in found], err=out == "-")
        return
    console.show(
        [(one.feature, f"{one.mean:.4g}", f"{one.sd:.4g}") for one in found], making.Added._fields, err=out == "-"
    )
    typer.echo(f"wrote {out}", err=out == "-")
