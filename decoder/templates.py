"""Binary feature templates (S10.2, S11.6): what a block sequence fires, as exact 64-bit keys.

A key is template + 1 << 59 | arguments: one to three words of 19 bits, or phrases of 29, or a block of 32 and a small
code; no key is 0.

    P1 block                               P2 block, orientation                 P3 target phrases b', b
    P4 source phrases b', b                P5 target phrase, source length
    W1 source word, target word            W2 jump, last source word b', first source word b
    W3 target 1-, 2- and 3-grams inside b and across the join of b' and b       W4 last target word b', first b
    T1 source word; target words i < i'    T2 target word; source words j < j'
    H1 block, backward M/S/D               H2 block, forward M/S/D (of the last block: towards the end)

b' is the block before b; before the first stands the boundary, a block like others, which fires H2. Every use fires
once: F(z) counts. Jumps: R 0, L 1, N over a gap of 1, 2, 3 or 4, more words: 2, 3, 4, 5.
"""

from __future__ import annotations

NAMES = ("P1", "P2", "P3", "P4", "P5", "W1", "W2", "W3", "W4", "T1", "T2", "H1", "H2")
GROUPS = {
    "phrase": ("P1", "P2", "P3", "P4", "P5"),
    "word": ("W1", "W2", "W3", "W4"),
    "all": ("P1", "P2", "P3", "P4", "P5", "W1", "W2", "W3", "W4"),
    "pairs": ("P1",),
    "lexical": ("W1",),
    "triplets": ("T1", "T2"),
    "reordering": ("H1", "H2"),
}
