"""Make folders of parallel text: invented, imported, from Debian packages, or the part of another that a test needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from rampion.console import note
from rampion.decoder.text.corpus import (
    Cleaning,
    Corpus,
    Dropped,
    Parallel,
    Size,
    prepare,
    read_lines,
    read_parallel,
    split_pair,
)
from rampion.decoder.text.coverage import Coverage, covering
from rampion.decoder.text.debian import read
from rampion.decoder.text.german import German
from rampion.decoder.text.language import Language, Rates

Parts = tuple[Parallel, Parallel | None, Parallel | None]  # to train on, to tune on, to test on


class Made(NamedTuple):
    """The sizes of a new corpus, the dropped pairs, and its coverage of a test."""

    sizes: Sequence[Size]
    dropped: Sequence[Dropped] = ()
    covered: Sequence[Coverage] | None = None


class Rules(NamedTuple):
    """The languages, the pairs to set aside for dev and test, and how text is cleaned and cut into words."""

    pair: str
    aside: tuple[int, int]
    longest: int
    ratio: float
    tokenise: str
    lower: bool


def toy(out: str, pairs: int, held_out: int, references: int, seed: int, noise: float, free: float) -> Made:
    """Two invented languages, and text in them."""
    made = Language.invent(seed, Rates(noise=noise, free=free)).corpus(pairs, held_out, references)
    made.write(out)
    return Made(made.sizes())


def german(out: str, pairs: int, held_out: int, references: int, seed: int) -> Made:
    """A fragment of German and English, and text in them."""
    made = German(seed).corpus(pairs, held_out, references)
    made.write(out)
    return Made(made.sizes())


def imported(
    train: Sequence[str], dev: Sequence[str] | None, test: Sequence[str] | None, rules: Rules, out: str
) -> Made:
    """Parallel text of files."""
    languages = split_pair(rules.pair)
    tuning, testing = (read_parallel(paths) if paths else None for paths in (dev, test))
    return _prepared(languages, (read_parallel(train), tuning, testing), rules, out)


def from_debian(root: str, rules: Rules, out: str) -> Made:
    """The help and the interface of LibreOffice, as Debian packages install them."""
    languages = split_pair(rules.pair)
    found = read(*languages, root)
    note(", ".join(f"{len(text)} pairs of the {kind}" for kind, text in found.items()))
    return _prepared(languages, (Parallel.join(list(found.values())), None, None), rules, out)


def filtered(folder: str, pair: str | None, test: str, words: int, greedy: bool, out: str) -> Made:
    """Only the training pairs that a test needs."""
    whole = Corpus.load(folder, pair)
    rows, report = covering(whole.train.source, read_lines(test), words, greedy)
    made = replace(whole, train=whole.train.take(rows))
    made.write(out)
    return Made(made.sizes(), covered=report)


def _prepared(languages: tuple[str, str], parts: Parts, rules: Rules, out: str) -> Made:
    cleaning = Cleaning(rules.longest, rules.ratio)
    with _progress(parts) as tick:
        made, dropped = prepare(languages, parts, rules.aside, cleaning, rules.tokenise, rules.lower, tick)
    made.write(out)
    return Made(made.sizes(), dropped)


@contextmanager
def _progress(parts: Parts) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; it is called with the number of further lines that are done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    lines = sum(len(part) * (1 + len(part.targets)) for part in parts if part is not None)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("splitting into words", total=lines)
        yield lambda done: bar.advance(task, done)
