"""Every kernel beside its plain-Python twin and NumPy, SciPy or sacrebleu, on the workloads D and S.

Before anything is timed, kernel and twin must give the same bits, and the others the same numbers up to rounding.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import cases
import numpy as np
from measure import Run, best, machine
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from scipy.sparse import csr_array

from rampion._kernels import MODULES
from rampion.losses.contrast import FEAR, HOPE, Contrast
from rampion.losses.pairwise import Pairs
from rampion.losses.ranking import COSTMARGIN, Ranking, Regression
from rampion.metrics.bleu import ORDER, Bleu
from rampion.metrics.consensus import Room
from rampion.metrics.judging import Stakes
from rampion.metrics.tokens import Tokens, empty_table, totals
from rampion.optim.online_sgd import WorkArrays
from rampion.optim.pro import differences
from rampion.sets.packed import Fresh, Slabs, _Room
from rampion.store.candidates import Candidates
from rampion.store.grouped import WORK, Part, _grouped
from rampion.store.keys import ABSENT, SLOT, Keys
from rampion.store.lists import Lists, Scratch
from rampion.store.names import Labels, Names
from rampion.store.packing import Work
from rampion.store.rows import Rows
from rampion.store.text import References, Texts

Array = NDArray[Any]
Numbers = Callable[[], Array | None]

RATE, PULL = 1e-4, 1e-7
TRIALS = 200
RELEVANT = 20  # lists that become relevant sets


@dataclass
class Load:
    """A workload, and what the races need of it, each made when first asked for."""

    case: str
    segments: int | None = None
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @cached_property
    def grouped(self) -> Part:
        return _grouped(self.lists, None)

    @cached_property
    def table(self) -> tuple[Names, Rows]:
        spelt, rows = cases.rows(self.case, segments=self.segments)
        names = Names()
        names.intern_all(Texts.from_strings(spelt))
        return names, Rows(**rows)

    @property
    def rows(self) -> Rows:
        return self.table[1]

    @cached_property
    def store(self) -> Candidates:
        return Candidates.from_rows(self.table[0], [[self.rows]])[0]

    @property
    def lists(self) -> Lists:
        return self.store.lists

    @cached_property
    def references(self) -> References:
        return References.from_lists([line] for line in cases.references(self.case, segments=self.segments))

    @cached_property
    def strings(self) -> Texts:
        """The names of the features, and the words of the references."""
        words = " ".join(self.references.texts).split()
        return Texts.join([self.table[0].texts(), Texts.from_strings(words)])

    @cached_property
    def tokens(self) -> tuple[Tokens, Tokens]:
        names = Names()
        known = Tokens(*names.tokens(self.references.texts), self.references.bounds)
        return Tokens(*names.tokens(self.store.texts), self.store.bounds), known

    @cached_property
    def block(self) -> bytes:
        """As much n-best text as the reader hands to the parser at once: some 4 MB."""
        with tempfile.TemporaryDirectory() as folder:
            cases.write_nbest(Path(folder, "nbest"), self.case, segments=min(self.segments or 40, 40))
            text = Path(folder, "nbest").read_bytes()
        return text[: text.rindex(b"\n", 0, 4 << 20) + 1]

    @cached_property
    def weights(self) -> Array:
        return self.random.normal(size=len(self.store.features))

    @cached_property
    def slopes(self) -> Array:
        """Of every candidate along the first feature."""
        return self.store.score(np.eye(1, len(self.store.features))[0])

    @cached_property
    def owner(self) -> Array:
        """Every candidate's list."""
        return np.repeat(np.arange(len(self.store.segments)), np.diff(self.store.bounds))

    @cached_property
    def scores(self) -> Array:
        return self.random.normal(size=self.store.size)

    @cached_property
    def stakes(self) -> Stakes:
        return Stakes(self.store.bounds, 10 * self.random.random(self.store.size), np.zeros(self.store.size, bool))

    @cached_property
    def matrix(self) -> Any:
        rows = self.store.rows()
        shape = self.store.size, len(self.store.features)
        return csr_array((rows.values, rows.ids.astype(np.int32), rows.entry_bounds), shape=shape)

    @cached_property
    def blocks(self) -> list[Any]:
        return [self.matrix[start:end] for start, end in pairwise(self.store.bounds.tolist())]

    @cached_property
    def slabs(self) -> Slabs:
        """The first lists as relevant sets: which features a candidate has, whatever their values."""
        bounds, features = self.store.bounds[: RELEVANT + 1], len(self.table[0])
        id_bounds = self.rows.entry_bounds[: bounds[-1] + 1]
        ids, owner = self.rows.ids[: id_bounds[-1]], np.repeat(np.arange(bounds[-1]), np.diff(id_bounds))
        gains, none = self.stakes.costs[: bounds[-1]], np.zeros((bounds[-1], 0))
        fresh = Fresh(bounds, id_bounds, ids[np.lexsort((ids, owner))], gains, np.zeros(len(gains)), none)
        places = np.arange(1, features + 1, dtype=np.uint32)
        return Slabs.start(len(bounds) - 1).refined(fresh, places, np.zeros(1, np.uint32), features, common=True)

    @cached_property
    def systems(self) -> tuple[Array, Array]:
        """BLEU's statistics of the first and of the last candidate of every list."""
        rows = Bleu().statistics(self.store.texts, self.store.bounds, self.references).astype(np.float64)
        return rows[self.store.bounds[:-1]], rows[self.store.bounds[1:] - 1]


