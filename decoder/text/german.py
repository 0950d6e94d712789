"""German and English as far as a small grammar and a dictionary go: parallel text that one can read, from a seed.

A sentence has one clause or two. `Meaning` says who does what to whom, when, where and how. `_german` and `_english`
put it into columns, a word or phrase each, and a layout puts these in order. A German verb stands second, or first in
a question, or last after a conjunction, and leaves its prefix, participle or infinitive at the end; English hardly
moves. What is meant can be said in several ways in English: those are the references.

Equal seeds give equal bytes, and a longer text begins with the shorter one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rampion.decoder.text.corpus import Corpus, Parallel
from rampion.decoder.text.inflection import ACCUSATIVE, DATIVE, FORMS, NOMINATIVE
from rampion.decoder.text.language import CHUNK, DEV, TEST, TRAIN, links_of, spread, written
from rampion.decoder.text.vocabulary import COPULA_RANK, NO, NONE, PLURAL, PRETERITE, TENSES, THE, USES, A, Forms, Words

from rampion.arrays import Integers, Mask
from rampion.store.text import Texts

Columns = dict[str, Integers]  # the form of every clause in each column, 0 for none
Rng = np.random.Generator
Either = Callable[..., Integers]  # 0 or 1 for every clause; takes the share of 1

USE_SHARES = (10, 9, 6, 3, 3, 2, 1.5, 1, 1.5, 1, 1, 1, 3, 1.5)  # of words.USES
DETERMINER_SHARES = (10, 8, 0, 2, 1, 1, 1, 1)  # of THE to THIS
STATEMENT, BESIDE, BELOW, ABOVE, SAYING, ASKING, WONDERING = range(7)  # kinds of sentences
KIND_SHARES = (38, 16, 14, 10, 10, 7, 5)
SUBJECT_FIRST, TIME_FIRST, PLACE_FIRST, VERB_FIRST, VERB_LAST = range(5)  # layouts of German clauses
PERSON = 0  # the field of persons
FULL, ASK, COMMA, BREATH = range(4)  # words.STOPS

_NOUN = "{0}.det {0}.adj {0}.noun {0}.of "
_WHICH = "which.comma which.who which.det which.adj which.noun which.verb which.end "
_SUBJECT, _DATIVE, _OBJECT = (_NOUN.format(role) for role in ("subject", "dative", "object"))
_MIDDLE = f"pronoun {_DATIVE}{{time}}adverb gladly early prep {_OBJECT}not {{place}}predicate rest "
_TIME, _PLACE = "time ", "place.prep place.det place.adj place.noun "
_END = "prefix nonfinite final "


def _layout(first: str, *, time: str = _TIME, place: str = _PLACE) -> list[str]:
    return f"lead {first}{_MIDDLE.format(time=time, place=place)}{_END}stop".split()


GERMAN = (
    _layout(f"{_SUBJECT}{_WHICH}finite "),
    _layout(f"{_TIME}finite {_SUBJECT}{_WHICH}", time=""),
    _layout(f"{_PLACE}finite {_SUBJECT}{_WHICH}", place=""),
    _layout(f"finite {_SUBJECT}{_WHICH}"),
    f"lead {_SUBJECT}{_WHICH}{_MIDDLE.format(time=_TIME, place=_PLACE)}{_END}finite stop".split(),
)
_WHO = "which.who which.verb which.rest which.det which.adj which.noun "
ENGLISH = (
    f"lead early before {_SUBJECT}{_WHO}after adverb verb particle {_NOUN.format('give')}{_OBJECT}behind to {_DATIVE}"
    f"predicate rest manner {_PLACE}time stop"
).split()
# Columns that translate each other.
PAIRS = (
    *((name, name) for role in (_SUBJECT, _DATIVE, _OBJECT, _PLACE, _WHO) for name in role.split()),
    *((name, name) for name in ("lead", "adverb", "predicate", "rest", "time", "stop")),
    *zip(_DATIVE.split(), _NOUN.format("give").split(), strict=True),
    *(("subject.of", "subject.det"), ("object.of", "object.det"), ("pronoun", "object.noun")),
    *(("time", "early"), ("adverb", "manner"), ("not", "after"), ("early", "after"), ("gladly", "after")),
    *(("prep", "particle"), ("prefix", "particle"), ("prefix", "behind"), ("nonfinite", "verb")),
    *(("finite", "before"), ("finite", "after"), ("finite", "verb"), ("final", "after"), ("final", "verb")),
)


class Phrases(NamedTuple):
    """Noun phrases, one a clause: a noun with what belongs to it, or a name, or a pronoun; -1 for what is not there."""

    nouns: Integers
    names: Integers
    pronouns: Integers
    many: Integers  # 1 for the plural
    determiners: Integers
    numbers: Integers
    adjectives: Integers
    owners: Integers  # names


class Meaning(NamedTuple):
    """What the clauses of a chunk mean, and how German arranges them."""

    homes: Integers  # the sentence of each clause
    layouts: Integers
    leads: Integers
    stops: Integers
    verbs: Integers
    uses: Integers
    negated: Mask
    subjects: Phrases
    datives: Phrases
    objects: Phrases
    places: Phrases  # names are towns
    where: Integers
    times: Integers
    adverbs: Integers
    predicates: Integers
    chasing: Integers  # verbs of relative clauses
    chased: Phrases


class Clauses(NamedTuple):
    """The clauses of a chunk: their sentences, layouts, words before and marks after them, and who says that."""

    homes: Integers
    layouts: Integers
    leads: Integers
    stops: Integers
    saying: Mask

    @classmethod
    def drawn(cls, rng: Rng, words: Words) -> Clauses:
        """The clauses of a chunk of sentences."""
        kinds = _shared(KIND_SHARES, CHUNK, rng)
        homes, places = spread(np.where((kinds > STATEMENT) & (kinds < ASKING), 2, 1))
        kinds, second = kinds[homes], places == 1
        layouts = np.array([SUBJECT_FIRST, TIME_FIRST, PLACE_FIRST])[_shared((70, 20, 10), len(kinds), rng)]
        below = (second & ((kinds == BELOW) | (kinds == SAYING))) | (~second & (kinds == ABOVE))
        layouts[below] = VERB_LAST
        layouts[(second & (kinds == ABOVE)) | (kinds >= ASKING)] = VERB_FIRST
        layouts[(second & (kinds == BESIDE)) | (~second & (kinds == SAYING))] = SUBJECT_FIRST
        first = words.lead_firsts
        beside, below_lot = (words.urn.names[kind] for kind in ("beside", "below"))
        lots = np.where(second & (kinds == BESIDE), beside, np.where(below, below_lot, -1))
        leads = words.urn.draw(lots, rng)
        leads = np.where(lots < 0, 0, leads + np.where(kinds == BESIDE, first["beside"], first["below"]))
        leads[second & (kinds == SAYING)] = first["dass"]
        asked = kinds == WONDERING
        leads[asked] = first["wonder"] + words.urn.draw(np.full(int(asked.sum()), words.urn.names["wonder"]), rng)
        last = np.append(homes[1:] != homes[:-1], True)
        stops = np.where(last, np.where(kinds >= ASKING, ASK, FULL), np.where(kinds == BESIDE, BREATH, COMMA))
        return cls(homes, layouts, leads, stops, ~second & (kinds == SAYING))


class Written(NamedTuple):
    """Sentences as text, and where every column of every clause stands in its sentence."""

    text: Texts
    begins: dict[str, Integers]
    sizes: dict[str, Integers]  # words
    homes: Integers

    @classmethod
    def of(
        cls, columns: Columns, layouts: Sequence[Sequence[str]], which: Integers, homes: Integers, forms: Forms
    ) -> Written:
        """The columns of clauses in the order of their layouts."""
        names = sorted(set().union(*layouts))
        longest = max(map(len, layouts))  # shorter ones end with a column that is always empty
        orders = [[names.index(name) for name in one] + [len(names)] * (longest - len(one)) for one in layouts]
        none = np.zeros(len(homes), np.int64)
        grid = np.stack([columns.get(name, none) for name in names] + [none], axis=1)
        places = np.array(orders)[which]
        units = np.take_along_axis(grid, places, axis=1).ravel()
        texts, tokens, bounds = forms.words
        sizes = np.diff(bounds)[units]
        items, offsets = spread(sizes)
        chosen, blank = tokens[bounds[units[items]] + offsets], np.ones(len(items), np.bool_)
        text, begins = written(texts, chosen, items, np.repeat(homes, longest), blank)
        where, counts = np.zeros((2, len(homes), len(names) + 1), np.int64)
        np.put_along_axis(where, places, begins.reshape(places.shape), axis=1)
        np.put_along_axis(counts, places, sizes.reshape(places.shape), axis=1)
        of_columns = [dict(zip(names, table.T, strict=False)) for table in (where, counts)]
        return cls(text, of_columns[0], of_columns[1], homes)

    def linked(self, other: Written) -> Texts:
        """Links between the words of columns that translate each other."""
        found = []
        for mine, yours in PAIRS:
            if mine in self.sizes and yours in other.sizes:
                rows, places = spread(self.sizes[mine] * other.sizes[yours])
                first, second = np.divmod(places, np.maximum(other.sizes[yours], 1)[rows])
                found.append((self.homes[rows], self.begins[mine][rows] + first, other.begins[yours][rows] + second))
        homes, sources, targets = map(np.concatenate, zip(*found, strict=True))
        order = np.lexsort((targets, sources, homes))
        rows = np.stack([homes, sources, targets])[:, order]
        fresh = np.append(True, (rows[:, 1:] != rows[:, :-1]).any(axis=0))
        homes, sources, targets = rows[:, fresh]
        return links_of(sources, targets, homes)


class German:
    """German and English, and any amount of text in them."""

    languages = ("de", "en")

    def __init__(self, seed: int) -> None:
        self.seed, self.words = seed, Words()

    def corpus(self, pairs: int, held_out: int = 1000, references: int = 4) -> Corpus:
        """`pairs` pairs with their alignment to train on; dev and test text with several references."""
        dev, test = (self.text(part, held_out, references) if held_out else None for part in (DEV, TEST))
        return Corpus(self.languages, self.text(TRAIN, pairs), dev, test)

    def text(self, part: int, count: int, references: int = 1) -> Parallel:
        """The first `count` pairs of a part; the links are those of the first translation."""
        chunks = [self._chunk(part, number, references) for number in range(-(-count // CHUNK))]
        return Parallel.join(chunks).take(np.arange(count))

    def _chunk(self, part: int, number: int, references: int) -> Parallel:
        rng = np.random.default_rng([self.seed, part, number])
        meant = self._meant(rng)
        source = Written.of(self._german(meant), GERMAN, meant.layouts, meant.homes, self.words.german)
        plain = np.zeros_like(meant.layouts)
        targets = [
            Written.of(self._english(meant, rng), (ENGLISH,), plain, meant.homes, self.words.english)
            for _ in range(references)
        ]
        return Parallel(source.text, tuple(target.text for target in targets), source.linked(targets[0]))

    # What is meant

    def _meant(self, rng: Rng) -> Meaning:
        words, clauses = self.words, Clauses.drawn(rng, self.words)
        count = len(clauses.homes)
        verbs = words.urn.draw(np.where(clauses.saying, words.saying, words.plain), rng)
        uses, chance = _shared(USE_SHARES, count, rng), _chance(rng, count)
        subjects = self._phrases(words.subject_lots[verbs], rng)
        datives = self._phrases(words.dative_lots[verbs], rng)
        objects = self._phrases(words.object_lots[verbs], rng, pronouns=words.prepositions[verbs] == 0)
        copula = verbs == COPULA_RANK
        negated = chance(0.12) & ~clauses.saying
        timed = (chance(0.3) | (clauses.layouts == TIME_FIRST)) & ~clauses.saying
        times = words.urn.draw(np.where(timed, words.time_lots[np.array(TENSES)[uses]], -1), rng)
        placed = (chance(0.15) | (clauses.layouts == PLACE_FIRST)) & ~clauses.saying
        lots = np.where(placed, words.lot("place"), -1)
        places = self._phrases(lots, rng, people=False)
        towns = words.urn.draw(np.where(placed & chance(0.35), words.urn.names["town"], -1), rng)
        where = words.urn.draw(np.where(placed & (towns < 0), words.urn.names["place"], -1), rng)
        places = places._replace(nouns=np.where(towns < 0, places.nouns, -1), names=towns)
        adverbs = words.urn.draw(np.where(chance(0.18) & ~clauses.saying, words.urn.names["adverb"], -1), rng)
        fields = np.where(subjects.nouns >= 0, words.noun_fields[subjects.nouns], PERSON)
        predicates = words.urn.draw(np.where(copula, words.adjective_lots[fields], -1), rng)
        told = (subjects.nouns >= 0) & np.isin(clauses.layouts, (SUBJECT_FIRST, VERB_LAST)) & chance(0.12)
        chasing = words.urn.draw(np.where(told, words.chasing[fields], -1), rng)
        chased = self._phrases(np.where(chasing >= 0, words.object_lots[chasing], -1), rng, people=False)
        negated &= ~((adverbs >= 0) | (clauses.leads > 0))
        return Meaning(
            clauses.homes, clauses.layouts, clauses.leads, clauses.stops, verbs, uses, negated,
            subjects, datives, objects, places, where, times, adverbs, predicates, chasing, chased,
        )  # fmt: skip

    def _phrases(self, lots: Integers, rng: Rng, *, people: bool = True, pronouns: Mask | bool = True) -> Phrases:
        """Noun phrases from these lots of nouns, and names and pronouns for some of the persons."""
        words, count = self.words, len(lots)
        chance = _chance(rng, count)
        nouns = words.urn.draw(lots, rng)
        fields = np.where(nouns >= 0, words.noun_fields[nouns], -1)
        person = (fields == PERSON) & people
        names = words.urn.draw(np.where(person & chance(0.25), words.urn.names["name"], -1), rng)
        spared = person & (names < 0) & chance(0.35) & pronouns
        spoken = words.urn.draw(np.where(spared, words.urn.names["pronoun"], -1), rng)
        nouns = np.where((names < 0) & (spoken < 0), nouns, -1)
        many = (nouns >= 0) & chance(0.25)
        determiners = _shared(DETERMINER_SHARES, count, rng)
        counted = many & (determiners == A) & chance(0.5)
        numbers = words.urn.draw(np.where(counted, words.urn.names["number"], -1), rng)
        owned = (nouns >= 0) & (determiners == THE) & (fields != PERSON) & chance(0.06)
        owners = words.urn.draw(np.where(owned, words.urn.names["name"], -1), rng)
        adjectives = words.urn.draw(np.where(chance(0.3) & (nouns >= 0), words.adjective_lots[fields], -1), rng)
        return Phrases(nouns, names, spoken, many.astype(np.int64), determiners, numbers, adjectives, owners)

    def _persons(self, phrases: Phrases) -> Integers:
        """I, he or they: as verbs bend."""
        found: Integers = np.where(
            phrases.pronouns >= 0, self.words.pronoun_persons[phrases.pronouns], 1 + phrases.many
        )
        return found

    # German

    def _german(self, meant: Meaning) -> Columns:
        words, verbs = self.words, meant.verbs
        last, cases = meant.layouts == VERB_LAST, np.full(len(verbs), DATIVE)
        objects, bare = meant.objects, words.prepositions[verbs] == 0
        indefinite = (objects.nouns >= 0) & (objects.determiners == A) & (objects.numbers < 0)
        without = meant.negated & indefinite & bare
        objects = objects._replace(determiners=np.where(without, NO, objects.determiners))
        columns = {"lead": words.leads[meant.leads], "stop": words.stops[meant.stops, 0]}
        columns |= self._german_phrases("subject", meant.subjects, np.full(len(verbs), NOMINATIVE))
        columns |= self._german_phrases("dative", meant.datives, np.full(len(verbs), DATIVE))
        columns |= self._german_phrases("object", objects, words.cases[verbs])
        columns |= self._german_phrases("place", meant.places, cases)
        towns, contracted = _at(words.towns, meant.places.names), _at(words.contracted, meant.where)
        short = (columns["place.det"] == words.dem) & (contracted > 0)
        columns["place.prep"] = towns + np.where(short, contracted, _at(words.where, meant.where))
        columns["place.det"] = np.where(short, 0, columns["place.det"])
        columns["pronoun"] = np.where((objects.pronouns >= 0) & bare, columns["object.noun"], 0)
        columns["object.noun"] = np.where(columns["pronoun"] > 0, 0, columns["object.noun"])
        columns["time"], columns["adverb"] = _at(words.times, meant.times), _at(words.adverbs, meant.adverbs)
        said = meant.negated & ~without
        late = said & bare & (objects.nouns >= 0)
        columns["not"], columns["early"] = np.where(late, words.nicht, 0), np.where(said & ~late, words.nicht, 0)
        columns["prep"] = words.prepositions[verbs]
        columns["predicate"] = _at(words.adjectives[:, 0], meant.predicates)
        return columns | self._german_verb(meant, last) | self._german_which(meant)

    def _german_verb(self, meant: Meaning, last: Mask) -> Columns:
        """The finite verb or auxiliary, and what stands at the end."""
        words, verbs, uses = self.words, meant.verbs, meant.uses
        persons, past = self._persons(meant.subjects), (uses == PRETERITE).astype(np.int64)
        own = np.where(last, words.finite_last[verbs, past, persons], words.finite[verbs, past, persons])
        auxiliary = words.auxiliaries[uses, words.with_be[verbs].astype(np.int64), persons]
        finite, ends = np.where(auxiliary > 0, auxiliary, own), words.ends[verbs, words.use_ends[uses]]
        prefix = np.where((auxiliary == 0) & ~last, words.prefixes[verbs], 0)
        gladly = uses == len(USES) - 1
        return {
            "rest": words.rests[verbs],
            "gladly": np.where(gladly, ends, 0),
            "prefix": prefix,
            "nonfinite": np.where(gladly, 0, ends),
            "finite": np.where(last, 0, finite),
            "final": np.where(last, finite, 0),
        }

    def _german_which(self, meant: Meaning) -> Columns:
        """The relative clause of the subject."""
        words, there, many = self.words, meant.chasing >= 0, meant.subjects.many
        who = words.relative[np.where(many == 1, PLURAL, words.genders[meant.subjects.nouns])]
        phrases = self._german_phrases("which", meant.chased, np.full(len(there), ACCUSATIVE))
        comma = np.where(there, words.comma, 0)
        return phrases | {
            "which.comma": comma,
            "which.who": np.where(there, who, 0),
            "which.verb": np.where(there, words.finite[meant.chasing, 0, 1 + many], 0),
            "which.end": comma,
        }

    def _german_phrases(self, role: str, phrases: Phrases, cases: Integers) -> Columns:
        words, there = self.words, phrases.nouns >= 0
        genders = np.where(phrases.many == 1, PLURAL, words.genders[phrases.nouns])
        counted = phrases.numbers >= 0
        kinds = np.where(counted, NONE, phrases.determiners)
        kinds = np.where((kinds == A) & (phrases.many == 1), NONE, kinds)
        before = np.where(counted, words.numbers[phrases.numbers], words.determiners[kinds, genders, cases])
        bent = words.adjectives[phrases.adjectives, words.endings[kinds, genders, cases]]
        noun = np.where(there, words.noun_german[phrases.nouns, phrases.many, cases], 0)
        if role != "place":
            noun = np.where(phrases.names >= 0, words.names[phrases.names], noun)
        noun = np.where(phrases.pronouns >= 0, words.pronouns[phrases.pronouns, np.minimum(cases, DATIVE)], noun)
        return {
            f"{role}.det": np.where(there, before, 0),
            f"{role}.adj": np.where(there & (phrases.adjectives >= 0), bent, 0),
            f"{role}.noun": noun,
            f"{role}.of": _at(words.owners, phrases.owners),
        }

    # English

    def _english(self, meant: Meaning, rng: Rng) -> Columns:
        """One way of saying it."""
        words, verbs, count = self.words, meant.verbs, len(meant.verbs)
        one = _either(rng, count)
        turned = words.reversed[verbs]
        subjects, objects = (
            _chosen(turned, meant.datives, meant.subjects),
            _chosen(turned, meant.subjects, meant.objects),
        )
        datives = _without(meant.datives, turned)
        something = (objects.nouns >= 0) | (objects.names >= 0)
        given = (something & (one(0.5) == 1)) | ((datives.pronouns >= 0) & (objects.pronouns < 0))
        alone = ~something & (objects.pronouns < 0)
        below = (meant.stops == COMMA) & (meant.layouts != VERB_LAST)  # no comma before "because"
        stops = words.stops[np.where(below, BREATH, meant.stops), 1]
        columns = {"lead": words.english_leads[meant.leads, one()], "stop": stops}
        columns |= self._english_phrases("subject", subjects, one, 0)
        columns |= self._english_phrases("give", _without(datives, ~(given | alone)), one, 1)
        columns |= self._english_phrases("dative", _without(datives, given | alone), one, 1)
        columns |= self._english_phrases("object", objects, one, 1)
        columns |= self._english_phrases("place", meant.places, one, 1)
        towns = _at(words.english_towns, meant.places.names)
        columns["place.prep"] = towns + _at(words.english_where, meant.where, one())
        columns["to"] = np.where(columns["dative.noun"] > 0, words.to, 0)
        times = _at(words.english_times, meant.times, one())
        front = (meant.times >= 0) & (meant.leads == 0) & (one(0.75) == 1) & (meant.layouts == TIME_FIRST)
        columns["early"], columns["time"] = np.where(front, times, 0), np.where(front, 0, times)
        adverbs, manner = _at(words.english_adverbs, meant.adverbs, one()), words.manner[meant.adverbs]
        columns["adverb"], columns["manner"] = np.where(manner, 0, adverbs), np.where(manner, adverbs, 0)
        columns["predicate"] = _at(words.english_adjectives, meant.predicates, one())
        columns |= self._english_verb(meant, self._persons(subjects), alone, one)
        return columns | self._english_which(meant, one)

    def _english_verb(self, meant: Meaning, persons: Integers, alone: Mask, one: Either) -> Columns:
        words, verbs, uses, which = self.words, meant.verbs, meant.uses, one()
        asked = (meant.layouts == VERB_FIRST) & (meant.stops == ASK)
        being, variant = words.being[verbs, which].astype(np.int64), one()
        at = uses, variant, persons, meant.negated.astype(np.int64), asked.astype(np.int64), being, one()
        rest = words.english_rests[verbs, which]
        behind = words.particles[verbs, which] & ~alone & ((one() == 1) | (meant.objects.pronouns >= 0))
        fixed = words.idioms[verbs] | alone
        return {
            "before": words.before[at],
            "after": words.after[at],
            "verb": words.spoken[verbs, which, words.spoken_forms[at], persons],
            "particle": np.where(behind | fixed, 0, rest),
            "behind": np.where(behind, rest, 0),
            "rest": np.where(fixed, rest, 0),
        }

    def _english_which(self, meant: Meaning, one: Either) -> Columns:
        words, there, which = self.words, meant.chasing >= 0, one()
        phrases = self._english_phrases("which", meant.chased, one, 1)
        person = words.noun_fields[meant.subjects.nouns] == PERSON
        who = np.where(one() == 1, words.who[1], np.where(person, words.who[0], words.who[2]))
        verb = words.spoken[meant.chasing, which, FORMS.index("third"), 1 + meant.subjects.many]
        rest = words.english_rests[meant.chasing, which]
        return phrases | {
            "which.who": np.where(there, who, 0),
            "which.verb": np.where(there, verb, 0),
            "which.rest": np.where(there, rest, 0),
        }

    def _english_phrases(self, role: str, phrases: Phrases, one: Either, case: int) -> Columns:
        """The columns of noun phrases; case 0 is the subject, 1 the object."""
        words, there, many = self.words, phrases.nouns >= 0, phrases.many
        counted, owned = phrases.numbers >= 0, phrases.owners >= 0
        noun = np.where(there, words.noun_english[phrases.nouns, one(), many], 0)
        adjective = np.where(there, _at(words.english_adjectives, phrases.adjectives, one()), 0)
        before = words.english_determiners[phrases.determiners, many]
        before = np.where(counted, words.english_numbers[phrases.numbers, one()], before)
        before = np.where(owned, words.english_owners[phrases.owners], before)
        sounded = words.vowel[np.where(adjective > 0, adjective, noun)]
        before = np.where((before == words.english_determiners[A, 0]) & sounded, words.an, before)
        if role != "place":
            noun = np.where(phrases.names >= 0, words.english_names[phrases.names], noun)
        noun = np.where(phrases.pronouns >= 0, words.english_pronouns[phrases.pronouns, case], noun)
        return {f"{role}.det": np.where(there, before, 0), f"{role}.adj": adjective, f"{role}.noun": noun}


def _shared(shares: Sequence[float], count: int, rng: Rng) -> Integers:
    """`count` draws of 0, 1, ... by these shares."""
    ends = np.cumsum(shares) / np.sum(shares)
    return np.minimum(np.searchsorted(ends, rng.random(count), "right"), len(ends) - 1)


def _chance(rng: Rng, count: int) -> Callable[[float], Mask]:
    """What draws `count` flags that are set with a given chance."""

    def drawn(share: float) -> Mask:
        return rng.random(count) < share

    return drawn


def _either(rng: Rng, count: int) -> Either:
    """What chooses between two ways of saying something, `count` times."""

    def drawn(share: float = 0.3) -> Integers:
        return (rng.random(count) < share).astype(np.int64)

    return drawn


def _at(table: Integers, rows: Integers, *others: Integers) -> Integers:
    """The forms of these rows, 0 where the row is -1."""
    return np.where(rows >= 0, table[(rows, *others)], 0)


def _chosen(flags: Mask, one: Phrases, other: Phrases) -> Phrases:
    """One where flagged, the other elsewhere."""
    return Phrases(*(np.where(flags, mine, yours) for mine, yours in zip(one, other, strict=True)))


def _without(phrases: Phrases, gone: Mask) -> Phrases:
    """The phrases but those that are gone."""
    empty = np.full(len(gone), -1)
    return _chosen(gone, phrases._replace(nouns=empty, names=empty, pronouns=empty, owners=empty), phrases)
