"""Laws of records: what is new is recorded once; what is written comes back; what is damaged is found."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command import ENVIRONMENT, good, rampion
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples

from rampion import schema
from rampion._core import fingerprints as core
from rampion._reference import fingerprints as reference
from rampion.errors import InputError, StoreError
from rampion.formats import container
from rampion.sets import files as files
from rampion.sets.files import Sets
from rampion.sets.records import DecodedBatch, Records, Seen, recorded
from rampion.store.keys import Keys
from rampion.store.text import Texts


def chained(lengths):
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def fired(lists, width):
    """Lists of candidates, each (keys, values, gain), as a decoder tells them, and their gains."""
    flat = [candidate for candidates in lists for candidate in candidates]
    told = DecodedBatch(
        chained([len(candidates) for candidates in lists]),
        Texts.from_strings("" for _ in flat),
        np.array([values for _, values, _ in flat], np.float64).reshape(len(flat), width),
        chained([len(keys) for keys, _, _ in flat]),
        np.array([key for keys, _, _ in flat for key in keys], np.uint64),
        np.zeros(len(flat)),
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


@pytest.mark.parametrize(
    "changes",
    [
        {"bounds": np.array([0, 3])},
        {"bounds": np.array([0, 3, 1])},
        {"key_bounds": np.array([0, 2, 4])},
        {"key_bounds": np.array([1, 2])},
        {"key_bounds": np.array([0, 3])},
        {"values": np.zeros((1, 1))},
    ],
)
def test_what_a_decoder_tells_must_fit_together(changes):
    told, gains = fired([[([1, 2], [0], 0)], [([3], [0], 0)]], 1)
    with pytest.raises(InputError, match="segment 4 and after: the decoder's arrays do not fit together"):
        recorded(told._replace(**changes), gains, Keys(), Seen(9), first=4)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.integers(0, 3), st.integers(0, 2**32))
def test_kernel_and_twin_give_the_same_bits(words, width, seed):
    random = np.random.default_rng(seed)
    values = random.integers(0, 2**64, (3, width), np.uint64)
    bounds = np.sort(random.integers(0, len(words) + 1, 4))
    found = [np.zeros(3, np.uint64) for _ in range(2)]
    for kernel, prints in zip((core.fingerprints, reference.fingerprints), found, strict=True):
        kernel(bounds, np.array(words, np.uint64), values, prints)
    assert found[0].tolist() == found[1].tolist()


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


@examples(40)
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


def test_every_flipped_bit_is_found(folder):
    """In the header, in every array, and in what fills them up."""
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        with open(path, "r+b", buffering=0) as file:
            for place, byte in enumerate(content):
                os.pwrite(file.fileno(), bytes([byte ^ 1 << place % 8]), place)
                with pytest.raises(StoreError, match=path.name):
                    files.read(path)
                os.pwrite(file.fileno(), bytes([byte]), place)
    assert list(Sets.open(folder).parts) == ["oracle", "000", "001"]


def spoilt_by(change):
    """Change the bytes of 000.records."""

    def spoil(folder):
        path = folder / "000.records"
        path.write_bytes(change(path.read_bytes()))

    return spoil


def elsewhere(told, width=1, corpus="c0ffee"):
    """Put in place of 000.records that of a run that was told something else."""

    def spoil(folder):
        other = folder.with_name("other")
        other.mkdir()
        written(other, told, width, corpus)
        (other / "000.records").replace(folder / "000.records")

    return spoil


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoilt_by(lambda content: content[:-64]), r"000\.records: has \d+ bytes, but its header says \d+"),
        (spoilt_by(lambda content: content[:100]), r"000\.records: is cut off"),
        (spoilt_by(lambda content: b""), r"000\.records: is no records file of Rampion"),
        (spoilt_by(lambda content: b"1 ||| a\n" * 30), r"000\.records: is no records file of Rampion"),
        (spoilt_by(lambda content: content[:7] + b"\2" + content[8:]), r"000\.records: has format version 2"),
        (lambda folder: container.write(folder / "000.records", "weights", {}, {}), "000.records: holds weights"),
        (lambda folder: (folder / "000.records").unlink(), r"holds 001\.records but no 000\.records; put that"),
        (lambda folder: (folder / "000.records").rename(folder / "0.records"), r"holds 0\.records but no 000\.records"),
        (elsewhere(ROUNDS, corpus="f00d"), r"000\.records: is of another corpus; expected that of the run"),
        (elsewhere([ROUNDS[2], ROUNDS[1]]), r"000\.records: its first new id is 2, expected 3; it is of another run"),
        (elsewhere([[*one, []] for one in ROUNDS]), r"has 3 segments and 1 real-valued features, the files before"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("corpus", ["c0ffee", None])
def test_a_sentence_for_every_bad_folder(folder, spoil, sentence, corpus):
    spoil(folder)
    with pytest.raises(StoreError, match=sentence):
        Sets.open(folder, corpus)


def test_sets_of_another_corpus_are_refused_and_none_is_an_empty_set(folder, tmp_path):
    with pytest.raises(StoreError, match=r"oracle\.records: is of another corpus"):
        Sets.open(folder, "f00d")
    with pytest.raises(InputError, match=r"none: holds no \.records files; name the folder of a run"):
        Sets.open(tmp_path / "none")
    empty = Sets.open(tmp_path / "none", "f00d")
    assert (empty.parts, empty.known, len(empty.table())) == ({}, 0, 0)


@pytest.mark.parametrize(
    ("changes", "meta", "sentence"),
    [
        ({}, {"first": 0}, "its header lacks the corpus"),
        ({}, {"first": -1, "corpus": ""}, "its first is -1, expected a count"),
        ({}, {"first": True, "corpus": ""}, "its first is True, expected a count"),
        ({"prints": None}, None, "its array prints is missing"),
        ({"gains": np.zeros((2, 1))}, None, "its array gains has 2 dimensions, expected 1"),
        ({"ids": np.zeros(4, np.uint64)}, None, "its array ids is not of the type uint32"),
        ({"bounds": np.array([0, 2, 1, 2])}, None, "its array bounds does not rise from 0 to 2"),
        ({"bounds": np.zeros(0, np.int64)}, None, "its array bounds has 0 numbers, expected 1"),
        ({"id_bounds": np.array([0, 3, 5])}, None, "its array id_bounds does not rise from 0 to 4"),
        ({"id_bounds": np.array([1, 3, 4])}, None, "its array id_bounds does not rise from 0 to 4"),
        ({"prints": np.ones(3, np.uint64)}, None, "its array prints has 3 numbers, expected 2"),
        ({"id_bounds": np.array([0, 4])}, None, "its array values has 2 numbers, expected 1"),
        ({"values": np.array([[0.0], [np.nan]])}, None, "its array values holds a number that is not finite"),
        ({"gains": np.array([np.inf, 0])}, None, "its array gains holds a number that is not finite"),
        ({"keys": np.array([5, 7], np.uint64)}, None, "its array ids holds the id 2, expected ids below 2"),
        ({"ids": np.array([0, 0, 1, 0], np.uint32), "id_bounds": np.array([0, 4, 4])}, None, "its array ids does not"),
        ({"keys": np.array([5, 0, 9], np.uint64)}, None, "its array keys holds a 0"),
    ],
)  # fmt: skip
def test_records_that_do_not_fit_are_refused(folder, changes, meta, sentence):
    """The checksums are right, the arrays are not."""
    path = folder / "oracle.records"
    arrays, known = container.opened(path, "records")
    arrays = {name: array for name, array in (arrays | changes).items() if array is not None}
    container.write(path, "records", arrays, known if meta is None else meta)
    with pytest.raises(StoreError, match=rf"oracle\.records: {sentence}.*; the file cannot be used"):
        files.read(path)


def test_a_key_that_is_new_twice_is_refused(folder):
    path = folder / "001.records"
    arrays, meta = container.opened(path, "records")
    container.write(path, "records", arrays | {"keys": np.array([5], np.uint64)}, meta)
    with pytest.raises(StoreError, match=r"sets: 1 of 4 feature keys appear twice"):
        Sets.open(folder).table()


def test_ids_are_compared_across_pieces(folder, monkeypatch):
    path = folder / "oracle.records"
    arrays, meta = container.opened(path, "records")
    changed = {"ids": np.array([0, 1, 0, 2], np.uint32), "id_bounds": np.array([0, 3, 4])}
    container.write(path, "records", arrays | changed, meta)
    for piece in (1, 2, 3, 4):
        monkeypatch.setattr(schema, "PIECE", piece)
        with pytest.raises(StoreError, match="its array ids does not rise"):
            files.read(path)
        assert files.read(folder / "000.records").records.ids.tolist() == [1]


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_sets_as_they_were(folder, monkeypatch, step):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    sets = Sets.open(folder, "c0ffee")
    table = sets.table()
    fresh = recorded(*fired([[([13], [0], 0)], []], 1), table, Seen(2))
    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(InputError, match=r"002\.records: cannot be written: No space left on device; nothing was"):
            sets.append("002", fresh, table)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert (list(Sets.open(folder).parts), sets.known) == (["oracle", "000", "001"], 4)
    sets.append("002", fresh, table)
    assert Sets.open(folder).table().listed().tolist() == [5, 7, 9, 11, 13]


def test_a_file_that_may_not_grow_leaves_the_sets_as_they_were(folder):
    sets = Sets.open(folder, "c0ffee")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        with pytest.raises(InputError, match=r"002\.records: cannot be written: File too large; nothing was left"):
            sets.append("002", sets.parts["001"].records, sets.table())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(Sets.open(folder).parts) == ["oracle", "000", "001"]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_what_a_killed_run_left_is_passed_over_and_removed(folder, share, monkeypatch):
    sets, before = Sets.open(folder, "c0ffee"), set(folder.iterdir())
    fresh, table = sets.parts["000"].records, sets.table()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        patch.setattr(type(folder), "unlink", lambda *_, **__: None)
        with pytest.raises(InputError, match="cannot be written"):
            sets.append("002", fresh, table)
    (left,) = set(folder.iterdir()) - before
    os.truncate(left, int(share * left.stat().st_size))
    sets = Sets.open(folder, "c0ffee")
    assert (list(sets.parts), left.exists()) == (["oracle", "000", "001"], True)
    sets.append("002", fresh, table)
    assert set(folder.iterdir()) - before == {folder / "002.records"}


THROUGH = """
import resource, sys
import numpy as np
from rampion.sets.files import Sets
free = 24 << 20
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + free, used + free))
(part,) = Sets.open(sys.argv[1]).parts.values()
ids = part.records.ids
print(ids.nbytes > 3 * free, sum(int(ids[start : start + 65536].sum()) for start in range(0, len(ids), 65536)))
try:
    ids.copy()
