"""rampion demo samples: files with samples of two invented models, to try the commands for lists on."""

from __future__ import annotations

from pathlib import Path

import typer

from rampion.cli import options as opt

EXAMPLE = """
[bold]Examples[/bold]

  rampion demo samples --out samples

  rampion tune samples/train.jsonl --columns indicators=model --target is_correct --out run
"""


def samples(out: opt.SamplesOut = Path("samples"), problems: opt.Problems = 300, seed: opt.Seed = 1) -> None:
    """Write solutions of invented arithmetic problems by two invented models, one a line, with a 0/1 label.

    train.jsonl and test.jsonl hold eight solutions of each problem.
    """
    from rampion.apps.demo_samples import write

    for path in write(out, problems, seed):
        typer.echo(f"wrote {path}")
