"""Extract blocks from aligned text, or look into a file of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion.apps.texts import aligned, texts_of
from rampion.console import progress
from rampion.decoder.models.blocks import COLUMNS, BlockSet
from rampion.decoder.models.extract import Settings, build
from rampion.decoder.models.options import Options, Sentences
from rampion.errors import InputError, RecipeError
from rampion.store.text import Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class BlocksTask:
    """A folder or two files of text to extract from, or a file of blocks; and which blocks to keep."""

    paths: list[str]
    out: str | None = None
    align: str | None = None
    pair: str | None = None
    longest: int = 7
    least: int = 1
    top: int = 100
    ratio: float = 0.0
    tight: bool = False
    mixing: bool = True
    threads: int | None = None


class Sizes(NamedTuple):
    """Sizes of a block set, and the number of blocks by source words (rows) and target words (columns)."""

    facts: dict[str, int]
    meta: Mapping[str, object]
    lengths: list[list[int]]


class PhraseBlock(NamedTuple):
    """A target phrase, its count, and its columns."""

    target: str
    times: int
    columns: dict[str, float]


def blocks(task: BlocksTask) -> BlockSet:
    """The blocks of a file, or those of aligned text, which are written."""
    if len(task.paths) == 1 and not Path(task.paths[0]).is_dir():
        if task.out or task.align:
            raise RecipeError(f"{task.paths[0]}: is one file; blocks are made from a folder, or from two files of text")
        return BlockSet.read(task.paths[0])
    if len(task.paths) > 2 or task.out is None:
        raise RecipeError("expected a folder or two files of text, and --out FILE; or one file of blocks to look into")
    settings = Settings(task.longest, not task.tight, task.least, task.top, task.ratio, task.mixing)
    source, target, own = texts_of(task.paths, task.pair)
    links, lexicon = aligned(source, target, task.align or own, task.threads)
    with progress() as watch:
        found = build(source, target, links, settings, lexicon=lexicon, threads=task.threads, watch=watch)
    found.write(task.out)
    return found


def sizes(found: BlockSet) -> Sizes:
    """The sizes of the block set."""
    own = found.blocks
    facts = {
        "blocks": len(own.sources) - 2,
        "once": int(np.count_nonzero(own.counts == 1)),
        "source_phrases": len(own.source_bounds) - 3,
        "target_phrases": len(own.target_bounds) - 3,
        "source_words": len(found.vocabularies.source),
        "target_words": len(found.vocabularies.target),
        **{name: found.meta[name] for name in ("sentences", "occurrences") if name in found.meta},
    }
    lengths = np.diff(own.source_bounds)[own.sources[2:]]
    others = np.diff(own.target_bounds)[own.targets[2:]]
    cells = np.zeros((int(lengths.max(initial=0)) + 1, int(others.max(initial=0)) + 1), np.int64)
    np.add.at(cells, (lengths, others), 1)
    return Sizes(facts, found.meta, cells.tolist())


def of_phrase(found: BlockSet, phrase: str) -> list[PhraseBlock]:
    """The blocks of a source phrase, the most frequent first. Logarithms become probabilities; learnt columns stay."""
    sentences = Sentences.of(Texts.from_strings([phrase]), found.vocabularies.source)
    size = len(sentences.words)
    if not size:
        raise InputError("--show: expected a source phrase, one word at least")
    options = Options.match(sentences, found.blocks, longest=size, top=len(found.blocks.sources))
    rows = options.blocks[options.spans[size - 1] : options.spans[size]].astype(np.int64)
    rows = rows[rows > 1]
    if not len(rows):
        raise InputError(f"--show {phrase!r}: no block has this source phrase")
    values = found.blocks.values[rows].astype(np.float64)
    np.exp(values[:, : len(COLUMNS)], out=values[:, : len(COLUMNS)])
    columns = [dict(zip(found.blocks.columns, row, strict=True)) for row in values.tolist()]
    counts = found.blocks.counts[rows].tolist()
    return [PhraseBlock(found.text(row)[1], *more) for row, *more in zip(rows, counts, columns, strict=True)]
