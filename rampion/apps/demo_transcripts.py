"""Invent a recogniser's n-best lists of English sentences, in the files that Kaldi writes.

The sentences come from the grammar of `rampion corpus german`. The recogniser mistakes words for others that are spelt
alike, leaves out short ones, and adds some. It is far too confident, and its language model was estimated from little
text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion.decoder.text.german import German
from rampion.decoder.text.language import DEV, TEST, TRAIN
from rampion.formats.files import replacing

READ, KNOWN = 6000, 1000  # sentences for the user's language model, and for that of the recogniser
LISTED = 20  # candidates of a list, and of the search
ALIKE = 3  # words that a word may be mistaken for
SURE, AWAY, NOISE = 12.0, 0.9, 0.5  # the confidence of the recogniser; the mean cost of a wrong word, and its deviation
SHORT = 3  # letters of a word that may be left out or added
FILLERS = "a", "the", "to"
HALVES = {"train": DEV, "test": TEST}


class Heard(NamedTuple):
    """A candidate: its words, and its acoustic and language-model costs."""

    words: tuple[str, ...]
    sound: float
    fluency: float


class Recogniser:
    """Words that sound alike, and a language model of pairs of words."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.words = sorted(set(chain.from_iterable(sentence.split() for sentence in sentences)))
        known = [["<s>", *sentence.split()] for sentence in sentences[:KNOWN]]
        self.singles, self.pairs = Counter(chain(*known)), Counter(chain(*map(pairwise, known)))

    @cached_property
    def alike(self) -> dict[str, list[str]]:
        """For every word the others that differ least."""
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        away = cdist(self.words, self.words, scorer=Levenshtein.distance, dtype=np.int32)
        np.fill_diagonal(away, np.iinfo(np.int32).max)
        nearest = np.argsort(away, axis=1, kind="stable")[:, :ALIKE].tolist()
        return {word: [self.words[place] for place in places] for word, places in zip(self.words, nearest, strict=True)}

    def heard(self, sentence: str, chance: np.random.Generator) -> list[Heard]:
        """The candidates of an utterance, the most probable first."""
        beam = [Heard(("<s>",), 0.0, 0.0)]
        for word in sentence.split():
            options = [(option, self._sound(right, chance)) for option, right in self._options(word, chance)]
            longer: dict[tuple[str, ...], Heard] = {}
            for one in beam:
                for option, sound in options:
                    fluency = sum(map(self._cost, pairwise((one.words[-1], *option))))
                    made = Heard((*one.words, *option), one.sound + sound, one.fluency + fluency)
                    known = longer.get(made.words)
                    if known is None or made.sound < known.sound:
                        longer[made.words] = made
            beam = sorted(longer.values(), key=lambda found: found.sound + found.fluency)[:LISTED]
        return [one._replace(words=one.words[1:]) for one in beam]

    def _options(self, word: str, chance: np.random.Generator) -> Iterator[tuple[tuple[str, ...], bool]]:
        yield (word,), True
        for other in self.alike.get(word, ()):
            yield (other,), False
        if len(word) <= SHORT:
            yield (), False
        elif chance.random() < 0.3:
            yield (FILLERS[chance.integers(len(FILLERS))], word), False

    def _sound(self, right: bool, chance: np.random.Generator) -> float:
        return SURE * (chance.normal(0.0 if right else AWAY, NOISE) + 1.0)

    def _cost(self, pair: tuple[str, str]) -> float:
        first, second = pair
        seen = 0.8 * self.pairs[pair] / max(self.singles[first], 1)
        return -math.log(seen + 0.2 * (self.singles[second] + 0.1) / self.singles.total())


def write(folder: Path, utterances: int, seed: int) -> list[Path]:
    """Lists of utterances for training and test, their transcripts, and text for a language model."""
    folder.mkdir(parents=True, exist_ok=True)
    language = German(seed)
    read = list(language.text(TRAIN, READ).targets[0])
    recogniser, paths = Recogniser(read), [folder / "lm.txt"]
    _write(paths[0], read)
    for name, part in HALVES.items():
        said = list(language.text(part, utterances).targets[0])
        paths += [folder / name, folder / f"{name}.ref"]
        chance = np.random.default_rng([seed, part])
        lists = [(f"{name}-{i:04}", recogniser.heard(sentence, chance)) for i, sentence in enumerate(said)]
        candidates = [(f"{utterance}-{place}", one) for utterance, found in lists for place, one in enumerate(found, 1)]
        paths[-2].mkdir(exist_ok=True)
        _write(paths[-2] / "text", [f"{key} {' '.join(one.words)}".rstrip() for key, one in candidates])
        _write(paths[-2] / "ac_cost", [f"{key} {one.sound:.3f}" for key, one in candidates])
        _write(paths[-2] / "lm_cost", [f"{key} {one.fluency:.3f}" for key, one in candidates])
        _write(paths[-1], [f"{name}-{i:04} {sentence}" for i, sentence in enumerate(said)])
    return paths


def _write(path: Path, lines: Sequence[str]) -> None:
    with replacing(path) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
