"""All words of `german.txt` in all their forms, in tables that are looked up by number, and urns to draw them from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.text.inflection import (
    BE,
    DATIVE,
    ENDINGS,
    FORMS,
    GENDERS,
    PERSONS,
    SYNONYMS,
    Verb,
    adjective,
    either,
    entries,
    fields,
    noun,
    said,
    sides,
    verb,
    verbs,
)  # fmt: skip

from rampion.arrays import Integers
from rampion.store.text import Texts

FLATNESS = 2.7  # the word of rank r has a share of 1 / (r + FLATNESS) among those that fit: Zipf's law after Mandelbrot
COMPOUNDS = 12  # of every field so many nouns, the most frequent ones, end compounds
COPULA = verb("sein(ist,war,gewesen s) = be", "*")
COPULA_RANK = 4  # among verbs
WONDER = (("warum", "why"), ("wann", "when"), ("wo", "where"))
PLURAL = len(GENDERS)
DER = ("der den dem", "die die der", "das das dem", "die die den")
EIN = ("- en em", "e e er", "- - em", "e e en")
DIESER = ("er en em", "e e er", "es es em", "e e en")
BARE = ("- - -",) * 4
WEAK = ("e en en", "e e en", "e e en", "en en en")
MIXED = ("er en en", "e e en", "es es en", "en en en")
STRONG = ("er en em", "e e er", "es es em", "e e en")
# What stands before a noun: the German word, how it and the adjective after it bend, the English word.
THE, A, NO, MY, HIS, HER, OUR, THIS, NONE = range(9)
DETERMINERS = (
    ("", DER, WEAK, "the"), ("ein", EIN, MIXED, "a"), ("kein", EIN, MIXED, "any"), ("mein", EIN, MIXED, "my"),
    ("sein", EIN, MIXED, "his"), ("ihr", EIN, MIXED, "her"), ("unser", EIN, MIXED, "our"),
    ("dies", DIESER, WEAK, "this"), ("", BARE, STRONG, ""),
)  # fmt: skip
# Nominative, accusative, dative; English subject and object; person.
PRONOUNS = (
    ("ich", "mich", "mir", "I", "me", 0), ("er", "ihn", "ihm", "he", "him", 1), ("sie", "sie", "ihr", "she", "her", 1),
    ("wir", "uns", "uns", "we", "us", 2), ("sie", "sie", "ihnen", "they", "them", 2),
    ("Sie", "Sie", "Ihnen", "you", "you", 2),
)  # fmt: skip
# How a verb is used: the German auxiliary by person (none: the verb itself, HAVE: haben or sein), what of the verb
# stands at the end, and English words before the form of the verb: base, third person or base, past.
PRESENT, PERFECT, PRETERITE = range(3)
USES = (
    ("", "", ("third",)), ("HAVE", "participle", ("past",)), ("", "", ("past",)),
    ("kann kann können", "infinitive", ("can base",)),
    ("muss muss müssen", "infinitive", ("have to base", "must base")),
    ("will will wollen", "infinitive", ("want to base",)), ("soll soll sollen", "infinitive", ("should base",)),
    ("darf darf dürfen", "infinitive", ("may base",)),
    ("möchte möchte möchten", "infinitive", ("would like to base",)),
    ("konnte konnte konnten", "infinitive", ("could base",)), ("musste musste mussten", "infinitive", ("had to base",)),
    ("wollte wollte wollten", "infinitive", ("wanted to base",)),
    ("werde wird werden", "infinitive", ("will base", "be going to base")), ("", "gern", ("like to base",)),
)  # fmt: skip
NOW, THEN, LATER = range(3)  # what times fit
TENSES = (NOW, THEN, THEN, NOW, NOW, NOW, NOW, NOW, NOW, THEN, THEN, THEN, LATER, NOW)  # of the uses
HAVE = ("habe", "hat", "haben")
SHORT = {
    "do not": "don't", "does not": "doesn't", "did not": "didn't", "can not": "can't", "could not": "couldn't",
    "will not": "won't", "should not": "shouldn't", "is not": "isn't", "are not": "aren't", "was not": "wasn't",
    "were not": "weren't", "would not": "wouldn't",
}  # fmt: skip
STOPS = (".", "?", ",", "")
PARTICLES = {"up", "off", "on", "away", "out", "along", "back"}  # may stand after the object, too


class Forms:
    """The forms of one language, each with a number; that of no word is 0."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def table(self, rows: Iterable[object]) -> Integers:
        """The numbers of nested lists of forms."""
        flat = np.array(list(rows), np.object_)
        return np.array([self(str(text)) for text in flat.ravel()], np.int64).reshape(flat.shape)

    @cached_property
    def words(self) -> tuple[Texts, Integers, Integers]:
        """All words, then all after a blank; the words of every form, one form after another; where each begins."""
        words: dict[str, int] = {}
        rows = [[words.setdefault(word, len(words)) for word in text.split()] for text in self.numbers]
        bounds = np.cumsum([0, *map(len, rows)])
        texts = Texts.from_strings([*words, *(f" {word}" for word in words)])
        return texts, np.array([number for row in rows for number in row], np.int64), bounds


