"""The bundled decoder: a block set, perhaps a language model, and settings. It lists candidates with names or keys."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from os import PathLike
from typing import NamedTuple, TypeVar

import numpy as np
from rampion.decoder.alignment.links import Alignment
from rampion.decoder.features.dense import DENSE, FOURTEEN, SEVEN, dense, spoken, surface
from rampion.decoder.features.dense import texts as spelt
from rampion.decoder.features.templates import GROUPS, NAMES, Templates
from rampion.decoder.models.blocks import COLUMNS, LEARNT, BlockSet
from rampion.decoder.models.leave_one_out import STANDARD, LeftOut, Penalty
from rampion.decoder.models.lm import Lm
from rampion.decoder.models.options import Derivations, Graph, Options, Sentences
from rampion.decoder.search.candidates import candidates
from rampion.decoder.search.kbest import Said, kbest, said
from rampion.decoder.search.lattice import Lattice
from rampion.decoder.search.model import FLUENCY, Model
from rampion.decoder.search.oracle import BAG, Oracle, bag, truth
from rampion.decoder.search.search import Search, search

from rampion.arrays import Ids, KeyRow, Reals
from rampion.errors import RecipeError
from rampion.sets.records import DecodedBatch, Keyed, Weighing
from rampion.store.candidates import Candidates
from rampion.store.features import Weights, named
from rampion.store.keys import Keys
from rampion.store.names import Names
from rampion.store.text import References, Texts, blank
from rampion.threads import in_order

SETS = {"seven": SEVEN, "fourteen": FOURTEEN, "learnt": LEARNT}
BATCH = 64  # sentences of one call of the kernels

# The initial weights of tuning: Moses' defaults, for the same features (S10.10). LEARNT were trained with weight 1.
INITIAL = (
    {"PhraseST": 0.2, "PhraseTS": 0.2, "LexST": 0.2, "LexTS": 0.2, "ModelOne": 0.2, "Phrases": 0.2, "Words": 1.0}
    | {"LM": 0.5, "LMFirst": 0.5, "LMRest": 0.5, "Jump": 0.3, "JumpOut": 0.3, "JumpIn": 0.3}
    | dict.fromkeys(COLUMNS[5:], 0.3)
    | dict.fromkeys(LEARNT, 1.0)
)


def features_of(which: str) -> tuple[tuple[str, ...], str]:
    """The real-valued features and templates of a list with commas; seven, fourteen and learnt are sets of features."""
    names, templates = list[str](), list[str]()
    for name in filter(None, which.split(",")):
        if name in SETS or name in DENSE:
            names += SETS.get(name, (name,))
        else:
            templates.append(name)
    for name in templates:
        if name not in GROUPS and name not in NAMES:
            known = ", ".join((*SETS, *DENSE, *GROUPS, *NAMES))
            raise RecipeError(f"no feature, template or group is called {name!r}; choose among {known}")
    if not names and not templates:
        raise RecipeError("a decoder without features has nothing to choose by; name some, such as fourteen or all")
    names = list(dict.fromkeys(names))
    if "LM" in names and {"LMFirst", "LMRest"} & set(names):
        raise RecipeError("LM is LMFirst and LMRest together; take it, or the two")
    return tuple(names), ",".join(templates)


class Batch(NamedTuple):
    """Sentences and their translation options. `surfaces` are the source words as they were written."""

    first: int
    sentences: Sentences
    options: Options
    surfaces: Texts


SOME = 1000  # names that are looked at before all the others

T = TypeVar("T")
Progress = Callable[[int], None]  # receives the number of sentences that are done


class _Weighed(NamedTuple):
    """The model of these weights."""

    table: Keys
    edition: int
    own: dict[str, float]
    model: Model


@dataclass(frozen=True, slots=True, eq=False)
class BlockDecoder:
    """Decodes with the chosen features. The lists are the same for any number of threads."""

    blocks: BlockSet
    lm: Lm | None = None
    features: str = "fourteen"
    settings: Search = field(default_factory=Search)
    options: int = 20  # the most blocks of a source phrase
    longest: int = 8  # the most words of a source phrase
    threads: int = 1
    distinct: bool = False  # whether the candidates of a list have different texts
    progress: Progress | None = None
    left_out: LeftOut | None = None  # decode segment n without the counts of pair n
    span: tuple[int, int] | None = None  # decode only the segments span[0] .. span[1] - 1
    criterion: Oracle = field(default_factory=Oracle)  # the search for truths; its reordering is the decoder's
    names: tuple[str, ...] = field(init=False)
    templates: Templates = field(init=False)
    _lm_words: Ids = field(init=False)  # the ids of target words in the language model
    _last: list[_Weighed] = field(default_factory=list, init=False, repr=False)  # a cache of at most one model

    def __post_init__(self) -> None:
        names, which = features_of(self.features)
        if self.lm is None and any(name.startswith("LM") for name in names):
            if self.features not in SETS:
                raise RecipeError(f"the features {self.features} need a language model; give one, or leave LM out")
            names = tuple(name for name in names if not name.startswith("LM"))
        if missing := [name for name in names if name in LEARNT and name not in self.blocks.blocks.columns]:
            raise RecipeError(
                f"the features {self.features} need condensed blocks, which these are not; condense weights into them "
                f"(rampion condense), or leave {missing[0]} out"
            )
        known = self.lm.ids(self.blocks.vocabularies.target.texts())[0] if self.lm else np.zeros(0, np.uint32)
        object.__setattr__(self, "_lm_words", known)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "templates", Templates(self.blocks.vocabularies, self.blocks.blocks, which))

    @property
    def initial(self) -> Weights:
        """The initial weights of tuning: INITIAL for the real-valued features, 0 for the others."""
        return Weights.from_dict({name: INITIAL[name] for name in self.names})

    def leaving_out(
        self, source: Texts, target: Texts, alignment: Alignment, penalty: Penalty = STANDARD
    ) -> BlockDecoder:
        """This decoder, for the decoding of these sources: segment n is decoded without the counts of pair n (S11.5).

        The pairs must be from the text of the blocks, with the alignment that the blocks were made with.
        """
        other = copy(self)
        object.__setattr__(other, "left_out", LeftOut.of(self.blocks, source, target, alignment, penalty))
        object.__setattr__(other, "_last", [])
        return other

    @property
    def fingerprint(self) -> str:
        """A hash of blocks, language model, features and settings. Threads are not part of it."""
        tables = [*self.blocks.blocks, *self.blocks.jumps, *(self.lm.table[1:] if self.lm else ())]
        words = [*self.blocks.vocabularies, *([self.lm.vocabulary] if self.lm else [])]
        arrays = [*tables, *(part for names in words for part in (names.texts().blob, names.texts().bounds))]
        search = [asdict(self.settings), self.options, self.longest, self.distinct, self.lm and self.lm.order]
        facts = {
            "features": [self.names, self.templates.mask, *self.templates.own],
            "settings": search,
            "criterion": asdict(self.criterion),
            "arrays": [[array.shape, zlib.crc32(np.ascontiguousarray(array).data)] for array in arrays],
        }
        if (left := self.left_out) is not None:
            arrays = [*left.source, *left.target, left.alignment.bounds, left.alignment.sources, left.alignment.targets]
            facts["left out"] = [asdict(left.penalty), [zlib.crc32(array.data) for array in arrays]]
        return sha256(json.dumps(facts).encode()).hexdigest()[:16]

    @property
    def parts(self) -> dict[str, str]:
        """Fingerprints of what weights belong to: the blocks and the language model, whatever the settings."""
        return {"blocks": self.blocks.fingerprint} | ({"lm": self.lm.fingerprint} if self.lm else {})

    def decode(
        self, segments: Texts, weights: Weighing, k: int, folder: str | PathLike[str] | None = None
    ) -> Candidates:
        """The k best derivations of every segment. With a folder, they are stored in files there, not in memory."""
        return candidates(self.listed(segments, weights, k), self.names, self.spelt, folder)

    def listed(self, segments: Texts, weights: Weighing, k: int) -> Iterator[DecodedBatch]:
        """The k best derivations of every segment, best first, batch after batch."""
        return self.search(
            segments, self.model(weights), lambda batch, graph: self.decoded(batch, self.kbest(batch, graph, k))
        )

    def truths(self, segments: Texts, references: References, best: int) -> Iterator[DecodedBatch]:
        """The candidates of highest BLEU in the search space, best first (S10.4)."""
        criterion = replace(self.criterion, best=best, reordering=self.settings.reordering)
        return self.oracle(segments, references, criterion, self.decoded)

    def bags(self, segments: Texts, seed: int) -> Iterator[DecodedBatch]:
        """A bag for every segment: one candidate with a random block of every span (S10.7).

        It has no text, and fires P1 and W1 only, if these are among the decoder's templates.
        """
        plain = Templates(self.blocks.vocabularies, self.blocks.blocks, ",".join(filter(self.templates.fires, BAG)))

        def drawn(batch: Batch) -> DecodedBatch:
            found = bag(batch.sentences, batch.options, seed, batch.first)
            count = len(found.scores)
            keys, key_bounds = plain.emit(batch.sentences, batch.options, found)
            mute, values = blank(count), np.zeros((count, len(self.names)))
            return DecodedBatch(found.bounds, mute, values, key_bounds, keys, np.zeros(count))

        return self.batches(segments, drawn)

    def spelt(self, keys: KeyRow) -> Texts:
        """The readable names of keys."""
        return self.templates.names(keys)

    def best(self, segments: Texts, weights: Weighing) -> Texts:
        """The best translation of every segment."""
        found = self.search(segments, self.model(weights), lambda batch, graph: self.texts(batch, kbest(graph, 1)))
        return Texts.join(list(found))

    def only(self, first: int, last: int) -> BlockDecoder:
        """This decoder, restricted to the segments first .. last - 1 of the texts that it is given."""
        other = copy(self)
        object.__setattr__(other, "span", (first, last))
        return other

    def keyed(self, weights: Weighing) -> Keyed:
        """The weights as a table of keys. Weights of features that this decoder does not have are ignored."""
        if isinstance(weights, Keyed):
            return Keyed(weights.table, {name: weights.own[name] for name in self.names if name in weights.own})
        given = named(weights)
        keys = self.templates.keys(given.features.names, lenient=True)
        known = keys != 0
        table = Keys(int(np.count_nonzero(known)))
        table.enter(keys[known])
        table.set_weights(given.vector[known])
        places = given.features.places(Texts.from_strings(self.names)).tolist()
        own = {name: float(given.vector[at]) for name, at in zip(self.names, places, strict=True) if at >= 0}
        return Keyed(table, own)

    def model(self, weights: Weighing) -> Model:
        """The model of the weights. The last one is cached, with the scores of blocks that have been computed."""
        table, own = self.keyed(weights)
        for last in self._last[:]:
            if table is last.table and last.edition == table.edition and own == last.own:
                return last.model
        self._last.clear()  # free the memory before the next one is made
        model = self.weighed(own, table)
        if isinstance(weights, Keyed):
            self._last.append(_Weighed(table, table.edition, own, model))
        return model

    def weighs(self, weights: Weighing) -> bool:
        """Whether any weight is for a feature of this decoder."""
        if isinstance(weights, Keyed):
            return bool(self.templates.mask or weights.own.keys() & set(self.names))
        names = named(weights).features
        if (names.places(Texts.from_strings(self.names)) >= 0).any():
            return True
        return any(
            self.templates.fired(self.templates.keys(names.names.part(first, last), lenient=True)).any()
            for first, last in ((0, min(SOME, len(names))), (min(SOME, len(names)), len(names)))
        )

    def weighed(self, own: Mapping[str, float], table: Keys) -> Model:
        """The model of real-valued weights by name and of a table of keys with theirs.

        A language model with weight 0 is left out of the search, so that its states do not split nodes.
        """
        single, pair = self.templates.scores(table)
        lm = self.lm if any(own.get(name) for name in FLUENCY) else None
        return Model.of(
            self.blocks.blocks,
            self.templates.mask,
            table,
            own,
            lm,
            self._lm_words if lm else None,
            jumps=self.blocks.jumps,
            single=single,
            pair=pair,
            within_limit=self.settings.limit > 0,
        )

    def batch(self, segments: Texts, first: int, last: int) -> Batch:
        """The segments from first to last - 1."""
        rows = np.arange(first, last)
        lines, labels = segments.take(rows), Texts.from_strings(map(str, rows.tolist()))
        sentences = Sentences.of(lines, self.blocks.vocabularies.source, labels)
        options = Options.match(sentences, self.blocks.blocks, self.longest, self.options)
        if self.left_out is not None:
            options = options._replace(rates=self.left_out.rates(first, sentences, options, self.blocks.blocks))
        return Batch(first, sentences, options, surface(lines))

    def batches(self, segments: Texts, work: Callable[[Batch], T]) -> Iterator[T]:
        """Run `work` on every batch, on threads, and yield the results in order."""

        start, end = self.span or (0, len(segments))

        def one(first: int) -> T:
            return work(self.batch(segments, first, min(first + BATCH, end)))

        for first, result in zip(
            range(start, end, BATCH), in_order(one, range(start, end, BATCH), self.threads), strict=True
        ):
            yield result
            if self.progress:
                self.progress(min(first + BATCH, end) - start)

    def search(self, segments: Texts, model: Model, work: Callable[[Batch, Graph], T]) -> Iterator[T]:
        """Run `work` on every batch and its search graph, on threads, and yield the results in order."""
        return self.batches(
            segments, lambda batch: work(batch, search(batch.sentences, batch.options, model, self.settings))
        )

    def kbest(self, batch: Batch, graph: Graph, k: int) -> Derivations:
        """The k best derivations of every sentence of a batch."""
        return kbest(graph, k, self.said(batch) if self.distinct else None)

    def decoded(self, batch: Batch, derivations: Derivations) -> DecodedBatch:
        """Texts and features of derivations."""
        keys, bounds = self.templates.emit(batch.sentences, batch.options, derivations)
        values = np.zeros((len(derivations.scores), 0))
        if self.names:
            heard = any(name.startswith("LM") for name in self.names)
            values = self.values(batch, derivations, self.logs(batch, derivations) if heard else np.zeros(0))
        texts = self.texts(batch, derivations)
        return DecodedBatch(derivations.bounds, texts, values, bounds, keys, derivations.scores)

    def oracle(
        self, segments: Texts, references: References, criterion: Oracle, work: Callable[[Batch, Derivations], T]
    ) -> Iterator[T]:
        """Run `work` on every batch and its sequences of highest BLEU, with BLEU as scores; yield results in order."""

        def one(batch: Batch) -> T:
            rows = np.arange(batch.first, batch.first + len(batch.sentences.bounds) - 1)
            wanted = truth(segments.take(rows), references.take(rows), self.blocks.vocabularies.target)
            return work(batch, criterion(batch.sentences, batch.options, self.blocks.blocks, wanted))

        return self.batches(segments, one)

    def oracles(self, segments: Texts, references: References, criterion: Oracle) -> Iterator[tuple[Texts, Reals]]:
        """The texts of the sequences of highest BLEU, and their BLEU+1, for each batch."""
        return self.oracle(segments, references, criterion, lambda batch, best: (self.texts(batch, best), best.scores))

    def texts(self, batch: Batch, derivations: Derivations) -> Texts:
        """The text of every derivation."""
        target = self.blocks.vocabularies.target.texts()
        return spelt(batch.sentences, batch.options, self.blocks.blocks, target, batch.surfaces, derivations)

    def lattice(self, batch: Batch, graph: Graph) -> Lattice:
        """A search graph as a lattice, which needs no blocks."""
        names = Names()
        names.intern_all(self.blocks.vocabularies.target.texts())
        names.intern_all(batch.surfaces)
        return Lattice.of(graph, self.said(batch), names)

    def values(self, batch: Batch, derivations: Derivations, logs: Reals) -> Reals:
        """The real-valued features of derivations, a column for each name. `logs` are from the method `logs`."""
        return dense(
            batch.sentences, batch.options, self.blocks.blocks, derivations,
            jumps=self.blocks.jumps, logs=logs, names=self.names,
        )  # fmt: skip

    def logs(self, batch: Batch, derivations: Derivations) -> Reals:
        """Log-probabilities of the words and the end of every derivation."""
        if self.lm is None:
            return np.zeros(0)
        words, bounds = spoken(batch.options, self.blocks.blocks, derivations)
        return self.lm.logs(self._lm_words[words], bounds)

    def said(self, batch: Batch, names: Names | None = None) -> Said:
        """The words of the options of a batch. Unknown words are copied; their ids follow those of the vocabulary, or
        are those of `names`, which begin with the vocabulary."""
        target = names or self.blocks.vocabularies.target
        local = Names()
        ids = local.intern_all(batch.surfaces)
        known = target.find_all(local.texts())
        beyond = len(target) + np.cumsum(known < 0) - 1
        surfaces = np.where(known < 0, beyond, known).astype(np.uint32)
        return said(batch.options, self.blocks.blocks, surfaces[ids])
