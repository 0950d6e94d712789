"""A toy translation task, invented from a seed: two languages, their speakers, and a system trained on some text.

`Speakers` is the true model. A source word is translated by a unit of zero to two target words. It depends on the topic
of the sentence (ambiguity) and on chance (synonyms, articles, dropped particles). Adjectives move before their nouns.
`System` proposes candidates from counts of a small, badly aligned parallel text and of a larger target text.
The system never sees references: its features are only as good as these texts.
"""

from __future__ import annotations

import math
import operator
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TypedDict

Unit = tuple[str, ...]
Features = dict[str, float | list[float]]


class Hypothesis(TypedDict):
    text: str
    feats: Features


class Record(TypedDict):
    """One segment, as one line of the JSONL format."""

    id: str
    hyps: list[Hypothesis]
    refs: list[str]


# The initial weights of Moses: plausible, and some points of BLEU below the optimum of these features.
INITIAL: dict[str, float | list[float]] = {"LM": 0.5, "TM": [0.2, 0.2], "WordPenalty": -1.0, "Distortion": 0.3}

SOURCE, TARGET = "bdgklmnprt", "fhjklmrsvz"  # the consonants of either language
SIZES = {"noun": 160, "adjective": 60, "verb": 80, "particle": 12}  # source words of each kind
TOPICS = 4
ARTICLE = "a"
PARALLEL, MONOLINGUAL = 500, 3000  # sentences of the system's training texts
MISALIGNED = 0.15  # the share of parallel words that are linked to a neighbour's translation


