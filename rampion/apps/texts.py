"""Parallel text that commands learn from, and its word alignment."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from rampion.console import progress
from rampion.store.text import Texts

if TYPE_CHECKING:
    from rampion.decoder.alignment.align import Aligned


def texts_of(paths: list[str], pair: str | None) -> tuple[Texts, Texts, str | None]:
    """The source and target text to learn from, and the file of their alignment if the folder has one."""
    from rampion.decoder.text.corpus import Corpus
    from rampion.errors import InputError
    from rampion.formats import texts

    if len(paths) == 1:
        corpus = Corpus.load(paths[0], pair)
        kept = sorted(Path(paths[0]).glob(f"train.{pair or '-'.join(corpus.languages)}.align*"))
        own = str(kept[0]) if kept and corpus.train.links is not None else None  # not of another version
        return corpus.train.source, corpus.train.target, own
    source, target = map(texts.read, paths)
    if len(source) != len(target):
        found = f"{paths[1]}: has {len(target)} lines, and {paths[0]} has {len(source)}"
        raise InputError(f"{found}; expected a translation in every line")
    return source, target, None


def aligned(source: Texts, target: Texts, path: str | None, threads: int | None) -> Aligned:
    """The word alignment of the file, or a new one with the Model 1 that was trained for it."""
    from rampion.decoder.alignment import align, links

    if path is None:
        rounds = count(1)
        with progress() as watch:
            return align.aligned(
                source,
                target,
                threads=threads,
                watch=lambda _: watch("aligning", next(rounds), sum(align.ROUNDS)),
            )
    lengths = links.lengths_of(source), links.lengths_of(target)
    return align.Aligned(links.read(path, lengths))
