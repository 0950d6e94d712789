"""Text cut into words once. The aligner, the blocks and the language model number the words in tables of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rampion.arrays import Ids, Offsets, taken
from rampion.store.names import Names
from rampion.store.text import Texts


@dataclass(frozen=True, slots=True, eq=False)
class Tokenised:
    """Texts and their words: those of text i are words[bounds[i]:bounds[i + 1]], numbered by first appearance."""

    texts: Texts
    names: Names
    words: Ids
    bounds: Offsets

    @classmethod
    def of(cls, texts: Texts | Tokenised) -> Tokenised:
        """The words of the texts, which may be known already."""
        if isinstance(texts, Tokenised):
            return texts
        names = Names()
        return cls(texts, names, *names.tokens(texts))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def lengths(self) -> Offsets:
        """How many words each text has."""
        return np.diff(self.bounds)

    def numbered(self, names: Names) -> Ids:
        """The words with the ids that the table gives them, as if it met the text itself."""
        return names.intern_all(self.names.texts())[self.words].astype(np.uint32)

    def take(self, rows: Offsets) -> Tokenised:
        """The texts at `rows`, in that order."""
        places, bounds = taken(self.bounds, rows)
        words = self.words[places]
        known, firsts = np.unique(words, return_index=True)
        order = known[np.argsort(firsts)]
        ids = np.zeros(len(self.names), np.uint32)
        ids[order] = np.arange(len(order), dtype=np.uint32)
        names = Names()
        names.intern_all(self.names.texts().take(order.astype(np.int64)))
        return Tokenised(self.texts.take(rows), names, ids[words], bounds)
