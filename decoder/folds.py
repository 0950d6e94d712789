"""Cross-fitting: a training text in stretches, each to be decoded with what the rest of the text gives.

Leaving one sentence out (S11.5) changes two rates of its blocks, and keeps everything else. To the decoder of the
others a stretch is as strange as a test text: blocks, rates, words and language model know nothing of it. Sentences
that stand near each other share their wording, so a stretch is left out as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from rampion.decoder.alignment.links import Alignment
from rampion.decoder.models import extract, kneser
from rampion.decoder.system import Parts, Settings, System
from rampion.decoder.text.tokenised import Tokenised

from rampion.errors import RecipeError
from rampion.formats.files import FilePath

FEWEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """The first sentences of a text, `listed` of them, cut into `count` stretches of about the same size.

    The alignment is that of the whole text: aligning the others again would cost much and change little.
    """

    settings: Settings
    source: Tokenised
    target: Tokenised
    alignment: Alignment
    listed: int
    count: int

    def __post_init__(self) -> None:
        if self.count < FEWEST:
            raise RecipeError(f"{self.count} parts of the text: expected {FEWEST} or more, so that others are left")
        if not self.count <= self.listed <= len(self.source):
            raise RecipeError(
                f"{self.listed} sentence pairs of {len(self.source)} cannot be cut into {self.count} parts; "
                "ask for fewer parts, or for a number of pairs between the parts and all there are"
            )

    @classmethod
    def of(cls, system: System, folder: FilePath, count: int, listed: int | None = None) -> Folds:
        """The text of the system in a folder: all pairs that its blocks are of, or the first `listed`."""
        source, target = (Tokenised.of(texts) for texts in (system.corpus.train.source, system.corpus.train.target))
        points = system.alignment(source, target, folder)
        return cls(system.settings, source, target, points, listed or len(source), count)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The first sentence of every stretch, and the first one behind it."""
        edges = self.listed * np.arange(self.count + 1) // self.count
        return pairwise(edges.tolist())

    def others(self, first: int, last: int, threads: int | None = None) -> Parts:
        """The blocks and the language model of all sentences but those from `first` to `last - 1`."""
        rows = np.concatenate([np.arange(first), np.arange(last, len(self.source))])
        source, target, points = self.source.take(rows), self.target.take(rows), self.alignment.take(rows)
        model = kneser.estimate(target, self.settings.order).lm
        return Parts(self.settings, extract.build(source, target, points, self.settings.rules, threads=threads), model)
