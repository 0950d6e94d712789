"""What rows are made of: texts, and systems that are made from them once and kept in the folder of the experiment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rampion.cli import table
from rampion.errors import InputError
from rampion.experiments.scales import Scale

if TYPE_CHECKING:
    from rampion.protocols import Decoder, KeyedDecoder


@dataclass(frozen=True, eq=False)
class Stock:
    """Made when a row first needs it."""

    out: Path
    scale: Scale
    given: str | None  # a corpus folder
    pair: str | None
    threads: int

    @cached_property
    def system(self) -> Any:
        """Made from the sentences that are not learnt from: what a sentence gave itself would say it all too well."""
        from decoder.system import Settings, System

        corpus, _ = self.texts
        table.note(f"{corpus}: preparing blocks and language model")
        return System.prepare(corpus, self.out / "system", Settings(), self.threads)

    @cached_property
    def lessons(self) -> Any:
        """The sentences that weights are learnt from."""
        from decoder.corpus import Corpus

        return Corpus.load(self.texts[1]).train

    @cached_property
    def texts(self) -> tuple[Path, Path]:
        """Two folders: a corpus, and the sentences that were taken from its training text, drawn by chance."""
        from decoder.corpus import Corpus
        from decoder.language import Language

        corpus, lessons = self.out / "corpus", self.out / "lessons"
        if not corpus.exists():
            if self.given:
                whole = Corpus.load(self.given, self.pair)
            else:
                table.note(f"inventing a toy corpus of {self.scale.pairs} pairs")
                whole = Language.invent(1).corpus(self.scale.pairs, self.scale.held_out)
            for name, part in (("dev", whole.dev), ("test", whole.test)):
                if not part:
                    files = " and ".join(f"{name}.{language}" for language in whole.languages)
                    raise InputError(f"{self.given}: has no {name} text; expected sentences in {files}")
            drawn = np.random.default_rng(0).permutation(len(whole.train))
            count = min(self.scale.sentences, len(drawn) // 2)
            taken, left = np.sort(drawn[:count]), np.sort(drawn[count:])
            if not lessons.exists():
                Corpus(whole.languages, whole.train.take(taken)).write(lessons)
            replace(whole, train=whole.train.take(left)).write(corpus)
        return corpus, lessons

    def decoder(self, features: str, order: str, options: int | None = None) -> KeyedDecoder:
        """One with the options of binary features, or with so many."""
        decoder: KeyedDecoder = self._made(features, order, options)
        return decoder

    def lister(self, features: str, order: str, options: int | None = None) -> Decoder:
        """The same, for lists of candidates."""
        decoder: Decoder = self._made(features, order, options).decoder
        return decoder

    def _made(self, features: str, order: str, options: int | None) -> Any:
        from decoder.states import MON, Reordering

        return self.system.decoder(
            features, MON if order == "MON" else Reordering(), threads=self.threads,
            beam=self.scale.beam, pops=10 * self.scale.beam, options=options or self.scale.options,
        )  # fmt: skip
