"""An n-gram language model with backoff: one hash table, mapped from its file, that kernels query without the GIL.

An n-gram w of the history … c2 c1 is a node below the node of its suffix: word w → c1 → c2. The walk from w passes
every n-gram that ends with w, and its nodes are the histories of the next word. Word w is node w; the n-gram in slot i
of the table is node len(unigrams) + i, and its key is (node of its suffix + 1) << 32 | first word. A logarithm is base
10 and single precision, as in ARPA files. The kernel graft explains the meaning of the signs of zeros and logs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels

from rampion.arrays import Array, Reals, fingerprint, span_of_each
from rampion.errors import StoreError
from rampion.formats import container
from rampion.formats.files import FilePath, Origin
from rampion.schema import Found, Row, Schema, pieces, strings
from rampion.store.names import Names
from rampion.store.text import Texts

UNIGRAM = np.dtype([("prob", "<f4"), ("backoff", "<f4")])
GRAM = np.dtype([("key", "<u8"), ("prob", "<f4"), ("backoff", "<f4")])
PAST = np.dtype([("word", "<u4"), ("backoff", "<f4")])  # a word of a state, and the backoff of the history up to it
UNKNOWN, BEGIN, END = range(3)
MARKS = ("<unk>", "<s>", "</s>")
NO_WORD = 0xFFFFFFFF
LOAD = 0.75
HIGHEST = 6  # words of an n-gram
STEEPEST = 1000.0  # no logarithm of a model is farther from 0, so that sums of them are numbers
FULL, TWICE, NO_HISTORY = 1, 2, 3


class Grams(NamedTuple):
    """N-grams of one order, a row of word ids each, with log10 p of the last word and log10 of the backoff weight."""

    rows: NDArray[np.uint32]
    probs: NDArray[np.float32]
    backoffs: NDArray[np.float32]


class Table(NamedTuple):
    """The model for kernels: its order, the log-probability and backoff of every word, and the slots of the n-grams."""

    order: int
    unigrams: Array
    grams: Array


class Fluency(NamedTuple):
    """Sentences, words and unknown words; natural log p; perplexity a word or end, with and without unknown words."""

    sentences: int
    words: int
    unknown: int
    log_probability: float
    perplexity: float
    without_unknown: float


class UnusableGramError(Exception):
    """Row `row` of the n-grams of order `order` cannot be in a model, for this reason."""

    def __init__(self, order: int, row: int, reason: int) -> None:
        self.order, self.row, self.reason = order, row, reason


@dataclass(frozen=True, slots=True, eq=False)
class Lm:
    """A language model. Words 0, 1 and 2 are <unk>, <s> and </s>."""

    vocabulary: Names
    table: Table
    origin: Origin | None = None  # the file that it is mapped from

    @classmethod
    def of(cls, vocabulary: Names, orders: Sequence[Grams]) -> Lm:
        """The model of these n-grams. Row i of order 1 is the word with the id i."""
        unigrams = np.zeros(len(orders[0].probs), UNIGRAM)
        size = int(sum(len(grams.probs) for grams in orders[1:]) / LOAD) + 64
        while True:
            unigrams["prob"] = np.abs(orders[0].probs)
            unigrams["backoff"] = np.where(orders[0].backoffs == 0, np.float32(-0.0), orders[0].backoffs)
            slots, state = np.zeros(size, GRAM), np.zeros(2, np.int64)
            for order, grams in enumerate(orders[1:], 2):
                done = _kernels.graft(grams.rows.ravel(), order, 0, grams.probs, grams.backoffs, unigrams, slots, state)
                if state[1] not in (0, FULL):
                    raise UnusableGramError(order, done, int(state[1]))
                if done < len(grams.probs):
                    break
            else:
                return cls(vocabulary, Table(len(orders), unigrams, slots))
            size *= 2

    @property
    def order(self) -> int:
        return self.table.order

    @property
    def fingerprint(self) -> str:
        """Changes with the model, but not with its file or its form.

        The slot of an n-gram, and so its key, depends on the order of entering. Of the n-grams only their number counts
        here, and the sums of the bits of their probabilities and backoffs, which no order changes.
        """
        sums = [self.table.grams[name].view(np.uint32).sum(dtype=np.uint64) for name in ("prob", "backoff")]
        told = np.array([self.order, len(self), *sums], np.uint64)
        return fingerprint(told, self.table.unigrams, *self.vocabulary.texts().arrays)

    def __len__(self) -> int:
        """The number of n-grams of all orders."""
        return len(self.table.unigrams) + int(np.count_nonzero(self.table.grams["key"]))

    @property
    def nbytes(self) -> int:
        return int(self.table.unigrams.nbytes + self.table.grams.nbytes)

    def start(self) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """The state before the first word of a sentence: words, the last one first, and their backoffs."""
        words, backoffs = np.full(self.order - 1, NO_WORD, np.uint32), np.zeros(self.order - 1, np.float32)
        words[:1], backoffs[:1] = BEGIN, self.table.unigrams["backoff"][BEGIN]
        return words, backoffs

    def ids(self, texts: Texts) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The words of texts, split at ASCII whitespace, as ids. Unknown words, and the marks, become <unk>."""
        words, bounds = self.vocabulary.find_tokens(texts)
        words[words <= END] = UNKNOWN
        return words.astype(np.uint32), bounds

    def steps(self, texts: Texts) -> tuple[Reals, NDArray[np.uint32], NDArray[np.int64]]:
        """Natural log-probabilities of the words and the end of each text, the words, and where each text begins."""
        ids, bounds = self.ids(texts)
        return self.logs(ids, bounds), ids, bounds

    def logs(self, ids: NDArray[np.uint32], bounds: NDArray[np.int64]) -> Reals:
        """Natural log-probabilities of the words ids[bounds[i]:bounds[i + 1]] and the end of every sentence i."""
        steps = np.empty(len(ids) + len(bounds) - 1)
        _kernels.fluency(ids, bounds, BEGIN, END, self.table, np.empty(2 * self.order, PAST), steps)
        return steps

    def score(self, texts: Texts) -> Reals:
        """Natural log p of every text, its end included."""
        steps, _, bounds = self.steps(texts)
        return np.add.reduceat(steps, bounds[:-1] + np.arange(len(texts))) if len(texts) else steps

    def perplexity(self, texts: Texts) -> Fluency:
        """The perplexity of the texts, with counts of sentences, words and unknown words."""
        steps, ids, bounds = self.steps(texts)
        known = np.ones(len(steps), np.bool_)
        known[np.arange(len(ids)) + span_of_each(bounds)] = ids != UNKNOWN
        kept = steps[known]
        means = (float(part.mean()) if len(part) else 0.0 for part in (steps, kept))
        return Fluency(len(texts), len(ids), len(steps) - len(kept), float(steps.sum()), *(math.exp(-m) for m in means))

    def grams(self) -> list[Grams]:
        """The n-grams of every order, sorted; those of order 1 in the order of their ids."""
        unigrams, slots = self.table.unigrams, np.flatnonzero(self.table.grams["key"])
        found = self.table.grams[slots]
        parents = (found["key"] >> np.uint64(32)).astype(np.int64) - 1
        firsts = found["key"].astype(np.uint32)
        width = len(unigrams)
        place = np.zeros(len(self.table.grams), np.int64)
        place[slots] = np.arange(len(slots))
        orders = [Grams(np.arange(width, dtype=np.uint32)[:, None], -abs(unigrams["prob"]), unigrams["backoff"])]
        below, rows_of = parents < width, np.zeros(len(slots), np.int64)
        rows = np.stack([firsts[below], parents[below].astype(np.uint32)], axis=1)
        here = np.flatnonzero(below)
        for _ in range(2, self.order + 1):
            order = np.lexsort(rows.T[::-1])
            orders.append(Grams(rows[order], -abs(found["prob"][here[order]]), found["backoff"][here[order]]))
            rows_of[here] = np.arange(len(here))
            level = np.zeros(len(slots), np.bool_)
            level[here] = True
            deeper = np.flatnonzero(parents >= width)
            deeper = deeper[level[place[parents[deeper] - width]]]
            above = rows_of[place[parents[deeper] - width]]
            rows, here = np.concatenate([firsts[deeper, None], rows[above]], axis=1), deeper
        return orders

    def write(self, path: FilePath) -> None:
        """Write the binary form: the tables, and the words."""
        words = self.vocabulary.texts()
        arrays = {
            "unigrams": self.table.unigrams.view("<f4"),
            "grams": self.table.grams.view("<u8"),
            "words": words.blob,
            "bounds": words.bounds,
        }
        container.write(path, SCHEMA.kind, arrays, {"order": self.order})


