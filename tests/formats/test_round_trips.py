"""Every writer refuses what its reader could not give back, whatever stands in texts, names and notes."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion.errors import InputError
from rampion.formats import load_nbest, load_references, load_weights, references, save_nbest, save_weights
from rampion.store.candidates import Candidates
from rampion.store.features import Features, Weights
from rampion.store.text import References, Texts

pytestmark = pytest.mark.filterwarnings("ignore::rampion.errors.InputWarning")

# Separators, blanks of all kinds, ends of lines, control characters, what begins or ends a field, and anything else.
PIECES = ["|||", " ||| ", "|", "=", "= 1", ":", "metric:", "[0]", "[1]", "#", "\n", "\r", "\r\n", "\t", "\v", "\f",
          "\x1c", "\x1f", "\x85", "\xa0", "\u2028", "\u2029", "\u200b", "\ufeff", "\x7f", "\x1b[2J", "\0", " ", "  ",
          "a", "b", "1", "-1e5", "nan", "{", '"', "\\", "\\n", "\N{PILE OF POO}", "\u0661"]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=("Cs",)), max_size=4).map("".join)


def kept(write, read, given):
    """Whatever was written is read back; what cannot be is refused, with a sentence."""
    written = False
    with suppress(InputError):
        write(given)
        written = True
    if written:
        assert read() == given


@given(st.dictionaries(texts.filter(bool), st.floats(-1e9, 1e9), min_size=1, max_size=4), st.integers(0, 4))
def test_weights(tmp_path_factory, values, width):
    names = Texts.from_strings(values)
    weights = Weights(Features(names, min(width, len(values))), np.array(list(values.values())))
    for name in ("w.txt", "w.bin", "w.txt.gz"):
        path = tmp_path_factory.mktemp("round") / name
        kept(lambda given, path=path: save_weights(path, given), lambda path=path: load_weights(path), weights)


def lists(identity, text, feature, note, column):
    """Two lists with these strings, or nothing if they are none that lists may have."""
    hyps = [{"text": text, "feats": {feature: 1.5, "LM": -1}, "note": note, "score": 2.0, "metrics": {column: 1.0}},
            {"text": "other", "feats": {"LM": -2}, "score": 1.0, "metrics": {column: 0.5}}]  # fmt: skip
    try:
        return Candidates.from_records([{"id": identity, "hyps": hyps}, {"id": "last", "hyps": hyps[1:]}])
    except InputError:
        return None


@pytest.mark.parametrize("name", ["x.nbest", "x.jsonl", "x.store"])
@given(identity=texts, text=texts, feature=texts, note=texts, column=texts)
def test_lists(tmp_path_factory, name, identity, text, feature, note, column):
    if (made := lists(identity, text, feature, note, column)) is not None:
        path = tmp_path_factory.mktemp("round") / name
        kept(lambda _: save_nbest(path, made), lambda: load_nbest(path).to_records(), made.to_records())


@given(st.lists(texts.filter(bool), min_size=1, max_size=3))
def test_references_line_by_line(tmp_path_factory, segments):
    given, path = References.from_lists([[text] for text in segments]), tmp_path_factory.mktemp("round") / "ref"
    numbers = Texts.from_strings(map(str, range(len(segments))))
    kept(lambda one: references.write([path], one), lambda: references.read([path], numbers, aligned=True), given)


@given(texts, texts.filter(bool))
def test_references_in_jsonl(tmp_path_factory, text, reference):
    made = lists("0", text or "x", "f", "", "m")
    if made is not None:
        refs, path = (
            References.from_lists([[reference.strip() or reference], ["other"]]),
            tmp_path_factory.mktemp("round") / "x.jsonl",
        )
        kept(lambda one: save_nbest(path, made, one), lambda: load_references(path, made), refs)
