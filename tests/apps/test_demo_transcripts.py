"""The invented recogniser: its files are lists with costs, and equal seeds are equal files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from command import good

import rampion
from rampion.apps.demo_transcripts import LISTED, Recogniser


@pytest.mark.slow
def test_equal_seeds_are_equal_files_that_rampion_reads(tmp_path):
    for name in ("one", "other"):
        good("demo", "transcripts", "--out", tmp_path / name, "--utterances", 12)
    for part in ("text", "ac_cost", "lm_cost"):
        files = [tmp_path / name / "train" / part for name in ("one", "other")]
        assert files[0].read_bytes() == files[1].read_bytes()
        assert files[0].read_bytes() != (tmp_path / "one" / "test" / part).read_bytes()
    lists = rampion.load_nbest(tmp_path / "one" / "train")
    refs = rampion.load_references(tmp_path / "one" / "train.ref", lists)
    assert (len(lists), list(lists.features.names)) == (12, ["ac_cost", "lm_cost"])
    assert 1 < max(len(segment) for segment in lists) <= LISTED
    rates = {
        name: rampion.metric("wer").score([segment.texts[0] for segment in lists], [list(one) for one in given])
        for name, given in (("said", refs), ("itself", [[segment.texts[0]] for segment in lists]))
    }
    assert rates["itself"] == 0
    assert 5 < rates["said"] < 60


def test_costs_are_those_of_the_words():
    """Independent: the cost of a pair of words from counts of the text."""
    recogniser = Recogniser(["a cat sat", "a cat ran", "a dog ran"])
    singles, total = {"<s>": 3, "a": 3, "cat": 2, "dog": 1, "sat": 1, "ran": 2}, 12
    pairs = {("<s>", "a"): 3, ("a", "cat"): 2, ("a", "dog"): 1, ("cat", "sat"): 1, ("cat", "ran"): 1, ("dog", "ran"): 1}
    for one in recogniser.heard("a dog ran", np.random.default_rng(1)):
        ways = zip(("<s>", *one.words), one.words, strict=False)
        cost = sum(
            -math.log(0.8 * pairs.get(way, 0) / singles.get(way[0], 1) + 0.2 * (singles.get(way[1], 0) + 0.1) / total)
            for way in ways
        )
        assert one.fluency == pytest.approx(cost)
