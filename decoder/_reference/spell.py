"""Feature keys as readable names.

Twin: decoder/_core/spell.pyx (and spell.pxd)
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rampion.decoder._reference.templates import H1, H2, P1, P2, P3, P4, P5, T1, T2, USER, W1, W2, W3, W4

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.models.blocks import Blocks

    from rampion.store.text import Texts

TURNS, SWINGS, JUMPS, LENGTHS = slice(13, 16), slice(16, 19), slice(19, 25), slice(25, None)
WORD, PHRASE, BLOCK = (1 << 19) - 1, (1 << 29) - 1, (1 << 32) - 1
NO_ROOM, NO_NAME = -1, -3


def feature_names(
    keys: NDArray[np.uint64],
    blocks: Blocks,
    labels: Texts,
    sources: Texts,
    targets: Texts,
    users: Texts,
    done: int,
    bounds: NDArray[np.int64],
    blob: NDArray[np.uint8],
) -> int:
    """Write the name of every key from `done` on, blob[bounds[i]:bounds[i + 1]]; return how many are done.

    All are, unless blob has no room, or a key has no name: bounds[i + 1] is -3 then.
    """
    label, source, target, user = (
        [texts.raw(i) for i in range(len(texts))] for texts in (labels, sources, targets, users)
    )
    heard = _joined(blocks.source_words, blocks.source_bounds, source)
    said = _joined(blocks.target_words, blocks.target_bounds, target)

    def parts(key: int) -> list[bytes]:
        t = (key >> 59) - 1
        a, b, c, p, q = key >> 38 & WORD, key >> 19 & WORD, key & WORD, key >> 29 & PHRASE, key & PHRASE
        if t == USER:
            return [user[q]]
        if t in (P1, P2, H1, H2):
            block, code = key >> 8 & BLOCK, key & 0xFF
            phrases = [heard[blocks.sources[block]], said[blocks.targets[block]]]
            return [label[t], *phrases, *([] if t == P1 else [label[TURNS if t == P2 else SWINGS][code]])]
        if t in (P3, P5):
            return [label[t], said[p], said[q] if t == P3 else label[LENGTHS][q]]
        if t == P4:
            return [label[t], heard[p], heard[q]]
        if t == W2:
            return [label[t], label[JUMPS][a], source[b], source[c]]
        if t == W3:
            return [label[t], target[a - 1 if a else len(target)], *(target[word - 1] for word in (b, c) if word)]
        if t == T2:
            return [label[t], target[a], source[b], source[c]]
        if t == T1:
            return [label[t], source[a], target[b], target[c]]
        return [label[t], {W1: source, W4: target}[t][a], target[b]]

    for row, key in enumerate(keys.tolist()[done:], done):
        try:
            name = b"/".join(parts(key))
        except (IndexError, KeyError):
            bounds[row + 1] = NO_NAME
            return row
        if bounds[row] + len(name) + 1 > len(blob):
            bounds[row + 1] = NO_ROOM
            return row
        bounds[row + 1] = bounds[row] + len(name)
        blob[bounds[row] : bounds[row + 1]] = list(name)
    return len(keys)


def _joined(words: NDArray[np.uint32], phrases: NDArray[np.int64], texts: list[bytes]) -> list[bytes]:
    whole = words.tolist()
    return [b"_".join(texts[word] for word in whole[start:end]) for start, end in pairwise(phrases.tolist())]
