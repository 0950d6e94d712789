"""The search space: which block may follow which (S10.1).

Places are counted from 0 and spans are [start, end).

Monotone and swap: a `State` says which source words are covered: every word before `free`, except those of the gap
[gap, start) if there is one. [start, end) is the span of the last block.

    move     from         to       orientation  the new block                                  backward, forward
    STEP     no gap, end  no gap   R            begins at free, where the last one ended       M  M
    OPEN     == free      gap      N            begins after a gap of at most `reach` words    D  M
    FILL     gap          no gap   L            covers the gap, all of it                      S  S
    CLOSE    no gap, end  no gap   N            begins at free; the gap is the swapped block   M  D
    REOPEN   < free       gap      N            begins after another gap: adjacent swaps only  D  D

The last two columns are hierarchical orientations (S11.6): of the new block relative to all earlier blocks, and of the
last block relative to the new one.

Distortion: blocks may come in any order within a limit. A `Window` says that every word before `free` is covered, that
`free` is not, and which words behind it are. A block may cover any open words that are one span, if

    1. its start is at most `limit` words away from where the last block ended, on either side;
    2. it begins at `free`, or ends at most `limit` words behind it, so that the next block may always go back to it.

Its orientations depend on the words between it and the last block (`turned`).
"""

from __future__ import annotations

from typing import NamedTuple

STEP, OPEN, FILL, CLOSE, REOPEN = range(5)
LEAN = 4  # within a limit only: N, S; the new block ends where the words begin that are covered around the last one
RIGHT, LEFT, NEUTRAL = range(3)
MONOTONE, SWAP, DISCONTINUOUS = range(3)

ORIENTATION = (RIGHT, NEUTRAL, LEFT, NEUTRAL, NEUTRAL)  # the orientation of each move
BACKWARD = (MONOTONE, DISCONTINUOUS, SWAP, MONOTONE, DISCONTINUOUS)
FORWARD = (MONOTONE, MONOTONE, SWAP, DISCONTINUOUS, DISCONTINUOUS)
TURNS = ((RIGHT, MONOTONE), (NEUTRAL, DISCONTINUOUS), (LEFT, SWAP), (NEUTRAL, MONOTONE), (NEUTRAL, SWAP))
NO_GAP = -1
FARTHEST = 32  # the greatest limit: states hold so many words behind the first open one


class Reordering(NamedTuple):
    """Limits of the reordering of blocks. A reach of 0 is monotone (MON); a limit of more than 0 is distortion."""

    reach: int = 8
    adjacent_swaps: bool = False
    limit: int = 0


MON = Reordering(0)
DISTORTION = Reordering(limit=6)


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


class Turn(NamedTuple):
    """How a block follows: its orientation, backward seen from all before it, forward seen from the last one."""

    orientation: int
    backward: int
    forward: int

    @property
    def kind(self) -> int:
        """The place in TURNS of orientation and backward, on which the score of the block depends."""
        return TURNS.index(self[:2])


def turned(start: int, end: int, last_start: int, last_end: int, covered: int) -> Turn:
    """How a block over [start, end) follows one over [last_start, last_end), with `covered` words between the two.

    With none it is one piece with all that may still come between: M or S forward. If all words between are covered, it
    is beside what is covered around the last block: M or S backward.
    """
    right = start >= last_end
    side, between = (MONOTONE, start - last_end) if right else (SWAP, last_start - end)
    if not between:
        return Turn(RIGHT if right else LEFT, side, side)
    backward = side if covered == between else DISCONTINUOUS
    return Turn(NEUTRAL, backward, DISCONTINUOUS if covered else side)


class Window(NamedTuple):
    """The state of a search within a limit: word free + i is covered if bit i of `words` is set."""

    free: int = 0
    words: int = 0
    start: int = 0
    end: int = 0

    def covered(self, first: int, last: int) -> int:
        """How many of the words first to last - 1 are covered."""
        return sum(word < self.free or self.words >> word - self.free & 1 for word in range(first, last))

    def move(self, start: int, end: int, reordering: Reordering) -> Turn | None:
        """How a block over [start, end) follows, or None if it may not follow."""
        if self.covered(start, end) or abs(start - self.end) > reordering.limit:
            return None
        if start > self.free and end > self.free + reordering.limit:
            return None
        between = (self.end, start) if start >= self.end else (end, self.start)
        return turned(start, end, self.start, self.end, self.covered(*between))

    def after(self, start: int, end: int) -> Window:
        """The state that a legal block over [start, end) leads to."""
        free, words = self.free, self.words | (1 << end - start) - 1 << start - self.free
        while words & 1:
            free, words = free + 1, words >> 1
        return Window(free, words, start, end)

    def final(self, length: int) -> bool:
        """Whether all words of a source sentence of this length are covered."""
        return self.free == length