class Race(NamedTuple):
    """One piece of work: the kernel called on `prepare()`, and the arrays in which its answer stands."""

    kernel: str
    units: int
    unit: str
    prepare: Callable[[], tuple[Any, ...]]
    answer: Callable[[tuple[Any, ...]], Iterable[Array]]
    rivals: Mapping[str, Numbers] = {}


def score(load: Load) -> Race:
    scratch, scores = np.empty(load.lists.local_size), np.empty(load.store.size)
    return Race(
        "score", len(scores), "candidate",
        lambda: (load.lists, load.weights, scratch, scores),
        lambda arguments: arguments[-1:],
        {
            "SciPy": lambda: load.matrix @ load.weights,
            "SciPy by segment": lambda: np.concatenate([block @ load.weights for block in load.blocks]),
        },
    )  # fmt: skip


def gather(load: Load) -> Race:
    scratch, gradient = np.empty(load.lists.local_size), np.empty(len(load.store.features))

    def prepare() -> tuple[Any, ...]:
        gradient[:] = 0.0
        return load.lists, load.scores, scratch, gradient

    return Race(
        "gather", load.store.size, "candidate", prepare, lambda arguments: arguments[-1:],
        {"SciPy": lambda: load.matrix.T @ load.scores},
    )  # fmt: skip


def group(load: Load) -> Race:
    lists = load.lists
    n, entries = len(lists.features), len(lists.entries)
    work = np.empty((WORK, 1 + lists.local_size), np.int64)
    features, groups = np.zeros(n, np.uint32), np.zeros(n, np.uint16)
    held, owners = np.zeros((2, entries), np.uint16)
    bounds = np.empty((3, len(lists.bounds)), np.int64)
    return Race(
        "group", load.store.size, "candidate",
        lambda: (lists, work, features, bounds[0], groups, bounds[1], held, owners, bounds[2]),
        lambda arguments: (*arguments[3:6:2], *(array[: bounds[2, -1]] for array in arguments[6:8])),
    )  # fmt: skip


def tally(load: Load) -> Race:
    """Scores of a store are those of its groups but for a number of each list's own."""
    part, scores = load.grouped, np.empty(load.store.size)
    return Race(
        "tally", len(scores), "candidate",
        lambda: (part, load.weights, np.empty(part.room), scores), lambda arguments: arguments[-1:],
    )  # fmt: skip


def pool(load: Load) -> Race:
    part, pooled = load.grouped, np.empty(load.grouped.size)
    return Race(
        "pool", load.store.size, "candidate",
        lambda: (part, load.scores, np.empty(part.room), pooled), lambda arguments: arguments[-1:],
    )  # fmt: skip


def scatter(load: Load) -> Race:
    part, gradient = load.grouped, np.empty(len(load.store.features))
    pooled = np.random.default_rng(1).normal(size=part.size)

    def prepare() -> tuple[Any, ...]:
        gradient[:] = 0.0
        return part, pooled, 0, len(gradient), gradient

    return Race("scatter", load.store.size, "candidate", prepare, lambda arguments: arguments[-1:])


def contrast(load: Load) -> Race:
    return contrast_race(load, 0.0, {"NumPy": lambda: hard_contrast(load)})


def soft_contrast(load: Load) -> Race:
    return contrast_race(load, 1.0, {"NumPy": lambda: soft_contrast_slopes(load)})


def contrast_race(load: Load, softness: float, rivals: Mapping[str, Numbers]) -> Race:
    up, down = (side.soft(softness).stance(load.stakes) for side in (HOPE, FEAR))
    work, values, slopes = np.empty(load.lists.longest), np.empty(len(load.store.segments)), np.empty(load.store.size)
    return Race(
        "contrast", len(slopes), "candidate",
        lambda: (load.scores, up, down, load.store.bounds, work, values, slopes),
        lambda arguments: arguments[:-3:-1],
        rivals,
    )  # fmt: skip


