"""Consistent pairs of spans of word-aligned sentences, with their orientation, and what their occurrences add up to.

Twin: decoder/_core/extract.pyx
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.alignment.links import Alignment, Words
    from rampion.decoder.models.extract import Spans


def extract(
    source: Words,
    target: Words,
    alignment: Alignment,
    longest: int,
    loose: bool,
    done: int,
    corners: NDArray[np.uint8],
    reach: NDArray[np.int32],
    cores: NDArray[np.int32],
    spans: Spans,
    span_bounds: NDArray[np.int64],
) -> int:
    """Spans of the sentence pairs from number `done` on; return how many are done: all, unless spans are full.

    A pair of spans is consistent if it holds a link and no link leads out of it. Both have at most `longest` words;
    without `loose`, their outermost words have links. codes are 3 * backward + forward orientation (M, S, D).
    The work arrays are for the longest linked sentences of n and m words: (n + 1)(m + 1); 4 by the longer; n * longest
    by 4.
    """
    sources, targets, edges = source.bounds.tolist(), target.bounds.tolist(), alignment.bounds.tolist()
    links = list(zip(alignment.sources.tolist(), alignment.targets.tolist(), strict=True))
    room, columns = len(spans.codes), list[Any](spans)
    for pair in range(done, len(sources) - 1):
        n, m = sources[pair + 1] - sources[pair], targets[pair + 1] - targets[pair]
        if edges[pair] == edges[pair + 1]:
            span_bounds[pair + 1] = span_bounds[pair]
            continue
        found = _pair(links[edges[pair] : edges[pair + 1]], n, m, longest, loose)
        at = int(span_bounds[pair])
        for column, given in zip(columns, zip(*found[: room - at], strict=True), strict=False):
            column[at : at + len(given)] = given
        count = min(len(found), room - at)
        spans.source_starts[at : at + count] += sources[pair]
        spans.target_starts[at : at + count] += targets[pair]
        if at + len(found) >= room:
            return pair
        span_bounds[pair + 1] = at + len(found)
    return len(sources) - 1


def _pair(
    links: list[tuple[int, int]], n: int, m: int, longest: int, loose: bool
) -> list[tuple[int, int, int, int, int]]:
    """Start and size in the source, start and size in the target, and the code, of every block of a sentence pair."""
    forward: dict[int, set[int]] = {}
    backward: dict[int, set[int]] = {}
    for j, i in links:
        forward.setdefault(j, set()).add(i)
        backward.setdefault(i, set()).add(j)
    blocks = []
    for start in range(n):
        for end in range(start + 1, n + 1):
            inside = {i for j in range(start, end) for i in forward.get(j, ())}
            if not inside:
                continue
            low, high = min(inside), max(inside) + 1
            if all(start <= j < end for i in range(low, high) for j in backward.get(i, ())):
                blocks.append((start, end, low, high))
    begins = {(s, low) for s, _, low, _ in _grown(blocks, backward, m)} | {(n, m)}
    ends = {(e, high) for _, e, _, high in _grown(blocks, backward, m)} | {(0, 0)}
    begin_ends = {(s, high) for s, _, _, high in _grown(blocks, backward, m)}
    end_begins = {(e, low) for _, e, low, _ in _grown(blocks, backward, m)}
    found = []
    for start, end, low, high in blocks if loose else (b for b in blocks if b[0] in forward and b[1] - 1 in forward):
        grown = _grown([(start, end, low, high)], backward, m) if loose else [(start, end, low, high)]
        for s, e, b, f in grown:
            if e - s <= longest and f - b <= longest:
                back = 0 if (s, b) in ends else 1 if (e, b) in begin_ends else 2
                fore = 0 if (e, f) in begins else 1 if (s, f) in end_begins else 2
                found.append((s, e - s, b, f - b, 3 * back + fore))
    return found


def _grown(
    blocks: list[tuple[int, int, int, int]], backward: dict[int, set[int]], m: int
) -> list[tuple[int, int, int, int]]:
    """The blocks with any number of unaligned target words at their ends."""
    found = []
    for start, end, low, high in blocks:
        lows, highs = [low], [high]
        while lows[-1] > 0 and lows[-1] - 1 not in backward:
            lows.append(lows[-1] - 1)
        while highs[-1] < m and highs[-1] not in backward:
            highs.append(highs[-1] + 1)
        found += [(start, end, b, f) for b, f in product(lows, highs)]
    return found


def tally(
    spans: Spans,
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    source_weights: NDArray[np.float64],
    target_weights: NDArray[np.float64],
    firsts: NDArray[np.int64],
    followers: NDArray[np.uint32],
    turns: NDArray[np.uint32],
    lexical: NDArray[np.float64],
) -> None:
    """Add the orientations of all occurrences to those of their blocks; keep the greatest lexical weights.

    The targets of source phrase p are followers[firsts[p]:firsts[p + 1]], ascending. Other pairs are passed over.
    """
    edges, after = firsts.tolist(), followers.tolist()
    weights = source_weights.tolist(), target_weights.tolist()
    columns = (column.tolist() for column in spans)
    for source, target, s, n, t, m, code in zip(sources.tolist(), targets.tolist(), *columns, strict=False):
        block = bisect_left(after, target, edges[source], edges[source + 1])
        if block == edges[source + 1] or after[block] != target:
            continue
        turns[block, code // 3] += 1
        turns[block, 3 + code % 3] += 1
        for side, (start, size) in enumerate(((s, n), (t, m))):
            total = 0.0
            for weight in weights[side][start : start + size]:
                total += weight
            lexical[block, side] = max(float(lexical[block, side]), total)
