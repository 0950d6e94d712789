"""What `rampion reproduce` has written to a folder, asked again."""

from __future__ import annotations

import argparse
from pathlib import Path

from rampion.decoder.text.corpus import Parallel

from rampion.experiments.runners.sets import bleu
from rampion.experiments.samples import BLEU
from rampion.protocols import KeyedDecoder
from rampion.sets.records import Keyed


def asking(doc: str | None) -> argparse.ArgumentParser:
    """The folder, and the corpus and pair that it was written with; the toy if none is named."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("pair", nargs="?")
    return parser


def score(text: Parallel, decoder: KeyedDecoder, weights: Keyed) -> float:
    """BLEU of what the weights say of a text."""
    return float(BLEU.total_score(bleu(decoder.best(text.source, weights), text.references).sum(axis=0)))