except MemoryError:
    print("no room for it")
"""


@pytest.mark.slow
def test_sets_larger_than_memory_are_read_through(tmp_path):
    """The store is mapped: opening it, with all that is checked, and reading it once needs no memory of its own."""
    candidates, features = 2048, 10_000
    ids = np.tile(np.arange(features, dtype=np.uint32), candidates)
    records = Records(
        np.arange(candidates + 1),
        np.arange(candidates + 1) * features,
        ids,
        np.zeros((candidates, 1)),
        np.zeros(candidates),
        np.arange(candidates, dtype=np.uint64),
    )
    table = Keys()
    table.enter(np.arange(1, features + 1, dtype=np.uint64))
    Sets.open(tmp_path, "").append("000", records, table)
    run = subprocess.run(
        [sys.executable, "-Pc", THROUGH, tmp_path], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    assert run.stdout == f"True {ids.sum(dtype=np.int64)}\nno room for it\n"


def test_verify_says_what_each_file_holds(folder, tmp_path):
    expected = [
        {"segments": 2, "candidates": 2, "features": 3, "dense": 1},
        {"segments": 2, "candidates": 1, "features": 3, "dense": 1},
        {"segments": 2, "candidates": 1, "features": 4, "dense": 1},
    ]
    paths = [folder / f"{name}.records" for name in ("oracle", "000", "001")]
    expected = [
        {"store": str(path)} | facts | {"bytes": path.stat().st_size, "kind": "records"}
        for path, facts in zip(paths, expected, strict=True)
    ]
    for asked in ([folder], [tmp_path], paths):  # the sets; the run that they are of; the files
        assert json.loads(good("store", "verify", *asked, "--json")) == expected
    head, *rows, last = good("store", "verify", tmp_path).splitlines()
    assert (head.split()[0], len(rows), last) == ("store", 3, "whole")
    (folder / "000.records").write_bytes(b"")
    code, out, err = rampion("store", "verify", tmp_path)
    assert (code, out) == (2, "")
    assert err == f"rampion: {folder}/000.records: is no records file of Rampion; expected one that Rampion wrote\n"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells what a process has in memory")
def test_what_was_released_takes_no_memory_and_can_be_read_again(tmp_path):
    def resident() -> int:
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(status["RssFile"].split()[0])

    content = np.arange(1 << 22)
    container.write(tmp_path / "file", "numbers", {"numbers": content}, {})
    arrays, _ = container.opened(tmp_path / "file", "numbers")
    before = resident()
    container.release(arrays["numbers"])
    container.release(content)  # not mapped: nothing to let go of
    assert before - resident() > 25 << 10
    assert np.array_equal(arrays["numbers"], content)
