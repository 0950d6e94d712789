"""The bundled decoder as training on relevant sets asks for it: candidates by the keys that they fire (S10.8)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from rampion.decoder.block_decoder import Batch, BlockDecoder
from rampion.decoder.features.templates import Templates
from rampion.decoder.models.options import Derivations
from rampion.decoder.search.model import Model
from rampion.decoder.search.oracle import BAG, Oracle, bag

from rampion.errors import RecipeError
from rampion.sets.records import Fired, Keyed, KeyRow
from rampion.store.keys import Keys
from rampion.store.text import References, Texts


class _Known(NamedTuple):
    """The model of these weights."""

    table: Keys
    edition: int
    own: dict[str, float]
    model: Model


@dataclass(frozen=True, eq=False)
class KeyedBlockDecoder:
    """The candidates of a BlockDecoder; `criterion` looks for truths, with the decoder's own reordering."""

    decoder: BlockDecoder
    criterion: Oracle = field(default_factory=Oracle)
    _known: list[_Known] = field(default_factory=list, init=False, repr=False)  # none, or one

    @property
    def names(self) -> tuple[str, ...]:
        """Its real-valued features."""
        return self.decoder.names

    @cached_property
    def fingerprint(self) -> str:
        """Changes with blocks, language model, features and settings; not with the number of threads."""
        decoder = self.decoder
        tables = [*decoder.blocks.blocks, *decoder.blocks.jumps, *(decoder.lm.table[1:] if decoder.lm else ())]
        words = [*decoder.blocks.vocabularies, *([decoder.lm.vocabulary] if decoder.lm else [])]
        arrays = [*tables, *(part for names in words for part in (names.texts().blob, names.texts().bounds))]
        facts = {
            "features": [decoder.names, decoder.templates.mask, *decoder.templates.own],
            "settings": [
                asdict(decoder.settings),
                decoder.options,
                decoder.longest,
                decoder.distinct,
                decoder.lm and decoder.lm.order,
            ],
            "criterion": asdict(self.criterion),
            "arrays": [[array.shape, zlib.crc32(np.ascontiguousarray(array).data)] for array in arrays],
        }
        if (left := decoder.left_out) is not None:
            arrays = [*left.source, *left.target, left.alignment.bounds, left.alignment.sources, left.alignment.targets]
            facts["left out"] = [asdict(left.penalty), [zlib.crc32(array.data) for array in arrays]]
        return sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def listed(self, segments: Texts, weights: Keyed, k: int) -> Iterator[Fired]:
        """The k best candidates of every segment, best first."""
        decoder = self.decoder
        return decoder.search(
            segments, self.model(weights), lambda batch, graph: self._fired(batch, decoder.kbest(batch, graph, k))
        )

    def truths(self, segments: Texts, references: References, best: int) -> Iterator[Fired]:
        """The candidates of highest BLEU in the search space, best first (S10.4)."""
        criterion = replace(self.criterion, best=best, reordering=self.decoder.settings.reordering)
        return self.decoder.oracle(segments, references, criterion, self._fired)

    def bags(self, segments: Texts, seed: int) -> Iterator[Fired]:
        """A random block of every span (S10.7): one candidate a segment, which says nothing and fires P1 and W1 only,
        and these only if they are among the decoder's templates."""
        decoder = self.decoder
        plain = Templates(
            decoder.blocks.vocabularies, decoder.blocks.blocks, ",".join(filter(decoder.templates.fires, BAG))
        )

        def drawn(batch: Batch) -> Fired:
            found = bag(batch.sentences, batch.options, seed, batch.first)
            count = len(found.scores)
            keys, key_bounds = plain.emit(batch.sentences, batch.options, found)
            mute = Texts(np.zeros(0, np.uint8), np.zeros(count + 1, np.int64))
            return Fired(found.bounds, mute, np.zeros((count, len(decoder.names))), key_bounds, keys)

        return decoder.batches(segments, drawn)

    def best(self, segments: Texts, weights: Keyed) -> Texts:
        """The best translation of every segment."""
        return self.decoder.best(segments, weights, self.model(weights))

    def only(self, first: int, last: int) -> KeyedBlockDecoder:
        """This decoder, which answers for the segments from first to last - 1 of what it is given."""
        other = copy(self)
        object.__setattr__(other, "decoder", self.decoder.only(first, last))
        return other

    def spelt(self, keys: KeyRow) -> Texts:
        """Keys in readable form."""
        return self.decoder.spelt(keys)

    def model(self, weights: Keyed) -> Model:
        """What the weights say; asked for the same again, it still knows what they say of the blocks met before."""
        if unknown := [name for name in weights.own if name not in self.names]:
            known = ", ".join(self.names) or "none"
            raise RecipeError(f"{unknown[0]} has a weight, but the decoder's real-valued features are: {known}")
        for table, edition, own, model in self._known:
            if table is weights.table and edition == table.edition and own == weights.own:
                return model
        self._known.clear()  # before the next one, for memory
        model = self.decoder.weighed(weights.own, weights.table)
        self._known.append(_Known(weights.table, weights.table.edition, dict(weights.own), model))
        return model

    def _fired(self, batch: Batch, derivations: Derivations) -> Fired:
        told = self.decoder.tell(batch, derivations)
        return Fired(derivations.bounds, told.texts, told.values, told.key_bounds, told.keys)
