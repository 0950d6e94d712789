"""Word alignment: two HMMs, one in each direction, trained to agree, and their lexical tables.

Each direction is IBM Model 1 (Brown et al. 1993) and then the HMM of Vogel et al. (1996), with a null word and jumps
in a window. In all rounds of the HMM but the last, the expected count of a link is the product of both directions'
posteriors (Liang et al. 2006), so each corrects the other. In each direction, a word gets its most likely link; the
links of both directions are symmetrised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from rampion.decoder import _kernels
from rampion.decoder.alignment.links import METHODS, UNEVEN, Alignment, Words, symmetrise
from rampion.decoder.text.tokenised import Tokenised

from rampion.arrays import Array, Ids, Offsets, Places, Reals, Singles, ends, rank_in_span, span_of_each
from rampion.errors import InputError, StoreError
from rampion.formats import container
from rampion.formats.files import FilePath
from rampion.schema import Found, Row, Schema, below, bounds, finite, not_negative, strings
from rampion.store.names import Names
from rampion.store.text import Texts
from rampion.threads import processors

LONGEST = 200  # words of a side; pairs with a longer or an empty side are not aligned
WINDOW = 7  # jumps of up to this many words have a weight each; all farther jumps share one
REST = 0.1  # the probability of the null word
FLOOR = 1e-9  # the least probability of a word
LEAST = 1e-6  # a trained aligner drops pairs of words that are less likely in both directions
ROUNDS = (5, 5)  # rounds of Model 1 and of the HMM
_SHARD = 1 << 20  # about the number of pairs of words of one task
_BATCH = 8  # shards whose posteriors are in memory at a time

_PARTS = ("probs", "null", "jumps")

_Result = TypeVar("_Result")


def _direction(name: str, words: str) -> dict[str, Row]:
    """A direction's parameters; the table has one more, for pairs that it lacks."""
    return {
        f"{name}_probs": Row("<f4", ("cells+1",), (finite, not_negative)),
        f"{name}_null": Row("<f4", (words,), (finite, not_negative)),
        f"{name}_jumps": Row("<f8", ("2*reach+2",), (finite, not_negative)),
    }


def _vocabularies_fit(found: Found) -> str | None:
    """What is wrong with the words; where there are none, tables have a row or column for a word."""
    for side, rows in (("source", "rows"), ("target", "columns")):
        if found.sizes[rows] != max(1, found.sizes[f"{side} words"]):
            return f"its tables are for {found.sizes[rows]:,} {side} words, of which it has others"
    return None


SCHEMA = Schema(
    "aligner",
    {
        **strings("source words", "source_blob", "source_bounds"),
        **strings("target words", "target_blob", "target_bounds"),
        "bounds": bounds("rows", "words"),
        **_direction("forward", "columns"),
        **_direction("backward", "rows"),
        "words": Row("<u4", ("cells",), (below("columns"),)),
    },
    advice="train it again",
    also=_vocabularies_fit,
)


class Uses(NamedTuple):
    """Where each word stands: tokens order[bounds[w]:bounds[w + 1]]; owners[t] is the sentence of token t."""

    order: Offsets
    owners: Ids
    bounds: Offsets


class Lexicon(NamedTuple):
    """p(word | given): the words of row `given` are words[bounds[given]:bounds[given + 1]], ascending, with values.

    null[word] is p(word | null word). The inline `chance` of decoder/_core/lexicon.pxd looks up one value; a word
    that never met `given` has FLOOR.
    """

    bounds: Offsets
    words: Ids
    values: Singles
    null: Singles


class Pairs(NamedTuple):
    """Pairs of sentences for kernels: pair (i, j) of sentence s has cell cells[offsets[s] + i * target words + j]."""

    source_bounds: Offsets
    target_bounds: Offsets
    offsets: Offsets
    cells: Ids


class Round(NamedTuple):
    """Figures of a round: the log-likelihood per word, forwards and backwards."""

    model: str
    number: int
    forward: float
    backward: float


Watch = Callable[[Round], None]


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """The parameters of a direction: p(observed | state) of all cells and an empty one, p(observed | null), jumps."""

    flipped: bool
    probs: Singles
    null: Singles
    jumps: Reals