def word(rank: int, consonants: str) -> str:
    """The rank-th word of a language: no two are equal, and the first are the shortest."""
    text, rest = "", rank + 1
    while rest:
        rest, syllable = divmod(rest - 1, 5 * len(consonants))
        text = consonants[syllable // 5] + "aeiou"[syllable % 5] + text
    return text


@dataclass(frozen=True, slots=True)
class Word:
    """A source word: units[topic] are its translations in a topic, each with its share."""

    text: str
    kind: str
    units: tuple[Mapping[Unit, float], ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    topic: int
    words: tuple[Word, ...]


class Speakers:
    """The true model of both languages: a distribution of sentences and of their translations."""

    def __init__(self, rng: random.Random) -> None:
        self.words: dict[str, list[Word]] = {}
        self.shares: dict[str, list[list[float]]] = {}  # of each kind, by topic: cumulative Zipf shares of its words
        sources = iter(rng.sample(range(1000), sum(SIZES.values())))
        targets = iter(rng.sample(range(2000), 2 * sum(SIZES.values())))
        for kind, size in SIZES.items():
            spelt = [word(next(targets), TARGET) for _ in range(2 * size)]
            spoken = (Word(word(next(sources), SOURCE), kind, self._units(kind, spelt, rng)) for _ in range(size))
            self.words[kind] = list(spoken)
            homes = [rng.randrange(TOPICS) for _ in range(size)]
            self.shares[kind] = [
                list(accumulate((6.0 if home == topic else 1.0) / (rank + 2.7) for rank, home in enumerate(homes)))
                for topic in range(TOPICS)
            ]

    @staticmethod
    def _units(kind: str, spelt: Sequence[str], rng: random.Random) -> tuple[Mapping[Unit, float], ...]:
        """One to three senses shared out over the topics, each of one or two synonyms, with or without the article."""
        senses: list[dict[Unit, float]] = []
        for _ in range(rng.choice((1, 2, 2, 3))):
            sense: dict[Unit, float] = {(): 0.3} if kind == "particle" else {}
            for synonym, share in zip(rng.sample(spelt, rng.choice((1, 1, 2))), (0.7, 0.3), strict=False):
                article = rng.choice((0.05, 0.95)) if kind == "noun" else 0.0
                sense[(synonym,)] = share * (1 - article)
                sense[(synonym, ARTICLE)] = share * article
            senses.append(sense)
        return tuple(senses[rng.randrange(len(senses))] for _ in range(TOPICS))

    def say(self, rng: random.Random) -> Sentence:
        """A source sentence: phrases of a noun and perhaps an adjective, joined by a verb and by particles."""
        topic = rng.randrange(TOPICS)
        kinds = []
        for link in ("verb", *["particle"] * rng.randint(1, 2), ""):
            kinds += ["noun", *["adjective"] * (rng.random() < 0.5), *[link] * bool(link)]
        spoken = (rng.choices(self.words[kind], cum_weights=self.shares[kind][topic])[0] for kind in kinds)
        return Sentence(topic, tuple(spoken))

    def translate(self, sentence: Sentence, rng: random.Random) -> list[Unit]:
        """The unit of every source word, in source order."""
        tables = [spoken.units[sentence.topic] for spoken in sentence.words]
        return [rng.choices(list(table), list(table.values()))[0] for table in tables]

    def reference(self, sentence: Sentence, rng: random.Random) -> list[str]:
        """A fluent translation. One in ten adjectives stays behind its noun."""
        swaps = [movable and rng.random() < 0.9 for movable in adjectives(sentence)]
        return arrange(self.translate(sentence, rng), swaps)


def adjectives(sentence: Sentence) -> list[bool]:
    """Whether the words i and i + 1 are a noun and its adjective."""
    kinds = [spoken.kind for spoken in sentence.words]
    return [pair == ("noun", "adjective") for pair in pairwise(kinds)]


def arrange(units: Sequence[Unit], swaps: Sequence[bool]) -> list[str]:
    """The words of the units, where swaps[i] exchanges the neighbours i and i + 1 (from left to right)."""
    order = list(units)
    for i, swap in enumerate(swaps):
        if swap:
            order[i], order[i + 1] = order[i + 1], order[i]
    return [text for unit in order for text in unit]


class System:
    """Estimates from text: p(unit | word), p(word | unit), and a bigram model of the target language."""

    def __init__(self, speakers: Speakers, rng: random.Random) -> None:
        self.lexicon: defaultdict[str, Counter[Unit]] = defaultdict(Counter)
        self.inverse: Counter[Unit] = Counter()
        self.unigrams: Counter[str] = Counter()
        self.bigrams: Counter[tuple[str, str]] = Counter()
        for _ in range(PARALLEL):
            sentence = speakers.say(rng)
            units = speakers.translate(sentence, rng)
            for i, spoken in enumerate(sentence.words):
                unit = units[i - 1] if rng.random() < MISALIGNED else units[i]
                self.lexicon[spoken.text][unit] += 1
                self.inverse[unit] += 1
        for _ in range(MONOLINGUAL):
            text = speakers.reference(speakers.say(rng), rng)
            self.unigrams.update([*text, ""])
            self.bigrams.update(zip(["", *text], [*text, ""], strict=True))
        self.total = self.unigrams.total()

    def fluency(self, text: Sequence[str]) -> float:
        """The log-probability of a sentence: 0.8 bigram + 0.2 unigram, with one count for an unseen word."""
        value = 0.0
        for before, here in zip(["", *text], [*text, ""], strict=True):
            unigram = (self.unigrams[here] or 1) / self.total
            value += math.log(0.8 * self.bigrams[before, here] / (self.unigrams[before] or 1) + 0.2 * unigram)
        return value

    def features(self, words: Sequence[str], units: Sequence[Unit], text: Sequence[str], swaps: int) -> Features:
        """Five dense values, rounded as a decoder prints them, and a count per pair of source and target words."""
        forward = backward = 0.0
        pairs: Counter[str] = Counter()
        for source, unit in zip(words, units, strict=True):
            if source in self.lexicon:  # an unseen word is copied, with probability 1
                forward += math.log(self.lexicon[source][unit] / self.lexicon[source].total())
                backward += math.log(self.lexicon[source][unit] / self.inverse[unit])
            pairs.update(f"WT_{source}~{target}" for target in unit or ("NULL",))
        return {
            "LM": round(self.fluency(text), 4),
            "TM": [round(forward, 4), round(backward, 4)],
            "WordPenalty": -len(text),
            "Distortion": -swaps,
            **pairs,
        }

    def propose(self, sentence: Sentence, k: int, rng: random.Random) -> list[Hypothesis]:
        """At most k distinct translations, drawn word by word by the roots of counts, and sorted by INITIAL."""
        words = [spoken.text for spoken in sentence.words]
        chances = [0.4 if movable else 0.03 for movable in adjectives(sentence)]
        found: dict[str, Hypothesis] = {}
        for _ in range(8):  # a sentence of rare words may not have k translations
            columns = []
            for source in words:
                counts = self.lexicon.get(source, {(source,): 1})
                columns.append(rng.choices(list(counts), [math.sqrt(count) for count in counts.values()], k=k))
            for units in zip(*columns, strict=True):
                swaps = [rng.random() < chance for chance in chances]
                text = arrange(units, swaps)
                line = " ".join(text)
                if line not in found and len(found) < k:
                    found[line] = {"text": line, "feats": self.features(words, units, text, sum(swaps))}
        return sorted(found.values(), key=lambda hypothesis: -score(hypothesis["feats"], INITIAL))


def score(features: Features, weights: Mapping[str, float | list[float]]) -> float:
    """The dot product of features and weights. A feature without a weight adds 0."""
    return sum(sum(map(operator.mul, group(weight), group(features[name]))) for name, weight in weights.items())


def group(entry: float | list[float]) -> list[float]:
    """The values of a feature, as a list; most features have one."""
    return entry if isinstance(entry, list) else [entry]


def task(seed: int, segments: int, k: int, references: int = 2) -> Iterator[Record]:
    """Lists of at most k candidates, and references: equal for equal seeds; a longer task begins with the shorter."""
    rng = random.Random(seed)  # noqa: S311
    speakers = Speakers(rng)
    system = System(speakers, rng)
    for segment in range(segments):
        sentence = speakers.say(rng)
        refs = [" ".join(speakers.reference(sentence, rng)) for _ in range(references)]
        yield {"id": str(segment), "hyps": system.propose(sentence, k, rng), "refs": refs}
