"""Names that fall on one place of the table of names (rampion/_core/spans.pxd), as an attacker would make them."""

from __future__ import annotations

import numpy as np

WIDE = 64  # slots


def colliding(count, slots):
    """So many names of eight bytes whose search begins at the first slots of a table of so many."""
    keys = np.arange(count * slots // WIDE * 2, dtype=np.uint64)
    letters = keys[:, None] >> (np.uint64(4) * np.arange(8, dtype=np.uint64)) & np.uint64(15) | np.uint64(64)
    state = np.full(len(keys), 0xCBF29CE484222325, np.uint64)
    for column in letters.T:
        state = (state ^ column) * np.uint64(0x100000001B3)
    home = (state ^ state >> np.uint64(29) ^ state >> np.uint64(47)) & np.uint64(slots - 1)
    return [bytes(row).decode() for row in letters[np.flatnonzero(home < WIDE)[:count]].astype(np.uint8)]
