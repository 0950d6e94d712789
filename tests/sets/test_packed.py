"""The law of the working form: refined one by one, or all at once, or built from the sets: the same bytes."""

from __future__ import annotations

import errno
import mmap
import os
import re
import resource
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from command import ENVIRONMENT
from hypothesis import given
from hypothesis import strategies as st

from rampion import _kernels
from rampion._core import slab_add as core
from rampion._reference import slab_add as reference
from rampion.errors import InputError
from rampion.sets import packed
from rampion.sets.packed import Fresh, Slabs, numbering

FEATURES = 40


def built(candidates, places, awake, common):
    """The blob of a segment from its candidates, {feature: count} each: sets of (feature, level), in bytes."""
    members = defaultdict(set)
    for c, counts in enumerate(candidates):
        for feature, count in counts.items():
            for level in range(1, count + 1):
                members[feature, level].add(c)
    groups = defaultdict(list)
    for (feature, _), has in members.items():
        asleep = places[feature] > awake or (len(has) == len(candidates) and not common)
        groups[asleep, sum(1 << c for c in has)].append(places[feature])
    width = -(-len(candidates) // 64)
    rows = [
        (-min(16, len(ids) - i), mask, i, sorted(ids)[i : i + 16])
        for (asleep, mask), ids in groups.items() if not asleep for i in range(0, len(ids), 16)
    ]  # fmt: skip
    rows.sort()
    padded = rows + [(0, 0, 0, [])] * (-len(rows) % 16)
    body = bytes(-size for size, *_ in padded) + b"".join(mask.to_bytes(8 * width, "little") for _, mask, *_ in padded)
    for slab in range(0, len(padded), 16):
        matrix = np.zeros((-padded[slab][0], 16), "<u4")
        for lane, (_, _, _, ids) in enumerate(padded[slab : slab + 16]):
            matrix[: len(ids), lane] = ids
        body += matrix.tobytes()
    sleepers = sorted((mask, sorted(ids)) for (asleep, mask), ids in groups.items() if asleep)
    head = np.array([len(rows), len(padded) // 16, width, len(sleepers), 6 + len(body) // 4, 0], "<u4").tobytes()
    for mask, ids in sleepers:
        row = np.array([len(ids), 0, *ids, *[0] * (len(ids) % 2)], "<u4")
        body += mask.to_bytes(8 * width, "little") + row.tobytes()
    return head + body


def fresh_of(segments, width=0):
    """Fresh candidates from {feature: count} of every candidate of every segment, with gains of their own."""
    rows = [sorted(Counter(counts).elements()) for segment in segments for counts in segment]
    bounds, id_bounds = (
        np.concatenate([[0], np.cumsum([len(x) for x in xs])]).astype(np.int64) for xs in (segments, rows)
    )
    ids, n = np.array([i for row in rows for i in row], np.uint32), len(rows)
    numbers = [float(sum(row) + len(row) / 7) for row in rows]
    values = np.array([[number * j for j in range(width)] for number in numbers]).reshape(n, width)
    return Fresh(bounds, id_bounds, ids, np.array(numbers), -np.array(numbers), values)


def renaming(old, new):
    """From places to places, of the ids that both know."""
    renamed = np.zeros(len(old) + 1, np.uint32)
    renamed[old] = new[: len(old)]
    return renamed


counted = st.dictionaries(st.integers(0, FEATURES - 1), st.sampled_from([1, 1, 1, 2, 3, 5]), max_size=FEATURES)
stages = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.lists(counted, max_size=3), min_size=n, max_size=n), min_size=1, max_size=6)
)
seeds = st.integers(0, 2**32).map(np.random.default_rng)


def grown(steps, random, common, **settings):
    """Slabs that got the steps one after the other, each time under a numbering of its own; and the last of these."""
    kept, old = Slabs.start(len(steps[0]), 2, **settings), np.zeros(0, np.uint32)
    for step in steps:
        places = random.permutation(FEATURES).astype(np.uint32) + np.uint32(1)
        awake, both = int(random.integers(0, FEATURES + 1)), bool(random.integers(0, 2))
        if step is steps[-1]:
            both = common
        kept = kept.refined(fresh_of(step, 2), places, renaming(old, places), awake, both)
        old = places
    return kept, places


@given(stages, seeds, st.booleans())
def test_refining_step_by_step_under_any_numberings_equals_building_at_once(steps, random, common):
    kept, places = grown(steps, random, common)
    merged = [[counts for step in steps for counts in step[s]] for s in range(len(steps[0]))]
    expected = [built(segment, places.tolist(), kept.awake, common) for segment in merged]
    assert kept.blob.tobytes() == b"".join(expected)
    assert (np.diff(kept.starts) * 4).tolist() == [len(blob) for blob in expected]
    whole = fresh_of(merged, 2)
    for name in ("bounds", "gains", "offsets"):
        assert getattr(kept, name).tobytes() == getattr(whole, name).tobytes()
    assert kept.values.tobytes() == whole.values.tobytes()
    assert kept.blob.ctypes.data % 64 == 0


