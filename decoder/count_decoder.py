"""The bundled decoder with thousands of count features (S9.3, S9.4): it searches without them, and rescores the graph.

Word pairs belong to blocks, so they are added to the edges of the search graph; n-grams and triggers see all words so
far, so they are added by cube pruning (decoder/search/cube.py). Without weights of these two the lists are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.block_decoder import Batch, BlockDecoder
from rampion.decoder.features.counts import CountFeatures
from rampion.decoder.models.blocks import BOUNDARY, Blocks, BlockSet, packed
from rampion.decoder.models.options import NOTHING, Derivations, Graph
from rampion.decoder.search.candidates import candidates
from rampion.decoder.search.cube import NonLocal, rescored
from rampion.decoder.search.kbest import Said

from rampion.arrays import Ids, KeyRow, Offsets, Reals, ends, span_of_each
from rampion.errors import InputError, RecipeError
from rampion.sets.records import DecodedBatch, Keyed, Weighing
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.names import Names
from rampion.store.text import Texts

T = TypeVar("T")
Reading = Callable[[Batch, Said, "Linked", Derivations], T]
OWN = np.uint64(30 << 59)  # the first key of count features, above the keys of all templates but the user's


@dataclass(frozen=True, slots=True, eq=False)
class LargeDecoder:
    """A decoder with its own features and count features. In rescoring, every node keeps n derivations."""

    decoder: BlockDecoder
    features: CountFeatures
    n: int = 100
    _names: Names = field(init=False)  # target words, and then other words of features
    _links: Links = field(init=False)
    _numbers: NonLocal = field(init=False)  # the table for fire.pyx: its weights are ids of features + 1

    def __post_init__(self) -> None:
        if self.n < 1:
            raise RecipeError(f"n = {self.n}: a node must keep 1 derivation or more")
        names, listed = Names(), self.features.features
        names.intern_all(self.decoder.blocks.vocabularies.target.texts())
        names.intern_all(Texts.from_strings(word for one in listed if one.kind != "pair" for word in one.words))
        numbers = np.arange(1.0, len(listed) + 1)
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_links", Links.of(self.decoder.blocks, self.features))
        object.__setattr__(self, "_numbers", self._nonlocal(numbers))

    @property
    def initial(self) -> Weights:
        """The initial weights of tuning: those of the decoder, and 0 for count features."""
        return self.decoder.initial

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines the lists."""
        facts = self.decoder.fingerprint, self.n, self.features.features
        return sha256(repr(facts).encode()).hexdigest()[:16]

    @property
    def parts(self) -> dict[str, str]:
        """Fingerprints of what weights belong to: those of the decoder, since count features have names."""
        return self.decoder.parts

    def decode(
        self, segments: Texts, weights: Weighing, k: int, folder: str | PathLike[str] | None = None
    ) -> Candidates:
        """The k best derivations of every segment. With a folder, they are stored in files there, not in memory."""
        return candidates(self.listed(segments, weights, k), self.decoder.names, self.spelt, folder)

    def listed(self, segments: Texts, weights: Weighing, k: int) -> Iterator[DecodedBatch]:
        """The k best derivations of every segment, best first, batch after batch."""
        return self._search(segments, weights, k, self._decoded)

    def best(self, segments: Texts, weights: Weighing) -> Texts:
        """The best translation of every segment."""

        def texts(batch: Batch, said: Said, linked: Linked, found: Derivations) -> Texts:
            return self.decoder.texts(batch, found)

        return Texts.join(list(self._search(segments, weights, 1, texts)))

    def only(self, first: int, last: int) -> LargeDecoder:
        """This decoder, restricted to the segments first .. last - 1 of the texts that it is given."""
        other = copy(self)
        object.__setattr__(other, "decoder", self.decoder.only(first, last))
        return other

    def _search(self, segments: Texts, weights: Weighing, k: int, read: Reading[T]) -> Iterator[T]:
        """Search, and yield what `read` returns for the k best derivations of every batch."""
        by_name = weights.own if isinstance(weights, Keyed) else weights
        own = np.array([by_name.get(name, 0.0) for name in self.features.names], np.float64)
        for bad in np.flatnonzero(~np.isfinite(own))[:1].tolist():
            name = self.features.features[bad].name
            raise InputError(f"the weight of {name} is {own[bad]}; a decoder needs finite weights")
        features = self._nonlocal(own)

        def work(batch: Batch, graph: Graph) -> T:
            said, linked = self.decoder.said(batch, self._names), self._links.linked(batch.options.blocks)
            if own[linked.features].any():
                graph = _raised(graph, linked.sums(own))
            if len(features.keys):
                found = rescored(graph, said, features, k, self.n, self.decoder.distinct)
            else:
                found = self.decoder.kbest(batch, graph, k)
            return read(batch, said, linked, found)

        return self.decoder.search(segments, self.decoder.model(weights), work)

    def _nonlocal(self, weights: Reals) -> NonLocal:
        """The nonzero weights of n-grams and triggers."""
        kinds: dict[str, dict[tuple[str, ...], float]] = {"pair": {}, "gram": {}, "trigger": {}}
        for one, weight in zip(self.features.features, weights.tolist(), strict=True):
            if weight:
                kinds[one.kind][one.words] = weight
        return NonLocal.of(kinds["gram"], kinds["trigger"], self._names)

    def _decoded(self, batch: Batch, said: Said, linked: Linked, derivations: Derivations) -> DecodedBatch:
        """The texts and features of derivations. Count features come after the others."""
        found = self.decoder.decoded(batch, derivations)
        ids, bounds = self._fired(said, linked, derivations)
        sizes, others = np.diff(found.key_bounds), np.diff(bounds)
        key_bounds = ends(sizes + others)
        keys = np.empty(key_bounds[-1], np.uint64)
        theirs = np.ones(len(keys), np.bool_)
        theirs[np.arange(len(ids)) + np.repeat(key_bounds[1:] - others - bounds[:-1], others)] = False
        keys[theirs], keys[~theirs] = found.keys, OWN | ids
        return found._replace(keys=keys, key_bounds=key_bounds)

    def _fired(self, said: Said, linked: Linked, derivations: Derivations) -> tuple[Ids, Offsets]:
        """The count features of all derivations: those of derivation d are ids[bounds[d]:bounds[d + 1]]."""
        count, done = len(derivations.scores), 0
        longest = int(np.diff(said.bounds).max(initial=1))
        text = np.empty(2 + longest * int(np.diff(derivations.step_bounds).max(initial=0)), np.uint32)
        bounds, ids = np.zeros(count + 1, np.int64), np.empty(16 * len(derivations.steps) + 4096, np.uint32)
        firsts, lasts = linked.bounds[linked.blocks], linked.bounds[linked.blocks + 1]
        while True:
            done = _kernels.count_features(
                derivations, said, self._numbers, firsts, lasts, linked.features, done, text, bounds, ids
            )
            if done == count:
                return ids[: bounds[-1]], bounds
            ids = np.concatenate([ids, np.empty_like(ids)])

    def spelt(self, keys: KeyRow) -> Texts:
        """The readable names of keys."""
        mine = (keys & OWN) == OWN
        mine &= keys < OWN + np.uint64(1 << 59)
        texts = Texts.join([self.decoder.templates.names(keys[~mine]), self.features.names])
        rows = np.empty(len(keys), np.int64)
        rows[~mine] = np.arange(len(keys) - mine.sum())
        rows[mine] = (keys[mine] & np.uint64((1 << 32) - 1)).astype(np.int64) + len(keys) - mine.sum()
        return texts.take(rows)