def read(path: FilePath) -> Lm:
    """A model in binary form, its tables mapped from the file."""
    arrays, meta = container.read(path, SCHEMA)
    words = Texts(arrays["words"], arrays["bounds"])
    vocabulary = Names.of(words)
    if len(vocabulary) != len(words):
        raise StoreError(f"{path}: a word appears twice in the vocabulary; write it again")
    return Lm(
        vocabulary, Table(meta["order"], arrays["unigrams"].view(UNIGRAM), arrays["grams"].view(GRAM)), Origin.of(path)
    )


def _slots_fit(found: Found, name: str) -> str | None:
    """A slot is free, or holds a word below a node that there is, and some slot is free, so that every search ends."""
    width, nodes, free = found.sizes["words"], found.size("words+slots"), False
    if nodes >= NO_WORD:
        return f"has {nodes:,} n-grams, more than can be numbered"
    for piece in pieces(found.arrays[name].view(_CELLS)):
        word, parent = piece["word"], piece["parent"]
        unused = parent == 0
        if int(word.max()) >= width or int(parent.max()) > nodes or word[unused].any():
            return "holds an n-gram of words that it does not have"
        if max(int((piece[log] & _MAGNITUDE).max()) for log in ("prob", "backoff")) > _STEEPEST:
            return "holds a logarithm that no probability has"
        free = free or bool(unused.any())
    return None if free else "has no free slot"


def _likely(found: Found, name: str) -> str | None:
    held = all((abs(piece) <= STEEPEST).all() for piece in pieces(found.arrays[name]))
    return None if held else "holds a logarithm that no probability has"


def _of_sentences(found: Found) -> str | None:
    """What is wrong with the order, and with the words that every model has."""
    if not 1 <= found.sizes["order"] <= HIGHEST:
        return f"its order is {found.sizes['order']:,}, expected 1 to {HIGHEST}"
    words = Texts(found.arrays["words"], found.arrays["bounds"])
    if found.sizes["words"] < len(MARKS) or any(words.raw(i) != mark.encode() for i, mark in enumerate(MARKS)):
        return f"its first words are not {', '.join(MARKS)}"
    return None


_CELLS = np.dtype([(name, "<u4") for name in ("word", "parent", "prob", "backoff")])  # a GRAM; parents count from 1
_MAGNITUDE = np.uint32(0x7FFFFFFF)  # the bits of a float without its sign; larger bits are a larger number, or NaN
_STEEPEST = int(np.float32(STEEPEST).view(np.uint32))
SCHEMA = Schema(
    "lm",
    {
        **strings("words", "words", "bounds"),
        "unigrams": Row("<f4", ("2*words",), (_likely,)),
        "grams": Row("<u8", ("2*slots",), (_slots_fit,)),
    },
    {"order": int},
    also=_of_sentences,
)