@given(stages, seeds, st.booleans())
def test_kernel_and_twin_write_the_same_words(steps, random, common):
    both = []
    state = random.bit_generator.state
    for kernel in (core.slab_add, reference.slab_add):
        random.bit_generator.state = state
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_kernels, "slab_add", kernel)
            kept, _ = grown(steps, random, common)
        both.append((kept.blob.tobytes(), kept.starts.tolist()))
    assert both[0] == both[1]


@pytest.mark.parametrize("kernel", [core.slab_add, reference.slab_add])
@pytest.mark.parametrize(("n", "features"), [(64, 30), (65, 30), (150, 300)])
def test_more_candidates_than_bits_in_a_word_and_groups_larger_than_a_chunk(kernel, n, features, monkeypatch):
    monkeypatch.setattr(_kernels, "slab_add", kernel)
    random = np.random.default_rng(n)
    likely = random.random(features)
    segment = [
        {int(f): int(random.integers(1, 4)) for f in np.flatnonzero(random.random(features) < likely)} for _ in range(n)
    ]
    places = random.permutation(features).astype(np.uint32) + np.uint32(1)
    kept, old = Slabs.start(1), np.zeros(0, np.uint32)
    for part in (segment[:1], segment[1:40], segment[40:63], segment[63:66], segment[66:]):
        kept, old = kept.refined(fresh_of([part]), places, renaming(old, places), features - 4), places
    assert kept.blob.tobytes() == built(segment, places.tolist(), features - 4, False)


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 6))
def test_numbering_ranks_the_frequent_and_puts_the_rare_to_sleep(counts, least):
    places, awake = numbering(np.array(counts, np.uint32), least)
    ranked = sorted((i for i, c in enumerate(counts) if c >= max(4, least)), key=lambda i: -counts[i])
    order = [
        *ranked, *(i for i, c in enumerate(counts) if least <= c < 4), *(i for i, c in enumerate(counts) if c < least)
    ]  # fmt: skip
    assert places[order].tolist() == list(range(1, len(counts) + 1))
    assert awake == sum(c >= least for c in counts)


def sample(segments=3, candidates=2, seed=0):
    random = np.random.default_rng(seed)
    return [
        [{int(f): 1 for f in random.choice(FEATURES, 12, replace=False)} for _ in range(candidates)]
        for _ in range(segments)
    ]


PLACES = np.arange(1, FEATURES + 1, dtype=np.uint32)
FIRST = np.zeros(1, np.uint32)


@pytest.mark.parametrize("piece", [4, 256, 1 << 20])
def test_a_folder_holds_the_same_bytes_and_no_file_stays(piece, tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "PIECE", piece)
    steps = [sample(seed=seed) for seed in range(4)]
    kept = [grown(steps, np.random.default_rng(1), False, folder=folder)[0] for folder in (None, tmp_path)]
    assert kept[0].blob.tobytes() == kept[1].blob.tobytes()
    assert kept[0].starts.tolist() == kept[1].starts.tolist()
    assert list(tmp_path.iterdir()) == []


class Rigid(mmap.mmap):
    """Of a system that can neither move pages nor make them huge."""

    def resize(self, size):
        raise SystemError("mmap: resizing not available--no mremap()")

    def madvise(self, option):
        raise OSError(errno.EINVAL, "Invalid argument")


def test_memory_that_cannot_be_moved_is_copied(monkeypatch):
    steps = [sample(seed=seed) for seed in range(4)]
    expected, _ = grown(steps, np.random.default_rng(1), False)
    monkeypatch.setattr(packed, "PIECE", 256)
    monkeypatch.setattr(mmap, "mmap", Rigid)
    kept, _ = grown(steps, np.random.default_rng(1), False)
    assert kept.blob.tobytes() == expected.blob.tobytes()


def test_slabs_do_not_change():
    kept = Slabs.start(3).refined(fresh_of(sample()), PLACES, FIRST, FEATURES)
    before = kept.blob.tobytes(), kept.gains.tobytes()
    more = kept.refined(fresh_of(sample(seed=1)), PLACES, np.arange(FEATURES + 1, dtype=np.uint32), 3)
    assert (kept.blob.tobytes(), kept.gains.tobytes()) == before
    assert (len(kept), len(more)) == (6, 12)
    for one in (kept, more):
        for array in (one.bounds, one.truths, one.gains, one.offsets, one.values, one.starts, one.blob):
            assert not array.flags.writeable
    assert more.nbytes == more.blob.nbytes + 12 * 16 + 4 * 8 * 2 + 3 * 4


LIMITED = """
import resource, sys
import numpy as np
from rampion.sets import packed
packed.PIECE = 1 << 20
segments, size, features, room = 1500, 2000, 100_000, 64 << 20
places = np.arange(1, features + 1, dtype=np.uint32)
kept = packed.Slabs.start(segments, folder=sys.argv[1] if len(sys.argv) > 1 else None)
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) for line in status if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + room, used + room))
bounds, zeros = np.arange(segments + 1), np.zeros(segments)
for turn in range(8):
    ids = np.arange(turn * size, segments * size + turn * size, dtype=np.uint32) % np.uint32(features)
    fresh = packed.Fresh(bounds, bounds * size, ids, zeros, zeros, np.zeros(0))
    kept = kept.refined(fresh, places, np.arange(kept.known + 1, dtype=np.uint32), features)
assert kept.blob.nbytes > room, kept.blob.nbytes
"""


