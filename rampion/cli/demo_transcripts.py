"""rampion demo transcripts: a recogniser's n-best lists, to try the commands for lists on."""

from __future__ import annotations

from pathlib import Path

import typer

from rampion.cli import options as opt

EXAMPLE = """
[bold]Examples[/bold]

  rampion demo transcripts --out speech

  rampion tune speech/train --refs speech/train.ref --metric wer --out run
"""


def transcripts(out: opt.TranscriptsOut = Path("speech"), utterances: opt.Utterances = 250, seed: opt.Seed = 1) -> None:
    """Write n-best lists of an invented speech recogniser for English sentences, with costs, as Kaldi writes them.

    The folders train and test hold texts and costs, train.ref and test.ref the transcripts, and lm.txt other sentences
    to estimate a language model from.
    """
    from rampion.apps.demo_transcripts import write

    for path in write(out, utterances, seed):
        typer.echo(f"wrote {path}")
