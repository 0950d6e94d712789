"""A toy pair of languages, invented from a seed, and any amount of parallel text in them.

Sentences are runs of phrases. A phrase is a row of PHRASES: its words in the order of the source, and in that of the
target. A word stands for a dictionary entry, drawn by Zipf's law. The entry's translation depends on
the topic of the sentence or on the class of the noun in its phrase (ambiguity), and on chance (synonyms).

Equal seeds and rates give equal bytes, and a longer text begins with the shorter one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.text.corpus import Corpus, Parallel
from rampion.decoder.text.toy import SOURCE, TARGET

from rampion.arrays import Integers, Mask, ends
from rampion.store.text import Texts

# Entries of each kind; multiples of the number of topics where words have a topic of their own.
SIZES = {
    "article": 4, "clitic": 6, "enclitic": 6, "preposition": 30, "conjunction": 12,
    "adverb": 2000, "adjective": 9600, "verb": 12000, "noun": 40000, "idiom": 4000,
}  # fmt: skip
KINDS = tuple(SIZES)
ARTICLE, CLITIC, ENCLITIC, PREPOSITION, CONJUNCTION, ADVERB, ADJECTIVE, VERB, NOUN, IDIOM = range(len(KINDS))
FIRSTS = np.array([0, *accumulate(SIZES.values())])
CLOSED, ENTRIES = int(FIRSTS[ADVERB]), int(FIRSTS[-1])
TOPICS, CLASSES, SENSES, SYNONYMS, LONGEST = 8, 4, 3, 2, 3
FRIENDLY, FRIENDS = (PREPOSITION, ADJECTIVE, VERB), 6  # kinds with collocations, and entries of each that fit a noun
FLATNESS = 2.7  # the word of rank r has a share of 1 / (r + FLATNESS) in its kind: Zipf's law after Mandelbrot

# Share, source order, target order. Articles exist in the target language only. First phrases of a sentence, then
# first phrases of other clauses, then the others.
PHRASES = (
    (
        (4, "verb article noun", "article noun verb"),
        (3, "verb article noun adjective", "article adjective noun verb"),
        (1, "verb enclitic article noun", "article noun verb enclitic"),
    ),
    (
        (4, "conjunction verb article noun", "conjunction article noun verb"),
        (3, "conjunction verb article noun adjective", "conjunction article adjective noun verb"),
        (1, "conjunction verb enclitic article noun", "conjunction article noun verb enclitic"),
    ),
    (
        (4, "article noun", "article noun"),
        (4, "article noun adjective", "article adjective noun"),
        (3, "preposition article noun", "preposition article noun"),
        (2, "preposition article noun adjective", "preposition article adjective noun"),
        (2, "clitic article noun", "clitic article noun"),
        (1, "clitic article noun adjective", "clitic article adjective noun"),
        (2, "idiom", "idiom"),
        (1, "adverb", "adverb"),
    ),
)
FEWEST, MOST, CLAUSE = 4, 14, 3  # phrases of a sentence (MOST excluded), and of a clause

TRAIN, DEV, TEST = 1, 2, 3
CHUNK = 2048  # sentences drawn at once; each chunk has a random stream of its own


class Rates(NamedTuple):
    """The shares of the phenomena that make translation difficult."""

    ambiguous: float = 0.4  # entries with several senses
    synonym: float = 0.25  # uses of an entry that are translated by its second word
    compound: float = 0.15  # units of several target words
    collocated: float = 0.6  # verbs, adjectives and prepositions that are collocations of their noun
    topical: float = 0.5  # words that belong to the topic of their sentence
    swapped: float = 0.95  # phrases in target order, if their verb or adjective moves at all
    fixed: float = 0.1  # verbs and adjectives that never move
    dropped: float = 0.15  # prepositions, conjunctions and clitics that are not translated
    fused: float = 0.3  # clitics written together with their word
    free: float = 0.03  # phrases with a wrong translation
    noise: float = 0.01  # training pairs that are no translations


RATES = Rates()


class _Phrases(NamedTuple):
    """PHRASES as arrays: kinds and target places of the slots of every phrase; shares of group g go from g to g + 1."""

    shares: NDArray[np.float64]
    sizes: Integers
    kinds: Integers
    places: Integers

    @classmethod
    def of(cls) -> _Phrases:
        rows = [row for group in PHRASES for row in group]
        shares = [
            number + share / sum(row[0] for row in group)
            for number, group in enumerate(PHRASES)
            for share in accumulate(row[0] for row in group)
        ]
        sizes = [len(source.split()) for _, source, _ in rows]
        kinds, places = np.zeros((2, len(rows), max(sizes)), np.int64)
        for number, (_, source, target) in enumerate(rows):
            words = source.split()
            kinds[number, : len(words)] = [KINDS.index(word) for word in words]
            places[number, : len(words)] = [target.split().index(word) for word in words]
        shares[-1] = math.inf
        return cls(np.array(shares), np.array(sizes), kinds, places)


_PHRASES = _Phrases.of()
_ZIPF = np.concatenate([
    kind + np.cumsum(1 / (np.arange(size) + FLATNESS)) / np.cumsum(1 / (np.arange(size) + FLATNESS))[-1]
    for kind, size in enumerate(SIZES.values())
])  # fmt: skip
_CONTEXT_IS_CLASS = ~np.isin(np.arange(len(KINDS)), [NOUN, ADVERB, CONJUNCTION, IDIOM])
_TOPICAL = np.isin(np.arange(len(KINDS)), [ADVERB, ADJECTIVE, VERB, NOUN])


class _Sentences(NamedTuple):
    """A chunk before translation. An item is a slot of a phrase with its entry."""

    topics: Integers  # one for each sentence
    sentences: Integers  # one for each phrase
    templates: Integers
    nouns: Integers  # the entries on which class, article and order depend
    movers: Integers
    phrases: Integers  # one for each item
    slots: Integers
    kinds: Integers
    entries: Integers

    @property
    def homes(self) -> Integers:
        """The sentence of every item."""
        return self.sentences[self.phrases]


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """The dictionary and the grammar of both languages.

    Entry e is words[e, :sizes[e]] in the source language; its sense in context c is senses[e, c]; unit
    (e, sense, synonym) is units[..., :unit_sizes[...]] in the target language. The collocations of noun n are
    company[n, kind]. Forms are all words, then all words after a blank.
    """

    seed: int
    rates: Rates
    source_forms: Texts
    target_forms: Texts
    words: Integers
    sizes: Integers
    senses: Integers
    units: Integers
    unit_sizes: Integers
    company: Integers
    classes: Integers
    articled: NDArray[np.float64]
    fixed: Mask

    @classmethod
    def invent(cls, seed: int, rates: Rates = RATES) -> Language:
        """The pair of languages of this seed."""
        rng = np.random.default_rng([seed, 0])
        entries = np.arange(ENTRIES)
        kinds = np.repeat(np.arange(len(KINDS)), list(SIZES.values()))
        # Frequent words tend to be short.
        rarity = (entries - FIRSTS[kinds])[CLOSED:] * (0.5 + rng.random(ENTRIES - CLOSED))
        shuffled = np.argsort(rng.random(CLOSED), kind="stable")
        ranks = np.concatenate([shuffled, CLOSED + np.argsort(np.argsort(rarity, kind="stable"))])
        words = np.zeros((ENTRIES, LONGEST), np.int64)
        words[:, 0] = entries
        idioms = kinds == IDIOM
        parts = (ADJECTIVE + 3 * rng.random((SIZES["idiom"], LONGEST))).astype(np.int64)
        words[idioms] = _entries(parts, rng.random(parts.shape))
        sizes = np.where(kinds == ARTICLE, 0, np.where(idioms, 2 + (rng.random(ENTRIES) < 0.4), 1))

        counts = np.where(rng.random(ENTRIES) < rates.ambiguous, 2 + (rng.random(ENTRIES) < 0.3), 1)
        senses = (rng.random((ENTRIES, TOPICS)) * counts[:, None]).astype(np.int64)
        senses[kinds == ARTICLE] = 0
        shape = (ENTRIES, SENSES, SYNONYMS, LONGEST)
        units = (2 * ranks[:, None, None, None] * (0.5 + rng.random(shape))).astype(np.int64)
        units[CLOSED:] += 2 * CLOSED
        units[:CLOSED] = (rng.random((CLOSED, *shape[1:])) * 2 * CLOSED).astype(np.int64)
        particles = rng.random(shape) < 0.5
        particles[..., 0] = False
        units[particles] //= ENTRIES // CLOSED
        units[: SIZES["article"], ..., 0] = np.arange(SIZES["article"])[:, None, None]
        friends = np.repeat(np.array(FRIENDLY), FRIENDS)
        company = _entries(friends, rng.random((SIZES["noun"], len(friends)))).reshape(-1, len(FRIENDLY), FRIENDS)
        draws = rng.random(shape[:-1])
        unit_sizes = 1 + (draws < rates.compound).astype(np.int64) + (draws < 0.25 * rates.compound)
        unit_sizes[:CLOSED] = 1
        return cls(
            seed, rates, _forms(ranks, SOURCE), _forms(np.arange(units.max() + 1), TARGET), words, sizes, senses,
            units.reshape(-1, LONGEST), unit_sizes.ravel(), company,
            (rng.random(ENTRIES) * CLASSES).astype(np.int64),
            np.where(rng.random(ENTRIES) < 0.65, 0.05, 0.95), rng.random(ENTRIES) < rates.fixed,
        )  # fmt: skip

    def corpus(self, pairs: int, held_out: int = 1000, references: int = 4) -> Corpus:
        """`pairs` pairs with their true alignment to train on; dev and test text with several references."""
        dev, test = (self.text(part, held_out, references) if held_out else None for part in (DEV, TEST))
        return Corpus(("src", "tgt"), self.text(TRAIN, pairs), dev, test)

    def text(self, part: int, count: int, references: int = 1) -> Parallel:
        """The first `count` pairs of a part; the links are those of the first translation."""
        chunks = [self._chunk(part, number, references) for number in range(-(-count // CHUNK))]
        return Parallel.join(chunks).take(np.arange(count))

    def _chunk(self, part: int, number: int, references: int) -> Parallel:
        rng = np.random.default_rng([self.seed, part, number])
        said = self._say(rng)
        source, begins = self._source(said, rng)
        noise = self.rates.noise if part == TRAIN else 0.0
        translations = [self._translate(said, noise, rng) for _ in range(references)]
        targets, target_begins = zip(*(self._target(said, *one[:3]) for one in translations), strict=True)
        _, _, lengths, lost = translations[0]
        items, places = spread(np.where(lost, 0, self.sizes[said.entries] * lengths))
        first, second = np.divmod(places, lengths[items])
        links = links_of(begins[items] + first, target_begins[0][items] + second, said.homes[items])
        return Parallel(source, targets, links)

    def _source(self, said: _Sentences, rng: np.random.Generator) -> tuple[Texts, Integers]:
        """The written source sentences, and the word of its sentence at which every item begins."""
        items, places = spread(self.sizes[said.entries])
        kinds = said.kinds[items]
        fused = rng.random(len(items)) < self.rates.fused
        glued = fused & (kinds == ENCLITIC)
        glued[1:] |= (fused & (kinds == CLITIC))[:-1]
        return written(self.source_forms, self.words[said.entries[items], places], items, said.homes, ~glued)

    def _target(self, said: _Sentences, units: Integers, order: Integers, lengths: Integers) -> tuple[Texts, Integers]:
        """The written translations, and the word of its sentence at which every item begins."""
        at, places = spread(lengths[order])
        items = order[at]
        blank = np.ones(len(at), np.bool_)
        return written(self.target_forms, self.units[units[items], places], items, said.homes, blank)

    def _say(self, rng: np.random.Generator) -> _Sentences:
        """A random chunk of source sentences, before they are written."""
        sentences, turns = spread(FEWEST + (rng.random(CHUNK) * (MOST - FEWEST)).astype(np.int64))
        topics = (rng.random(CHUNK) * TOPICS).astype(np.int64)
        groups = np.where(turns == 0, 0, np.where(turns % CLAUSE == 0, 1, 2))
        templates = np.searchsorted(_PHRASES.shares, groups + rng.random(len(groups)), "right")
        phrases, slots = spread(_PHRASES.sizes[templates])
        kinds = _PHRASES.kinds[templates[phrases], slots]
        entries = _entries(kinds, rng.random(len(kinds)))
        moved = _TOPICAL[kinds] & (rng.random(len(kinds)) < self.rates.topical)
        ranks = entries - FIRSTS[kinds]
        entries = np.where(moved, entries - ranks % TOPICS + topics[sentences[phrases]], entries)
        nouns, movers = np.zeros((2, len(templates)), np.int64)
        nouns[phrases[kinds == NOUN]] = entries[kinds == NOUN]
        likes = nouns[phrases]
        befriended = (likes > 0) & (rng.random(len(kinds)) < self.rates.collocated)
        friends = (rng.random(len(kinds)) ** 2 * FRIENDS).astype(np.int64)
        for place, kind in enumerate(FRIENDLY):
            chosen = befriended & (kinds == kind)
            entries[chosen] = self.company[likes[chosen] - FIRSTS[NOUN], place, friends[chosen]]
        articles = kinds == ARTICLE
        entries[articles] = self.classes[nouns[phrases[articles]]]
        for kind in (ADJECTIVE, VERB):  # the verb comes first, if there is one
            movers[phrases[kinds == kind]] = entries[kinds == kind]
        return _Sentences(topics, sentences, templates, nouns, movers, phrases, slots, kinds, entries)

    def _translate(
        self, said: _Sentences, noise: float, rng: np.random.Generator
    ) -> tuple[Integers, Integers, Integers, Mask]:
        """The unit of every item; the items in target order; their numbers of words; whether each is mistranslated."""
        rates, phrases, kinds = self.rates, said.phrases, said.kinds
        wrong = rng.random(CHUNK) < noise
        lost = (wrong[said.sentences] | (rng.random(len(said.templates)) < rates.free))[phrases]
        entries = said.entries.copy()
        entries[lost] = _entries(kinds[lost], rng.random(int(lost.sum())))
        classes = self.classes[said.nouns[phrases]]
        contexts = np.where(_CONTEXT_IS_CLASS[kinds], classes, said.topics[said.homes])
        synonyms = rng.random(len(kinds)) < rates.synonym
        units = (entries * SENSES + self.senses[entries, contexts]) * SYNONYMS + synonyms
        silent = np.where(kinds == ARTICLE, 1 - self.articled[said.nouns[phrases]], rates.dropped)
        silent[entries >= CLOSED] = 0.0
        lengths = np.where(rng.random(len(kinds)) < silent, 0, self.unit_sizes[units])
        swapped = ~self.fixed[said.movers] & (rng.random(len(said.templates)) < rates.swapped)
        places = np.where(swapped[phrases], _PHRASES.places[said.templates[phrases], said.slots] - said.slots, 0)
        order = np.empty(len(kinds), np.int64)
        order[np.arange(len(kinds)) + places] = np.arange(len(kinds))
        return units, order, lengths, lost


def spread(counts: Integers) -> tuple[Integers, Integers]:
    """The owner of every member, and its index there, where owner i has counts[i] members."""
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - (np.cumsum(counts) - counts)[owners]


def _entries(kinds: Integers, draws: NDArray[np.float64]) -> Integers:
    """A random entry for each kind, by Zipf's law."""
    entries: Integers = np.minimum(np.searchsorted(_ZIPF, kinds + draws, "right"), FIRSTS[kinds + 1] - 1)
    return entries