def hard_contrast(load: Load) -> Array:
    starts, slopes = load.store.bounds[:-1], np.zeros(load.store.size)
    for sign, tilt in ((-1.0, -1.0), (1.0, 1.0)):
        values = load.scores + tilt * load.stakes.costs
        top = np.repeat(np.maximum.reduceat(values, starts), np.diff(load.store.bounds))
        hits = np.flatnonzero(values == top)
        slopes[hits[np.searchsorted(hits, starts)]] += sign
    return slopes


def soft_contrast_slopes(load: Load) -> Array:
    starts, sizes, slopes = load.store.bounds[:-1], np.diff(load.store.bounds), np.zeros(load.store.size)
    for sign, tilt in ((-1.0, -1.0), (1.0, 1.0)):
        values = load.scores + tilt * load.stakes.costs
        powers = np.exp(values - np.repeat(np.maximum.reduceat(values, starts), sizes))
        slopes += sign * (powers / np.repeat(np.add.reduceat(powers, starts), sizes))
    return slopes


def side(load: Load) -> Race:
    stance, work = HOPE.stance(load.stakes), np.empty(load.lists.longest)
    values, masses = np.empty(len(load.store.segments)), np.empty(load.store.size)
    return Race(
        "side", len(masses), "candidate",
        lambda: (load.scores, stance, load.store.bounds, work, values, masses),
        lambda arguments: arguments[:-3:-1],
    )  # fmt: skip


def expect(load: Load) -> Race:
    segments, slopes = len(load.store.segments), np.empty(load.store.size)
    means, entropies = np.empty(segments), np.empty(segments)
    return Race(
        "expect", len(slopes), "candidate",
        lambda: (load.scores, load.stakes.costs, load.store.bounds, 1.0, 0.0, means, entropies, slopes),
        lambda arguments: arguments[:-4:-1],
        {"NumPy": lambda: expected_slopes(load)},
    )  # fmt: skip


def expected_slopes(load: Load) -> Array:
    starts, sizes = load.store.bounds[:-1], np.diff(load.store.bounds)
    powers = np.exp(load.scores - np.repeat(np.maximum.reduceat(load.scores, starts), sizes))
    p = powers / np.repeat(np.add.reduceat(powers, starts), sizes)
    return p * (load.stakes.costs - np.repeat(np.add.reduceat(p * load.stakes.costs, starts), sizes))


def epoch(load: Load) -> Race:
    """One of the fifty passes of CCCP/SSD: hope pinned, fear searched for, a step after each segment."""
    spans = load.store.bounds[:-1].tolist(), load.store.bounds[1:].tolist()
    return epoch_race(
        load,
        0.0,
        {
            "SciPy by segment": lambda: online_pass(load, load.blocks),
            "SciPy, slicing": lambda: online_pass(load, map(lambda start, end: load.matrix[start:end], *spans)),
        },
    )


def pulled_epoch(load: Load) -> Race:
    free = epoch_race(load, 0.0, {})
    kernel = kernels("_core")["epoch"]

    def without() -> None:
        kernel(*free.prepare())

    return epoch_race(load, PULL, {"without L2": without})


def epoch_race(load: Load, decay: float, rivals: Mapping[str, Numbers]) -> Race:
    order, movement = np.arange(len(load.store.segments)), np.empty(len(load.store.features))
    work = Scratch.of(load.lists)
    up, down = Contrast(HOPE, FEAR).pinned(load.stakes, load.store.score(load.weights)).stances(load.stakes)
    total = np.zeros(0)

    def prepare() -> tuple[Any, ...]:
        movement[:] = 0.0
        return load.lists, order, up, down, (RATE, 0.0, decay), load.weights, movement, total, work

    return Race("epoch", load.store.size, "candidate", prepare, lambda arguments: arguments[-3:-2], rivals)


def online_pass(load: Load, blocks: Iterable[Any]) -> Array:
    """The same pass as one would write it with a matrix for every segment, made before or in passing."""
    weights, costs = load.weights.copy(), load.stakes.costs
    pinned = HOPE.picks(load.stakes, load.store.score(load.weights)) - load.store.bounds[:-1]
    for (start, end), block, up in zip(pairwise(load.store.bounds.tolist()), blocks, pinned.tolist(), strict=True):
        down = int(np.argmax(block @ weights + costs[start:end]))
        for row, step in ((up, RATE), (down, -RATE)):
            span = slice(block.indptr[row], block.indptr[row + 1])
            weights[block.indices[span]] += step * block.data[span]
    return weights - load.weights


