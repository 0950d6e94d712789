"""How large an experiment of a test is."""

from __future__ import annotations

from rampion.experiments.scales import Scale

TINY = Scale(
    300, 20, sentences=40, iterations=2, options=4, beam=10, k=10, decodings=2, counts=20,
    listed=30, width=10, tried=2, turns=2,
)  # fmt: skip