def _forms(ranks: Integers, consonants: str) -> Texts:
    """The words of these ranks (as in toy.word): all of them, then all of them after a blank."""
    syllables = np.array([[ord(consonant), ord(vowel)] for consonant in consonants for vowel in "aeiou"], np.uint8)
    letters = np.zeros((2, len(ranks), 11), np.uint8)
    rest = ranks + 1
    for place in range(9, 0, -2):
        rest, syllable = np.divmod(rest - 1, len(syllables))
        letters[:, :, place : place + 2] = np.where(rest[:, None] >= 0, syllables[syllable], 0)
        rest = np.maximum(rest, 0)
    letters[1, :, 0] = ord(" ")
    whole = letters.reshape(-1, letters.shape[-1])
    return Texts(whole[whole > 0], ends((whole > 0).sum(axis=1)))


def written(forms: Texts, tokens: Integers, items: Integers, homes: Integers, blank: Mask) -> tuple[Texts, Integers]:
    """Sentences of these forms, and the word of its sentence at which every item begins (0 for an item without words).

    Token t is of items[t]; a blank stands before it if blank[t] and if it is not the first of its sentence.
    """
    owners = homes[items]
    bounds = np.searchsorted(owners, np.arange(CHUNK + 1))
    blank[bounds[:-1]] = False
    text = forms.take(tokens + len(forms) // 2 * blank)
    places = np.cumsum(blank)
    begins = np.zeros(len(homes), np.int64)
    begins[items[::-1]] = (places - places[bounds[owners]])[::-1]
    return Texts(text.blob, text.bounds[bounds]), begins


def links_of(sources: Integers, targets: Integers, owners: Integers) -> Texts:
    """Lines of links i-j."""
    width = 1 + int(max(sources.max(), targets.max()))
    pairs = [f"{i}-{j}" for i in range(width) for j in range(width)]
    bounds = np.searchsorted(owners, np.arange(CHUNK + 1))
    blank = np.ones(len(owners), np.bool_)
    blank[bounds[:-1][bounds[:-1] < bounds[1:]]] = False
    text = Texts.from_strings([*pairs, *(f" {pair}" for pair in pairs)]).take(
        sources * width + targets + len(pairs) * blank
    )
    return Texts(text.blob, text.bounds[bounds])
