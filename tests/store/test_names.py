"""Laws of the name table: ids by first appearance, whatever the table's size and however often it grew."""

from __future__ import annotations

import numpy as np
import pytest
from collisions import colliding
from hypothesis import given
from hypothesis import strategies as st

from rampion import _kernels
from rampion._core import intern as core_intern
from rampion._core import words as core_words
from rampion._reference import intern as reference_intern
from rampion._reference import words as reference_words
from rampion.errors import InputError
from rampion.store.names import Names
from rampion.store.text import Texts

strings = st.lists(st.text(st.sampled_from("ab~ =\t\n\x0bé語"), max_size=12), max_size=30)


def first_appearance(items: list[str]) -> list[int]:
    order: dict[str, int] = {}
    return [order.setdefault(item, len(order)) for item in items]


@given(strings)
def test_ids_are_dense_in_order_of_first_appearance(items: list[str]) -> None:
    names = Names(capacity=1)
    assert names.intern_all(Texts.from_strings(items)).tolist() == first_appearance(items)
    assert list(names.texts()) == list(dict.fromkeys(items))
    assert names.find_all(Texts.from_strings([*items, "never"])).tolist() == [*first_appearance(items), -1]


@given(strings, strings)
def test_tokens_are_the_blank_separated_pieces(before: list[str], items: list[str]) -> None:
    names = Names(capacity=2)
    names.intern_all(Texts.from_strings(before))
    tokens, bounds = names.tokens(Texts.from_strings(items))
    for row, item in enumerate(items):
        pieces = [names.name(token) for token in tokens[bounds[row] : bounds[row + 1]].tolist()]
        assert pieces == [piece.decode() for piece in item.encode().split()]


@given(strings, strings)
def test_tokens_are_found_where_they_have_names(known: list[str], items: list[str]) -> None:
    names = Names(capacity=1)
    numbers = dict(zip(known, names.intern_all(Texts.from_strings(known)).tolist(), strict=True))
    tokens, bounds = names.find_tokens(Texts.from_strings(items))
    for item, start, end in zip(items, bounds[:-1], bounds[1:], strict=True):
        pieces = [piece.decode() for piece in item.encode().split()]
        assert tokens[start:end].tolist() == [numbers.get(piece, -1) for piece in pieces]
    assert len(names) == len(numbers)


def test_one_name_at_a_time() -> None:
    names = Names()
    assert [names.intern("LM"), names.intern(b"TM[0]"), names.intern("LM")] == [0, 1, 0]
    assert (names.find("TM[0]"), names.find("absent"), names.name(1), len(names)) == (1, None, "TM[0]", 2)


def test_a_table_of_many_names_grows_and_keeps_their_ids() -> None:
    items = [f"WT_{number}~{number % 7}" for number in range(20_000)]
    names = Names()
    assert names.intern_all(Texts.from_strings(items)).tolist() == list(range(len(items)))
    assert names.find_all(Texts.from_strings(reversed(items))).tolist() == list(reversed(range(len(items))))


def test_a_text_longer_than_the_whole_table() -> None:
    names = Names(capacity=1)
    tokens, _ = names.tokens(Texts.from_strings(["x" * 1000 + " y"]))
    assert tokens.tolist() == [0, 1]


def table_state(names: Names) -> list[object]:
    used = names.texts()
    return [names.slots.tolist(), used.blob.tolist(), used.bounds.tolist(), names.counts.tolist()]


@given(strings, st.sampled_from([1, 2, 4, 64]))
def test_intern_twins(items: list[str], capacity: int) -> None:
    texts, answers = Texts.from_strings(items), []
    for module in (core_intern, reference_intern):
        names, ids, found = Names(capacity), np.full(len(items), -7), np.full(len(items), -7)
        done = module.intern(texts.blob, texts.bounds, 0, names, ids)
        module.find(texts.blob, texts.bounds, names, found)
        answers.append([done, ids.tolist(), found.tolist(), *table_state(names)])
    assert answers[0] == answers[1]


@given(strings, st.sampled_from([1, 2, 4, 64]))
def test_words_twins(items: list[str], capacity: int) -> None:
    texts, answers = Texts.from_strings(items), []
    for module in (core_words, reference_words):
        names, bounds = Names(capacity), np.zeros(len(items) + 1, np.int64)
        tokens = np.zeros(len(texts.blob) + 1, np.uint32)
        done = module.words(texts.blob, texts.bounds, 0, names, tokens, bounds)
        answers.append([done, tokens[: bounds[done]].tolist(), bounds[: done + 1].tolist(), *table_state(names)])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", ["intern", "find"])
def test_twins_promise_the_same(name: str) -> None:
    assert getattr(core_intern, name).__doc__ == getattr(reference_intern, name).__doc__
    assert core_words.words.__doc__ == reference_words.words.__doc__


@pytest.mark.parametrize("twin", [False, True])
def test_names_that_are_made_to_collide_are_refused_before_they_take_time(twin, monkeypatch):
    if twin:
        monkeypatch.setattr(_kernels, "intern", reference_intern.intern)
    names = colliding(1100, 4096)
    table = Names(2048)
    assert table.intern_all(texts_of(names[:1024])).tolist() == list(range(1024))
    with pytest.raises(InputError, match=r"more than 500 of 1,0\d\d names, such as b'.*', fall on one place"):
        table.intern_all(texts_of(names))
    assert Names(4096).intern_all(texts_of(names)).tolist() == list(range(1100))  # there they fall on two places


def texts_of(names):
    return Texts(np.frombuffer("".join(names).encode(), np.uint8), np.arange(len(names) + 1) * 8)
