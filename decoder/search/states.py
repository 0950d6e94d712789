"""The search space: which block may follow which (S10.1).

Places are counted from 0 and spans are [start, end). A state says which source words are covered: every word before
`free`, except those of the gap [gap, start) if there is one. [start, end) is the span of the last block.

    move     from         to       orientation  the new block                                  backward, forward
    STEP     no gap, end  no gap   R            begins at free, where the last one ended       M  M
    OPEN     == free      gap      N            begins after a gap of at most `reach` words    D  M
    FILL     gap          no gap   L            covers the gap, all of it                      S  S
    CLOSE    no gap, end  no gap   N            begins at free; the gap is the swapped block   M  D
    REOPEN   < free       gap      N            begins after another gap: adjacent swaps only  D  D

The last two columns are hierarchical orientations (S11.6): of the new block relative to all earlier blocks, and of the
last block relative to the new one.
"""

from __future__ import annotations

from typing import NamedTuple

STEP, OPEN, FILL, CLOSE, REOPEN = range(5)
RIGHT, LEFT, NEUTRAL = range(3)
MONOTONE, SWAP, DISCONTINUOUS = range(3)

ORIENTATION = (RIGHT, NEUTRAL, LEFT, NEUTRAL, NEUTRAL)  # the orientation of each move
BACKWARD = (MONOTONE, DISCONTINUOUS, SWAP, MONOTONE, DISCONTINUOUS)
FORWARD = (MONOTONE, MONOTONE, SWAP, DISCONTINUOUS, DISCONTINUOUS)
NO_GAP = -1


class Reordering(NamedTuple):
    """Limits of the reordering of blocks. A reach of 0 is monotone (MON)."""

    reach: int = 8
    adjacent_swaps: bool = False


MON = Reordering(0)


class State(NamedTuple):
    """The state of the search after some blocks (see the module's docstring)."""

    free: int = 0
    gap: int = NO_GAP
    start: int = 0
    end: int = 0

    def move(self, start: int, end: int, reordering: Reordering) -> int | None:
        """The move by which a block over [start, end) follows, or None if it may not follow."""
        if self.gap != NO_GAP:
            return FILL if (start, end) == (self.gap, self.start) else None
        swapped = self.end < self.free
        if start == self.free:
            return CLOSE if swapped else STEP
        if self.free < start <= self.free + reordering.reach and (not swapped or reordering.adjacent_swaps):
            return REOPEN if swapped else OPEN
        return None

    def after(self, start: int, end: int) -> State:
        """The state that a legal block over [start, end) leads to."""
        if self.gap != NO_GAP:
            return State(self.free, NO_GAP, start, end)
        return State(end, self.free if start > self.free else NO_GAP, start, end)

    def final(self, length: int) -> bool:
        """Whether all words of a source sentence of this length are covered."""
        return self.free == length and self.gap == NO_GAP
