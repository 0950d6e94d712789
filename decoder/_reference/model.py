"""What blocks score by themselves.

Twin: decoder/_core/model.pyx
"""

from __future__ import annotations

from math import copysign
from typing import TYPE_CHECKING, Any

from rampion.decoder._reference import templates
from rampion.decoder.search.states import TURNS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

State = tuple[tuple[int, float], ...]
NO_WORD, START, LN10 = 0xFFFFFFFF, 1, 2.302585092994045684
LEARNT, AGAIN = 11, 10  # the first column that condensing adds; how far behind BackM, … ForeD these stand once more
MUST = (0, 1, 2, 0)  # by STEP, OPEN, FILL, CLOSE: where the next block must lie, seen from one that comes so


def weights_of(slots: Any) -> dict[int, float]:
    """Key to weight."""
    return dict(zip(slots["key"].tolist(), slots["weight"].tolist(), strict=True))


def summed(weights: dict[int, float], keys: list[int]) -> float:
    return summed_up([weights.get(key, 0.0) for key in keys])


def summed_up(values: list[float]) -> float:
    """Their sum from left to right: the built-in one may round more cleverly."""
    total = 0.0
    for value in values:
        total += value
    return total


class Fluency:
    """The language model of a model, asked word by word; a state is words, the last one first, and their backoffs."""

    def __init__(self, model: Any) -> None:
        table = model.lm
        self.past, self.first, self.rest = table.order - 1, model.lm_first, model.lm_rest
        self.unigrams, self.spoken = table.unigrams.tolist(), model.spoken.tolist()
        self.grams = {key: (slot, *rest) for slot, (key, *rest) in enumerate(table.grams.tolist()) if key}
        self.empty = ((NO_WORD, 0.0),) * self.past
        self.start = ((START, self.unigrams[START][1]), *self.empty[1:]) if self.past else ()

    def predict(self, word: int, state: State) -> tuple[float, State]:
        """Natural log p(word | state), and the state after the word."""
        prob, backoff = self.unigrams[word]
        after, length, known, parent = [(word, backoff)][: self.past], 0, 0, word
        if self.past and not (backoff == 0 and copysign(1, backoff) < 0):
            length = 1
        while known < self.past and state[known][0] != NO_WORD and copysign(1, prob) < 0:
            found = self.grams.get(parent + 1 << 32 | state[known][0])
            if found is None:
                break
            slot, prob, backoff = found
            parent = len(self.unigrams) + slot
            known += 1
            if known < self.past:
                after.append((state[known - 1][0], backoff))
                if not (backoff == 0 and copysign(1, backoff) < 0):
                    length = known + 1
        total = -abs(prob)
        for past, weight in state[known:]:
            if past == NO_WORD:
                break
            total += weight
        return total * LN10, (*after[:length], *self.empty[length:])

    def read(self, said: list[int], state: State) -> tuple[list[float], State]:
        """The weighted log-probabilities of the words of a block, and the state after them."""
        found = []
        for i, word in enumerate(said):
            log, state = self.predict(self.spoken[word], state)
            found.append((self.rest if i else self.first) * log)
        return found, state


def sift(slots: NDArray[np.void], sifter: NDArray[np.uint8]) -> None:
    """Set the bit of every key of the table; see sieve.pxd."""
    for key in slots["key"].tolist():
        if key:
            key = key * 0x9E3779B97F4A7C15 & (1 << 64) - 1
            key = (key ^ key >> 32) * 0xD6E8FEB86659FD93 & (1 << 64) - 1
            sifter[key * len(sifter) >> 64] |= 1 << (key & 7)


def assess(
    asked: NDArray[np.uint32], start: int, blocks: Any, model: Any, work: Any, local: NDArray[np.float64]
) -> int:
    """Fill local[b] for the blocks from `start` on that lack it; return how many are done: all, or room is short.

    local[b, k] is what block b brings when it comes by move k, whatever stands beside it: P1, P5, W1, W3, T1, T2
    inside, its columns, one block, its words, and the language model on them by themselves; P2, H1 and
    orientation by the move; H2 by the move that must follow. Columns of a condensed set count like what they sum up.

    A model with leaves does not know that move: local has the best one in it, leaves[b, t] what turn t lacks of it.
    """
    weights, columns, fluency = weights_of(model.slots), model.columns.tolist(), Fluency(model)
    learnt = len(columns) > LEARNT
    for b in asked[start:].tolist():
        if local[b, 0] == local[b, 0]:
            continue
        source, target = int(blocks.sources[b]), int(blocks.targets[b])
        heard = blocks.source_words[blocks.source_bounds[source] : blocks.source_bounds[source + 1]].tolist()
        said = blocks.target_words[blocks.target_bounds[target] : blocks.target_bounds[target + 1]].tolist()
        values = blocks.values[b].tolist()
        total = summed(weights, templates.block_keys(model.mask, b, target, heard, said))
        total += model.phrases + model.words * len(said)
        for column in (*range(5), *(range(LEARNT, LEARNT + 4) if learnt else ())):
            total += columns[column] * values[column]
        if fluency.spoken:
            logs, state = fluency.read(said, fluency.empty)
            total += summed_up(logs)
            model.heads[b] = summed_up(logs[: fluency.past])
            for k, (word, backoff) in enumerate(state, b * fluency.past):
                model.ends[k] = word, backoff
        came = [
            summed(weights, templates.move_keys(model.mask, b, orientation, backward))
            for orientation, backward in TURNS
        ]
        left = [summed(weights, templates.leave_keys(model.mask, b, turn)) for turn in range(3)]
        facts = came, left, columns, values, learnt
        if len(model.leaves):
            local[b], model.leaves[b] = by_turn(total, *facts)
        else:
            local[b] = by_move(total, *facts)
    return len(asked)


def by_move(
    total: float, came: list[float], left: list[float], columns: list[float], values: list[float], learnt: bool
) -> list[float]:
    """What a block brings by each kind of move, as it knows what must follow."""
    found = []
    for kind, must in enumerate(MUST):
        back, fore = 5 + TURNS[kind][1], 8 + must
        score = total + (came[kind] + left[must] + columns[back] * values[back] + columns[fore] * values[fore])
        if learnt:
            score += columns[back + AGAIN] * values[back + AGAIN] + columns[fore + AGAIN] * values[fore + AGAIN]
        found.append(score)
    return found


def by_turn(
    total: float, came: list[float], left: list[float], columns: list[float], values: list[float], learnt: bool
) -> tuple[list[float], list[float]]:
    """The same if it does not know: it brings the best that may follow, and leaves what others lack."""
    leaves, found = [], []
    for fore, score in enumerate(left, 8):
        score += columns[fore] * values[fore]
        leaves.append(score + columns[fore + AGAIN] * values[fore + AGAIN] if learnt else score)
    for kind, (_, backward) in enumerate(TURNS):
        back = 5 + backward
        score = total + (came[kind] + columns[back] * values[back] + max(leaves))
        found.append(score + columns[back + AGAIN] * values[back + AGAIN] if learnt else score)
    return found, [score - max(leaves) for score in leaves]
