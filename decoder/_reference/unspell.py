"""Readable names of features as keys: the way back from spell.py.

Twin: decoder/_core/unspell.pyx
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rampion.decoder._reference.templates import H1, H2, P1, P2, P3, P4, P5, T1, T2, W1, W2, W3, W4

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.models.blocks import Blocks

    from rampion.store.names import Names
    from rampion.store.text import Texts

LABELS, TURNS, SWINGS, JUMPS, LENGTHS = slice(13), slice(13, 16), slice(16, 19), slice(19, 25), slice(25, 281)

# The arguments of each template, as in features/templates.py, each with how far it is shifted.
SHAPES = {
    P1: "ST", P2: "STo", H1: "STm", H2: "STm", P3: "TT", P4: "SS", P5: "Tn",
    W1: "st", W2: "jss", W3: "ttt", W4: "tt", T1: "stt", T2: "tss",
}  # fmt: skip
CODES = {"o": TURNS, "m": SWINGS, "j": JUMPS, "n": LENGTHS}


def name_keys(
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    blocks: Blocks,
    labels: Texts,
    sources: Names,
    targets: Names,
    target_slots: NDArray[np.uint32],
    tokens: NDArray[np.uint32],
    keys: NDArray[np.uint64],
) -> None:
    """Fill keys with the key of every name text[bounds[i]:bounds[i + 1]], 0 for one that is no name of this block set.

    sources and targets are tables of the words of both sides as names spell them, target_slots one of target phrases.
    """
    spelt = [labels.raw(i) for i in range(len(labels))]
    source, target = ({texts.raw(i): i for i in range(len(texts))} for texts in (sources.texts(), targets.texts()))
    heard = _phrases(blocks.source_words, blocks.source_bounds)
    said = _phrases(blocks.target_words, blocks.target_bounds)
    if not target_slots.any():
        said = {phrase: number for phrase, number in said.items() if number < 2}
    words, edges = blocks.target_words.tolist(), blocks.target_bounds.tolist()
    joined: dict[tuple[int, tuple[int, ...]], int] = {}
    for block, (one, other) in enumerate(zip(blocks.sources.tolist(), blocks.targets.tolist(), strict=True)):
        joined.setdefault((one, tuple(words[edges[other] : edges[other + 1]])), block)

    def phrase(part: bytes, side: dict[bytes, int]) -> tuple[int, ...]:
        found = tuple(side.get(word, -1) for word in part.split(b"_"))
        return found if len(found) <= len(tokens) else (-1,)

    def argument(kind: str, part: bytes) -> int:
        if kind in CODES:
            return spelt[CODES[kind]].index(part) if part in spelt[CODES[kind]] else -1
        side, phrases = (source, heard) if kind in "sS" else (target, said)
        if kind in "ST":
            return phrases.get(phrase(part, side), -1)
        return side.get(part, -1)

    def key(t: int, parts: list[bytes]) -> int:
        shape = SHAPES[t]
        if len(parts) != len(shape) and not (t == W3 and 1 <= len(parts) <= 3):
            return 0
        if shape.startswith("ST"):
            block = joined.get((argument("S", parts[0]), phrase(parts[1], target)), -1)
            code = argument(shape[2], parts[2]) if len(shape) > 2 else 0
            return (t + 1) << 59 | block << 8 | code if block >= 0 and code >= 0 else 0
        found = [argument(kind, part) for kind, part in zip(shape, parts, strict=False)]
        if min(found) < 0:
            return 0
        if t in (P3, P4, P5):
            return (t + 1) << 59 | found[0] << 29 | found[1]
        padded = [code + (t == W3) for code in found] + [0, 0]
        return (t + 1) << 59 | padded[0] << 38 | padded[1] << 19 | padded[2]

    whole = text.tobytes()
    for row, (start, end) in enumerate(pairwise(bounds.tolist())):
        first, *parts = whole[start:end].split(b"/")
        known = parts and first in spelt[LABELS]
        keys[row] = key(spelt.index(first), parts) if known else 0


def _phrases(words: NDArray[np.uint32], bounds: NDArray[np.int64]) -> dict[tuple[int, ...], int]:
    """The number of every phrase; the first of equals."""
    found: dict[tuple[int, ...], int] = {}
    whole = words.tolist()
    for number, (start, end) in enumerate(pairwise(bounds.tolist())):
        found.setdefault(tuple(whole[start:end]), number)
    return found
