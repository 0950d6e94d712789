"""From texts to token ids, split exactly as by sacrebleu and str.split(), and the n-grams that two sides share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import ends
from rampion.errors import InputError
from rampion.store.names import Names
from rampion.store.text import References, Texts

Tokeniser = Literal["none", "13a", "intl", "char", "zh"]  # those of sacrebleu that need no download

# All white space of str.split() but the blank, in UTF-8; texts without a byte that begins one are the rule.
_WHITE = re.compile(
    rb"[\t-\r\x1c-\x1f]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2(?:\x80[\x80-\x8a\xa8\xa9\xaf]|\x81\x9f)|\xe3\x80\x80"
)
_HARMLESS = bytes(set(range(256)) - {*range(0x09, 0x0E), *range(0x1C, 0x20), 0xC2, 0xE1, 0xE2, 0xE3})


class Tokens(NamedTuple):
    """Text i is ids[bounds[i]:bounds[i + 1]]; segment s has the texts segments[s]:segments[s + 1]."""

    ids: NDArray[np.uint32]
    bounds: NDArray[np.int64]
    segments: NDArray[np.int64]


def words(names: Names, texts: Texts, segments: NDArray[np.int64]) -> Tokens:
    """The words of str.split(), as ids of `names`."""
    return Tokens(*names.tokens(_blanks(texts)), segments)


def characters(texts: Texts, segments: NDArray[np.int64]) -> Tokens:
    """The code points of every text, without its white space."""
    blank = _blanks(texts)
    kept = blank.blob != ord(" ")
    starts = ends(kept & (blank.blob & 0xC0 != 0x80))  # 10xxxxxx continues a code point
    ids = np.frombuffer(blank.blob[kept].tobytes().decode().encode("utf-32-le"), "<u4")
    return Tokens(ids.astype(np.uint32), starts[blank.bounds], segments)


def _blanks(texts: Texts) -> Texts:
    """The texts with every white space replaced by as many blanks as it has bytes."""
    whole = Texts.join([texts])
    raw = whole.blob.tobytes()
    if not raw.translate(None, _HARMLESS):
        return whole
    return Texts(np.frombuffer(_WHITE.sub(lambda white: b" " * len(white[0]), raw), np.uint8), whole.bounds)


def mapped(function: Callable[[str], str], texts: Texts) -> Texts:
    """function(text) for every text, computed once for each distinct one."""
    strings = list(texts)
    results = {string: function(string) for string in dict.fromkeys(strings)}
    return Texts.from_strings(results[string] for string in strings)


def tokenised(texts: Texts, tokeniser: Tokeniser, lowercase: bool) -> Texts:
    """The texts as sacrebleu's tokeniser of that name leaves them."""
    if tokeniser == "none" and not lowercase:
        return texts
    from sacrebleu.metrics.bleu import BLEU

    tokenise = BLEU(tokenize=tokeniser).tokenizer
    return mapped(lambda text: tokenise((text.lower() if lowercase else text).rstrip()), texts)


_LOOSE = re.compile(r"(?<!\S)[.,!?;:](?!\S)")
_TIGHT = re.compile(r"(?<=\w)[.,!?;:](?!\S)")
_HAN, _KANA = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"), re.compile("[\u3040-\u30ff]")
WATCHED, MARKS = 2000, 10  # texts that are examined, and the least number of marks for a decision


def punctuation(text: str) -> tuple[int, int]:
    """How many punctuation marks stand alone, and how many at the end of a word."""
    return len(_LOOSE.findall(text)), len(_TIGHT.findall(text))


def fitting(texts: Texts) -> Tokeniser:
    """The tokeniser that texts need: "none" if they are tokenised, or if it is unclear.

    Examples
    --------
    >>> from rampion.metrics.tokens import fitting
    >>> fitting(rampion.Texts.from_strings(["It rains, he said."] * 9))
    '13a'
    >>> fitting(rampion.Texts.from_strings(["It rains , he said ."] * 9))
    'none'
    """
    text = "\n".join(texts.part(0, min(len(texts), WATCHED)))
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if han + kana >= MARKS and 5 * (han + kana) > len(text):
        joined = len(text) > 4 * len(text.split())  # words of Chinese and Japanese are short
        return "none" if not joined else "char" if 10 * kana > han else "zh"
    loose, tight = punctuation(text)
    return "13a" if tight >= MARKS and tight > 4 * loose else "none"


def matches(candidates: Tokens, references: Tokens, order: int) -> NDArray[np.int64]:
    """Clipped matches of every candidate with its references, one column for each n-gram order."""
    found = np.empty((len(candidates.bounds) - 1, order), np.int64)
    _kernels.ngrams(candidates, references, empty_table(references, order), found)
    return found


def empty_table(references: Tokens, order: int) -> NDArray[np.int64]:
    """A table for the n-grams of the segment with the longest references, at most a quarter full."""
    longest = int(np.diff(references.bounds[references.segments]).max(initial=0))
    return np.empty((3, 1 << (4 * order * longest + 1).bit_length()), np.int64)


def totals(tokens: Tokens, order: int) -> NDArray[np.int64]:
    """How many n-grams every text has, one column for each order."""
    return np.maximum(np.diff(tokens.bounds)[:, np.newaxis] - np.arange(order), 0)


def check(bounds: NDArray[np.int64], references: References) -> None:
    """Raise unless every segment of the candidates has its references."""
    if len(bounds) - 1 != len(references):
        raise InputError(
            f"{len(bounds) - 1} segments of candidates but {len(references)} of references; "
            "give one line of references for every segment, in the same order"
        )
    empty = np.flatnonzero(np.diff(references.bounds) == 0)
    if len(empty):
        raise InputError(f"segment {empty[0]} (counted from 0) has no reference; give it one or leave the segment out")


def check_lengths(lengths: NDArray[np.int64], who: str, most: int, metric: str, reason: str) -> None:
    """Raise InputError if a text has more tokens than a metric allows whose time grows at least with their square."""
    for i in np.flatnonzero(lengths > most)[:1].tolist():
        raise InputError(f"{who} {i} (counted from 0) has {lengths[i]:,} words; {metric} takes {most:,}: {reason}")


def rounds(references: References) -> Iterator[NDArray[np.int64]]:
    """Round k gives every segment the row of its k-th reference, or of its last."""
    counts = np.diff(references.bounds)
    for k in range(int(counts.max(initial=0))):
        yield references.bounds[:-1] + np.minimum(k, counts - 1)


def reference_count(references: References) -> int:
    """The number of references of every segment, or -1 (sacrebleu's "var") if it varies."""
    counts = set(np.diff(references.bounds).tolist())
    return counts.pop() if len(counts) == 1 else -1
