"""rampion score: metrics of system outputs, with signatures."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli.options import Json

EXAMPLE = """
[bold]Examples[/bold]

  rampion score test.out --refs test.en.0 --refs test.en.1

  rampion score test.out --refs test.en --metric bleu:13a --metric chrf++ --metric ter
"""


@app.command(epilog=EXAMPLE)
def score(
    outputs: Annotated[
        list[str],
        typer.Argument(metavar="OUTPUT", help="System outputs, a line a segment; - is stdin.", show_default=False),
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
    as_json: Json = False,
) -> None:
    """Score system outputs against references."""
    import numpy as np

    from rampion.errors import InputError
    from rampion.formats import references, texts
    from rampion.formats.files import shown
    from rampion.metrics import metric as named
    from rampion.store.text import Texts

    metrics = [named(name) for name in metric or ("bleu", "chrf")]
    rows, facts, signatures = [], [], {}
    for path in outputs:
        output = texts.read(path)
        if not len(output):
            raise InputError(f"{shown(path)}: holds no lines; expected a system's output, a line a segment")
        given = references.read(refs, Texts.from_strings(str(s) for s in range(len(output))), aligned=True)
        bounds = np.arange(len(output) + 1)
        scores = [one.total_score(one.statistics(output, bounds, given).sum(axis=0)) for one in metrics]
        signatures = {one.name: one.signature(given) for one in metrics}
        rows.append((path, *scores))
        facts.append(
            {
                "output": path,
                "scores": {one.name: value for one, value in zip(metrics, scores, strict=True)},
                "signatures": signatures,
            }
        )
    if as_json:
        console.show_json(facts)
        return
    console.show(rows, ["output", *(one.name for one in metrics)])
    for name, signature in signatures.items():
        typer.echo(f"{name}: {signature}")
