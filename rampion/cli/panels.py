"""What people come for: the groups of `rampion --help`, in their order."""

from __future__ import annotations

LISTS = "Lists of candidates: tune weights, choose, compare"
DECODER = "The bundled decoder: from parallel text to translations"
EXPERIMENTS = "Experiments"
INSIDE = "Look inside"
