"""Porter's stemmer for English (Porter 1980): rules that cut or replace the end of a word, in five steps.

A word is [C](VC)^m[V]: C and V are runs of consonants and vowels, and m is the measure of the word. Vowels are a, e, i,
o, u, and a y that follows a consonant. A rule asks for the measure of what is left when the ending is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

_RUNS = re.compile("v+c+")

# ending -> what replaces it, if the measure of the rest is 1 or more
_SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
# endings that are cut if the measure of the rest is 2 or more; ion only after s or t
_FOURTH = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip
_SHORT = 2  # a word of so few letters is left as it is, as Porter's own program does


@cache
def stem(word: str) -> str:
    """The stem of a lowercased English word.

    Examples
    --------
    >>> from rampion.metrics.stem import stem
    >>> [stem(word) for word in ("violated", "violate", "hopping", "relational", "happy")]
    ['violat', 'violat', 'hop', 'relat', 'happi']
    """
    if len(word) <= _SHORT:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _SECOND), _THIRD)
    return _last(_cut(word))


def _shape(word: str) -> str:
    """The letters as v (vowel) and c (consonant)."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(word: str) -> int:
    return len(_RUNS.findall(_shape(word)))


def _doubled(word: str) -> bool:
    """Whether it ends with the same consonant twice."""
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


def _short(word: str) -> bool:
    """Whether it ends like hop: consonant, vowel, consonant, the last one neither w, x nor y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _longest(word: str, endings: Iterable[str]) -> str | None:
    """The longest ending that the word has; only its rule is tried."""
    return max((ending for ending in endings if word.endswith(ending)), key=len, default=None)


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    """Step 1b: eed, ed and ing, and an ending that makes a word of what they leave."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    ending = _longest(word, ("ed", "ing"))
    if ending is None or "v" not in _shape(rest := word[: -len(ending)]):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _doubled(rest) and rest[-1] not in "lsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _short(rest) else rest


def _replaced(word: str, rules: dict[str, str]) -> str:
    """Steps 2 and 3."""
    ending = _longest(word, rules)
    if ending is None or not _measure(rest := word[: -len(ending)]):
        return word
    return rest + rules[ending]


def _cut(word: str) -> str:
    """Step 4."""
    ending = _longest(word, _FOURTH)
    if ending is None or _measure(rest := word[: -len(ending)]) < 2 or (ending == "ion" and rest[-1] not in "st"):
        return word
    return rest


def _last(word: str) -> str:
    """Step 5: a final e, and the second l of ll."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
