"""Learning from relevant sets in this process, or by workers that have a shard each and mix their weights (S10.7).

An epoch of a shard is a task. Workers receive the weights that all shards begin with as one file, and return the places
whose weights have changed. A worker builds the slabs of its segments from the run's records, and keeps them for later
tasks. This does not change its results, because slabs are a function of the candidates and the numbering.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from rampion.arrays import Ids, Reals, Singles
from rampion.errors import StoreError
from rampion.executors import Coordinator, Job, Task
from rampion.executors.tasks import Latest, kept
from rampion.formats import container
from rampion.losses.ranking import PackedLoss
from rampion.optim import online_sgd
from rampion.optim.online_sgd import OnlineSgd, SetBatch, SetWeights, Walk, WorkArrays, paged, prove
from rampion.schema import Row, Schema, below, nonzero, singles
from rampion.sets import files
from rampion.sets.files import Part, Sets
from rampion.sets.selection import Numbers, Packed, Packing

NUMBERS = Schema(
    "numbers of features",
    {"places": Row("<u4", ("places",), (nonzero, below("places+1"))), "foreign": singles("foreign")},
    {"awake": int},
)
START = Schema("weights to start from", {"weights": Row("<f4", ("weights",)), "own": Row("<f8", ("own",))})
CHANGED = Schema(
    "weights that changed",
    {
        "places": Row("<u4", ("places",)),
        "values": Row("<f4", ("places",)),
        "own": Row("<f8", ("own",)),
        "met": Row("<f8", (1,)),
    },
    {"moved": int},
)


class Learner(Protocol):
    """Holds the packed sets, and makes batches for solvers."""

    def pack(self, sets: Sets, parts: Sequence[str], numbers: Numbers) -> None:
        """Add the next parts of a run; features get these numbers."""
        ...

    def batch(self, iteration: int) -> SetBatch:
        """The batch of an iteration for the solver."""
        ...


class Here:
    """A learner with slabs and threads in this process."""

    def __init__(
        self, packing: Packing, segments: int, spill: str | PathLike[str] | None = None, threads: int | None = None
    ) -> None:
        self.packed, self.threads = Packed(packing, (0, segments), spill), threads

    def pack(self, sets: Sets, parts: Sequence[str], numbers: Numbers) -> None:
        for name in parts:
            part = sets.parts[name]
            self.packed.take(name, part.records, numbers)
            part.release()

    def batch(self, iteration: int) -> SetBatch:
        return online_sgd.Here(self.packed.slabs, iteration, self.threads)


class Mixing:
    """A learner whose slabs are on the workers of a coordinator; with `spill` they are in files, for lack of memory."""

    def __init__(self, coordinator: Coordinator, packing: Packing, segments: int, spill: bool = False) -> None:
        self.coordinator, self.segments, self.iteration = coordinator, segments, 0
        self.width, self.awake, self.numbers = len(packing.free), 0, ""
        self.parts: dict[str, str] = {}  # names of parts, in the order of packing, and of their blobs
        self.without = set[int]()  # shards that have been given up
        self.asked: dict[str, Any] = {"packing": packing.told(), "segments": segments, "spill": spill}

    def pack(self, sets: Sets, parts: Sequence[str], numbers: Numbers) -> None:
        room, self.awake = self.coordinator.workspace, numbers.awake
        for name in [*self.parts, *parts]:
            if name not in self.parts or not room.place.blob(self.parts[name]).exists():
                self.parts[name] = room.known(sets.path(name))
        arrays = {"places": numbers.places, "foreign": numbers.foreign}
        self.numbers = room.stored(NUMBERS, arrays, {"awake": numbers.awake})

    def batch(self, iteration: int) -> SetBatch:
        self.iteration = iteration
        return self

    @contextmanager
    def walking(self, solver: OnlineSgd, loss: PackedLoss, weights: SetWeights) -> Iterator[Walk]:
        prove(self.awake, self.width, weights)
        yield partial(self._walk, solver)

    def _walk(self, solver: OnlineSgd, epoch: int, begin: SetWeights) -> Iterator[SetWeights]:
        """The result of each shard from these weights; a shard that was given up returns the weights unchanged."""
        weights, own, *_ = begin
        start = self.coordinator.workspace.stored(START, {"weights": weights, "own": own}, {})
        asked = self.asked | {"passes": asdict(solver), "parts": list(self.parts)}
        asked |= {"iteration": self.iteration, "epoch": epoch}
        inputs = (("numbers", self.numbers), ("start", start), *self.parts.items())
        tasks = [
            Task("rampion.training.mixing:epoch", json.dumps(asked | {"shard": shard}), inputs, shard, span)
            for shard, span in enumerate(solver.spans(self.segments))
            if span[0] < span[1] and shard not in self.without
        ]
        job = Job(f"iteration {self.iteration}, epoch {epoch + 1}")
        answers = self.coordinator.answers(job, tasks, partial(_read, len(weights), len(own)), loyal=True)
        sent = {task.shard for task in tasks}
        for shard in range(solver.shards):
            if (changed := next(answers) if shard in sent else None) is None:
                self.without.add(shard)
                changed = _Changed(np.zeros(0, np.uint32), np.zeros(0, np.float32), own.copy(), 0.0, 0)
            mine = weights if shard else paged(weights)
            before = weights[changed.places]
            mine[changed.places] = changed.values
            yield SetWeights(mine, *changed[2:])
            weights[changed.places] = before
        next(answers, None)  # nothing: the job is over


class _Changed(NamedTuple):
    """The changes of a shard's weights in an epoch, with its losses and visits."""

    places: Ids
    values: Singles
    own: Reals
    objective: float
    moved: int


