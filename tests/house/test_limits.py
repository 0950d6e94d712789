"""The limits that docs/reliability.md states are those of the code, and what is beyond them is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from rampion.decoder.alignment import align
from rampion.decoder.models import lm, options

from rampion._reference import intern
from rampion.errors import InputError
from rampion.formats import container, files
from rampion.metrics import ter, wer
from rampion.store import keys, names
from rampion.store.text import Texts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
LIMITS = {
    "bytes of a line": files.LONGEST_LINE,
    "different names": names.MOST,
    "different features": keys.MOST,
    "names on one place": intern.FARTHEST + 1,
    "segments, candidates": np.iinfo(np.int64).max,
    "dimensions": container._DIMENSIONS,
    "words of an n-gram": lm.HIGHEST,
    "log₁₀": lm.STEEPEST,
    "words of a candidate": ter.LONGEST,
    "words (letters)": wer.LONGEST,
    "words of a sentence that is aligned": align.LONGEST,
    "words of a sentence that is decoded": options.LONGEST,
}


def test_the_page_states_the_limits_of_the_code():
    table = PAGE.read_text("utf-8").partition("## Limits")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| (.*?) \| ([\d,]+) \|", table, re.MULTILINE))
    assert len(rows) == len(LIMITS)
    for what, most in LIMITS.items():
        (said,) = (number for row, number in rows.items() if row.startswith(what))
        assert int(said.replace(",", "")) == most, what


def test_tables_refuse_more_than_their_ids_can_count(monkeypatch):
    monkeypatch.setattr(names, "MOST", 4)
    table = names.Names(2)
    table.intern_all(Texts.from_strings("abcd"))
    with pytest.raises(InputError, match="there are more than 4 different names; ids have no room for more"):
        table.intern_all(Texts.from_strings("abcde"))
    monkeypatch.setattr(keys, "MOST", 4)
    features = keys.Keys(1)
    features.enter(np.arange(1, 5, dtype=np.uint64))
    with pytest.raises(InputError, match="there are more than 4 different features; ids have no room for more"):
        features.enter(np.arange(1, 6, dtype=np.uint64))