@dataclass(frozen=True, slots=True, eq=False)
class Aligner:
    """A trained pair of models: row s of the table holds the target words that met source word s, ascending."""

    sources: Names
    targets: Names
    bounds: Offsets
    words: Ids
    directions: tuple[Direction, Direction]
    model1: Lexicon | None = None  # p(source word | target word) before the rounds of the HMM; it is not saved

    @classmethod
    def train(
        cls, source: Texts | Tokenised, target: Texts | Tokenised, *, rounds: tuple[int, int] = ROUNDS,
        threads: int | None = None, watch: Watch | None = None,
    ) -> Aligner:  # fmt: skip
        """Train on parallel texts. `rounds` are the numbers of rounds of Model 1 and of the HMM."""
        left, right = Tokenised.of(source), Tokenised.of(target)
        with _corpus(Words(left.words, left.bounds), Words(right.words, right.bounds), threads) as corpus:
            table = corpus.tabulate()
            directions = corpus.begin(False), corpus.begin(True)
            for model, count in zip(("Model 1", "HMM"), rounds, strict=True):
                hmm = model == "HMM"
                for number in range(1, count + 1):
                    groups = [directions] if hmm and number < count else [directions[:1], directions[1:]]
                    better = [pair for group in groups for pair in corpus.improved(group, hmm=hmm)]
                    directions = better[0][0], better[1][0]
                    if watch:
                        watch(Round(model, number, better[0][1], better[1][1]))
                if not hmm:
                    lexicon = corpus.lexicon(directions[1])
            return cls(left.names, right.names, *_pruned(*table, directions), lexicon)

    def align(
        self, source: Texts | Tokenised, target: Texts | Tokenised, *, method: str = METHODS[-1],
        threads: int | None = None,
    ) -> Alignment:  # fmt: skip
        """Align each pair of sentences; `method` symmetrises the two directions."""
        left, right = (
            Words(side.numbered(_copy(names)), side.bounds)
            for side, names in ((Tokenised.of(source), self.sources), (Tokenised.of(target), self.targets))
        )
        with _corpus(left, right, threads) as corpus:
            corpus.find(self.bounds, self.words)
            forward, backward = corpus.links([corpus.fitted(one) for one in self.directions])
        return symmetrise(forward, backward, method)

    def save(self, path: FilePath) -> None:
        arrays: dict[str, Array] = {"bounds": self.bounds, "words": self.words}
        for side, names in (("source", self.sources), ("target", self.targets)):
            texts = names.texts()
            arrays |= {f"{side}_blob": texts.blob, f"{side}_bounds": texts.bounds}
        for name, one in zip(("forward", "backward"), self.directions, strict=True):
            arrays |= {f"{name}_{part}": getattr(one, part) for part in _PARTS}
        container.write(path, SCHEMA.kind, arrays, {})

    @classmethod
    def load(cls, path: FilePath) -> Aligner:
        arrays, _ = container.read(path, SCHEMA)
        sides = [Texts(arrays[f"{side}_blob"], arrays[f"{side}_bounds"]) for side in ("source", "target")]
        sources, targets = map(Names.of, sides)
        if [len(sources), len(targets)] != list(map(len, sides)):
            raise StoreError(f"{path}: a word appears twice in a vocabulary; train it again")
        directions = [
            Direction(flipped, *(arrays[f"{name}_{part}"] for part in _PARTS))
            for flipped, name in ((False, "forward"), (True, "backward"))
        ]
        return cls(sources, targets, arrays["bounds"], arrays["words"], (directions[0], directions[1]))


class Aligned(NamedTuple):
    """An alignment, and the Model 1 that was trained on the way: p(source word | target word), with the texts' ids."""

    alignment: Alignment
    model1: Lexicon | None = None


def aligned(
    source: Texts | Tokenised, target: Texts | Tokenised, *, method: str = METHODS[-1],
    rounds: tuple[int, int] = ROUNDS, threads: int | None = None, watch: Watch | None = None,
) -> Aligned:  # fmt: skip
    """Train an aligner on parallel texts, and align the same texts with it."""
    source, target = Tokenised.of(source), Tokenised.of(target)
    aligner = Aligner.train(source, target, rounds=rounds, threads=threads, watch=watch)
    return Aligned(aligner.align(source, target, method=method, threads=threads), aligner.model1)