class Urn:
    """Numbered lots of things, drawn by shares."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.things, self.ends = list[int](), list[float]()

    def add(self, name: str, things: Sequence[int], shares: Sequence[float] = ()) -> int:
        """The lot of that name; without shares the first thing is the most frequent one, by Zipf's law."""
        if name not in self.names:
            self.names[name] = len(self.names)
            summed = np.cumsum(shares or [1 / (rank + FLATNESS) for rank in range(len(things))])
            self.things += things
            self.ends += (self.names[name] + summed / summed[-1]).tolist()
        return self.names[name]

    @cached_property
    def arrays(self) -> tuple[NDArray[np.float64], Integers]:
        """Where the shares of all things end, and the things."""
        return np.array(self.ends), np.array(self.things)

    def draw(self, lots: Integers, rng: np.random.Generator) -> Integers:
        """A thing of each lot; -1 where the lot is -1."""
        ends, things = self.arrays
        found = np.full(len(lots), -1)
        there = np.flatnonzero(lots >= 0)
        at = np.searchsorted(ends, lots[there] + rng.random(len(there)), "right")
        found[there] = things[np.minimum(at, len(things) - 1)]
        return found


class Words:
    """The tables of German and of English forms, by the same numbers of words."""

    def __init__(self) -> None:
        self.german, self.english, self.urn = Forms(), Forms(), Urn()
        self.fields = fields()
        self._nouns()
        self._before_nouns()
        self._persons()
        self._verbs()
        self._frames()
        self._uses()
        self._circumstances()
        self._joints()
        self.vowel = np.array([bool(re.match(r"[aeioAEIO]|u[^ns]|hon|un[^i]", text)) for text in self.english.numbers])

    def lot(self, where: str) -> int:
        """The lot of nouns of some fields (all: *), the most frequent first; -1 for none."""
        if not where:
            return -1
        chosen = [number for number, name in enumerate(self.fields) if where == "*" or name in where.split(",")]
        rows = np.flatnonzero(np.isin(self.noun_fields, chosen))
        return self.urn.add(f"nouns {where}", rows[np.argsort(self.noun_ranks[rows], kind="stable")].tolist())

    def _both(self, kind: str) -> tuple[Integers, Integers]:
        """The German forms of a kind of words, and the English ones by synonym."""
        pairs = [sides(entry) for entry in entries(kind)]
        self.urn.add(kind, list(range(len(pairs))))
        return self.german.table(one for one, _ in pairs), self.english.table(either(many) for _, many in pairs)

    def _nouns(self) -> None:
        modifiers = [adjective(entry) for entry in entries("modifier")]
        made = []
        for number, name in enumerate(self.fields):
            simple = [noun(entry) for entry in entries(f"noun {name}")]
            parts = [(one.german[0], one.english[0]) for one in modifiers if name in one.fields]
            compounds = [one.after(*part) for one in simple[:COMPOUNDS] for part in parts]
            made += [(number, rank, one) for rank, one in enumerate([*simple, *compounds])]
        self.noun_fields, self.noun_ranks = (np.array([row[place] for row in made]) for place in range(2))
        self.genders = np.array([one.gender for *_, one in made])
        self.noun_german = self.german.table(one.german for *_, one in made)
        self.noun_english = self.english.table(one.english for *_, one in made)

    def _before_nouns(self) -> None:
        """Determiners by gender and case, the endings of adjectives after them, adjectives, and numbers."""
        bent = [[row.split() for row in rows] for _, rows, _, _ in DETERMINERS]
        self.determiners = self.german.table(
            [[stem + ending.strip("-") for ending in row] for row in rows]
            for (stem, *_), rows in zip(DETERMINERS, bent, strict=True)
        )
        self.determiners[A, PLURAL] = 0  # ein has no plural
        self.endings = np.array([
            [list(map(ENDINGS.index, row.split())) for row in rows] for _, _, rows, _ in DETERMINERS
        ])  # fmt: skip
        plurals = {"a": "", "this": "these"}
        self.english_determiners = self.english.table([one, plurals.get(one, one)] for *_, one in DETERMINERS)
        self.an = self.english("an")
        found = [adjective(entry) for entry in entries("adjective")]
        self.adjectives = self.german.table(one.german for one in found)
        self.english_adjectives = self.english.table(one.english for one in found)
        fitting = [[n for n, one in enumerate(found) if one.fields & {name, "*"}] for name in self.fields]
        self.adjective_lots = np.array([self.urn.add(f"adjectives {n}", rows) for n, rows in enumerate(fitting)])
        self.numbers, self.english_numbers = self._both("number")

    def _persons(self) -> None:
        """Names, what belongs to them, and pronouns."""
        self.names, english = self._both("name")
        names = list(self.german.numbers), list(self.english.numbers)
        self.owners = self.german.table(f"von {names[0][one]}" for one in self.names.tolist())
        self.english_names = english[:, 0]
        self.english_owners = self.english.table(f"{names[1][one]}'s" for one in self.english_names.tolist())
        self.urn.add("pronoun", list(range(len(PRONOUNS))))
        self.pronouns = self.german.table(row[: DATIVE + 1] for row in PRONOUNS)
        self.english_pronouns = self.english.table(row[3:5] for row in PRONOUNS)
        self.pronoun_persons = np.array([row[5] for row in PRONOUNS])

    def _verbs(self) -> None:
        """Verbs by tense and person, and the English ones by synonym, form and person."""
        plain = [*verbs("verb"), *verbs("idiom")]
        plain.insert(COPULA_RANK, COPULA)
        self.rows = [*plain, *verbs("saying")]
        self.plain = self.urn.add("plain", list(range(len(plain))))
        self.saying = self.urn.add("saying", list(range(len(plain), len(self.rows))))
        self.finite = self.german.table(row.finite for row in self.rows)
        self.finite_last = self.german.table(
            [[row.prefix + one for one in tense] for tense in row.finite] for row in self.rows
        )
        self.ends = self.german.table(["", *row.ends] for row in self.rows)
        self.prefixes = self.german.table(row.prefix for row in self.rows)
        self.rests = self.german.table(row.rest for row in self.rows)
        self.with_be = np.array([row.be for row in self.rows], np.int64)
        spoken = [(row.english * 2)[:SYNONYMS] for row in self.rows]
        self.spoken = self.english.table([[_forms(*one) for one in both] for both in spoken])
        self.english_rests = self.english.table([one[3] for one in both] for both in spoken)
        self.particles = np.array([[one[3] in PARTICLES for one in both] for both in spoken])
        self.being = np.array([[one[0] == "be" for one in both] for both in spoken], np.int64)

    def _frames(self) -> None:
        """What verbs go with, and the verbs of relative clauses by the field of the noun before."""
        frames = [row.frame for row in self.rows]
        self.subject_lots = np.array([self.lot(frame.subject) for frame in frames])
        self.dative_lots = np.array([self.lot(frame.dative) for frame in frames])
        self.object_lots = np.array([self.lot(frame.object) for frame in frames])
        self.prepositions = self.german.table(frame.preposition for frame in frames)
        self.cases = np.array([frame.case for frame in frames])
        self.reversed = np.array([frame.reversed for frame in frames])
        self.idioms = np.array([bool(row.rest) for row in self.rows])
        chasing = [[n for n, row in enumerate(self.rows) if _chases(row, name)] for name in self.fields]
        self.chasing = np.array(
            [self.urn.add(f"which {n}", rows) if len(rows) > PERSONS else -1 for n, rows in enumerate(chasing)]
        )

    def _uses(self) -> None:
        """What stands around a verb by use: the German auxiliary by `with_be`, and what English says."""
        self.auxiliaries = self.german.table(
            [be if spelt == "HAVE" else spelt.split() or [""] * PERSONS for be in (HAVE, BE)] for spelt, _, _ in USES
        )
        self.use_ends = np.array([["", "participle", "infinitive", "gern"].index(end) for _, end, _ in USES])
        shape = (len(USES), 2, PERSONS, 2, 2, 2, 2)  # use, variant, person, negated, question, be, contracted
        self.before, self.after, self.spoken_forms = np.zeros((3, *shape), np.int64)
        for at in product(*map(range, shape)):
            use, variant, person, negated, question, be, short = at
            texts = USES[use][2]
            text = texts[0 if negated else variant % len(texts)]  # "muss nicht" does not mean "must not"
            before, after, form = said(text, person, bool(negated), bool(question), bool(be))
            if short:
                after = re.sub("^(" + "|".join(SHORT) + r")\b", lambda found: SHORT[found[0]], after)
            self.before[at], self.after[at] = self.english(before), self.english(after)
            self.spoken_forms[at] = FORMS.index(form)

    def _circumstances(self) -> None:
        """Times, adverbs and places; a mark after the English ones tells what they fit."""
        marks = [entry[-1] for entry in entries("time")]
        self.times, self.english_times = self._both("time")
        fits = [[n for n, mark in enumerate(marks) if mark not in "<>" or mark == own] for own in (" ", "<", ">")]
        self.time_lots = np.array([self.urn.add(f"times {n}", rows) for n, rows in enumerate(fits)])
        self.manner = np.array([entry.endswith("$") for entry in entries("adverb")])
        self.adverbs, self.english_adverbs = self._both("adverb")
        self.where, self.english_where = self._both("place")
        short = {"in": "im", "bei": "beim"}
        self.contracted = self.german.table(short.get(sides(entry)[0], "") for entry in entries("place"))
        self.dem = self.german("dem")
        towns = [(german, english[0]) for german, english in map(sides, entries("town"))]
        self.towns = self.german.table(f"in {one}" for one, _ in towns)
        self.english_towns = self.english.table(f"in {one}" for _, one in towns)
        self.urn.add("town", list(range(len(towns))))

    def _joints(self) -> None:
        """Words and marks that join clauses: none, dass, und ..., weil ..., warum ...; the first of each kind."""
        beside, below = ([*map(sides, entries(kind))] for kind in ("beside", "below"))
        leads = [("", ("",)), ("dass", ("that", "")), *beside, *below, *((one, (other,)) for one, other in WONDER)]
        self.leads = self.german.table(german for german, _ in leads)
        self.english_leads = self.english.table(either(english) for _, english in leads)
        self.lead_firsts = {"dass": 1, "beside": 2, "below": 2 + len(beside), "wonder": len(leads) - len(WONDER)}
        for kind, rows in (("beside", beside), ("below", below), ("wonder", WONDER)):
            self.urn.add(kind, list(range(len(rows))))
        self.stops = np.array([(self.german(mark), self.english(mark)) for mark in STOPS])
        self.relative = self.german.table(row.split()[0] for row in DER)
        self.who = self.english.table(["who", "that", "which"])
        self.nicht, self.comma, self.to = self.german("nicht"), self.german(","), self.english("to")


def _forms(base: str, third: str, past: str, _: str) -> list[list[str]]:
    """The forms of an English verb by FORMS and person."""
    one = {"": "", "base": base, "past": past, "be": "be"}
    return [[base, third, base] if form == "third" else [one[form]] * PERSONS for form in FORMS]


def _chases(row: Verb, field: str) -> bool:
    """Whether somebody of this field may be told apart by doing that to somebody."""
    frame = row.frame
    plain = not (frame.preposition or frame.dative or row.prefix or row.rest)
    return bool(frame.object) and plain and field in frame.subject.split(",")
