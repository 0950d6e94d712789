"""Relevant sets as large as asked: python benchmarks/bench_relevant.py [SENTENCES] [--full] [--table]

Makes 5 truths and 30 candidates of every sentence (relevant_sets.py), adds them to the working form one after the
other, trains after some of them, and lets a Costmargin pass race those of relevant_peers.py. CPU time throughout.
--full: the 230,000 sentences of the paper (12 GB of memory, a quarter of an hour); --table: the feature table at their
35 million features instead.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import NamedTuple

import numpy as np
import relevant_peers
from relevant_peers import Epoch, Order, Rows, Singles
from relevant_sets import PAPER, TRUTHS, RelevantSets

from rampion import _kernels
from rampion.losses.ranking import COSTMARGIN
from rampion.optim.online_sgd import Here, OnlineSgd, SetWeights, WorkArrays
from rampion.sets.packed import Fresh, Slabs, numbering
from rampion.store.keys import Keys

SMALL = replace(PAPER, sentences=8000)
TRAINED = 6, 13, 20, 28, 35  # candidates after which there is a training; the last of them come alone
EPOCHS, RATE = 40, 0.01
RACED, ROUNDS, SLOW = 10_000, 5, 300  # sentences of the race, and of its slowest
GENTLE = 1e-4  # the rate of the race: nearly every visit moves the weights


class Packed(NamedTuple):
    """The working form of all candidates, and the place of every id."""

    slabs: Slabs
    places: np.ndarray


def pack(sets: RelevantSets) -> Packed:
    """Add step by step, train now and then, and tell what each took."""
    shape = sets.shape
    slabs = Slabs.start(shape.sentences, truths=np.full(shape.sentences, TRUTHS, np.int32))
    counts, places = np.zeros(shape.features, np.uint32), np.zeros(shape.features, np.uint32)
    print(f"{'candidates':>10}{'numbering, s':>14}{'adding, µs':>12}{'bytes':>8}{'µs a visit':>12}{'moved, %':>16}")
    cuts = sorted({0, TRUTHS, *TRAINED, *(size - 1 for size in TRAINED)})
    adding, training = {}, {}
    for made in sets.steps(cuts):
        counts += np.bincount(made.ids, minlength=shape.features).astype(np.uint32)
        start = process_time()
        old, (places, awake) = places, numbering(counts, 1)
        renamed = np.zeros(len(places) + 1, np.uint32)
        renamed[old] = places
        renamed[0] = 0
        numbered = process_time()
        fresh = Fresh(made.bounds, made.id_bounds, made.ids, made.gains, np.zeros(len(made.gains)), made.values)
        slabs = slabs.refined(fresh, places, renamed, awake)
        done = process_time()
        candidates = len(slabs) // shape.sentences
        if candidates in TRAINED:
            adding[candidates] = done - start
            training[candidates], moved = train(slabs)
            print(
                f"{candidates:10}{numbered - start:14.2f}{1e6 * (done - numbered) / shape.sentences:12.2f}"
                f"{slabs.nbytes / len(slabs):8.0f}{1e6 * training[candidates] / EPOCHS / shape.sentences:12.2f}"
                f"{moved:>16}",
                flush=True,
            )
    print(f"\n{EPOCHS} epochs of the last iteration: {training[shape.candidates]:.1f} s")
    print(f"of all iterations, interpolated: {total(training) / 60:.2f} min")
    print(f"numbering and adding, all iterations, interpolated: {total(adding):.0f} s")
    return Packed(slabs, places)


def total(seconds: dict[int, float]) -> float:
    """Of all iterations, each of which adds a candidate."""
    return float(np.interp(np.arange(TRAINED[0], TRAINED[-1] + 1), list(seconds), list(seconds.values())).sum())


def train(slabs: Slabs) -> tuple[float, str]:
    """Seconds of a training, and how many of the visits of its first and last epoch moved the weights."""
    shares: list[float] = []
    weights = SetWeights(np.zeros(slabs.awake + 1, np.float32), np.zeros(0))
    start = process_time()
    OnlineSgd(rate=RATE, epochs=EPOCHS).solve(
        COSTMARGIN, Here(slabs), weights, None, lambda epoch, found: shares.append(found.moved / len(slabs.truths))
    )
    return process_time() - start, f"{100 * shares[0]:.1f} to {100 * shares[-1]:.1f}"


def own(slabs: Slabs, portable: bool) -> Epoch:
    room, none = WorkArrays.of(slabs), np.zeros(0)

    def epoch(order: Order, weights: Singles) -> int:
        return int(_kernels.rank(slabs, order, COSTMARGIN.packed, (GENTLE, 0.0), weights, none, portable, room)[1])

    return epoch


def race(sets: RelevantSets, packed: Packed) -> None:
    """All in turns, each with weights of its own; the best of several passes."""
    slabs, places = packed
    raced = min(RACED, sets.shape.sentences)
    made = sets.records(range(raced), range(sets.shape.candidates))
    rows = Rows(made.id_bounds, places[made.ids].astype(np.int32), made.gains.reshape(raced, -1), TRUTHS, GENTLE)
    few = sets.records(range(SLOW), range(sets.shape.candidates))
    short = rows._replace(bounds=few.id_bounds, ids=rows.ids[: len(few.ids)], gains=rows.gains[:SLOW])
    runs: dict[str, tuple[Epoch, int, str]] = {
        "Rampion": (own(slabs, False), raced, "<= 3 µs"),
        "Rampion, portable": (own(slabs, True), raced, "<= 4 µs"),
        "C, a loop over sparse rows": (relevant_peers.plain(rows, valued=True), raced, ">= 4"),
        "C, knowing that values are 1": (relevant_peers.plain(rows, valued=False), raced, ""),
        "SciPy, a matrix a sentence": (relevant_peers.scipy(rows), raced, ">= 6"),
        "NumPy, by candidate": (relevant_peers.numpy(rows), raced, ">= 20"),
        "plain Python": (relevant_peers.python(short), SLOW, ">= 100"),
    }
    weights = {name: np.zeros(slabs.awake + 1, np.float32) for name in runs}
    times: dict[str, list[float]] = {name: [] for name in runs}
    moved: dict[str, int] = dict.fromkeys(runs, 0)
    for number in range(ROUNDS):
        for name, (epoch, sentences, _) in runs.items():
            order = np.random.default_rng(number).permutation(sentences)
            start = process_time()
            moved[name] += epoch(order, weights[name])
            times[name].append(1e6 * (process_time() - start) / sentences)
    best = {name: min(seconds) for name, seconds in times.items()}
    print(f"\nsentences {raced:10,}{'':10}{'µs a visit':>12}{'ratio':>8}{'wanted':>10}{'moved, %':>11}")
    for name, (_, sentences, wanted) in runs.items():
        share, ratio = 100 * moved[name] / ROUNDS / sentences, best[name] / best["Rampion"]
        print(f"{name:30}{best[name]:12.2f}{ratio:8.1f}{wanted:>10}{share:11.4f}")


def table() -> None:
    """The feature table, as many features as the paper's: what they take, and how fast they are found."""
    batch = 1_000_000
    random = np.random.default_rng(1)
    keys = Keys(PAPER.features)

    def rate(work: Callable[[np.ndarray], object], draw: Callable[[], np.ndarray]) -> str:
        seconds = []
        for _ in range(ROUNDS):
            drawn = draw()
            start = process_time()
            work(drawn)
            seconds.append(process_time() - start)
        return f"{batch / min(seconds) / 1e6:.1f} M/s"

    drawn = random.integers(1, 1 << 63, PAPER.features + ROUNDS * batch, np.uint64)
    start = process_time()
    for part in np.array_split(drawn[: PAPER.features], 35):
        keys.enter(part)
    filled = process_time() - start
    known = drawn[: PAPER.features]

    def anywhere() -> np.ndarray:
        return random.choice(known, batch)

    def often() -> np.ndarray:
        return known[(len(known) ** random.random(batch) - 1).astype(np.int64)]

    def elsewhere() -> np.ndarray:
        return random.integers(1 << 63, 1 << 64, batch, np.uint64)

    rows = {
        "bytes a feature": f"{keys.nbytes / len(keys):.1f}",
        "entering all, from an empty table of their size": f"{len(keys) / filled / 1e6:.1f} M/s",
        "entering known ones, at random": rate(keys.enter, anywhere),
        "finding, at random": rate(keys.find, anywhere),
        "weighing, at random": rate(keys.weigh, anywhere),
        "weighing, by Zipf's law": rate(keys.weigh, often),
        "weighing, of keys that it lacks": rate(keys.weigh, elsewhere),
    }
    counts = random.geometric(0.4, len(keys)).astype(np.uint32)
    start = process_time()
    numbering(counts, 2)
    rows["numbering by frequency"] = f"{process_time() - start:.1f} s"
    for name, value in rows.items():
        print(f"{name:50}{value:>12}")


def main() -> None:
    if "--table" in sys.argv:
        table()
    else:
        numbers = [argument for argument in sys.argv[1:] if argument.isdigit()]
        shape = PAPER if "--full" in sys.argv else replace(SMALL, sentences=int(numbers[0])) if numbers else SMALL
        sets = RelevantSets(shape)
        race(sets, pack(sets))
    print(f"\npeak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
