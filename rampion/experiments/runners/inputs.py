"""Inputs of rows: texts, and systems, which are made from them once and stored in the experiment's folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rampion import console
from rampion.arrays import fingerprint
from rampion.experiments.scales import Scale

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rampion.arrays import KeyRow
    from rampion.decoder.block_decoder import BlockDecoder
    from rampion.decoder.features.counts import CountFeatures
    from rampion.decoder.system import System
    from rampion.decoder.text.corpus import Parallel
    from rampion.protocols import Decoder, KeyedDecoder
    from rampion.sets.records import DecodedBatch, Keyed
    from rampion.store.candidates import Candidates
    from rampion.store.features import Weights
    from rampion.store.text import References, Texts


class Remembering:
    """A decoder that keeps its best translations: a run decodes dev and test, and they are measured afterwards."""

    def __init__(self, decoder: KeyedDecoder) -> None:
        self._decoder = decoder
        self._said: dict[tuple[int, str], tuple[Texts, Texts]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return self._decoder.names

    @property
    def fingerprint(self) -> str:
        return self._decoder.fingerprint

    def decode(self, segments: Texts, weights: Weights, k: int) -> Candidates:
        return self._decoder.decode(segments, weights, k)

    def listed(self, segments: Texts, weights: Keyed, k: int) -> Iterator[DecodedBatch]:
        return self._decoder.listed(segments, weights, k)

    def truths(self, segments: Texts, references: References, best: int) -> Iterator[DecodedBatch]:
        return self._decoder.truths(segments, references, best)

    def bags(self, segments: Texts, seed: int) -> Iterator[DecodedBatch]:
        return self._decoder.bags(segments, seed)

    def spelt(self, keys: KeyRow) -> Texts:
        return self._decoder.spelt(keys)

    def best(self, segments: Texts, weights: Keyed) -> Texts:
        keys, own = weights.table.listed(), sorted(weights.own.items())
        values = weights.table.weigh(keys)
        arrays = keys[values != 0], values[values != 0], np.array([weight for _, weight in own])
        asked = id(segments), " ".join([fingerprint(*arrays), *(name for name, _ in own)])
        if asked not in self._said:  # the segments are kept, so that no other object gets their id
            self._said[asked] = segments, self._decoder.best(segments, weights)
        return self._said[asked][1]


WORDS = 4  # the order of the language model of real-valued features


@dataclass(frozen=True, eq=False)
class Stock:
    """The inputs. Each is made when a row first needs it."""

    out: Path
    scale: Scale
    given: str | None  # a corpus folder
    pair: str | None
    threads: int
    held_out: int = 0  # pairs for dev, and as many for test, that are drawn from its training text; 0: it has both
    versions: bool = False  # whether to train on all versions of its training text

    @cached_property
    def whole(self) -> System:
        """A system made from all sentences, for weights that are learnt from the dev text."""
        from rampion.decoder.system import Settings, System

        text = self.text
        console.note(f"{text}: preparing blocks and language model of all pairs")
        return System.prepare(text, self.out / "whole", Settings(self.pair, order=WORDS), self.threads)

    @cached_property
    def counts(self) -> CountFeatures:
        """Count features of all sentences, in the paper's proportions of kinds (S9.3)."""
        from rampion.apps.texts import aligned, texts_of
        from rampion.decoder.features.counts import CountFeatures, Settings
        from rampion.decoder.system import LINKS

        home, path = self.out / "whole", self.out / "whole" / "counts.txt"
        if not path.exists():
            _ = self.whole
            source, target, own = texts_of([str(self.text)], self.pair)
            links = aligned(source, target, own or str(home / LINKS), self.threads).alignment
            full = Settings()
            kinds = ("pairs", "unigrams", "bigrams", "trigrams", "triggers")
            whole = sum(getattr(full, kind) for kind in kinds)
            shares = {kind: max(1, round(getattr(full, kind) * self.scale.counts / whole)) for kind in kinds}
            CountFeatures.choose(source, target, links, replace(full, **shares)).write(path)
        return CountFeatures.read(path)

    @cached_property
    def system(self) -> System:
        """A system made without the lessons, because their own blocks would translate them too well."""
        from rampion.decoder.system import Settings, System

        corpus, _ = self.texts
        console.note(f"{corpus}: preparing blocks and language model")
        return System.prepare(corpus, self.out / "system", Settings(), self.threads)

    @cached_property
    def lessons(self) -> Parallel:
        """The sentences to learn weights from."""
        from rampion.decoder.text.corpus import Corpus

        return Corpus.load(self.texts[1]).train

    @cached_property
    def texts(self) -> tuple[Path, Path]:
        """Two folders: a corpus, and the sentences that were drawn at random and removed from its training text."""
        from rampion.decoder.text.corpus import Corpus

        corpus, lessons = self.out / "corpus", self.out / "lessons"
        if not corpus.exists():
            whole = Corpus.load(self.text, self.pair)
            for name in ("dev", "test"):
                whole.needed(name, str(self.given))
            drawn = np.random.default_rng(0).permutation(len(whole.train))
            count = min(self.scale.sentences, len(drawn) // 2)
            taken, left = np.sort(drawn[:count]), np.sort(drawn[count:])
            if not lessons.exists():
                Corpus(whole.languages, whole.train.take(taken)).write(lessons)
            replace(whole, train=whole.train.take(left)).write(corpus)
        return corpus, lessons

    @cached_property
    def text(self) -> Path:
        """The folder of all text. The toy corpus is invented first."""
        from rampion.decoder.text.corpus import Corpus
        from rampion.decoder.text.language import Language

        cut = [str(self.held_out)] * bool(self.held_out) + ["versions"] * self.versions
        text = self.out / "-".join(["text", *cut])
        if self.given and not (self.held_out or self.versions):
            return Path(self.given)
        if text.exists():
            return text
        if self.given:
            found = Corpus.versions(self.given, self.pair) if self.versions else Corpus.load(self.given, self.pair)
            (found.apart(self.held_out) if self.held_out else found).write(text)
        else:
            console.note(f"inventing a toy corpus of {self.scale.pairs} pairs")
            Language.invent(1).corpus(self.scale.pairs, self.scale.held_out).write(text)
        return text

    @property
    def name(self) -> str:
        """The text that the numbers depend on."""
        cuts = [f"{self.held_out} held out"] if self.held_out else []
        return ", ".join([self.given or "toy", *cuts, *(["all versions"] if self.versions else [])])

    @cached_property
    def pool(self) -> Stock:
        """The stock with half of the pairs to choose lessons from; the other half gives blocks and language model."""
        scale = self.scale._replace(sentences=sys.maxsize)
        return replace(self, out=self.out / "pool", given=str(self.text), scale=scale)

    def spoken(self, words: int) -> System:
        """The system of all sentences, with a language model of order `words`."""
        from rampion.decoder.models import kneser, lm

        if words == WORDS:
            return self.whole
        path = self.out / "whole" / f"system-{words}.lm"
        if not path.exists():
            kneser.estimate(self.whole.corpus.train.target, words).lm.write(path)
        return replace(self.whole, settings=replace(self.whole.settings, order=words), lm=lm.read(path))

    def decoder(
        self, features: str, order: str, options: int | None = None, system: System | None = None
    ) -> KeyedDecoder:
        """A decoder for relevant sets. The defaults are the options of binary features, and the stock's system."""
        return Remembering(self._made(features, order, options, system))

    def lister(self, features: str, order: str, options: int | None = None) -> Decoder:
        """The same decoder, for lists of candidates."""
        return self._made(features, order, options)

    def _made(self, features: str, order: str, options: int | None, system: System | None = None) -> BlockDecoder:
        from rampion.decoder.search.states import MON, Reordering

        return (system or self.system).decoder(
            features, MON if order == "MON" else Reordering(), threads=self.threads,
            beam=self.scale.beam, pops=10 * self.scale.beam, options=options or self.scale.options,
        )  # fmt: skip
