"""Keys of the feature templates of features/templates.py: each function lists those that the templates in mask fire.

Twin: decoder/_core/templates.pxd
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

P1, P2, P3, P4, P5, W1, W2, W3, W4, T1, T2, H1, H2 = range(13)
USER = 30


def of_words(template: int, a: int, b: int = 0, c: int = 0) -> int:
    return template + 1 << 59 | a << 38 | b << 19 | c


def of_phrases(template: int, a: int, b: int) -> int:
    return template + 1 << 59 | a << 29 | b


def of_block(template: int, block: int, code: int) -> int:
    return template + 1 << 59 | block << 8 | code


def jump_of(orientation: int, gap: int) -> int:
    """The bucket of a jump: R 0, L 1, N over a gap of 1, 2, 3 or 4, more words: 2, 3, 4, 5."""
    return orientation if orientation < 2 else 2 + (gap > 1) + (gap > 2) + (gap > 4)


def block_keys(mask: int, block: int, target: int, source_words: Sequence[int], said: Sequence[int]) -> list[int]:
    """P1, P5, W1, W3 inside, T1, T2: what a block fires wherever it stands; target is its target phrase."""
    keys = []
    if mask >> P1 & 1:
        keys.append(of_block(P1, block, 0))
    if mask >> P5 & 1:
        keys.append(of_phrases(P5, target, len(source_words)))
    if mask >> W1 & 1:
        keys += [of_words(W1, f, e) for f in source_words for e in said]
    if mask >> W3 & 1:
        for i in range(len(said)):
            grams = [said[i : i + m] for m in (1, 2, 3) if i + m <= len(said)]
            keys += [of_words(W3, *(e + 1 for e in gram)) for gram in grams]
    if mask >> T1 & 1:
        keys += [of_words(T1, f, *pair) for f in source_words for pair in combinations(said, 2)]
    if mask >> T2 & 1:
        keys += [of_words(T2, e, *pair) for e in said for pair in combinations(source_words, 2)]
    return keys


def move_keys(mask: int, block: int, orientation: int, backward: int) -> list[int]:
    """P2, H1: how a block comes to its place."""
    keys = ((P2, orientation), (H1, backward))
    return [of_block(template, block, code) for template, code in keys if mask >> template & 1]


def leave_keys(mask: int, block: int, forward: int) -> list[int]:
    """H2: where the next block lies, seen from this one."""
    return [of_block(H2, block, forward)] if mask >> H2 & 1 else []


def source_keys(mask: int, last_source: int, source: int, jump: int, last_word: int, first_word: int) -> list[int]:
    """P4, W2: the source phrases of the last and the new block, the jump between them and the words at its ends."""
    keys = []
    if mask >> P4 & 1:
        keys.append(of_phrases(P4, last_source, source))
    if mask >> W2 & 1:
        keys.append(of_words(W2, jump, last_word, first_word))
    return keys


def join_keys(mask: int, last_target: int, target: int, before: Sequence[int], said: Sequence[int]) -> list[int]:
    """P3, W3 across the join, W4: before and said are the words of the last target phrase and of the new one."""
    keys = []
    if mask >> P3 & 1:
        keys.append(of_phrases(P3, last_target, target))
    if mask >> W3 & 1:
        words = [e + 1 for e in (*before[-2:], *said[:2])]
        at = min(len(before), 2)
        spans = [(at - 1, at + 1), (at - 2, at + 1), (at - 1, at + 2)]
        keys += [of_words(W3, *words[i:j]) for i, j in spans if i >= 0 and j <= len(words)]
    if mask >> W4 & 1:
        keys.append(of_words(W4, before[-1], said[0]))
    return keys
