"""rampion reproduce: a paper's tables and figures, run again, and what becomes of its claims."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import EXPERIMENTS

if TYPE_CHECKING:
    from rampion.experiments import Experiment, RowResult
    from rampion.experiments.reproduction import Reproduced

EXAMPLE = """
[bold]Examples[/bold]

  rampion reproduce

  rampion reproduce tillmann-zhang/table-5 --out paper

  rampion reproduce tillmann-zhang/theorem-1 --out paper

  rampion reproduce tillmann-zhang --corpus de-en --scale medium --seeds 1,2,3 --out paper

  rampion reproduce wuebker/table-2 --corpus tatoeba --held-out 3000 --scale full --out tatoeba-3000
"""


@app.command(epilog=EXAMPLE, rich_help_panel=EXPERIMENTS)
def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A table or figure, or a paper; without it all are listed."),
    ] = None,
    out: opt.ReproduceOut = None,
    scale: opt.Scale = "small",
    corpus: opt.Corpus = None,
    pair: opt.Pair = None,
    held_out: opt.CutHeldOut = 0,
    versions: opt.Versions = False,
    seeds: opt.SomeSeeds = "1",
    threads: opt.Threads = None,
    as_json: opt.Json = False,
) -> None:
    """Run a paper's experiment, show its numbers beside ours, and judge what the paper claims."""
    from rampion.apps.inputs import seeds_of
    from rampion.errors import RecipeError
    from rampion.experiments import experiments
    from rampion.experiments.reproduction import reproduce as run
    from rampion.experiments.runners import Workshop
    from rampion.threads import processors

    chosen = experiments(name)
    if name is None:
        _list(chosen, as_json)
        return
    if out is None:
        raise RecipeError(f"{name}: the runs need a folder; name one with --out DIR")
    shop, facts = Workshop.open(out, scale, corpus, pair, threads or processors(), held_out, versions), []
    for number, found in enumerate(run(chosen, shop, out, seeds_of(seeds), console.note)):
        facts.append(found.facts)
        if not as_json:
            typer.echo("\n" * (number > 0), nl=False)
            _show(found)
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


def _show(found: Reproduced) -> None:
    """The table, what became of the relations, and where the rest is."""
    from rampion.experiments import tells

    experiment = found.experiment
    printed = {name for row in found.rows for name in row["paper"]}
    head = [""]
    for name, title in experiment.columns.items():
        head += [title, "paper"] if name in printed else [title]
    console.show([_row(experiment, row, printed) for row in found.rows], head, title=experiment.title)
    if experiment.note:
        typer.echo(experiment.note)
    typer.echo()
    for relation, judged, verdict in found.findings:
        typer.echo(f"{relation.id:<5} {relation.kind:<6} {typer.style(verdict, bold=True)}: {relation.sentence}")
        for said, value, low, high, decided, p in judged:
            sure = "" if p is None else f"  p = {p:.2g}"
            typer.echo(f"{'':13}{decided:<14} {value:8.3g}  [{low:.3g}, {high:.3g}]{sure}  {said}")
    if (least := tells(found.findings)) is not None:
        typer.echo(f"this test tells differences of {least:.2f} BLEU from 0 (half of the median interval)")
    if found.picture:
        typer.echo(f"\nwrote {found.picture}")


def _row(experiment: Experiment, row: RowResult, printed: Collection[str]) -> list[str]:
    """Every measure, and the paper's beside those that it has printed."""

    def cells() -> Iterator[str]:
        yield row["row"]
        for name in experiment.columns:
            score = row["measured"].get(name)
            yield f"{score['score']:.2f} [{score['low']:.2f}, {score['high']:.2f}]" if score else ""
            if name in printed:
                yield f"{row['paper'][name]:g}" if name in row["paper"] else ""

    return list(cells())