def align(
    source: Texts | Tokenised, target: Texts | Tokenised, *, method: str = METHODS[-1],
    rounds: tuple[int, int] = ROUNDS, threads: int | None = None, watch: Watch | None = None,
) -> Alignment:  # fmt: skip
    """The alignment of parallel texts, by an aligner that is trained on them."""
    return aligned(source, target, method=method, rounds=rounds, threads=threads, watch=watch).alignment


def model1(given: Words, said: Words, *, rounds: int = ROUNDS[0], threads: int | None = None) -> Lexicon:
    """IBM Model 1: p(word of `said` | word of `given`), with the ids of the two sides."""
    with _corpus(given, said, threads) as corpus:
        corpus.tabulate()
        direction = corpus.begin(False)
        for _ in range(rounds):
            ((direction, _),) = corpus.improved([direction], hmm=False)
        return corpus.lexicon(direction)


class _Corpus:
    """Pairs of sentences in shards. Shards depend on the texts alone, so that threads never change a bit.

    Memory: 4 bytes for a cell (two words of a sentence pair), 24 for each different pair of words, 64 MB of posteriors.
    """

    def __init__(self, source: Words, target: Words, pool: ThreadPoolExecutor, threads: int) -> None:
        if len(source.bounds) != len(target.bounds):
            raise InputError(UNEVEN.format(len(source.bounds) - 1, len(target.bounds) - 1))
        lengths = np.diff(source.bounds), np.diff(target.bounds)
        self.all = len(lengths[0])
        self.kept = np.flatnonzero(np.logical_and.reduce([(each > 0) & (each <= LONGEST) for each in lengths]))
        self.source, self.target = _taken(source, self.kept), _taken(target, self.kept)
        self.pool, self.threads = pool, threads
        self.sizes = [int(side.words.max(initial=0)) + 1 for side in (source, target)]
        offsets = ends(np.diff(self.source.bounds) * np.diff(self.target.bounds))
        self.pairs = Pairs(self.source.bounds, self.target.bounds, offsets, np.zeros(0, np.uint32))
        cuts = np.searchsorted(offsets, np.arange(0, offsets[-1] + _SHARD, _SHARD))
        cuts = np.unique(np.minimum(cuts, len(self.kept))).tolist()
        self.shards = list(pairwise(cuts))

    def tabulate(self) -> tuple[Offsets, Ids]:
        """The table of words that occur together, row by row, and the entry of every cell."""
        uses = _uses(self.target, self.sizes[1])
        bounds, words = np.zeros(self.sizes[1] + 1, np.int64), np.empty(1 << 16, np.uint32)
        done = 0
        while True:
            met = np.zeros(self.sizes[0], np.uint32)
            if (done := _kernels.tabulate(uses, self.source, done, met, bounds, words)) == self.sizes[1]:
                break
            words = np.concatenate([words, np.empty_like(words)])
        rows, columns = np.empty(self.sizes[0] + 1, np.int64), np.empty(bounds[-1], np.uint32)
        _kernels.transpose(bounds, words[: bounds[-1]], rows, columns)
        self.find(rows, columns)
        return rows, columns

    def find(self, bounds: Offsets, words: Ids) -> None:
        """Find the entry of every cell in a table that may lack rows and words."""
        self.bounds = np.concatenate([bounds, np.full(max(0, self.sizes[0] + 1 - len(bounds)), len(words))])
        self.words = words
        self.sizes = [len(self.bounds) - 1, max(self.sizes[1], int(words.max(initial=0)) + 1)]
        uses = _uses(self.source, self.sizes[0])
        cells = np.empty(self.pairs.offsets[-1], np.uint32)
        self.pairs = self.pairs._replace(cells=cells)
        shares = np.linspace(0, uses.bounds[-1], self.threads + 1).astype(np.int64)
        self.cuts = np.searchsorted(uses.bounds[:-1], shares).tolist()
        self.cuts[-1] = self.sizes[0]

        def locate(low: int, high: int) -> None:
            places = np.full(self.sizes[1], len(words), np.uint32)
            _kernels.locate(
                self.bounds, words, uses, self.source, self.target, self.pairs.offsets, low, high, places, cells
            )

        self._each(locate, list(pairwise(self.cuts)))

    def begin(self, flipped: bool) -> Direction:
        """The initial parameters: all words are equally likely, short jumps forwards a little more likely."""
        jumps = np.exp(-np.abs(np.arange(-WINDOW, WINDOW + 2) - 1.0) / 2.0)
        chance = 1.0 / self.sizes[not flipped]
        probs, null = (np.full(size, chance, np.float32) for size in (len(self.words) + 1, self.sizes[not flipped]))
        return Direction(flipped, probs, null, jumps)

    def fitted(self, one: Direction) -> Direction:
        """The direction, with null probabilities for unseen words, too."""
        unseen = max(0, self.sizes[not one.flipped] - len(one.null))
        return replace(one, null=np.concatenate([one.null, np.full(unseen, FLOOR, np.float32)]))

    def lexicon(self, one: Direction) -> Lexicon:
        """The table of a direction, with a row for each word of the side of its states."""
        probs, null = one.probs[:-1], one.null
        if not one.flipped:
            return Lexicon(self.bounds, self.words, probs, null)
        owners = span_of_each(self.bounds).astype(np.uint32)
        order = np.argsort(self.words, kind="stable")
        return Lexicon(ends(np.bincount(self.words, minlength=self.sizes[1])), owners[order], probs[order], null)

    def improved(self, directions: Sequence[Direction], *, hmm: bool) -> list[tuple[Direction, float]]:
        """One round of EM: improved directions, and their log-likelihood per word before the round.

        Two directions are trained to agree: the expected count of a link is the product of both posteriors.
        """
        counts = np.zeros(len(self.words))
        blanks = [np.empty(len(self._observed(one).words), np.float32) for one in directions]
        tallies = [np.zeros(2 * len(one.jumps)) for one in directions]
        totals = [0.0] * len(directions)
        for first, last, posteriors, told in self._expectations(directions, blanks, hmm):
            for share in told:
                for way, (likelihood, moves) in enumerate(share):
                    totals[way] += likelihood
                    tallies[way] += moves
            for other in posteriors[1:]:
                posteriors[0] *= other

            def collect(low: int, high: int) -> None:
                words, own = self.source.words, posteriors[0]  # noqa: B023
                _kernels.collect(self.pairs, words, first, last, low, high, own, counts)  # noqa: B023

            self._each(collect, list(pairwise(self.cuts)))
        return [
            (self._maximised(one, counts, blank, moves if hmm else None), total / max(1, len(blank)))
            for one, blank, moves, total in zip(directions, blanks, tallies, totals, strict=True)
        ]

    def links(self, directions: Sequence[Direction]) -> list[Alignment]:
        """The most likely state of every word, for each direction, as points of source and target."""
        blanks = [np.empty(len(self._observed(one).words), np.float32) for one in directions]
        links = [np.empty(len(blank), np.int32) for blank in blanks]
        for first, last, posteriors, _ in self._expectations(directions, blanks, hmm=True):
            for one, own, blank, found in zip(directions, posteriors, blanks, links, strict=True):
                _kernels.best(self.pairs, one.flipped, first, last, own, blank, found)
        return [self._alignment(one, found) for one, found in zip(directions, links, strict=True)]

    def _expectations(
        self, directions: Sequence[Direction], blanks: Sequence[Singles], hmm: bool
    ) -> Iterator[tuple[int, int, list[Singles], list[list[tuple[float, Reals]]]]]:
        """For each batch: its sentences, the posteriors of each direction, and every shard's figures of each."""
        offsets = self.pairs.offsets
        for start in range(0, len(self.shards), _BATCH):
            shards = self.shards[start : start + _BATCH]
            first, last = shards[0][0], shards[-1][1]
            posteriors = [np.empty(offsets[last] - offsets[first], np.float32) for _ in directions]

            def expect(low: int, high: int) -> list[tuple[float, Reals]]:
                inside = slice(offsets[low] - offsets[first], offsets[high] - offsets[first])  # noqa: B023
                return [
                    self._expect(one, low, high, own[inside], blank, hmm)
                    for one, own, blank in zip(directions, posteriors, blanks, strict=True)  # noqa: B023
                ]

            yield first, last, posteriors, self._each(expect, shards)

    def _expect(
        self, one: Direction, low: int, high: int, posteriors: Singles, blanks: Singles, hmm: bool
    ) -> tuple[float, Reals]:
        states, seen = (np.diff(side.bounds[low : high + 1]) for side in self._sides(one))
        width = states + len(one.jumps)
        work = np.empty(int(((3 * seen + 6 + len(one.jumps)) * width + seen).max(initial=0)))
        moves = np.zeros(2 * len(one.jumps))
        arguments = self.pairs, self._observed(one).words, one.flipped, one.probs, one.null
        if hmm:
            told = _kernels.hmm(*arguments, (one.jumps, REST), low, high, work, posteriors, blanks, moves)
        else:
            told = _kernels.model_one(*arguments, low, high, work, posteriors, blanks)
        return told, moves

    def _maximised(self, one: Direction, counts: Reals, blanks: Singles, moves: Reals | None) -> Direction:
        probs = np.full(len(self.words) + 1, FLOOR, np.float32)
        given = self.sizes[one.flipped]
        _kernels.normalise(self.bounds, self.words, counts, one.flipped, FLOOR, np.zeros(given), probs)
        null = np.bincount(self._observed(one).words, blanks, self.sizes[not one.flipped])
        null = np.maximum(null / max(null.sum(), FLOOR), FLOOR).astype(np.float32)
        jumps = one.jumps
        if moves is not None:
            made, room = moves[: len(jumps)], moves[len(jumps) :]
            jumps = np.maximum(np.divide(made, room, out=jumps.copy(), where=room > 0), FLOOR)
            jumps /= jumps.sum()
        return Direction(one.flipped, probs, null, jumps)

    def _sides(self, one: Direction) -> tuple[Words, Words]:
        """The side of the states, and the observed side."""
        return (self.target, self.source) if one.flipped else (self.source, self.target)

    def _observed(self, one: Direction) -> Words:
        return self._sides(one)[1]

    def _alignment(self, one: Direction, links: Places) -> Alignment:
        seen = self._observed(one).bounds
        owners = np.repeat(self.kept, np.diff(seen))
        places = rank_in_span(seen).astype(np.int32)
        real = links >= 0
        bounds = ends(np.bincount(owners[real], minlength=self.all))
        found = Alignment(bounds, places[real], links[real])
        return found if one.flipped else found.transposed()

    def _each(self, work: Callable[[int, int], _Result], spans: Sequence[tuple[int, int]]) -> list[_Result]:
        return list(self.pool.map(lambda span: work(*span), spans))


