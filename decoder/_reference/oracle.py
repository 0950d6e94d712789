"""The block sequences of highest BLEU (S10.4): a beam over the states of search/states.py, a stack per words covered.

Twin: decoder/_core/oracle.pyx (and automaton.pxd)
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rampion.decoder.models.blocks import Blocks
    from rampion.decoder.models.options import Options, Sentences
    from rampion.decoder.search.oracle import Found, Limits, Truth, Work

ORDER, IDENTITY, NO_GAP = 4, 0, -1
CLIPPED, UNCLIPPED, PLUS_ONE, NO_PENALTY = range(4)

Words = tuple[int, ...]


class Hypothesis(NamedTuple):
    """The first four fields are its state; `bits` says which n-grams it has used up."""

    free: int
    gap: int
    start: int
    end: int
    context: int
    length: int
    bits: int
    matches: Words
    suffix: Words


ROOT = Hypothesis(0, NO_GAP, 0, 0, 0, 0, 0, (0,) * ORDER, ())


def oracle(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    truth: Truth,
    limits: Limits,
    first: int,
    last: int,
    work: Work,
    found: Found,
) -> int:
    """Find the sequences of highest BLEU of the sentences from first to last - 1; how many words were appended."""
    sentence_bounds, spans, longest = sentences.bounds.tolist(), options.spans.tolist(), options.longest
    starts, said_blocks = options.starts.tolist(), options.blocks.tolist()
    targets, target_words, target_bounds = blocks.targets.tolist(), blocks.target_words.tolist(), blocks.target_bounds
    words, bounds, segments = truth.words.tolist(), truth.bounds.tolist(), truth.segments.tolist()
    surfaces = truth.surfaces.tolist()
    done = said = 0
    found.step_bounds[0] = 0
    for s in range(first, last):
        begin, length = sentence_bounds[s], sentence_bounds[s + 1] - sentence_bounds[s]
        references = [tuple(words[bounds[r] : bounds[r + 1]]) for r in range(segments[s], segments[s + 1])]
        grams = numbered(references)
        stacks: list[list[tuple[float, Hypothesis, Any, int]]] = [[] for _ in range(length + 1)]
        stacks[0].append((0.0, ROOT, None, -1))
        lengths = [len(reference) for reference in references]
        for k in range(length):
            stacks[k] = kept = settled(stacks[k], limits)
            for _, hypothesis, pasts, _ in kept:
                for start, end in ways(hypothesis, begin, length, spans, longest, limits):
                    cell = (begin + start) * longest + end - start - 1
                    covered = k + end - start
                    for option in range(spans[cell], spans[cell + 1]):
                        block = said_blocks[option]
                        if block == IDENTITY:
                            phrase = surfaces[begin + starts[option] : begin + starts[option] + 1]
                        else:
                            target = targets[block]
                            phrase = target_words[target_bounds[target] : target_bounds[target + 1]]
                        new = said_after(hypothesis, phrase, grams, start, end)
                        said += len(phrase)
                        key = scale(lengths, covered / length, new.length, limits.brevity)
                        one, two, three, four = map(float, new.matches)
                        key *= one * (two + 1.0) * (three + 1.0) * (four + 1.0)
                        stacks[covered].append((key, new, pasts, option))
        n = 0
        for _, hypothesis, pasts, _ in settled(stacks[length], limits):
            for steps in pasts[: limits.best - n]:
                at = int(found.step_bounds[done])
                found.step_bounds[done + 1] = at + len(steps)
                found.steps[at : at + len(steps)] = steps
                c = hypothesis.length
                totals = [max(c - i, 0) for i in range(ORDER)]
                found.statistics[done] = [c, nearest(lengths, 1.0, c), *hypothesis.matches, *totals]
                done += 1
                n += 1
        found.bounds[s - first + 1] = done
    return said


def numbered(references: list[Words]) -> dict[Words, tuple[int, int, int]]:
    """The number of each n-gram, order by order as they appear, its first bit, and how often a reference holds it."""
    limits: dict[Words, int] = {}
    for n in range(1, ORDER + 1):
        for reference in references:
            for gram, count in Counter(reference[i : i + n] for i in range(len(reference) - n + 1)).items():
                limits[gram] = max(limits.get(gram, 0), count)
    grams: dict[Words, tuple[int, int, int]] = {(): (0, 0, 0)}
    bit = 0
    for number, (gram, limit) in enumerate(limits.items(), 1):
        grams[gram] = (number, bit, limit)
        bit += limit
    return grams


def said_after(
    old: Hypothesis, phrase: list[int], grams: dict[Words, tuple[int, int, int]], start: int, end: int
) -> Hypothesis:
    """The hypothesis once a block over [start, end) has said the phrase."""
    suffix, bits, matches = old.suffix, old.bits, list(old.matches)
    for word in phrase:
        suffix = (*suffix, word)
        while suffix not in grams:
            suffix = suffix[1:]
        for i in range(len(suffix)):
            _, bit, limit = grams[suffix[i:]]
            used = (bits >> bit & (1 << limit) - 1).bit_length()
            if used < limit:
                bits |= 1 << bit + used
                matches[len(suffix) - i - 1] += 1
        suffix = suffix[-(ORDER - 1) :]
    gap = old.free if old.gap == NO_GAP and start > old.free else NO_GAP
    state = (max(old.free, end), gap, start, end)
    return Hypothesis(*state, grams[suffix][0], old.length + len(phrase), bits, tuple(matches), suffix)


def ways(
    hypothesis: Hypothesis, begin: int, length: int, spans: list[int], longest: int, limits: Limits
) -> list[tuple[int, int]]:
    """The spans of the next block; a gap opens only where one phrase can fill it."""
    free = hypothesis.free
    if hypothesis.gap != NO_GAP:
        return [(hypothesis.gap, hypothesis.start)]
    reach = limits.reach if hypothesis.end == free or limits.adjacent else 0
    places = []
    for start in range(free, min(free + min(reach, longest) + 1, length)):
        cell = (begin + free) * longest + start - free - 1
        if start == free or spans[cell] < spans[cell + 1]:
            places += [(start, end) for end in range(start + 1, min(start + longest, length) + 1)]
    return places


def settled(
    stack: list[tuple[float, Hypothesis, Any, int]], limits: Limits
) -> list[tuple[float, Hypothesis, list[Words], int]]:
    """The `beam` best hypotheses, those with one future joined; each with its `best` oldest sequences of options.

    Of equally good ones those in source order come first.
    """
    stack.sort(key=lambda entry: (-entry[0], entry[1].gap, entry[1].free, -entry[1].end, entry[1]))
    kept: list[tuple[float, Hypothesis, list[Words], int]] = []
    for _, group in groupby(stack, key=lambda entry: (entry[0], entry[1])):
        if len(kept) == limits.beam:
            break
        entries = list(group)[: limits.best]
        sequences = [
            sequence
            for _, _, pasts, option in entries
            for sequence in ([()] if pasts is None else [(*past, option) for past in pasts])
        ]
        kept.append((entries[0][0], entries[0][1], sequences[: limits.best], -1))
    return kept


def nearest(lengths: list[int], share: float, length: int) -> float:
    """Of the reference lengths times `share` the closest, of two equally close the shorter."""
    return min((one * share for one in lengths), key=lambda one: (abs(one - length), one))


def scale(lengths: list[int], share: float, length: int, brevity: int) -> float:
    """What the fourth power of BLEU+1 is beside its matches: brevity penalty over n-grams said."""
    if length == 0:
        return 0.0
    excess, said = 0.0, float(length)
    if brevity != NO_PENALTY:
        excess = 1.0 - (nearest(lengths, share, length) + (brevity == PLUS_ONE)) / length
        if brevity != UNCLIPPED:
            excess = min(excess, 0.0)
    for n in range(1, ORDER):
        said *= max(length - n, 0) + 1
    return math.exp(4.0 * excess) / said
