"""Scales: how many sentences, candidates and iterations an experiment uses."""

from __future__ import annotations

from typing import NamedTuple

SENTENCES = 230_000  # training sentences of Tillmann & Zhang


class Scale(NamedTuple):
    """The sizes of an experiment."""

    pairs: int  # of the toy corpus
    held_out: int  # sentences of it to choose iterations by or to tune on, and as many to test on
    # of relevant sets with binary features
    sentences: int  # taken from the pairs to learn weights from, half of them at most; the others give the blocks
    iterations: int
    options: int  # blocks of a source phrase that the decoder tries; with more, more iterations are needed
    beam: int
    # of real-valued features, which learn from the dev text
    k: int  # candidates of a sentence at most
    decodings: int  # of the dev text at most
    counts: int  # count features beside them
    # of expected BLEU, which learns from lists of the training text
    listed: int  # sentences of it
    width: int  # candidates of each, and of each dev sentence in MERT
    tried: int  # steps that are put into blocks and tuned
    turns: int  # decodings of the dev text for that

    @property
    def pace(self) -> float:
        """The factor of the paper's rate, with which an epoch over fewer sentences moves the weights as far."""
        return SENTENCES / self.sentences


SCALES = {
    "small": Scale(20_000, 500, 8_000, 16, 4, 30, 100, 25, 1_000, 4_000, 30, 4, 5),
    "medium": Scale(100_000, 1_000, 40_000, 30, 6, 50, 200, 25, 3_000, 40_000, 100, 8, 10),
    "full": Scale(1_000_000, 1_000, SENTENCES, 30, 10, 100, 1_500, 25, 7_200, 138_000, 100, 6, 8),
}
