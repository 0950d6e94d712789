"""The search space: which block may follow which (S10.1).

Places are counted from 0 and spans are [start, end). A state is what the past leaves open: every source word before
`free` is covered, but for the gap [gap, start) if there is one; [start, end) is the span of the last block.

    move     from         to       orientation  the new block                                  backward, forward
    STEP     no gap, end  no gap   R            begins at free, where the last one ended       M  M
    OPEN     == free      gap      N            begins after a gap of at most `reach` words    D  M
    FILL     gap          no gap   L            covers the gap, all of it                      S  S
    CLOSE    no gap, end  no gap   N            begins at free; the gap is the swapped block   M  D
    REOPEN   < free       gap      N            begins after another gap: adjacent swaps only  D  D

The last two columns are hierarchical (S11.6): the new block towards all before it, the last block towards the new one.
"""

from __future__ import annotations

from typing import NamedTuple

STEP, OPEN, FILL, CLOSE, REOPEN = range(5)
RIGHT, LEFT, NEUTRAL = range(3)
MONOTONE, SWAP, DISCONTINUOUS = range(3)

ORIENTATION = (RIGHT, NEUTRAL, LEFT, NEUTRAL, NEUTRAL)  # of each move
BACKWARD = (MONOTONE, DISCONTINUOUS, SWAP, MONOTONE, DISCONTINUOUS)
FORWARD = (MONOTONE, MONOTONE, SWAP, DISCONTINUOUS, DISCONTINUOUS)
NO_GAP = -1


class Reordering(NamedTuple):
    """How far blocks may leave the source order. MON is reach 0."""

    reach: int = 8
    adjacent_swaps: bool = False


MON = Reordering(0)


class State(NamedTuple):
    """What the past leaves open."""

    free: int = 0
    gap: int = NO_GAP
    start: int = 0
    end: int = 0

    def move(self, start: int, end: int, reordering: Reordering) -> int | None:
        """How a block over [start, end) would follow; None if it may not."""
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
        """Whether a source sentence of this length is covered."""
        return self.free == length and self.gap == NO_GAP
