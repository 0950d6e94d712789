"""Language models: estimated from texts, used to score texts, converted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import typer

from rampion.console import note
from rampion.decoder.models import arpa, kneser
from rampion.decoder.models.lm import Fluency, Lm
from rampion.errors import InputError
from rampion.formats import texts as files
from rampion.formats.files import shown
from rampion.store.text import Texts


class Estimated(NamedTuple):
    """The size of a new model, and the discounts of each order; `degenerate` tells where there was too little text."""

    sentences: int
    grams: list[int]
    bytes: int
    discounts: Sequence[tuple[float, float, float]]
    degenerate: Sequence[bool]


def estimate(texts: Sequence[str], out: str, order: int, prune: bool) -> Estimated:
    """Estimate a model by interpolated modified Kneser-Ney smoothing, and write it."""
    whole = Texts.join([files.read(path) for path in texts])
    try:
        found = kneser.estimate(whole, order, prune, progress=_progress)
    except InputError as error:
        raise InputError(f"{', '.join(map(shown, texts))}: {error}") from error
    arpa.save(out, found.lm)
    for size, degenerate in enumerate(found.degenerate, 1):
        if degenerate:
            numbers = ", ".join(map(str, kneser.DEGENERATE))
            note(f"too little text to estimate the discounts of order {size}; used {numbers}")
    counts = [len(grams.probs) for grams in found.lm.grams()]
    return Estimated(len(whole), counts, found.lm.nbytes, found.discounts, found.degenerate)


def _progress(what: str, order: int, orders: int) -> None:
    """A line on a terminal that the next one replaces."""
    if sys.stderr.isatty():
        typer.echo(f"\r{what} n-grams of order {order} of {orders} ", err=True, nl=what == "estimating")


def score(model: str, texts: Sequence[str]) -> dict[str, Fluency]:
    """The perplexity of every text."""
    loaded = arpa.load(model)
    given = {path: files.read(path) for path in texts}
    return {path: loaded.perplexity(text) for path, text in given.items()}


def score_lines(model: str, texts: Sequence[str]) -> dict[str, list[float]]:
    """The natural log-probability of every line of every text."""
    loaded = arpa.load(model)
    given = {path: files.read(path) for path in texts}
    return {path: loaded.score(text).tolist() for path, text in given.items()}


def convert(model: str, out: str) -> Lm:
    """Write a model again, in the form that the name asks for."""
    loaded = arpa.load(model)
    arpa.save(out, loaded)
    return loaded
