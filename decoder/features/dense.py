"""Real-valued features of derivations (S10.10), from the columns of their blocks, counts, jumps and words.

Larger is better; logarithms are natural. A value is a sum over the blocks of a derivation, in target order. A value of
the language model is a sum over words, with </s> last.

    PhraseST (a)  PhraseTS  LexST  LexTS  ModelOne (b)     columns of the blocks (decoder/models/blocks.py)
    BackM BackS BackD, ForeM ForeS ForeD                   columns, too, each added when that move happens
    LearntPairs LearntWords LearntT1 LearntT2,             columns of condensed blocks (search/condense.py); those of
    LearntBack*, LearntFore*                               moves count when the move happens
    Phrases, Words (g), Jump                               1 a block, 1 a word, -|start - end of the last block|
    JumpOut (e), JumpIn (f)                                log-probability of the jump (decoder/models/jumps.py)
    LM; LMFirst (c), LMRest (d)                            of all words; of the first of each block, and of the others
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import COLUMNS, LEARNT, Blocks
from rampion.decoder.models.options import Derivations, Options, Sentences

from rampion.arrays import Ids, Offsets, Reals, taken
from rampion.store.names import Names
from rampion.store.text import Texts

DENSE = (*COLUMNS, "Phrases", "Words", "Jump", "JumpOut", "JumpIn", "LM", "LMFirst", "LMRest", *LEARNT)
SEVEN = ("PhraseST", "ModelOne", "LMFirst", "LMRest", "JumpOut", "JumpIn", "Words")
FOURTEEN = ("PhraseST", "PhraseTS", "LexST", "LexTS", "Phrases", "LM", "Words", "Jump", *COLUMNS[5:])


class Distortion(Protocol):
    """Log-probabilities of jumps after and before a source word, a row a word. The middle column is no jump."""

    @property
    def out(self) -> NDArray[np.float32]: ...
    @property
    def into(self) -> NDArray[np.float32]: ...


def dense(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    derivations: Derivations,
    *,
    jumps: Distortion,
    logs: Reals,
    names: Sequence[str] = DENSE,
) -> Reals:
    """The values of every derivation, one column for each name.

    logs are the log-probabilities of the words of `spoken`, and of </s> after each derivation. If empty, LM is 0,
    as are JumpOut and JumpIn if jumps know no word, and those of LEARNT if the blocks are not condensed.
    """
    values = np.empty((len(derivations.scores), len(DENSE)))
    _kernels.dense_values(sentences, options, blocks, jumps, logs, derivations, values)
    return np.ascontiguousarray(values[:, [DENSE.index(name) for name in names]])


def spoken(options: Options, blocks: Blocks, derivations: Derivations) -> tuple[Ids, Offsets]:
    """The target words of every derivation, words[bounds[d]:bounds[d + 1]]. A copied source word is UNKNOWN."""
    targets = blocks.targets[options.blocks[derivations.steps]]
    places, bounds = taken(blocks.target_bounds, targets)
    return blocks.target_words[places], bounds[derivations.step_bounds]


def surface(lines: Texts) -> Texts:
    """Every word of every line as it was written, which IDENTITY copies."""
    names = Names()
    tokens, _ = names.tokens(lines)
    return names.texts().take(tokens.astype(np.int64))


def texts(
    sentences: Sentences, options: Options, blocks: Blocks, words: Texts, tokens: Texts, derivations: Derivations
) -> Texts:
    """The text of every derivation, from the texts of target words, and the tokens (`surface`) of copied words."""
    count, done = len(derivations.scores), 0
    bounds = np.zeros(count + 1, np.int64)
    blob = np.empty(16 * len(derivations.steps) + 256, np.uint8)
    given = sentences, options, blocks, words, tokens, derivations
    while (done := _kernels.surface_texts(*given, done, bounds, blob)) < count:
        blob = np.concatenate([blob, np.empty_like(blob)])
    return Texts(blob[: bounds[-1]].copy(), bounds)
