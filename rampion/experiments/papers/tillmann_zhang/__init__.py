"""Tillmann & Zhang's experiments on block sequences. The numbers are from S10.14."""

from rampion.experiments.papers.tillmann_zhang.binary import BINARY
from rampion.experiments.papers.tillmann_zhang.real import REAL
from rampion.experiments.papers.tillmann_zhang.texts import TEXTS

EXPERIMENTS = (*BINARY, *REAL, *TEXTS)
