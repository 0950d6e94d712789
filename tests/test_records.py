"""Laws of records: what is new is recorded once; what is written comes back; what is damaged is found."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rampion._core import arrange as core
from rampion._reference import arrange as reference
from rampion.errors import InputError, StoreError
from rampion.formats import records as files
from rampion.formats.records import Sets
from rampion.keys import Keys
from rampion.records import Fired, Records, Seen, recorded
from rampion.text import Texts


def chained(lengths):
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def fired(lists, width):
    """Lists of candidates, each (keys, values, gain), as a decoder tells them, and their gains."""
    flat = [candidate for candidates in lists for candidate in candidates]
    told = Fired(
        chained([len(candidates) for candidates in lists]),
        Texts.of("" for _ in flat),
        np.array([values for _, values, _ in flat], np.float64).reshape(len(flat), width),
        chained([len(keys) for keys, _, _ in flat]),
        np.array([key for keys, _, _ in flat for key in keys], np.uint64),
    )
    return told, np.array([gain for _, _, gain in flat], np.float64)


keys = st.lists(st.integers(1, 6) | st.integers(1, 2**64 - 1), max_size=5)
number = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e300])


@st.composite
def rounds(draw):
    """What a decoder tells of the same segments again and again."""
    segments, width = draw(st.integers(0, 4)), draw(st.integers(0, 2))
    candidate = st.tuples(keys, st.lists(number, min_size=width, max_size=width), number)
    lists = st.lists(st.lists(candidate, max_size=4), min_size=segments, max_size=segments)
    return draw(st.lists(lists, min_size=1, max_size=4)), width


def recorded_rounds(told, width):
    """Every round in two batches; and the table."""
    table, seen, found = Keys(1), Seen(len(told[0])), []
    for lists in told:
        half = len(lists) // 2
        batches = [(fired(lists[:half], width), 0), (fired(lists[half:], width), half)]
        found.append(Records.join([recorded(*batch, table, seen, first) for batch, first in batches]))
    return found, table


def lists_of(records, table):
    """The candidates as they went in, keys and values as sets of equals."""
    listed = table.listed()
    candidates = [
        (Counter(listed[records.ids[a:b]].tolist()), tuple(values), gain)
        for (a, b), values, gain in zip(
            pairwise(records.id_bounds), records.values.tolist(), records.gains.tolist(), strict=True
        )
    ]
    return [candidates[a:b] for a, b in pairwise(records.bounds)]


@given(rounds())
def test_each_candidate_is_recorded_where_its_segment_first_has_it_and_counted_once(given_rounds):
    told, width = given_rounds
    found, table = recorded_rounds(told, width)
    known, counts = [[] for _ in told[0]], Counter()
    for lists, records in zip(told, found, strict=True):
        expected = []
        for before, candidates in zip(known, lists, strict=True):
            new = []
            for fresh, values, gain in candidates:
                features = Counter(fresh), tuple(values)
                if features not in before:
                    before.append(features)
                    new.append((*features, gain))
                    counts.update(fresh)
            expected.append(new)
        assert lists_of(records, table) == expected
        for start, end in pairwise(records.id_bounds):
            assert (np.diff(records.ids[start:end].astype(np.int64)) >= 0).all()
    assert dict(zip(table.listed().tolist(), table.counts.tolist(), strict=False)) == counts


def test_prints_know_the_multiset_of_keys_and_every_value_by_column():
    first = ([1, 2, 2], [0.0, 1.0], 0.5)
    lists = [
        [first, ([2, 1, 2], [-0.0, 1.0], 9.0), ([1, 2], [0, 1], 0), ([1, 2, 2], [1, 0], 0), ([1, 1, 2], [0, 1], 0)]
    ]
    records = recorded(*fired(lists, 2), Keys(), Seen(1))
    assert records.gains.tolist() == [0.5, 0, 0, 0]
    assert records.ids.tolist() == [0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1]


def test_a_set_of_hundreds_keeps_its_prints():
    random = np.random.default_rng(1)
    seen, known = Seen(3), [set() for _ in range(3)]
    for _ in range(20):
        lengths = random.integers(0, 30, 3)
        prints = random.integers(0, 300, lengths.sum()).astype(np.uint64) + np.uint64(1)
        bounds, expected = chained(lengths), []
        for s, (start, end) in enumerate(pairwise(bounds)):
            for one in prints[start:end].tolist():
                expected.append(one not in known[s])
                known[s].add(one)
        assert seen.admit(0, bounds, prints).tolist() == expected


@pytest.mark.parametrize(
    ("values", "gain", "sentence"),
    [
        ([0.0, np.nan], 0.0, r"segment 8: value 1 of a candidate is nan; expected a finite number"),
        ([0.0, 0.0], -np.inf, r"segment 8: gain 0 of a candidate is -inf; expected a finite number"),
    ],
)
def test_numbers_that_are_not_finite_are_refused(values, gain, sentence):
    lists = [[([1], [0, 0], 0)], [], [([2], [0, 0], 0), ([3], values, gain)]]
    table = Keys()
    with pytest.raises(InputError, match=sentence):
        recorded(*fired(lists, 2), table, Seen(9), first=6)
    assert len(table) == 0


some_ids = st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 300), max_size=150)


@given(
    st.lists(some_ids, max_size=4),
    st.lists(st.integers(0, 2**64 - 1), max_size=30),
    st.integers(0, 3),
    st.integers(0, 2**32),
)
def test_kernels_and_twins_give_the_same_bits(spans, words, width, seed):
    random = np.random.default_rng(seed)
    values = random.integers(0, 2**64, (3, width), np.uint64)
    bounds = np.sort(random.integers(0, len(words) + 1, 4))

    def run(kernels):
        ids = np.array([one for span in spans for one in span], np.uint32)
        work = np.full(1024 + max(map(len, spans), default=0), 7, np.uint32)
        kernels.arrange(chained([len(span) for span in spans]), work, ids)
        counts = np.arange(50, dtype=np.uint32)
        kernels.tally(ids % 50, counts)
        prints = np.zeros(3, np.uint64)
        kernels.prints(bounds, np.array(words, np.uint64), values, prints)
        return ids.tolist(), counts.tolist(), prints.tolist()

    assert run(core) == run(reference)


# Files


def written(folder, told, width, corpus="c0ffee"):
    """The rounds in a folder, the first as truths; a table that grew beside it."""
    table, seen, sets = Keys(1), Seen(len(told[0])), Sets.open(folder, corpus)
    for name, lists in zip(["oracle", "000", "001", "002"], told, strict=False):
        sets.append(name, recorded(*fired(lists, width), table, seen), table)
    return sets, table


def bits(parts):
    return {
        name: (part.first, part.corpus, part.keys.tobytes(), *(array.tobytes() for array in part.records))
        for name, part in parts.items()
    }


@settings(max_examples=40)
@given(rounds())
def test_sets_come_back_bit_for_bit_with_their_table(tmp_path_factory, given_rounds):
    folder = tmp_path_factory.mktemp("sets")
    sets, table = written(folder, *given_rounds)
    for corpus in ("c0ffee", None):
        again = Sets.open(folder, corpus)
        assert list(again.parts) == ["oracle", "000", "001", "002"][: len(given_rounds[0])]
        assert bits(again.parts) == bits(sets.parts)
        assert again.table().listed().tolist() == table.listed().tolist()
        assert again.table().counts[: len(table)].tolist() == table.counts[: len(table)].tolist()


ROUNDS = [[[([5, 7, 5], [0.5], 0.1)], [([9], [1.5], 0.2)]], [[([7], [2.5], 0.3)], []], [[], [([5, 11], [0.0], 0.4)]]]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sets").mkdir()
    written(tmp_path / "sets", ROUNDS, 1)
    return tmp_path / "sets"


def test_an_iteration_after_another_is_appended_to_what_is_there(folder):
    sets = Sets.open(folder, "c0ffee")
    table = sets.table()
    sets.append("002", recorded(*fired(ROUNDS[1], 1), table, Seen(2)), table)
    assert sets.known == 4
    assert list(Sets.open(folder).parts) == ["oracle", "000", "001", "002"]
    assert Sets.open(folder).table().counts[:4].tolist() == [3, 3, 1, 1]


@pytest.mark.slow
def test_every_flipped_bit_is_found(folder):
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        with open(path, "r+b", buffering=0) as file:
            for place, byte in enumerate(content):
                os.pwrite(file.fileno(), bytes([byte ^ 1 << place % 8]), place)
                with pytest.raises(StoreError, match=path.name):
                    files.read(path)
                os.pwrite(file.fileno(), bytes([byte]), place)
    assert list(Sets.open(folder).parts) == ["oracle", "000", "001"]
