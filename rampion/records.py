"""What decoders with keyed features tell of candidates, and what a relevant set remembers of them (S10.8)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.keys import Keys
from rampion.text import Texts

Reals = NDArray[np.float64]
Offsets = NDArray[np.int64]
Ids = NDArray[np.uint32]
KeyRow = NDArray[np.uint64]


class Keyed(NamedTuple):
    """Weights of a decoder with keyed features: of its keys in the table, of its real-valued features by name."""

    table: Keys
    own: dict[str, float]


class Fired(NamedTuple):
    """Candidates of consecutive segments as a decoder tells them: a key that counts 3 stands three times."""

    bounds: Offsets
    texts: Texts
    values: Reals
    key_bounds: Offsets
    keys: KeyRow


class Records(NamedTuple):
    """Candidates of consecutive segments: ids of a Keys table, rising inside a candidate; one that counts 3 thrice.

    Gains are what the metric says, larger is better. Equal features have equal prints.
    """

    bounds: Offsets
    id_bounds: Offsets
    ids: Ids
    values: Reals
    gains: Reals
    prints: KeyRow
