"""Runs of rampion train on a small corpus."""

from __future__ import annotations

import json

import pytest
from command import good, rampion
from rampion.decoder.text.language import Language

SETTINGS = ["--fixed", "LM=0.1", "--iterations", "2", "--set", "epochs=3", "--set", "rate=0.01", "--beam", "5"]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    Language.invent(1).corpus(150, 12, 2).write(folder / "corpus")
    return folder / "corpus"


@pytest.fixture(scope="session")
def done(corpus):
    """A run on one thread, and what it printed."""
    told = good("train", corpus, "--out", corpus.parent / "done", *SETTINGS, "--threads", 1)
    return corpus.parent / "done", told


def train(corpus, out, *more):
    """A run that shares what was prepared."""
    return rampion("train", corpus, "--out", out, "--system", corpus.parent / "done" / "system", *SETTINGS, *more)


def bits(run):
    """All that a run has found, but for times."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    told = [{key: value for key, value in one.items() if key not in ("seconds", "memory", "cores")} for one in events]
    return files(run) | {"events": json.dumps(told).encode()}


def files(run):
    return {path.name: path.read_bytes() for part in ("sets", "weights") for path in (run / part).iterdir()}
