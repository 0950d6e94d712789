"""Texts split at ASCII whitespace, every token an id of a name table.

Twin: rampion/_core/words.pyx
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion._reference.intern import intern_one

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rampion.store.names import Names


def words(
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    start: int,
    table: Names,
    tokens: NDArray[np.uint32],
    token_bounds: NDArray[np.int64],
) -> int:
    """Tokens of every text from number `start` on; return how many texts are done: all, unless the table is full."""
    known: dict[bytes, int] = {}
    edges, whole = bounds.tolist(), text.tobytes()
    token = int(token_bounds[start])
    for row in range(start, len(edges) - 1):
        found = []
        for name in whole[edges[row] : edges[row + 1]].split():
            found.append(intern_one(name, table, known))
            if found[-1] < 0:
                return row
        tokens[token : token + len(found)] = found
        token += len(found)
        token_bounds[row + 1] = token
    return len(edges) - 1