def mira(load: Load) -> Race:
    """One of the passes of cdec's MIRA: hope and fear against a background of what was chosen before."""
    statistics = Bleu().statistics(load.store.texts, load.store.bounds, load.references).astype(np.float64)
    order, work = np.arange(len(load.store.segments)), Scratch.of(load.lists)
    background, weights, total = np.empty(statistics.shape[1]), np.empty_like(load.weights), np.empty_like(load.weights)

    def prepare() -> tuple[Any, ...]:
        background[:], weights[:], total[:] = 1.0, load.weights, 0.0
        return load.lists, order, statistics, (1.0, -1.0, 0.0), (0.01, 0.999), background, weights, total, work

    return Race("mira", load.store.size, "candidate", prepare, lambda arguments: arguments[-4:-1])


def rank(load: Load) -> Race:
    """A Costmargin pass over relevant sets."""
    return rank_race(load, COSTMARGIN)


def rank_squares(load: Load) -> Race:
    return rank_race(load, Regression())


def rank_race(load: Load, loss: Ranking | Regression) -> Race:
    weights, order = np.empty(load.slabs.awake + 1, np.float32), np.arange(len(load.slabs.truths))
    room = WorkArrays.of(load.slabs)

    def prepare() -> tuple[Any, ...]:
        weights[:] = 0.0
        return load.slabs, order, loss.packed, (RATE, 0.0), weights, np.zeros(0), False, room

    return Race("rank", len(load.slabs), "candidate", prepare, lambda arguments: arguments[-4:-3])


def slab_scores(load: Load) -> Race:
    weights, scores = load.random.normal(size=load.slabs.awake + 1).astype(np.float32), np.empty(len(load.slabs))
    return Race(
        "slab_scores", len(scores), "candidate",
        lambda: (load.slabs, weights, np.zeros(0), scores),
        lambda arguments: arguments[-1:],
    )  # fmt: skip


def slab_gradient(load: Load) -> Race:
    slopes, gradient = load.scores[: len(load.slabs)], np.empty(load.slabs.awake + 1)

    def prepare() -> tuple[Any, ...]:
        gradient[:] = 0.0
        return load.slabs, slopes, gradient

    return Race("slab_gradient", len(slopes), "candidate", prepare, lambda arguments: arguments[-1:])


def slab_add(load: Load) -> Race:
    """Each list gains its first candidate once more, under the same numbering."""
    rows, segments = load.rows, len(load.slabs.truths)
    firsts = load.slabs.bounds[:-1]
    spans = [rows.ids[rows.entry_bounds[i] : rows.entry_bounds[i + 1]] for i in firsts.tolist()]
    places = np.arange(1, load.slabs.known + 1, dtype=np.uint32)
    fresh = Fresh(
        np.arange(segments + 1), np.cumsum([0, *map(len, spans)]), np.concatenate(spans), *np.zeros((3, segments))
    )
    room, starts = _Room.of(load.slabs, fresh), np.zeros(segments + 1, np.int64)
    blob, renamed = np.zeros(2 * len(load.slabs.blob) + len(fresh.ids), np.uint32), np.append(np.uint32(0), places)
    return Race(
        "slab_add", segments, "segment",
        lambda: (load.slabs, fresh, places, renamed, load.slabs.awake, True, 0, room, starts, blob),
        lambda arguments: arguments[-2:],
    )  # fmt: skip


def pairs(load: Load) -> Race:
    """PRO's sample: 5000 draws a segment, of which 50 are kept."""
    segments, draws, kept = len(load.store.segments), 5000, 50
    key, gaps, counts = np.array([7], np.uint64), np.empty(kept), np.empty(segments, np.int64)
    better, worse = np.zeros((2, segments, kept), np.int64)
    return Race(
        "pairs", segments * draws, "draw",
        lambda: (load.stakes.costs, load.store.bounds, key, draws, 0.05, gaps, counts, better, worse),
        lambda arguments: arguments[-3:],
    )  # fmt: skip


def apart(load: Load) -> Race:
    """The differences of PRO's pairs."""
    found = Pairs().drawn(load.stakes)
    owners = np.searchsorted(load.lists.bounds, found.better, "right") - 1
    bounds, ids, values = differences(found, load.store)
    sums, out = np.zeros(load.lists.local_size), (np.empty_like(bounds), np.empty_like(ids), np.empty_like(values))

    def rows() -> None:
        load.matrix[found.better] - load.matrix[found.worse]

    return Race(
        "apart", len(found.better), "pair",
        lambda: (load.lists, owners, found.better, found.worse, sums, *out),
        lambda arguments: arguments[-3:],
        {"SciPy": rows},
    )  # fmt: skip


