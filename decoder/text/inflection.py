"""How German and English words bend, and what `german.txt` says of them; it holds what no rule gives.

German words bend by case, number, person and tense; English ones by number, person and tense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

SYNONYMS, PERSONS = 2, 3  # English words of a German one, at most; I, he, they
NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
GENDERS = "mfn"  # and the plural after them
ENDINGS = ("", "e", "en", "er", "es", "em")  # of adjectives
BE = ("bin", "ist", "sind")
FORMS = ("", "base", "third", "past", "be")  # of English verbs; `third` is of the person that there is

Bent = list[list[str]]


class Noun(NamedTuple):
    """A noun: German forms by number and case, English ones by synonym and number."""

    gender: int
    german: Bent
    english: Bent

    def after(self, part: str, english: str) -> Noun:
        """The compound of a part and this noun."""
        return Noun(
            self.gender,
            [[part + form.lower() for form in row] for row in self.german],
            [[f"{english} {form}" for form in row] for row in self.english],
        )


class Adjective(NamedTuple):
    """An adjective: German forms by ENDINGS, English words, and the fields of nouns that it goes with."""

    german: list[str]
    english: list[str]
    fields: set[str]


class Frame(NamedTuple):
    """What a verb goes with: fields of its subject, its dative and its other object, and what introduces that."""

    subject: str
    dative: str
    object: str
    preposition: str
    case: int
    reversed: bool  # the German dative is the English subject


class Verb(NamedTuple):
    """A German verb and the English ones that translate it."""

    rest: str  # of an idiom
    prefix: str
    finite: tuple[tuple[str, ...], tuple[str, ...]]  # present and preterite, by person
    ends: tuple[str, str, str]  # participle, infinitive with their prefix, gern
    be: bool  # the perfect is made with sein
    english: tuple[tuple[str, str, str, str], ...]  # base, third person, past, rest
    frame: Frame


@cache
def entries(kind: str) -> tuple[str, ...]:
    """What german.txt says of this kind of words."""
    text = re.sub(r"(?m)^#.*$", "", files("rampion.decoder.text").joinpath("german.txt").read_text("utf-8"))
    for section in text.split("[")[1:]:
        head, _, body = section.partition("]")
        if head == kind:
            return tuple(" ".join(entry.split()) for entry in body.split(";") if entry.strip())
    raise KeyError(kind)


def fields() -> tuple[str, ...]:
    """The fields of nouns, in the order of the file."""
    text = files("rampion.decoder.text").joinpath("german.txt").read_text("utf-8")
    return tuple(re.findall(r"(?m)^\[noun (\w+)\]$", text))


def sides(entry: str) -> tuple[str, tuple[str, ...]]:
    """The German and the English words of an entry, without the mark at its end; names may be the same."""
    german, _, english = entry.rstrip("<>$ ").partition(" = ")
    return german, tuple((english or german).split("/"))


def either(words: Sequence[str]) -> list[str]:
    """As many words as there may be synonyms."""
    return [words[place % len(words)] for place in range(SYNONYMS)]


def plural(word: str) -> str:
    """The regular English plural."""
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|ch|sh)$", word) else "s")


def noun(entry: str) -> Noun:
    """A noun from its entry."""
    german, english = sides(entry)
    word, gender, many = german.split()
    one = [word, many, many] if gender == "w" else [word, word, word]
    dative = many if many[-1] in "ns" else many + "n"
    forms = [re.fullmatch(r"([^()]+)(?:\((.+)\))?", text) for text in english]
    spoken = [[found[1], found[2] or plural(found[1])] for found in forms if found]
    place = GENDERS.index("m" if gender == "w" else gender)
    return Noun(place, [one, [many, many, dative]], (spoken * 2)[:SYNONYMS])


def adjective(entry: str) -> Adjective:
    """An adjective from its entry."""
    german, _, rest = entry.partition(" = ")
    english, _, where = rest.partition(": ")
    found = re.fullmatch(r"(\w+)(?:\((\w+)\))?", german)
    if not found:
        raise ValueError(entry)
    stem = (found[2] or found[1]).removesuffix("e")
    bent = [found[1], *(stem + ending for ending in ENDINGS[1:])]
    return Adjective(bent, either(english.split("/")), set(where.split(",")))


def verbs(kind: str) -> Iterator[Verb]:
    """The verbs of a kind: verb, idiom or saying."""
    for entry in entries(kind):
        head, _, frame = entry.partition(": ")
        yield verb(head, frame)


def verb(head: str, frame: str) -> Verb:
    """A verb from its words and what it goes with."""
    german, _, english = head.partition(" = ")
    found = re.fullmatch(r"(?:(.*) )?(?:(\w+)\|)?(\w+)(?:\((\w+),(\w+),(\w+)( s)?\))?", german)
    if not found:
        raise ValueError(head)
    rest, prefix, infinitive, third, past, participle, be = (part or "" for part in found.groups())
    stem = infinitive.removesuffix("n").removesuffix("e")
    first = stem[:-2] + "le" if stem.endswith("el") else stem + "e"
    third, past, participle = third or stem + "t", past or stem + "te", participle or f"ge{stem}t"
    if infinitive == "wissen":
        first = third
    present = BE if infinitive == "sein" else (first, third, infinitive)
    preterite = (past, past, past + ("n" if past.endswith("e") else "en"))
    spoken = tuple(map(conjugated, english.split("/")))
    ends = (prefix + participle, prefix + infinitive, "gern")
    return Verb(rest, prefix, (present, preterite), ends, bool(be), spoken, framed(frame))


def framed(text: str) -> Frame:
    """What a verb goes with, from what german.txt says."""
    subject, _, others = text.partition(": ")
    found = Frame(subject, "", "", "", ACCUSATIVE, False)
    for mark, where in re.findall(r"(\S+) (\S+)", others):
        if mark in "dr":
            found = found._replace(dative=where, reversed=mark == "r")
        else:
            preposition, _, case = mark.rpartition("+")
            of = DATIVE if case == "d" else ACCUSATIVE
            found = found._replace(object=where, preposition=preposition, case=of)
    return found


def conjugated(text: str) -> tuple[str, str, str, str]:
    """Base, third person, past and rest of an English verb."""
    found = re.fullmatch(r"(\w+)(?:\((\w+),\w+\))?(?:\+(.*))?", text)
    if not found:
        raise ValueError(text)
    base, past, rest = found[1], found[2], found[3] or ""
    third = {"have": "has", "be": "is", "go": "goes"}.get(base, plural(base))
    if not past:
        past = regular_past(base)
    return base, third, past, rest


def regular_past(base: str) -> str:
    """The regular past of an English verb."""
    if base.endswith("e"):
        return base + "d"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    doubled = base[-1] if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnprt]", base) else ""
    return base + doubled + "ed"


def said(use: str, person: int, negated: bool, question: bool, be: bool) -> tuple[str, str, str]:
    """The English words before the subject, those after it, and the form of the verb that follows.

    A use is the words before the form of the verb, and that form: "have to base". The first word bends: "be" by
    itself; "have", "want", "like" and bare verbs with "do" in questions and negations; all others not at all.
    """
    *before, form = use.split()
    first = before[0] if before else "be" if be else ""
    if first == "be":
        one = ("was", "was", "were") if form == "past" else ("am", "is", "are")
        before, form = [one[person], *before[1:]], form if before else ""
    elif first in ("have", "had", "want", "wanted", "like", ""):
        before, form = _with_do(before, form, person, negated or question)
    if be and len(use.split()) > 1:
        form = "be"
    if negated:
        before = [before[0], "not", *before[1:]]
    return (before[0], " ".join(before[1:]), form) if question else ("", " ".join(before), form)


def _with_do(before: list[str], form: str, person: int, do: bool) -> tuple[list[str], str]:
    """The words and the form where "do" comes in if it must."""
    base = {"had": "have", "wanted": "want"}.get(before[0], before[0]) if before else ""
    past = form == "past" or (bool(before) and base != before[0])
    if do:
        helper = "did" if past else "does" if person == 1 else "do"
        return [helper, *([base, *before[1:]] if before else [])], "base"
    if before and person == 1 and not past:
        before = [{"have": "has"}.get(base, base + "s"), *before[1:]]
    return before, form
