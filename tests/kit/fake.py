"""A decoder of some dozens of candidates a sentence, in plain Python."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from rampion.arrays import KeyRow
from rampion.sets.records import DecodedBatch, Keyed
from rampion.store.text import References, Texts
from rampion.training.relevant import Lines, Text

WORDS = 12
BATCH = 7


def key(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little") or 1


def text(sizes=(20, 8, 8), seed=0) -> Text:
    """A word v means v, v + 1 or v + 2, as the word before it has it; sentences of three or four words."""
    random = np.random.default_rng(seed)
    parts = []
    for size in sizes:
        source = [random.integers(0, WORDS, random.integers(3, 5)).tolist() for _ in range(size)]
        said = [[f"w{word + before % 3}" for before, word in pairwise([0, *words])] for words in source]
        parts.append(
            Lines(
                Texts.from_strings(" ".join(map(str, words)) for words in source),
                References.from_lists([" ".join(words)] for words in said),
            )
        )
    return Text(*parts)


class FakeDecoder:
    """Every source word v becomes w(v), w(v + 1) or w(v + 2)."""

    def __init__(self, names=("Right", "Odd"), binary=True):
        self.names, self.binary = names, binary

    @property
    def fingerprint(self) -> str:
        return f"{self.names} {self.binary}"

    def _said(self, line: str) -> list[list[str]]:
        words = [int(word) for word in line.split()]
        shifts = product(range(3), repeat=len(words))
        return [[f"w{word + more}" for word, more in zip(words, shift, strict=True)] for shift in shifts]

    def _keys(self, line: str, said: list[str]) -> list[int]:
        if not self.binary:
            return []
        pairs = [key("W1", *pair) for pair in zip(line.split(), said, strict=True)]
        return pairs + [key("W3", *pair) for pair in pairwise(said)]

    def _values(self, line: str, said: list[str]) -> list[float]:
        """How many of every other words are right; and one that misleads."""
        words = [int(word) for word in line.split()]
        right = [f"w{word + before % 3}" for before, word in pairwise([0, *words])]
        known = {
            "Right": float(sum(map(str.__eq__, said[::2], right[::2]))),
            "Odd": float(sum(int(word[1:]) % 2 for word in said)),
        }
        return [known[name] for name in self.names]

    def _fired(self, lines: list[str], lists: list[list[list[str]]]) -> DecodedBatch:
        flat = [(line, said) for line, listed in zip(lines, lists, strict=True) for said in listed]
        keys = [self._keys(line, said) for line, said in flat]
        values = [self._values(line, said) for line, said in flat]
        return DecodedBatch(
            np.cumsum([0, *map(len, lists)]),
            Texts.from_strings(" ".join(said) for _, said in flat),
            np.array(values, np.float64).reshape(len(flat), len(self.names)),
            np.cumsum([0, *map(len, keys)]),
            np.array([one for row in keys for one in row], np.uint64),
            np.zeros(len(flat)),
        )

    def _batches(self, segments: Texts, choose) -> Iterator[DecodedBatch]:
        lines = list(segments)
        for first in range(0, len(lines), BATCH):
            batch = lines[first : first + BATCH]
            yield self._fired(batch, [choose(first + n, line) for n, line in enumerate(batch)])

    def scores(self, line: str, weights: Keyed) -> list[float]:
        """Of all candidates, in order."""
        found = []
        for said in self._said(line):
            keys = np.array(self._keys(line, said), np.uint64)
            own = sum(
                weights.own.get(name, 0.0) * value
                for name, value in zip(self.names, self._values(line, said), strict=True)
            )
            found.append(own + float(weights.table.weigh(keys).astype(np.float64).sum()))
        return found

    def listed(self, segments: Texts, weights: Keyed, k: int) -> Iterator[DecodedBatch]:
        def best(_, line):
            said, scores = self._said(line), self.scores(line, weights)
            return [said[i] for i in sorted(range(len(said)), key=lambda i: (-scores[i], i))[:k]]

        return self._batches(segments, best)

    def truths(self, segments: Texts, references: References, best: int) -> Iterator[DecodedBatch]:
        def nearest(segment, line):
            wanted = references[segment][0].split()
            said = self._said(line)
            alike = [sum(a == b for a, b in zip(one, wanted, strict=True)) for one in said]
            return [said[i] for i in sorted(range(len(said)), key=lambda i: (-alike[i], i))[:best]]

        return self._batches(segments, nearest)

    def bags(self, segments: Texts, seed: int) -> Iterator[DecodedBatch]:
        for fired in self._batches(segments, lambda segment, line: [self._said(line)[(5 * seed + 7 * segment) % 27]]):
            mute = Texts.from_strings([""] * len(fired.values))
            yield fired._replace(texts=mute, values=np.zeros_like(fired.values))

    def best(self, segments: Texts, weights: Keyed) -> Texts:
        return Texts.join([fired.texts for fired in self.listed(segments, weights, 1)])

    def spelt(self, keys: KeyRow) -> Texts:
        return Texts.from_strings(map(str, keys.tolist()))
