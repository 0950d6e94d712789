"""rampion attach: values from files beside the candidates of lists."""

from __future__ import annotations

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS
from rampion.errors import InputError

EXAMPLE = """
[bold]Examples[/bold]

  rampion attach dev.nbest.gz qe=dev.qe --out dev.qe.jsonl   (a number on each line, in the order of the candidates)

  rampion attach samples.jsonl reward=rewards.jsonl --as metric --out rewarded.jsonl   (a record for each candidate)

  rampion attach samples.csv model=models.txt --as field --columns id=prompt,text=answer --out named.jsonl
"""


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def attach(
    lists: opt.OneList,
    values: opt.Values,
    kind: opt.AttachedAs = "feature",
    out: opt.ListsOut = None,
    columns: opt.Columns = None,
    as_json: opt.Json = False,
) -> None:
    """Add a feature, a metric or a field to lists: a line or a JSON record of a file for each candidate, in order."""
    from rampion.apps import attach as attaching

    if out is None:
        raise InputError("name the lists to write with --out")
    facts = attaching.attach(lists, values, out, kind, columns)
    if as_json:
        console.show_json([fact._asdict() for fact in facts], err=out == "-")
        return
    console.show(facts, list(attaching.Attached._fields), err=out == "-")
    typer.echo(f"wrote {out}", err=out == "-")