def envelope(load: Load) -> Race:
    """MERT's lines along the first feature."""
    intercepts, bounds, n = load.store.score(load.weights), load.store.bounds, load.store.size
    (flattest, steepest), (_, highest) = (extremes_of(values, bounds) for values in (load.slopes, intercepts))
    kept, starts, winners = np.empty(load.lists.longest, np.int64), np.zeros(n), np.zeros(n, np.int64)
    return Race(
        "envelope", len(bounds) - 1, "list",
        lambda: (intercepts, load.slopes, flattest, steepest, highest, bounds, kept, starts, winners),
        lambda arguments: arguments[-2:],
    )  # fmt: skip


def extremes(load: Load) -> Race:
    """Who has the least and the greatest slope."""
    bounds = load.store.bounds
    least, most = np.zeros((2, len(bounds) - 1), np.int64)
    return Race(
        "extremes", load.store.size, "candidate",
        lambda: (load.slopes, bounds, least, most), lambda arguments: arguments[-2:],
    )  # fmt: skip


def extremes_of(values: Array, bounds: Array) -> tuple[Array, Array]:
    least, most = np.empty((2, len(bounds) - 1), np.int64)
    kernels("_core")["extremes"](values, bounds, least, most)
    return least, most


def sweep(load: Load) -> Race:
    """The statistics of every interval of those lines."""
    *_, starts, winners = arguments = envelope(load).prepare()
    count = kernels("_core")["envelope"](*arguments)
    order = np.argsort(starts[:count], kind="stable")
    statistics = Bleu().statistics(load.store.texts, load.store.bounds, load.references).astype(np.float64)
    total, spots, totals = np.empty(10), np.zeros(count), np.zeros((10, count))
    return Race(
        "sweep", count, "start",
        lambda: (starts, winners, order, statistics, 1e-4, 10.0, total, spots, totals),
        lambda arguments: arguments[-2:],
    )  # fmt: skip


def pack(load: Load) -> Race:
    rows, lists = load.rows, load.lists
    features, count, room = len(load.store.features), load.store.size, len(load.rows.ids)
    picks, places = np.arange(count), np.arange(features, dtype=np.uint32)
    dense, ids, entries, values = np.empty(lists.width * count), *(np.empty(room, kind) for kind in "IId")
    filled = lists._replace(
        dense=dense, features=ids, feature_bounds=np.empty(len(lists.bounds), np.int64), entries=entries,
        entry_bounds=np.empty(count + 1, np.int64), values=values,
    )  # fmt: skip
    largest = int(np.diff(rows.entry_bounds[rows.bounds]).max())
    work = Work(
        np.zeros(features, np.uint32), np.empty(largest + 1, np.int64), np.empty(lists.longest, np.int64),
        np.empty(largest, np.uint32), np.empty(largest),
    )  # fmt: skip

    def prepare() -> tuple[Any, ...]:
        dense[:] = 0.0
        return rows, picks, places, filled, work

    def answer(arguments: tuple[Any, ...]) -> Iterable[Array]:
        used, known = filled.entry_bounds[-1], filled.feature_bounds[-1]
        return filled.dense, ids[:known], filled.feature_bounds, entries[:used], filled.entry_bounds, values[:used]

    return Race("pack", room, "entry", prepare, answer)


def table_of(names: Names) -> list[Array]:
    used = names.texts()
    return [names.slots, used.blob, used.bounds, names.counts]