def _raised(graph: Graph, sums: Reals) -> Graph:
    """The graph with the sum of its option added to the score of each edge."""
    speaks, scores = graph.options != NOTHING, graph.scores.copy()
    scores[speaks] += sums[graph.options[speaks]]
    return graph._replace(scores=scores)


class Linked(NamedTuple):
    """The word pairs of options: option o has block number blocks[o], which fires features[bounds[b]:bounds[b + 1]]."""

    blocks: Offsets
    bounds: Offsets
    features: Ids

    def sums(self, weights: Reals) -> Reals:
        """The sum of the weights of each option's word pairs."""
        count = len(self.bounds) - 1
        owners = span_of_each(self.bounds)
        sums: Reals = np.bincount(owners, weights[self.features], count).astype(np.float64)
        return sums[self.blocks]


class Links(NamedTuple):
    """Links inside blocks. A block set stores none, so they are inferred from its blocks of one word to one word.

    A target word t of a block is linked to the source word s of the block for which p(s|t) p(t|s) is highest (the first
    one in case of ties), and to none if no s and t make a block. keys are source word << 32 | target word of these
    blocks, ascending; values their log p(s|t) p(t|s); numbers those of their features, -1 for none.
    """

    blocks: Blocks
    keys: KeyRow
    values: NDArray[np.float32]
    numbers: NDArray[np.int64]
    paired: NDArray[np.bool_]  # whether a target word has a feature

    @classmethod
    def of(cls, blocks: BlockSet, features: CountFeatures) -> Links:
        """The links of a block set."""
        own, (source, target) = blocks.blocks, blocks.vocabularies
        sizes = np.diff(own.source_bounds)[own.sources], np.diff(own.target_bounds)[own.targets]
        rows = np.flatnonzero((sizes[0] == 1) & (sizes[1] == 1) & (np.arange(len(own.sources)) > BOUNDARY))
        words = own.source_words[own.source_bounds[own.sources[rows]]]
        others = own.target_words[own.target_bounds[own.targets[rows]]]
        keys = packed(words, others)
        order = np.argsort(keys)
        keys, rows = keys[order], rows[order]
        pairs = {number: one.words for number, one in enumerate(features.features) if one.kind == "pair"}
        known = source.find_all(Texts.from_strings(s for s, _ in pairs.values()))
        meant = target.find_all(Texts.from_strings(t for _, t in pairs.values()))
        both = (known >= 0) & (meant >= 0)
        wanted = packed(known[both].astype(np.uint32), meant[both].astype(np.uint32))
        places = np.searchsorted(keys, wanted)
        there = np.append(keys, np.uint64(0))[places] == wanted
        numbers, paired = np.full(len(keys), -1), np.zeros(len(target), np.bool_)
        numbers[places[there]] = np.array(list(pairs), np.int64)[both][there]
        paired[meant[both][there]] = True
        return cls(own, keys, own.values[rows, 0] + own.values[rows, 1], numbers, paired)

    def linked(self, asked: Ids) -> Linked:
        """The word pairs of blocks."""
        own = self.blocks
        blocks, inverse = np.unique(asked, return_inverse=True)
        targets, owners = _spans(own.target_bounds, own.targets[blocks])
        paired = self.paired[own.target_words[targets]]
        targets, owners = targets[paired], owners[paired]
        sources, rows = _spans(own.source_bounds, own.sources[blocks[owners]])
        keys = packed(own.source_words[sources], own.target_words[targets[rows]])
        places = np.minimum(np.searchsorted(self.keys, keys), max(0, len(self.keys) - 1))
        found = np.flatnonzero(self.keys[places] == keys) if len(self.keys) else np.zeros(0, np.int64)
        rows, places = rows[found], places[found]
        order = np.lexsort((-self.values[places], rows))  # stable: of equals the first source word
        firsts = order[np.unique(rows[order], return_index=True)[1]]
        numbers, owners = self.numbers[places[firsts]], owners[rows[firsts]]
        fires = numbers >= 0
        sizes = np.bincount(owners[fires], minlength=len(blocks))
        return Linked(inverse, ends(sizes), numbers[fires].astype(np.uint32))


def _spans(bounds: Offsets, chosen: Ids) -> tuple[Offsets, Offsets]:
    """All indices of the chosen spans, and the number of the span that each belongs to."""
    sizes = bounds[1:][chosen] - bounds[chosen]
    owners = np.repeat(np.arange(len(chosen)), sizes)
    return np.arange(len(owners)) + (bounds[chosen] - ends(sizes)[:-1])[owners], owners