@pytest.mark.skipif("RAMPION_SANITIZE" in os.environ, reason="a sanitizer needs memory of its own, without a limit")
@pytest.mark.parametrize("in_file", [True, False])
def test_a_blob_larger_than_memory_lives_in_a_file(in_file, tmp_path):
    arguments = [str(tmp_path)] if in_file else []
    command = [sys.executable, "-Pc", LIMITED, *arguments]
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (told.returncode == 0) == in_file, told.stderr
    assert in_file or re.search(r"the working form needs \d+ MiB of memory: .*; free some, or name a", told.stderr)


def test_a_full_disk_is_told_in_a_sentence(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = Slabs.start(3, folder=tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
    try:
        with pytest.raises(InputError, match=r"cannot hold the working form: .*; free some space or name another"):
            kept.refined(fresh_of(sample()), PLACES, FIRST, FEATURES)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with pytest.raises(InputError, match="missing: cannot hold the working form: No such file"):
        replace(kept, folder=tmp_path / "missing").refined(fresh_of(sample()), PLACES, FIRST, FEATURES)


GOOD = fresh_of(sample(), 1)


def spoilt(name, at, value):
    array = getattr(GOOD, name).copy()
    array.flat[at] = value
    return GOOD._replace(**{name: array})


@pytest.mark.parametrize(
    ("fresh", "message"),
    [
        (spoilt("gains", 3, np.nan), "segment 1: fresh candidate 1 has the gain nan; expected a finite number"),
        (spoilt("offsets", 0, np.inf), "segment 0: fresh candidate 0 has the offset inf"),
        (spoilt("values", 4, -np.inf), "segment 2: fresh candidate 0 has the value -inf"),
        (spoilt("ids", 0, FEATURES), "feature 40 has no place; there are places for 40"),
        (spoilt("bounds", 1, 9), "the bounds of 3 segments do not rise from 0 to 6"),
        (spoilt("id_bounds", -1, 9), "the bounds of 6 candidates do not rise from 0 to 72; expected 7"),
        (GOOD._replace(gains=GOOD.gains[1:]), "the bounds of 3 segments do not rise from 0 to 5"),
        (GOOD._replace(values=np.zeros(2)), "2 values for 6 fresh candidates; expected 6"),
        (GOOD._replace(offsets=np.zeros(2)), "2 offsets for 6 fresh candidates; expected 6"),
    ],
)
def test_bad_candidates_are_told(fresh, message):
    with pytest.raises(InputError, match=message):
        Slabs.start(3, 1).refined(fresh, PLACES, FIRST, FEATURES)


def test_bad_numberings_and_truths_are_told():
    kept = Slabs.start(3, 1).refined(GOOD, PLACES, FIRST, FEATURES)
    same = np.arange(FEATURES + 1, dtype=np.uint32)
    with pytest.raises(InputError, match="40 new places for the 40 old ones; expected one each behind a 0"):
        kept.refined(GOOD, PLACES, same[:-1], FEATURES)
    with pytest.raises(InputError, match="renamed go from 2 to 41; expected places from 1 to 40"):
        kept.refined(GOOD, PLACES, np.where(same, same + 1, 0), FEATURES)
    with pytest.raises(InputError, match="places go from 0 to 39; expected places from 1 to 40"):
        kept.refined(GOOD, PLACES - 1, same, FEATURES)
    with pytest.raises(InputError, match="2 numbers of truths for 3 segments; expected one each"):
        Slabs.start(3, truths=np.zeros(2, np.int32))
    with pytest.raises(InputError, match="segment 1 has 2 candidates, of which 5 are to be truths"):
        Slabs.start(3, 1, np.array([2, 5, 0])).refined(GOOD, PLACES, FIRST, FEATURES)


def test_scores_and_sums_are_those_of_the_sets():
    segments = [[{0: 3, 5: 1}, {0: 1, 7: 2}, {}], [{1: 1}, {5: 4, 39: 1}, {5: 2, 1: 1}]]
    kept = Slabs.start(2, 1).refined(fresh_of(segments, 1), PLACES, FIRST, 39, common=True)
    rows = np.zeros((6, FEATURES + 1))
    for i, counts in enumerate(counts for segment in segments for counts in segment):
        for feature, count in counts.items():
            rows[i, PLACES[feature]] = count
    weights, slopes = np.arange(40, dtype=np.float32), np.arange(6.0) - 2
    expected = kept.offsets + 2.0 * kept.values + rows[:, :40] @ weights
    assert kept.scores(weights, np.array([2.0])) == pytest.approx(expected)
    assert kept.gather(slopes) == pytest.approx(rows[:, :40].T @ slopes)
    with pytest.raises(InputError, match="39 weights by place and 1 of real values; expected 40 and 1"):
        kept.scores(weights[1:], np.ones(1))
    with pytest.raises(InputError, match="5 slopes for 6 candidates; expected one each"):
        kept.gather(slopes[1:])
