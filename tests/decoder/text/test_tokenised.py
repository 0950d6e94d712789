"""Words of a text, cut once: other tables number them as if they had met the text itself."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder.text.tokenised import Tokenised

from rampion.store.names import Names
from rampion.store.text import Texts

LINES = st.lists(st.text("abc \t", max_size=12), max_size=8)


@given(LINES, st.lists(st.sampled_from(["a", "b", "ab", "z"]), unique=True))
def test_other_tables_give_the_ids_that_they_would_give_the_text(lines, known):
    texts = Texts.from_strings(lines)
    one, two = Names(), Names()
    for names in (one, two):
        names.intern_all(Texts.from_strings(known))
    words, bounds = one.tokens(texts)
    found = Tokenised.of(texts)
    assert found.numbered(two).tobytes() == words.tobytes()
    assert found.bounds.tolist() == bounds.tolist()
    assert two.texts() == one.texts()


@given(LINES, st.data())
def test_some_of_the_texts_are_numbered_as_if_there_were_no_others(lines, data):
    rows = data.draw(st.lists(st.integers(0, len(lines) - 1), unique=True) if lines else st.just([]))
    taken = Tokenised.of(Texts.from_strings(lines)).take(np.array(rows, np.int64))
    fresh = Tokenised.of(Texts.from_strings([lines[row] for row in rows]))
    assert taken.texts == fresh.texts
    assert taken.names.texts() == fresh.names.texts()
    assert taken.words.tobytes() == fresh.words.tobytes()
    assert taken.bounds.tobytes() == fresh.bounds.tobytes()
