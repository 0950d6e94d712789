"""The features and the words of derivations: their binary features as keys, their real-valued ones, and their texts.

Twin: decoder/_core/emit.pyx (and templates.pxd)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rampion.decoder._reference.templates import (
    USER,
    block_keys,
    join_keys,
    jump_of,
    leave_keys,
    move_keys,
    source_keys,
)
from rampion.decoder.search.states import Turn, turned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.features.dense import Distortion
    from rampion.decoder.features.templates import Extras
    from rampion.decoder.models.blocks import Blocks
    from rampion.decoder.models.options import Derivations, Options, Sentences

    from rampion.store.text import Texts

IDENTITY, BOUNDARY, START, RATES = 0, 1, 1, 2
BACK, FORE, PHRASES, WORDS, JUMP, JUMP_OUT, JUMP_IN, LM, LM_FIRST, LM_REST = 5, 8, *range(11, 19)
LEARNT, BEHIND, LEARNT_BACK, LEARNT_FORE = 19, 8, 23, 26  # BEHIND: how much farther back than among those of blocks
NO_ROOM = -1


class Step(NamedTuple):
    """A block of a derivation, and how it follows the one before."""

    option: int
    last: int
    last_end: int
    block: int
    start: int
    end: int
    turn: Turn
    between: int


def walk(options: Options, derivations: Derivations, d: int) -> Iterator[Step]:
    """The blocks of derivation d in target order; a bag of blocks, which is none, has moves too, that mean nothing."""
    last, last_start, last_end = BOUNDARY, 0, 0
    before: list[tuple[int, int]] = []
    for step in derivations.steps[derivations.step_bounds[d] : derivations.step_bounds[d + 1]].tolist():
        start, end, block = int(options.starts[step]), int(options.ends[step]), int(options.blocks[step])
        low, high = (last_end, start) if start >= last_end else (end, last_start)
        covered = sum(there - here for here, there in before if here >= low and there <= high)
        turn = turned(start, end, last_start, last_end, covered)
        yield Step(step, last, last_end, block, start, end, turn, high - low)
        last, last_start, last_end = block, start, end
        before.append((start, end))


def feature_keys(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    extras: Extras,
    mask: int,
    derivations: Derivations,
    done: int,
    bounds: NDArray[np.int64],
    keys: NDArray[np.uint64],
) -> int:
    """Write the keys of every derivation from `done` on, keys[bounds[d]:bounds[d + 1]]; return how many are done.

    All are, unless keys has no room. Block by block: H2 of the last one, P4, W2, P3, W3 across the join, W4, then what
    the block fires by itself, and P2, H1; H2 of the last block towards the end comes last.
    """
    words, sources, targets = sentences.words.tolist(), blocks.sources.tolist(), blocks.targets.tolist()
    heard, said = phrases(blocks.source_words, blocks.source_bounds), phrases(blocks.target_words, blocks.target_bounds)
    firsts, lasts, fired = extras.firsts.tolist(), extras.lasts.tolist(), extras.keys.tolist()
    for s, (first, end) in enumerate(pairwise(sentences.bounds.tolist())):
        for d in range(max(done, int(derivations.bounds[s])), int(derivations.bounds[s + 1])):
            found: list[int] = []
            last = step = None
            for step in walk(options, derivations, d):
                last, block, turn = step.last, step.block, step.turn
                p, q, t, u = sources[last], sources[block], targets[last], targets[block]
                before = START
                if last != BOUNDARY:
                    found += leave_keys(mask, last, turn.forward)
                    before = words[first + step.last_end - 1]
                jump = jump_of(turn.orientation, step.between)
                found += source_keys(mask, p, q, jump, before, words[first + step.start])
                found += join_keys(mask, t, u, said[t], said[u])
                found += block_keys(mask, block, u, heard[q], said[u])
                if mask >> USER & 1:
                    found += fired[firsts[block] : lasts[block]]
                found += move_keys(mask, block, turn.orientation, turn.backward)
            if step:
                found += leave_keys(mask, step.block, 0 if step.end == end - first else 2)
            if bounds[d] + len(found) > len(keys):
                return d
            bounds[d + 1] = bounds[d] + len(found)
            keys[bounds[d] : bounds[d + 1]] = found
            done = d + 1
    return done


def dense_values(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    jumps: Distortion,
    logs: NDArray[np.float64],
    derivations: Derivations,
    values: NDArray[np.float64],
) -> None:
    """Add up the values of every derivation, in target order: a row each, a column each of decoder.dense.DENSE.

    logs holds log p of every word and of </s>, derivation by derivation; without logs or jumps their columns stay 0.
    """
    words, columns, targets = sentences.words.tolist(), blocks.values.tolist(), blocks.targets.tolist()
    sizes = [len(phrase) for phrase in phrases(blocks.target_words, blocks.target_bounds)]
    rates = options.rates.tolist()
    learnt = blocks.values.shape[1] > LEARNT - BEHIND
    out, into, given = jumps.out.tolist(), jumps.into.tolist(), iter(logs.tolist())
    for s, (first, end) in enumerate(pairwise(sentences.bounds.tolist())):
        for d in range(int(derivations.bounds[s]), int(derivations.bounds[s + 1])):
            row = [0.0] * (LEARNT_FORE + 3)
            step = None
            for step in walk(options, derivations, d):
                back, fore = BACK + step.turn.backward, FORE + step.turn.forward
                for column in range(RATES):
                    row[column] += rates[step.option][column] if rates else columns[step.block][column]
                for column in (*range(RATES, BACK), back):
                    row[column] += columns[step.block][column]
                row[fore] += columns[step.last][fore]
                if learnt:
                    for column in (*range(LEARNT, LEARNT_BACK), LEARNT_BACK + step.turn.backward):
                        row[column] += columns[step.block][column - BEHIND]
                    column = LEARNT_FORE + step.turn.forward
                    row[column] += columns[step.last][column - BEHIND]
                row[PHRASES] += 1.0
                jump = step.start - step.last_end
                row[JUMP] -= abs(jump)
                if out:
                    reach = len(out[0]) // 2
                    place = min(max(jump, -reach), reach) + reach
                    before = START if step.last == BOUNDARY else words[first + step.last_end - 1]
                    row[JUMP_OUT] += out[before][place]
                    row[JUMP_IN] += into[words[first + step.start]][place]
                for i in range(sizes[targets[step.block]]):
                    row[WORDS] += 1.0
                    if len(logs):
                        row[LM] += (log := next(given))
                        row[LM_REST if i else LM_FIRST] += log
            if step:
                fore = FORE + (0 if step.end == end - first else 2)
                row[fore] += columns[step.block][fore]
                if learnt:
                    column = fore + LEARNT_FORE - FORE
                    row[column] += columns[step.block][column - BEHIND]
            if len(logs):
                row[LM] += (log := next(given))
                row[LM_REST] += log
            values[d] = row


def surface_texts(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    words: Texts,
    tokens: Texts,
    derivations: Derivations,
    done: int,
    bounds: NDArray[np.int64],
    blob: NDArray[np.uint8],
) -> int:
    """Write the words of every derivation from `done` on, blob[bounds[d]:bounds[d + 1]]; return how many are done.

    All are, unless blob has no room. An identity block stands for its source token, others for their target words.
    """
    said, targets = phrases(blocks.target_words, blocks.target_bounds), blocks.targets.tolist()
    for s, first in enumerate(sentences.bounds.tolist()[:-1]):
        for d in range(max(done, int(derivations.bounds[s])), int(derivations.bounds[s + 1])):
            pieces: list[bytes] = []
            for step in derivations.steps[derivations.step_bounds[d] : derivations.step_bounds[d + 1]].tolist():
                if options.blocks[step] == IDENTITY:
                    pieces.append(tokens.raw(first + int(options.starts[step])))
                else:
                    pieces += [words.raw(word) for word in said[targets[options.blocks[step]]]]
            text = b" ".join(pieces)
            if bounds[d] + len(text) + bool(pieces) > len(blob):
                return d
            bounds[d + 1] = bounds[d] + len(text)
            blob[bounds[d] : bounds[d + 1]] = list(text)
            done = d + 1
    return done


def phrases(words: NDArray[np.uint32], bounds: NDArray[np.int64]) -> list[list[int]]:
    """The words of every phrase."""
    whole = words.tolist()
    return [whole[start:end] for start, end in pairwise(bounds.tolist())]