@contextmanager
def _corpus(source: Words, target: Words, threads: int | None) -> Iterator[_Corpus]:
    threads = threads or processors()
    with ThreadPoolExecutor(threads) as pool:
        yield _Corpus(source, target, pool, threads)


def _pruned(
    bounds: Offsets, words: Ids, directions: Sequence[Direction]
) -> tuple[Offsets, Ids, tuple[Direction, Direction]]:
    """The table without entries that are less likely than LEAST in both directions."""
    kept = np.logical_or.reduce([one.probs > LEAST for one in directions])
    kept[-1] = False
    before = ends(kept)
    forward, backward = (
        Direction(one.flipped, np.append(one.probs[kept], np.float32(FLOOR)), one.null, one.jumps) for one in directions
    )
    return before[bounds], words[kept[:-1]], (forward, backward)


def _copy(names: Names) -> Names:
    copy = Names(len(names.bounds) - 1)
    copy.intern_all(names.texts())
    return copy


def _taken(side: Words, kept: Offsets) -> Words:
    """The side with the kept sentences only."""
    lengths = np.diff(side.bounds)
    inside = np.zeros(len(lengths), np.bool_)
    inside[kept] = True
    return Words(side.words[np.repeat(inside, lengths)], ends(lengths[kept]))


def _uses(side: Words, size: int) -> Uses:
    owners = span_of_each(side.bounds).astype(np.uint32)
    return Uses(np.argsort(side.words, kind="stable"), owners, ends(np.bincount(side.words, minlength=size)))
