"""rampion compare: systems against a baseline, with p-values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from glob import glob
from os.path import exists
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rampion import console
from rampion.cli import app
from rampion.cli.options import Json
from rampion.errors import InputError
from rampion.store.text import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rampion.metrics import Metric
    from rampion.store.text import References

EXAMPLE = """
[bold]Examples[/bold]

  rampion compare base.out new.out --refs test.en

  rampion compare base=base.1,base.2,base.3 "new=new.*" --refs test.en.0 --refs test.en.1 --metric bleu --metric ter

The runs of a system are what other seeds of its optimiser gave; all systems need the same number of them.
"""


class Test(StrEnum):
    ar = "ar"
    bs = "bs"


class Format(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"
    json = "json"


Block = tuple[list[str], list[list[str]]]

LEVEL = 0.05
TITLES = {Test.ar: "approximate randomisation", Test.bs: "paired bootstrap"}
TEX = str.maketrans({one: f"\\{one}" for one in "%_&#${}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"})


@app.command(epilog=EXAMPLE)
def compare(
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="SYSTEM",
            help="OUTPUT, or NAME=OUTPUT,OUTPUT,... for the runs of a system, wildcards too; the first system is the "
            "baseline. Outputs have a line a segment.",
            show_default=False,
        ),
    ],
    refs: Annotated[
        list[str],
        typer.Option("--refs", metavar="FILE", help="References; once for each further one.", show_default=False),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="bleu[:variant or tokeniser], chrf, chrf++, ter, wer; may be repeated.  [default: bleu, chrf]",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        Test, typer.Option("--test", help="ar: approximate randomisation; bs: paired bootstrap.")
    ] = Test.ar,
    trials: Annotated[
        int,
        typer.Option("--trials", min=1, help="Deals or samples; where all deals are no more, p is exact."),
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the deals and samples.")] = 0,
    style: Annotated[Format, typer.Option("--format", help="How to print the result.")] = Format.terminal,
    as_json: Json = False,
) -> None:
    """Compare systems with a baseline: scores, differences, and how likely chance is to make such a difference."""
    import numpy as np

    from rampion.metrics import metric as named

    metrics = [named(name) for name in metric or ("bleu", "chrf")]
    paths = _systems(systems)
    outputs, references = _read(paths, refs)
    facts: list[dict[str, Any]] = []
    for judge in metrics:
        rows = np.split(_statistics(judge, outputs, references), len(paths))
        signature = f"{judge.signature(references)}|{test}:{trials}|seed:{seed}"
        tested = _tested(judge, paths, rows, test, trials, seed)
        facts.append({"metric": judge.name, "signature": signature, "systems": tested})
    if as_json or style is Format.json:
        console.show_json(facts)
        return
    PRINTERS[style]([_block(one["metric"], one["systems"]) for one in facts])
    lead = {Format.markdown: "- ", Format.latex: "% "}.get(style, "")
    typer.echo(f"{lead}*: p < {LEVEL} against {next(iter(paths))}, by {TITLES[test]}")
    for one in facts:
        typer.echo(f"{lead}{one['metric']}: {one['signature']}")


def _systems(given: Sequence[str]) -> dict[str, list[str]]:
    """The outputs of every system; a name given again adds runs."""
    systems: dict[str, list[str]] = {}
    for one in given:
        name, equals, outputs = one.partition("=")
        if not equals or exists(one):
            name, outputs = one, ""
        for output in outputs.split(",") if outputs else [one]:
            systems.setdefault(name, []).extend(sorted(glob(output)) or [output])
    (base, runs), *others = systems.items()
    if not others:
        raise InputError(f"there is one system, {base}; name a baseline and at least one system to compare with it")
    for name, more in others:
        if len(more) != len(runs):
            found = f"{base} has {len(runs)} and {name} has {len(more)}"
            raise InputError(f"unequal numbers of runs: {found}; give as many outputs of every system")
    return systems


def _read(systems: dict[str, list[str]], refs: Sequence[str]) -> tuple[list[Texts], References]:
    from rampion.formats import references, texts

    paths = [path for outputs in systems.values() for path in outputs]
    outputs = [texts.read(path) for path in paths]
    count = len(outputs[0])
    for path, output in zip(paths, outputs, strict=True):
        if len(output) != count or not count:
            found = f"{len(output)} lines, and {paths[0]} has {count}" if count else "no lines"
            raise InputError(f"{path}: has {found}; outputs must have a line for every segment")
    # Names that are no numbers: the references must have as many lines, not at least as many.
    return outputs, references.read(refs, Texts.from_strings(f"line {n + 1}" for n in range(count)))


def _statistics(metric: Metric, outputs: Sequence[Texts], references: References) -> NDArray[Any]:
    """[outputs, segments, width]; the outputs are the candidates of a segment, so that references count once."""
    import numpy as np

    count, segments = len(outputs), len(references)
    order = np.arange(count * segments).reshape(count, segments).T.ravel()
    rows = metric.statistics(Texts.join(outputs).take(order), count * np.arange(segments + 1), references)
    return rows.reshape(segments, count, -1).transpose(1, 0, 2)


def _tested(
    metric: Metric, systems: dict[str, list[str]], rows: Sequence[NDArray[Any]], test: Test, trials: int, seed: int
) -> list[dict[str, Any]]:
    """What there is to say of every system; its difference is from the first."""
    from rampion.analysis.significance import bootstrap, paired_bootstrap, randomisation, spread

    facts: list[dict[str, Any]] = []
    for (name, outputs), runs in zip(systems.items(), rows, strict=True):
        one: dict[str, Any] = {"system": name, "outputs": outputs}
        one |= bootstrap(metric, runs, trials, seed)._asdict()
        if len(outputs) > 1:
            one["runs"] = spread(metric, runs)._asdict()
        if facts:
            against = randomisation if test is Test.ar else paired_bootstrap
            one["difference"] = against(metric, rows[0], runs, trials, seed)._asdict()
        facts.append(one)
    return facts


def _block(metric: str, systems: Sequence[dict[str, Any]]) -> Block:
    """A table's head and rows, all text."""
    several = "runs" in systems[0]
    columns = ["mean", "sd", "min", "max"] if several else ["score", "95% interval"]
    rows = []
    for one in systems:
        if several:
            scores = [f"{one['runs'][column]:.2f}" for column in columns]
        else:
            scores = [f"{one['score']:.2f}", f"[{one['low']:.2f}, {one['high']:.2f}]"]
        tested = ["", ""]
        if found := one.get("difference"):
            tested = [f"{found['score']:+.2f}", f"{found['p']:.4f}{'*' if found['p'] < LEVEL else ' '}"]
        rows.append([one["system"], *scores, *tested])
    return [metric, *columns, "difference", "p "], rows


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
    """The cell with a minus before negative numbers, or with what TeX would read as its own."""
    cell = cell.strip()
    return f"${cell}$" if cell.startswith(("+", "-")) else cell.translate(TEX)


PRINTERS: dict[Format, Callable[[Sequence[Block]], None]] = {
    Format.terminal: _terminal,
    Format.markdown: _markdown,
    Format.latex: _latex,
}
