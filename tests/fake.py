"""A decoder of a handful of candidates a sentence, in plain Python: every word may take one of three others' place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import product

import numpy as np

from rampion.records import Fired, Keyed, KeyRow
from rampion.relevant import Lines, Text
from rampion.text import References, Texts

WORDS = 12
BATCH = 7


def key(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little") or 1


def text(sizes=(20, 8, 8), seed=0) -> Text:
    """The source words 0 to 11 mean 1 to 12; sentences of three to five words."""
    random = np.random.default_rng(seed)
    parts = []
    for size in sizes:
        source = [random.integers(0, WORDS, random.integers(3, 6)).tolist() for _ in range(size)]
        parts.append(
            Lines(
                Texts.of(" ".join(map(str, words)) for words in source),
                References.of([" ".join(f"w{word + 1}" for word in words)] for words in source),
            )
        )
    return Text(*parts)


class FakeDecoder:
    """Every source word v becomes w(v), w(v + 1) or w(v + 2), all words the same way or one of them another."""

    names = ("LM", "Length")

    def __init__(self, names=("LM", "Length"), binary=True, threads=1):
        self.names, self.binary = names, binary

    @property
    def fingerprint(self) -> str:
        return f"fake {self.names}"

    def _said(self, line: str) -> list[list[str]]:
        words = [int(word) for word in line.split()]
        shifts = {shift for one in product(range(3), repeat=2) for shift in self._shifts(len(words), *one)}
        return [[f"w{word + more}" for word, more in zip(words, shift, strict=True)] for shift in sorted(shifts)]

    @staticmethod
    def _shifts(size: int, usual: int, other: int) -> Iterator[tuple[int, ...]]:
        for place in range(size):
            yield tuple(other if place == here else usual for here in range(size))

    def _keys(self, line: str, said: list[str]) -> list[int]:
        if not self.binary:
            return []
        pairs = [key("W1", *pair) for pair in zip(line.split(), said, strict=True)]
        return pairs + [key("W3", *pair) for pair in zip(said, said[1:], strict=False)]

    def _values(self, said: list[str]) -> list[float]:
        known = {
            "LM": -sum(int(word[1:]) % 5 for word in said) / 7,
            "Length": float(len(said)) + 0.5 * (said[0] == "w3"),
        }
        return [known[name] for name in self.names]

    def _fired(self, lines: list[str], lists: list[list[list[str]]]) -> Fired:
        flat = [(line, said) for line, listed in zip(lines, lists, strict=True) for said in listed]
        keys = [self._keys(line, said) for line, said in flat]
        values = [self._values(said) for _, said in flat]
        return Fired(
            np.cumsum([0, *map(len, lists)]),
            Texts.of(" ".join(said) for _, said in flat),
            np.array(values, np.float64).reshape(len(flat), len(self.names)),
            np.cumsum([0, *map(len, keys)]),
            np.array([one for row in keys for one in row], np.uint64),
        )

    def _batches(self, segments: Texts, choose) -> Iterator[Fired]:
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
                weights.own.get(name, 0.0) * value for name, value in zip(self.names, self._values(said), strict=True)
            )
            found.append(own + float(weights.table.weigh(keys).astype(np.float64).sum()))
        return found

    def listed(self, segments: Texts, weights: Keyed, k: int) -> Iterator[Fired]:
        def best(_, line):
            said, scores = self._said(line), self.scores(line, weights)
            return [said[i] for i in sorted(range(len(said)), key=lambda i: (-scores[i], i))[:k]]

        return self._batches(segments, best)

    def truths(self, segments: Texts, references: References, best: int) -> Iterator[Fired]:
        def nearest(segment, line):
            wanted = references[segment][0].split()
            said = self._said(line)
            alike = [sum(a == b for a, b in zip(one, wanted, strict=True)) for one in said]
            return [said[i] for i in sorted(range(len(said)), key=lambda i: (-alike[i], i))[:best]]

        return self._batches(segments, nearest)

    def bags(self, segments: Texts, seed: int) -> Iterator[Fired]:
        for fired in self._batches(segments, lambda segment, line: [self._said(line)[(seed + segment) % 9]]):
            mute = Texts.of([""] * len(fired.values))
            yield fired._replace(texts=mute, values=np.zeros_like(fired.values))

    def best(self, segments: Texts, weights: Keyed) -> Texts:
        return Texts.join([fired.texts for fired in self.listed(segments, weights, 1)])

    def spelt(self, keys: KeyRow) -> Texts:
        return Texts.of(map(str, keys.tolist()))
