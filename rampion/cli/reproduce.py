"""rampion reproduce: a paper's tables and figures, run again, and what becomes of its claims."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rampion import console
from rampion.apps.inputs import seeds_of
from rampion.cli import app
from rampion.cli.options import Json

if TYPE_CHECKING:
    from rampion.experiments import Experiment, Finding
    from rampion.experiments.samples import Outcomes

EXAMPLE = """
[bold]Examples[/bold]

  rampion reproduce

  rampion reproduce tillmann-zhang/table-5 --out paper

  rampion reproduce tillmann-zhang/theorem-1 --out paper

  rampion reproduce tillmann-zhang --corpus de-en --scale medium --seeds 1,2,3 --out paper
"""


@app.command(epilog=EXAMPLE)
def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="A table or figure, or a paper; without it, what there is.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Where runs and results go; what is there goes on.", show_default=False
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option("--scale", metavar="NAME", help="How much text and how many iterations: small, medium, full.")
    ] = "small",
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus", metavar="DIR", help="A folder of parallel text.  [default: a toy corpus]", show_default=False
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", metavar="SRC-TGT", help="The languages, where the folder does not tell.", show_default=False
        ),
    ] = None,
    seeds: Annotated[str, typer.Option("--seeds", metavar="N,N", help="Runs of each row that depends on one.")] = "1",
    threads: Annotated[int, typer.Option("--threads", min=1, metavar="N", help="Threads; the result is the same.")] = 2,
    as_json: Json = False,
) -> None:
    """Run a paper's experiment, show its numbers beside ours, and judge what the paper claims."""
    from rampion.errors import RecipeError
    from rampion.experiments import experiments, findings, results, run
    from rampion.experiments.runners import Workshop

    chosen = experiments(name)
    if name is None:
        _list(chosen, as_json)
        return
    if out is None:
        raise RecipeError(f"{name}: the runs need a folder; name one with --out DIR")
    shop, facts = Workshop.open(out, scale, corpus, pair, threads), []
    for number, experiment in enumerate(chosen):
        outcomes = run(experiment, out, seeds_of(seeds), shop, console.note)
        found = findings(experiment, outcomes)
        facts.append(shop.about | results(experiment, outcomes, found))
        _keep(out, experiment, facts[-1])
        picture = _draw(out, experiment, outcomes)
        if not as_json:
            typer.echo("\n" * (number > 0), nl=False)
            _show(experiment, facts[-1], found, picture)
    if as_json:
        console.show_json(facts)


def _list(known: Sequence[Experiment], as_json: bool) -> None:
    if as_json:
        console.show_json([
            {"name": one.name, "title": one.title, "rows": [row.label for row in one.rows],
             "relations": {relation.id: relation.sentence for relation in one.relations}}
            for one in known
        ])  # fmt: skip
        return
    rows = [(one.name, one.title, str(len(one.rows)), str(len(one.relations))) for one in known]
    console.show(rows, ["name", "what it is", "rows", "relations"])


def _keep(out: Path, experiment: Experiment, facts: dict[str, Any]) -> None:
    """The results as JSON."""
    import json

    from rampion.formats.files import replacing

    with replacing(out / f"{experiment.file}.json") as file:
        file.write(json.dumps(facts, indent=2, ensure_ascii=False).encode() + b"\n")


def _draw(out: Path, experiment: Experiment, outcomes: Outcomes) -> Path | None:
    """Curves, the mean of all runs, or a point a run; a remark if there is nothing to draw."""
    import numpy as np

    from rampion.errors import InputError
    from rampion.experiments import Scatter
    from rampion.experiments.samples import shared
    from rampion.report import charts

    if (picture := experiment.picture) is None:
        return None
    path = out / f"{experiment.file}.svg"
    try:
        if isinstance(picture, Scatter):
            x, y = (experiment.columns[name] for name in (picture.x, picture.y))
            charts.write_scatter(path, picture.points(outcomes), experiment.title, x, y)
        else:
            lines = {
                said: list(enumerate(np.mean(shared([run.curves[curve] for run in outcomes[row]]), axis=0).tolist(), 1))
                for said, (row, curve) in picture.lines.items()
            }
            charts.write_lines(path, lines, experiment.title, y=picture.y, logarithmic=picture.logarithmic)
    except InputError as error:
        console.note(str(error))
        return None
    return path


def _show(experiment: Experiment, facts: dict[str, Any], found: Sequence[Finding], picture: Path | None) -> None:
    """The table, what became of the relations, and where the rest is."""
    printed = {name for row in facts["rows"] for name in row["paper"]}
    head = [""]
    for name, title in experiment.columns.items():
        head += [title, "paper"] if name in printed else [title]
    console.show([_row(experiment, row, printed) for row in facts["rows"]], head, title=experiment.title)
    if experiment.note:
        typer.echo(experiment.note)
    typer.echo()
    for relation, judged, verdict in found:
        typer.echo(f"{relation.id:<5} {relation.kind:<6} {typer.style(verdict, bold=True)}: {relation.sentence}")
        for said, value, low, high, decided, p in judged:
            sure = "" if p is None else f"  p = {p:.2g}"
            typer.echo(f"{'':13}{decided:<14} {value:8.3g}  [{low:.3g}, {high:.3g}]{sure}  {said}")
    if picture:
        typer.echo(f"\nwrote {picture}")


def _row(experiment: Experiment, row: dict[str, Any], printed: Collection[str]) -> list[str]:
    """Every measure, and the paper's beside those that it has printed."""

    def cells() -> Iterator[str]:
        yield row["row"]
        for name in experiment.columns:
            score = row["measured"].get(name)
            yield f"{score['score']:.2f} [{score['low']:.2f}, {score['high']:.2f}]" if score else ""
            if name in printed:
                yield f"{row['paper'][name]:g}" if name in row["paper"] else ""

    return list(cells())