def _read(size: int, width: int, path: Path) -> _Changed:
    arrays, meta = container.read(path, CHANGED)
    places, values, own, met = (arrays[name] for name in ("places", "values", "own", "met"))
    if len(own) != width or int(places.max(initial=0)) >= size:
        raise StoreError(f"{path}: does not fit the task")
    return _Changed(places, values, own.copy(), float(met[0]), meta["moved"])


# On a worker


def epoch(inputs: Mapping[str, Path], settings: Mapping[str, Any], span: tuple[int, int], out: Path) -> None:
    """One shard through one epoch."""
    shelf = kept(out, _Shelf)
    shard, number, passes = shelf.take(inputs, settings, span, out), settings["shard"], OnlineSgd(**settings["passes"])
    arrays, _ = container.read(inputs["start"], START)
    start, own = arrays["weights"], arrays["own"].copy()
    slabs, weights = shard.packed.slabs, SetWeights(paged(start), own)
    if (len(start), len(own)) != (slabs.awake + 1, slabs.width):
        raise StoreError(f"{inputs['start']}: these weights are not of these features")
    orders = passes.orders(settings["iteration"], settings["epoch"], settings["segments"])
    order = next(islice(orders, number, None)) - span[0]
    found = passes.epoch(shard.packed.packing.loss, slabs, order, weights, shard.room)
    places = np.flatnonzero(found.places.view(np.uint32) != start.view(np.uint32)).astype(np.uint32)
    arrays = {"places": places, "values": found.places[places], "own": own, "met": np.array([found.objective])}
    container.write(out, CHANGED.kind, arrays, {"moved": found.moved}, durable=False)
    shelf.shards[number] = shard


class _Shard:
    """The slabs of a shard, their parts, and the epoch of their last use."""

    def __init__(self, asked: str, packed: Packed) -> None:
        self.asked, self.packed = asked, packed
        self.parts, self.numbers, self.when = list[str](), "", 0

    def leads_to(self, asked: str, parts: Sequence[str], numbers: str) -> bool:
        """Whether it is the shard in question, or becomes it with more parts."""
        known = len(self.parts)
        return self.asked == asked and self.parts == parts[:known] and (known < len(parts) or self.numbers == numbers)

    def grow(self, names: Sequence[str], shelf: _Shelf, inputs: Mapping[str, Path]) -> None:
        """Add the parts that it lacks."""
        numbers = shelf.numbers(inputs["numbers"])
        for name in names[len(self.parts) :]:
            part = shelf.part(inputs[name])
            self.packed.take(name, part.records, numbers)
            part.release()
        self.parts, self.numbers = [inputs[name].name for name in names], inputs["numbers"].name
        self.room = WorkArrays.of(self.packed.slabs)


@dataclass(slots=True)
class _Shelf:
    """The cache of a worker between tasks. A task removes its shard while it runs, so that no two tasks share one."""

    shards: dict[int, _Shard] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    latest: Latest[Numbers] = field(default_factory=Latest)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, inputs: Mapping[str, Path], settings: Mapping[str, Any], span: tuple[int, int], out: Path) -> _Shard:
        """The shard with all its parts. Shards that this worker no longer has are dropped."""
        now = settings["iteration"] * settings["passes"]["epochs"] + settings["epoch"]
        for number, one in list(self.shards.items()):
            if one.when < now - 1:
                self.shards.pop(number, None)
        asked, parts = json.dumps([settings["packing"], span]), [inputs[name].name for name in settings["parts"]]
        shard = self.shards.pop(settings["shard"], None)
        if shard is None or not shard.leads_to(asked, parts, inputs["numbers"].name):
            folder = out.parent if settings["spill"] else None
            shard = _Shard(asked, Packed(Packing.of(settings["packing"]), span, folder))
        if shard.parts != parts:
            shard.grow(settings["parts"], self, inputs)
        shard.when = now
        return shard

    def part(self, path: Path) -> Part:
        """A file of records, which is checked only once."""
        with self.lock:
            if path.name not in self.parts:
                self.parts[path.name] = files.read(path)
            return self.parts[path.name]

    def numbers(self, path: Path) -> Numbers:
        """The numbers in the file, in memory and shared by all shards."""

        def read() -> Numbers:
            arrays, meta = container.read(path, NUMBERS)
            return Numbers(arrays["places"].copy(), meta["awake"], arrays["foreign"].copy())

        return self.latest.get(path.name, read)
