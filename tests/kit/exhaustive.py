"""V(S), all of it, from the words of S10.1 and in its own terms: spans [l, r] counted from 1, both ends included.

Nothing here knows of search/states.py. Sequences grow by any block that covers words not yet covered and stands in one
of the three orientations; which of them fill their gaps is judged when they are complete. Within a limit they grow by
any block that keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product

import numpy as np
from rampion.decoder.models.options import Options, Sentences
from rampion.decoder.search.states import LEFT, NEUTRAL, RIGHT, Reordering

Span = tuple[int, int]
BOUNDARY = (0, 0)


def orientation(span: Span, before: Span) -> int | None:
    """R, L or N of a block over `span` whose predecessor covers `before`; None is forbidden."""
    left, right = span
    if left == before[1] + 1:
        return RIGHT
    if right == before[0] - 1:
        return LEFT
    return NEUTRAL if left > before[1] + 1 else None


def fills_its_gaps(spans: Sequence[Span], reordering: Reordering) -> bool:
    """Whether the gap of every N is one block of the sequence: the next one (opening) or the last but one (closing).

    With adjacent swaps it may be both, one after the other. An opening gap has at most `reach` words.
    """
    placed = [BOUNDARY, *spans]
    for i in range(1, len(placed)):
        if orientation(placed[i], placed[i - 1]) != NEUTRAL:
            continue
        gap = (placed[i - 1][1] + 1, placed[i][0] - 1)
        partner = placed[i - 2] if i > 1 else None
        filler = placed[i + 1] if i + 1 < len(placed) else None
        if gap == partner:
            continue
        if reordering.adjacent_swaps and partner and partner[0] == gap[0]:
            gap = (partner[1] + 1, gap[1])
        if gap != filler or gap[1] - gap[0] + 1 > reordering.reach:
            return False
    return True


def keeps_its_limit(span: Span, before: Span, covered: frozenset[int], limit: int) -> bool:
    """Whether a block is near enough to the one before it, and leaves the first open word near enough to go back to."""
    free = next(word for word in count(1) if word not in covered)
    return abs(span[0] - before[1] - 1) <= limit and (span[0] == free or abs(free - span[1] - 1) <= limit)


def sequences(length: int, spans: Sequence[Span], reordering: Reordering) -> Iterator[tuple[Span, ...]]:
    """Every order of spans that covers each word from 1 to `length` once, as S10.1 allows."""

    def grow(taken: tuple[Span, ...], covered: frozenset[int]) -> Iterator[tuple[Span, ...]]:
        if len(covered) == length:
            yield taken
            return
        for span in spans:
            words = frozenset(range(span[0], span[1] + 1))
            before = taken[-1] if taken else BOUNDARY
            if words & covered:
                continue
            if reordering.limit and not keeps_its_limit(span, before, covered, reordering.limit):
                continue
            if reordering.limit or orientation(span, before) is not None:
                yield from grow((*taken, span), covered | words)

    if reordering.limit:
        return grow((), frozenset())
    return (found for found in grow((), frozenset()) if fills_its_gaps(found, reordering))


def space(
    sentences: Sentences, options: Options, s: int, reordering: Reordering
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every derivation of sentence s: option ids in target order, and their orientations."""
    first, end = int(sentences.bounds[s]), int(sentences.bounds[s + 1])
    said: dict[Span, range] = {}
    for start in range(first, end):
        for words in range(1, min(options.longest, end - start) + 1):
            at = start * options.longest + words - 1
            found = range(int(options.spans[at]), int(options.spans[at + 1]))
            if found:
                said[start - first + 1, start - first + words] = found
    for spans in sequences(end - first, list(said), reordering):
        placed = [BOUNDARY, *spans]
        found = (orientation(span, before) for span, before in zip(spans, placed, strict=False))
        turns = tuple(NEUTRAL if turn is None else turn for turn in found)
        for steps in product(*(said[span] for span in spans)):
            yield steps, turns


def options_of(lengths: Sequence[int], longest: int, said: Sequence[Mapping[Span, Sequence[int]]]) -> Options:
    """Options by hand: said[s][start, end] are the blocks of the words [start, end) of sentence s, counted from 0."""
    bounds, starts, ends, blocks = [0], [], [], []
    for length, spans in zip(lengths, said, strict=True):
        for start in range(length):
            for end in range(start + 1, start + longest + 1):
                found = spans.get((start, end), ())
                starts += [start] * len(found)
                ends += [end] * len(found)
                blocks += found
                bounds.append(len(blocks))
    places = (np.array(starts, np.int32), np.array(ends, np.int32))
    return Options(longest, np.array(bounds, np.int64), *places, np.array(blocks, np.uint32))