def roomy(strings: Texts) -> Names:
    return Names(1 << max(len(strings), len(strings.blob) // 16).bit_length())


def intern(load: Load) -> Race:
    ids = np.empty(len(load.strings), np.int64)
    return Race(
        "intern", len(ids), "string",
        lambda: (load.strings.blob, load.strings.bounds, 0, roomy(load.strings), ids),
        lambda arguments: [*table_of(arguments[3]), ids],
    )  # fmt: skip


def find(load: Load) -> Race:
    names, ids = roomy(load.strings), np.empty(len(load.strings), np.int64)
    names.intern_all(load.strings)
    return Race(
        "find", len(ids), "string",
        lambda: (load.strings.blob, load.strings.bounds, names, ids),
        lambda arguments: arguments[-1:],
    )  # fmt: skip


@dataclass
class Table:
    """Feature keys as often as candidates use them, and the table that they fill."""

    keys: Array
    full: Keys

    @classmethod
    def of(cls, load: Load) -> Table:
        keys = load.rows.ids.astype(np.uint64) + np.uint64(1) << np.uint64(19)
        full = Keys(len(np.unique(keys)))
        full.enter(keys)
        full.set_weights(load.random.normal(size=len(full)))
        return cls(keys, full)

    @property
    def empty(self) -> Array:
        return np.zeros(len(self.full.slots), SLOT)


def enter(load: Load) -> Race:
    table = Table.of(load)
    size = len(table.full)

    def prepare() -> tuple[Any, ...]:
        counts, ids = np.zeros(size, np.uint32), np.empty(len(table.keys), np.uint32)
        return table.keys, 0, size, table.empty, counts, np.zeros(1, np.int64), ids

    return Race("enter", len(table.keys), "key", prepare, lambda arguments: [_fields(arguments[3]), *arguments[4:]])


def locate(load: Load) -> Race:
    table = Table.of(load)
    ids = np.empty(len(table.keys), np.uint32)
    return Race(
        "locate", len(ids), "key",
        lambda: (table.keys, table.full.slots, ABSENT, ids),
        lambda arguments: arguments[-1:],
    )  # fmt: skip


def weigh(load: Load) -> Race:
    table = Table.of(load)
    weights, order = np.empty(len(table.keys), np.float32), table.full.listed()
    sort = np.argsort(order)
    ranked, known = order[sort], table.full.weigh(order[sort])
    return Race(
        "weigh", len(weights), "key",
        lambda: (table.keys, table.full.slots, weights),
        lambda arguments: arguments[-1:],
        {"NumPy's binary search": lambda: known[np.searchsorted(ranked, table.keys)]},
    )  # fmt: skip


def refresh(load: Load) -> Race:
    table = Table.of(load)
    weights = load.random.normal(size=len(table.full)).astype(np.float32)
    return Race(
        "refresh", len(weights), "feature",
        lambda: (weights, table.full.slots.copy()),
        lambda arguments: [_fields(arguments[-1])],
    )  # fmt: skip


def settle(load: Load) -> Race:
    table = Table.of(load)
    places = load.random.permutation(len(table.full)).astype(np.uint32)
    return Race(
        "settle", len(places), "feature",
        lambda: (table.full.slots, places, ABSENT, table.empty),
        lambda arguments: [_fields(arguments[-1])],
    )  # fmt: skip


def listed(load: Load) -> Race:
    table = Table.of(load)
    keys = np.empty(len(table.full), np.uint64)
    return Race(
        "listed", len(keys), "feature",
        lambda: (table.full.slots, keys),
        lambda arguments: arguments[-1:],
    )  # fmt: skip


def fingerprints(load: Load) -> Race:
    bounds, keys = load.rows.entry_bounds, Table.of(load).keys
    values = load.random.integers(0, 2**64, (len(bounds) - 1, 2), np.uint64)
    told = np.empty(len(values), np.uint64)
    columns = mixed(np.arange(values.shape[1], dtype=np.uint64))
    return Race(
        "fingerprints", len(keys), "key",
        lambda: (bounds, keys, values, told),
        lambda arguments: arguments[-1:],
        {"NumPy": lambda: 1 + np.add.reduceat(mixed(keys), bounds[:-1]) + mixed(values ^ columns).sum(axis=1)},
    )  # fmt: skip


def mixed(numbers: Array) -> Array:
    """The mixer of splitmix64."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return numbers ^ numbers >> np.uint64(31)


def _fields(slots: Array) -> Array:
    """Packed slots as plain bytes."""
    return slots.view(np.uint8)


def parse(load: Load) -> Race:
    text = np.frombuffer(load.block, np.uint8)
    lines, room = load.block.count(b"\n"), len(text) // 2 + 2
    spans, groups, scores = np.zeros((lines, 9), np.int64), np.zeros((room, 3), np.int64), np.zeros(lines)
    slots, values = np.zeros(room, np.uint32), np.zeros(room)

    def prepare() -> tuple[Any, ...]:
        labels = Labels(Names(), 1 << 18)
        seen, state = np.zeros(len(labels.sizes), np.int64), np.zeros(4, np.int64)
        return text, len(text), labels, seen, spans, scores, slots, values, groups, state

    def answer(arguments: tuple[Any, ...]) -> Iterable[Array]:
        labels, used = arguments[2], spans[-1, -1]
        table = [*table_of(labels.names), labels.sizes, labels.firsts, labels.total]
        return spans, scores, slots[:used], values[:used], *table

    return Race("parse", len(text), "byte", prepare, answer)


def weigh_lines(load: Load) -> Race:
    """Lines `name value`, a tenth of a million of them."""
    count = 100_000
    text = b"".join(b"P1/word%d/other %.6g\n" % (n, (n % 977 - 488) / 300) for n in range(count))
    block = np.frombuffer(text, np.uint8)
    spans, values = np.zeros((count, 3), np.int64), np.zeros(count)

    def prepare() -> tuple[Any, ...]:
        return block, spans, values, np.zeros(2, np.int64)

    def answer(arguments: tuple[Any, ...]) -> Iterable[Array]:
        return spans, values, arguments[-1]

    return Race("weigh_lines", len(text), "byte", prepare, answer)


def cut(load: Load) -> Race:
    """The hypotheses out of the block."""
    parsing = parse(load)
    arguments = parsing.prepare()
    kernels("_core")["parse"](*arguments)
    spans, hypothesis = arguments[4], 3
    blob = np.empty(int((spans[:, hypothesis + 1] - spans[:, hypothesis]).sum()), np.uint8)
    bounds = np.empty(len(spans) + 1, np.int64)
    return Race(
        "cut", len(blob), "byte",
        lambda: (arguments[0], spans, hypothesis, blob, bounds),
        lambda arguments: arguments[-2:],
    )  # fmt: skip


def words(load: Load) -> Race:
    texts, count = load.store.texts, len(load.tokens[0].ids)
    tokens, bounds = np.empty(count, np.uint32), np.zeros(len(texts) + 1, np.int64)
    return Race(
        "words", count, "word",
        lambda: (texts.blob, texts.bounds, 0, Names(1 << 16), tokens, bounds),
        lambda arguments: [*table_of(arguments[3]), tokens, bounds],
    )  # fmt: skip


def ngrams(load: Load) -> Race:
    candidates, references = load.tokens
    table = empty_table(references, ORDER)
    matches = np.empty((load.store.size, ORDER), np.int64)
    return Race(
        "ngrams", len(matches), "candidate",
        lambda: (candidates, references, table, matches),
        lambda arguments: arguments[-1:],
        {"sacrebleu": lambda: sacrebleu_matches(load)},
    )  # fmt: skip


def meeting(load: Load, orders: int) -> Room:
    """Room for lists in which every text meets every other one, with enough bits for the longest."""
    tokens, sizes = load.tokens[0], np.diff(load.store.bounds)
    grams = orders * np.diff(tokens.bounds[tokens.segments])
    room = Room.of(int(grams.max()), int(sizes.max()), orders, int(np.diff(tokens.bounds).max()))
    return room._replace(bits=np.empty(int(sizes.max() * (grams.max() // 64 + orders + 1)), np.uint64))


def agree_bleu(load: Load) -> Race:
    tokens, room = load.tokens[0], meeting(load, ORDER)
    grams = totals(tokens, ORDER).astype(np.float64)
    scales = 1 / np.sqrt(np.sqrt(np.maximum(grams[:, 0] * (grams[:, 1:] + 1).prod(axis=1), 1.0)))
    weights, expected = np.ones(len(scales)), np.empty(len(scales))
    return Race(
        "agree_bleu", int((np.diff(load.store.bounds) ** 2).sum()), "pair",
        lambda: (tokens, scales, weights, 0, room, expected),
        lambda arguments: arguments[-1:],
    )  # fmt: skip


def agree_chrf(load: Load) -> Race:
    """Of words as if they were letters, n-grams of up to six."""
    tokens, depths = load.tokens[0], np.array([6, 0])
    room, shares = meeting(load, 6), 1 / np.maximum(totals(tokens, 6), 1)
    shares[totals(tokens, 6) == 0] = 0.0
    weights, expected = np.ones(len(shares)), np.empty(len(shares))
    return Race(
        "agree_chrf", int((np.diff(load.store.bounds) ** 2).sum()), "pair",
        lambda: (tokens, tokens, depths, shares, weights, 4.0, 0, room, expected),
        lambda arguments: arguments[-1:],
    )  # fmt: skip


def agree_posteriors(load: Load) -> Race:
    tokens, room = load.tokens[0], meeting(load, ORDER)
    weights, means = np.ones(load.store.size), np.empty((load.store.size, ORDER))
    return Race(
        "agree_posteriors", len(means), "candidate",
        lambda: (tokens, weights, room, means),
        lambda arguments: arguments[-1:],
    )  # fmt: skip


def sacrebleu_matches(load: Load) -> Array:
    """Its own statistics, references prepared once a segment."""
    metric, rows = BLEU(tokenize="none", force=True), []
    texts, bounds = list(load.store.texts), load.store.bounds.tolist()
    for s, (start, end) in enumerate(pairwise(bounds)):
        known = metric._extract_reference_info(load.references[s])
        rows += [metric._compute_segment_statistics(text, known) for text in texts[start:end]]
    return np.array(rows)[:, 2 : 2 + ORDER]


def draw(load: Load) -> Race:
    """Bootstrap samples of two systems, the first and the last candidates of the lists."""
    rows, streams = np.hstack(load.systems), np.arange(TRIALS, dtype=np.uint64)
    picks, totals = np.empty(len(rows), np.int64), np.empty((TRIALS, rows.shape[1]))

    def prepare() -> tuple[Any, ...]:
        totals[:] = 0.0
        return rows, streams, picks, totals

    def indexed() -> None:
        for sample in rows[load.random.integers(0, len(rows), (TRIALS, len(rows)))]:
            sample.sum(axis=0)

    return Race(
        "draw", TRIALS * len(rows), "row", prepare, lambda arguments: arguments[-1:], {"NumPy, as sacrebleu": indexed}
    )


def deal(load: Load) -> Race:
    """Deals of the same two systems."""
    first, second = load.systems
    rows, streams = np.stack([first, second], axis=1).reshape(-1, first.shape[1]), np.arange(TRIALS, dtype=np.uint64)
    deck, picks, totals = np.empty(2, np.int64), np.empty(len(first), np.int64), np.empty((TRIALS, first.shape[1]))

    def prepare() -> tuple[Any, ...]:
        totals[:] = 0.0
        return rows, streams, deck, picks, totals

    def selected() -> None:
        chosen = load.random.integers(2, size=(TRIALS, len(first)), dtype=bool)
        np.add(chosen @ first, ~chosen @ second)

    return Race(
        "deal", TRIALS * len(first), "row", prepare, lambda arguments: arguments[-1:], {"NumPy, as sacrebleu": selected}
    )


RACES: dict[str, Callable[[Load], Race]] = {
    "score": score,
    "gather": gather,
    "group": group,
    "tally": tally,
    "pool": pool,
    "scatter": scatter,
    "contrast": contrast,
    "contrast, soft": soft_contrast,
    "side": side,
    "expect": expect,
    "epoch": epoch,
    "epoch, L2": pulled_epoch,
    "mira": mira,
    "rank": rank,
    "rank, squares": rank_squares,
    "slab_scores": slab_scores,
    "slab_gradient": slab_gradient,
    "slab_add": slab_add,
    "pairs": pairs,
    "apart": apart,
    "envelope": envelope,
    "extremes": extremes,
    "sweep": sweep,
    "pack": pack,
    "intern": intern,
    "enter": enter,
    "listed": listed,
    "locate": locate,
    "refresh": refresh,
    "settle": settle,
    "weigh": weigh,
    "fingerprints": fingerprints,
    "find": find,
    "parse": parse,
    "weigh_lines": weigh_lines,
    "cut": cut,
    "words": words,
    "ngrams": ngrams,
    "agree_bleu": agree_bleu,
    "agree_chrf": agree_chrf,
    "agree_posteriors": agree_posteriors,
    "draw": draw,
    "deal": deal,
}


def kernels(package: str) -> dict[str, Callable[..., Any]]:
    """Every function of the registry, as the compiled kernels (_core) or the twins (_reference) have it."""
    loaded = {module: import_module(f"rampion.{package}.{module}") for module in MODULES}
    return {name: getattr(loaded[module], name) for module, functions in MODULES.items() for name in functions}


def check(race: Race) -> None:
    """Raise unless the kernel's answer is the twin's, bit for bit, and the rivals' up to rounding."""
    answers = []
    for package in ("_reference", "_core"):
        arguments = race.prepare()
        returned = kernels(package)[race.kernel](*arguments)
        answers.append([np.array(part) for part in (*race.answer(arguments), 0 if returned is None else returned)])
    for twin, kernel in zip(*answers, strict=True):
        if twin.tobytes() != kernel.tobytes():
            raise SystemExit(f"{race.kernel}: the kernel differs from its twin; its time is worth nothing")
    for name, rival in race.rivals.items():
        numbers = rival()
        if numbers is not None and not np.allclose(answers[1][0], numbers, rtol=1e-9, atol=1e-12):
            raise SystemExit(f"{race.kernel}: {name} computes something else")


def measured(work: str, load: Load) -> dict[str, Any]:
    """The best time of everyone who does this work."""
    race = RACES[work](load)
    check(race)
    runs = {
        "kernel": Run(race.prepare, kernels("_core")[race.kernel]),
        "twin": Run(race.prepare, kernels("_reference")[race.kernel]),
        **{name: Run(tuple, rival) for name, rival in race.rivals.items()},
    }
    return {"work": work, "load": load.case, "units": race.units, "unit": race.unit, "seconds": best(runs)}


def main(cases_: list[str]) -> None:
    found = []
    for case in cases_ or ["D", "S"]:
        load = Load(case)
        for work in RACES:
            print(f"{case} {work}", end="  ", flush=True, file=sys.stderr)
            found.append(measured(work, load))
    print(file=sys.stderr)
    print(json.dumps({"machine": machine(), "kernels": found}))


if __name__ == "__main__":
    main(sys.argv[1:])
