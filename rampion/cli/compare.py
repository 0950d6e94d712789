"""rampion compare: systems against a baseline, with p-values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.options import Format, Test
from rampion.cli.panels import LISTS

if TYPE_CHECKING:
    from rampion.apps.compare import Compared

EXAMPLE = """
[bold]Examples[/bold]

  rampion compare base.out new.out --refs test.en

  rampion compare base=base.1,base.2,base.3 "new=new.*" --refs test.en.0 --refs test.en.1 --metric bleu --metric ter

  rampion compare listed best=feature:logprob consensus tuned=run --from test.jsonl --target is_correct

The runs of a system are what other seeds of its optimiser gave. With unequal numbers of them, their means are compared.
"""

Block = tuple[list[str], list[list[str]]]

LEVEL = 0.05
TITLES = {Test.ar: "approximate randomisation", Test.bs: "paired bootstrap"}
TEX = str.maketrans({one: f"\\{one}" for one in "%_&#${}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"})


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def compare(
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="SYSTEM",
            help="OUTPUT, or NAME=OUTPUT,OUTPUT,... for the runs of a system, wildcards too; the first system is the "
            "baseline. Outputs have a line for each segment. With --from, systems choose from lists.",
        ),
    ],
    refs: opt.Refs = None,
    metric: opt.Metrics = None,
    target: opt.Target = None,
    lists: opt.From = None,
    columns: opt.Columns = None,
    lenient: opt.Lenient = False,
    test: opt.TestOption = Test.ar,
    trials: opt.Trials = 10_000,
    seed: opt.Seed = 0,
    style: opt.Style = Format.terminal,
    as_json: opt.Json = False,
) -> None:
    """Compare systems with a baseline: scores, differences, and the p-values of the differences."""
    from rampion.apps import compare as comparing
    from rampion.apps.inputs import with_target

    task = comparing.CompareTask(
        systems=systems, refs=refs or [], metrics=with_target(metric, target), lists=lists or [],
        columns=columns or [], lenient=lenient,
        test=test.value, trials=trials, seed=seed,
    )  # fmt: skip
    found = comparing.compare(task)
    if as_json or style is Format.json:
        console.show_json([one.facts() for one in found])
        return
    PRINTERS[style](list(map(_block, found)))
    lead = {Format.markdown: "- ", Format.latex: "% "}.get(style, "")
    typer.echo(f"{lead}*: p < {LEVEL} against {found[0].systems[0].system}, by {TITLES[test]}")
    for one in found:
        typer.echo(f"{lead}{one.metric}: {one.signature}")


def _block(found: Compared) -> Block:
    """A table's head and rows, all text."""
    several = any(one.runs for one in found.systems)
    from rampion.metrics.base import decimals

    d = decimals(one.score.score for one in found.systems)
    columns = ["mean", "sd", "min", "max"] if several else ["score", "95% interval"]
    rows = []
    for one in found.systems:
        if one.runs:
            scores = [f"{value:.{d}f}" for value in (one.runs.mean, one.runs.sd, one.runs.min, one.runs.max)]
        elif several:
            scores = [f"{one.score.score:.{d}f}", "", "", ""]
        else:
            scores = [f"{one.score.score:.{d}f}", f"[{one.score.low:.{d}f}, {one.score.high:.{d}f}]"]
        tested = ["", ""]
        if gain := one.difference:
            tested = [f"{gain.score:+.{d}f}", f"{gain.p:.4f}{'*' if gain.p < LEVEL else ' '}"]
        rows.append([one.system, *scores, *tested])
    return [found.metric, *columns, "difference", "p "], rows


def _terminal(blocks: Sequence[Block]) -> None:
    for head, rows in blocks:
        console.show(rows, head)
        typer.echo()


def _markdown(blocks: Sequence[Block]) -> None:
    for head, rows in blocks:
        for cells in (head, [":--", *["--:"] * (len(head) - 1)], *rows):
            typer.echo("| " + " | ".join(cell.strip().replace("|", "\\|") for cell in cells) + " |")
        typer.echo()


def _latex(blocks: Sequence[Block]) -> None:
    """One table for the package booktabs."""
    typer.echo(f"\\begin{{tabular}}{{l{'r' * (len(blocks[0][0]) - 1)}}}\n\\toprule")
    for n, (head, rows) in enumerate(blocks):
        lines = [" & ".join(map(_tex, cells)) + r" \\" for cells in (head, *rows)]
        typer.echo("\n".join([*["\\midrule"][:n], lines[0], "\\midrule", *lines[1:]]))
    typer.echo("\\bottomrule\n\\end{tabular}")


def _tex(cell: str) -> str:
    """The cell with a minus sign before negative numbers, and with TeX's special characters escaped."""
    cell = cell.strip()
    return f"${cell}$" if cell.startswith(("+", "-")) else cell.translate(TEX)


PRINTERS: dict[Format, Callable[[Sequence[Block]], None]] = {
    Format.terminal: _terminal,
    Format.markdown: _markdown,
    Format.latex: _latex,
}
