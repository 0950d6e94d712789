"""rampion inspect: scores, features and problems of n-best lists."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS

if TYPE_CHECKING:
    from rampion.analysis.inspection import Examination, FeatureRow, Finding, Place, Scores

EXAMPLE = """
[bold]Examples[/bold]

  rampion inspect dev.nbest.gz --refs dev.en.0 --refs dev.en.1

  rampion inspect dev.nbest.gz --refs dev.en --weights run --other test.nbest.gz   (are both from one system?)

  rampion inspect lists.jsonl --target comet --json
"""
WIDTH, NAME = 80, 28
ORDERS = {"listed": "as listed", "weights": "by the weights"}


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def inspect(
    lists: opt.Lists,
    refs: opt.Refs = None,
    weights: opt.Weights = None,
    metric: opt.Metric = None,
    target: opt.Target = None,
    other: opt.OtherLists = None,
    top: opt.TopFeatures = 10,
    columns: opt.Columns = None,
    lenient: opt.Lenient = False,
    as_json: opt.Json = False,
) -> None:
    """Examine lists: oracle scores, diversity, what each feature is worth, and what is wrong."""
    from rampion.apps import inspect as inspecting
    from rampion.apps.inputs import one_metric

    named = one_metric(metric, target)
    found = inspecting.inspect(
        lists, refs or [], weights=weights, metric=named, other=other, top=top, lenient=lenient, columns=columns
    )
    if as_json:
        console.show_json(found.as_dict())
    else:
        _show(found)


def _show(found: Examination) -> None:
    counts, diversity = found.counts, found.diversity
    typer.echo(
        f"{counts.segments} segments, {counts.candidates} candidates: {counts.shortest} to {counts.longest} a list, "
        f"median {counts.median:g}"
    )
    typer.echo(f"{counts.dense} dense and {counts.sparse} sparse features")
    distance = "" if diversity.distance is None else f"; word edit distance to the first {diversity.distance:.0%}"
    typer.echo(f"distinct texts in a list {diversity.distinct:.0%}{distance}")
    if found.scores:
        _show_scores(found.scores)
    _show_features(found)
    if found.split and counts.sparse:
        here, there = found.split.sparse_here, found.split.sparse_there
        typer.echo(f"sparse features on one side only: {here:.0%} of these lists', {there:.0%} of the others'")
    for remark in found.notes:
        typer.echo(textwrap.fill(remark, WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    typer.echo()
    if not found.findings:
        typer.secho("nothing wrong was found", bold=True)
        return
    plural = "s" if len(found.findings) > 1 else ""
    typer.secho(f"{len(found.findings)} warning{plural}, worst first", bold=True)
    for finding in found.findings:
        told = console.plain(_told(finding))
        typer.echo(textwrap.fill(told, WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def _told(finding: Finding) -> str:
    place = "" if finding.segment is None else f" (segment {finding.segment})"
    if finding.candidate is not None:
        place = f" (segment {finding.segment}, candidate {finding.candidate})"
    return f"! {finding.kind}{place}: {finding.sentence}"


def _show_scores(scores: Scores) -> None:
    from rampion.metrics.base import decimals

    rows = [("as listed", scores.listed)]
    if scores.chosen is not None:
        rows.append(("by the weights", scores.chosen))
    rows += [("at random", scores.chance), ("oracle", scores.depths[-1].oracle), ("worst", scores.depths[-1].worst)]
    typer.echo()
    d = decimals(value for _, value in rows)
    cells = [(name, f"{value:.{d}f}", f"{value - scores.listed:+.{d}f}") for name, value in rows]
    console.show(cells, [scores.metric, "score", ""])
    console.say(scores.signature)
    typer.echo()
    console.show(
        [
            (f"first {depth.k}" if depth.k else "all", f"{depth.oracle:.{d}f}", f"{depth.worst:.{d}f}")
            for depth in scores.depths
        ],
        ["candidates", "oracle", "worst"],
    )
    typer.echo()
    _show_places(scores.places)


def _show_places(places: Sequence[Place]) -> None:
    """Print the ranks of the best candidates, in lists with candidates of different cost."""
    if not places[0].lists:
        typer.echo("no list has candidates of different cost, so none has a best one")
        return
    rows = [(ORDERS[one.order], f"{one.mean:.1f}", f"{one.median:g}", f"{one.first:.1%}", one.lists) for one in places]
    console.show(rows, ["place of the best candidate", "mean", "median", "first", "lists"])


def _show_features(found: Examination) -> None:
    columns = ["mean", "sd", "in lists", *(["corr"] if found.scores else [])]
    if any(row.weight is not None for row in found.features):
        columns.append("weight")
    typer.echo()
    console.show([[_short(row.name), *_cells(row, columns)] for row in found.features], ["feature", *columns])
    hidden = found.counts.dense + found.counts.sparse - len(found.features)
    typer.echo("in lists: share of the variance that a reranker can use")
    if found.scores:
        console.say(f"corr: correlation within lists with {found.scores.metric}, + where more is better")
    if hidden:
        typer.echo(f"and {hidden} more sparse features (--top)")


def _cells(row: FeatureRow, columns: list[str]) -> Iterator[str]:
    values = {
        "mean": f"{row.mean:.4g}",
        "sd": f"{row.variance**0.5:.3g}",
        "in lists": "-" if row.within is None else f"{row.within:.0%}",
        "corr": "-" if row.correlation is None else f"{row.correlation:+.3f}",
        "weight": "-" if row.weight is None else f"{row.weight:.4g}",
    }
    return (values[column] for column in columns)


def _short(name: str) -> str:
    return name if len(name) <= NAME else f"{name[: NAME // 2]}…{name[1 - NAME // 2 :]}"
