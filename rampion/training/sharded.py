"""Gradients of expectation losses over a fixed number of shards, on any executor (S11.2).

A shard is a range of segments, which depends only on the lists. Its answer depends only on its lists and the weights.
Answers are added up in the order of the shards. So the number of shards may change the last bits of a gradient, but
executors, workers, threads, kills and resumed runs change none.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rampion import __version__
from rampion.arrays import Ids, Offsets, Reals
from rampion.errors import RecipeError, StoreError
from rampion.executors import Coordinator, Job, Task, Workspace, named
from rampion.executors.tasks import forget, kept
from rampion.formats import container
from rampion.formats.files import FilePath
from rampion.losses.contrast import MODEL
from rampion.losses.expectation import EXPECTATIONS, Expectation, Sums
from rampion.metrics.judging import Batch, Stakes
from rampion.protocols import Loss
from rampion.schema import Row, Schema, bounds, finite, reals
from rampion.store.candidates import Candidates
from rampion.store.features import Features
from rampion.store.grouped import Grouped, fits
from rampion.store.lists import LISTS, Lists, entries_fit
from rampion.store.text import blank

CANNOT = "it cannot be used"
SHARD = Schema(
    "shard",
    {
        **LISTS,
        "bounds": bounds("segments", "costs"),
        "costs": reals("candidates"),
        "ids": Row("<u4", ("features",)),
        "statistics": Row("<i8 <f8", ("candidates", "statistics"), (finite,)),
        "offset": reals("candidates")._replace(optional=True),
    },
    {"width": int},
    CANNOT,
    entries_fit,
)
WEIGHTS = Schema("round weights", {"weights": reals("features")}, advice=CANNOT)
_ANSWER = {"sums": reals(2), "statistics": Row("<i8 <f8", ("statistics",), (finite,)), "gradient": reals("features")}
_COUNTS = {"filled": int, "lists": int}
ANSWER = Schema("shard gradient", _ANSWER | {"ids": Row("<u4", ("features",))}, _COUNTS, CANNOT)
GRADIENT = Schema("gradient", _ANSWER, _COUNTS, CANNOT)


class Answer(NamedTuple):
    """The answer of lists to weights: sums, the statistics of the chosen candidates, and the gradient of the sum."""

    sums: Sums
    statistics: NDArray[Any]
    gradient: Reals


@dataclass(frozen=True, eq=False)
class Sharded(Batch):
    """A batch whose gradients are computed by a coordinator's workers, shard by shard.

    shards  the number of shards
    kept    a folder of finished answers, from which a resumed run takes what it needs again
    """

    coordinator: Coordinator = field(kw_only=True)
    shards: int = field(kw_only=True)
    kept: Path | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, batch: Batch, coordinator: Coordinator, shards: int, kept: Path | None = None) -> Sharded:
        parts = {one.name: getattr(batch, one.name) for one in fields(Batch)}
        return cls(**parts, coordinator=coordinator, shards=shards, kept=kept)

    @cached_property
    def form(self) -> Candidates | Grouped:
        raise RecipeError(
            "lists in shards serve only the gradients of Risk and ExpectedBleu; use one of these, or learn without "
            "shards"
        )

    def gradient(self, loss: Loss, weights: Reals) -> tuple[float, Reals]:
        answer = self.answer(loss, weights)
        value, divisor = expectation(loss).whole(answer.sums)
        return value, answer.gradient / divisor

    def answer(self, loss: Loss, weights: Reals) -> Answer:
        """The answer of all lists. The last answer is cached."""
        for known, at, answer in self._last:
            if known == loss and np.array_equal(at, weights):
                return answer
        answer = self._found(expectation(loss), np.ascontiguousarray(weights))
        self._last[:] = [(loss, weights.copy(), answer)]
        return answer

    @cached_property
    def cuts(self) -> list[int]:
        """The first segments of the shards, and the end."""
        return cuts(self.candidates.bounds, self.shards)

    @cached_property
    def blobs(self) -> list[str]:
        """The files of the shards."""
        room = self.coordinator.workspace
        return [room.stored(SHARD, *_part(self, span), lasting=True) for span in pairwise(self.cuts)]

    @property
    def no_statistics(self) -> NDArray[Any]:
        """The statistics of no candidate."""
        return np.zeros(self.statistics.shape[1:], self.statistics.dtype)

    @cached_property
    def _last(self) -> list[tuple[Loss, Reals, Answer]]:
        return []

    @cached_property
    def _without(self) -> set[int]:
        """Shards that were given up, with their segments."""
        return set()

    def _found(self, loss: Expectation, weights: Reals) -> Answer:
        numbers, folder = asdict(cast(Any, loss)), self.forms.folder and os.path.abspath(self.forms.folder)
        settings = json.dumps({"loss": type(loss).__name__, "numbers": numbers, "folder": folder})
        if self.kept is None:
            return self._asked(settings, weights)
        vector, without = hashlib.sha256(weights.data).hexdigest(), sorted(self._without)
        asked = json.dumps([__version__, settings, self.blobs, without, vector])
        path = self.kept / hashlib.sha256(asked.encode()).hexdigest()[:32]
        answer = _known(path, self)
        if answer is None:
            answer = self._asked(settings, weights)
            if without == sorted(self._without):
                self.kept.mkdir(exist_ok=True)
                _write(path, GRADIENT, answer)
        return answer

    def _asked(self, settings: str, weights: Reals) -> Answer:
        """The answers of all shards, added up in order."""
        vector = self.coordinator.workspace.stored(WEIGHTS, {"weights": weights}, {})
        tasks = [
            Task(f"{__name__}:answered", settings, (("shard", blob), ("weights", vector)), shard, span)
            for shard, (blob, span) in enumerate(zip(self.blobs, pairwise(self.cuts), strict=True))
            if shard not in self._without
        ]
        sums, statistics, gradient = list[Sums](), self.no_statistics, np.zeros(len(weights))
        answers = self.coordinator.answers(Job("gradient", "the lists"), tasks, partial(_read, self), loyal=True)
        for task, found in zip(tasks, answers, strict=True):
            if found is None:
                self._without.add(task.shard)
                continue
            ids, part = found
            sums.append(part.sums)
            statistics += part.statistics
            gradient[ids] += part.gradient
        return Answer(Sums.joined(sums), statistics, gradient)


@contextmanager
def sharded(
    batch: Batch, shards: int, executor: str | Coordinator = "local", room: FilePath | None = None
) -> Iterator[Sharded]:
    """The batch in shards for an executor. Answers are kept in the `room`, so that the run can be resumed."""
    if batch.stakes.weights is not None:
        raise RecipeError("shards do not support weights of segments; learn without shards, or without the weights")
    with ExitStack() as stack:
        if isinstance(executor, str):
            workers, patience, size = named(executor)
            if size:
                raise RecipeError(f"the executor {executor}: the shards set the size of a task; leave size= out")
            path = Path(room or stack.enter_context(tempfile.TemporaryDirectory(prefix="rampion-")))
            coordinator = stack.enter_context(Coordinator(workers, Workspace(path), patience))
        else:
            coordinator, room = executor, executor.workspace.path
        stack.callback(forget, coordinator.workspace.path / "results")
        answers, lasting = coordinator.workspace.path / "answers" if room else None, set(coordinator.workspace.lasting)
        yield Sharded.of(batch, coordinator, shards, answers)
        coordinator.workspace.lasting.intersection_update(lasting)
        coordinator.workspace.keep((), ())
        if answers:
            shutil.rmtree(answers, ignore_errors=True)


def cuts(bounds: Offsets, shards: int) -> list[int]:
    """The first segments of the shards, and the end. Shards have similar numbers of candidates; none is empty."""
    targets = int(bounds[-1]) * np.arange(1, shards) // shards
    return [int(cut) for cut in np.unique([0, *np.searchsorted(bounds, targets), len(bounds) - 1])]


def expectation(loss: Loss) -> Expectation:
    """The loss, if shards can compute it."""
    name = type(loss).__name__
    if isinstance(loss, Expectation) and EXPECTATIONS.get(name) is type(loss):
        return loss
    raise RecipeError(f"{name} cannot be learnt by shards; {' and '.join(EXPECTATIONS)} can")


def _part(batch: Batch, span: tuple[int, int]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The segments of the span as arrays; their features are only those that they have, in order."""
    lists, size = batch.candidates.lists.part(*span), len(batch.candidates.features)
    used = np.zeros(size, bool)
    used[: lists.width] = used[lists.features] = True
    ids = np.flatnonzero(used).astype(np.uint32)
    places = np.zeros(size, np.uint32)
    places[ids] = np.arange(len(ids), dtype=np.uint32)
    rows = slice(*batch.candidates.bounds[list(span)])
    arrays = {name: array for name, array in lists._asdict().items() if name != "width"}
    arrays |= {"features": places[lists.features], "ids": ids}
    arrays |= {"costs": batch.stakes.costs[rows], "statistics": batch.statistics[rows]}
    if batch.offset is not None:
        arrays["offset"] = batch.offset[rows]
    return arrays, {"width": lists.width}


class _Shard(NamedTuple):
    """A shard in the form that computes answers quickly and repeatedly."""

    score: Callable[[Reals], Reals]
    gather: Callable[[Reals], Reals]
    ids: Ids
    stakes: Stakes
    statistics: NDArray[Any]
    offset: Reals | None

    @classmethod
    def read(cls, path: Path, folder: str | None) -> _Shard:
        """Read a shard and make its working form. It uses one thread, because other shards use the other threads."""
        arrays, meta = container.read(path, SHARD)
        lists = Lists(**{name: arrays[name] for name in Lists._fields if name != "width"}, width=meta["width"])
        ids, costs, statistics = (arrays[name] for name in ("ids", "costs", "statistics"))
        offset, n, segments = arrays.get("offset"), len(costs), len(lists.bounds) - 1
        candidates = Candidates(
            lists, Features(blank(len(ids)), lists.width), blank(segments), blank(n), np.zeros(n), blank(n), {},
            np.zeros(n, np.int32),
        )  # fmt: skip
        stakes = Stakes(lists.bounds, costs, np.zeros(n, bool))
        if not fits(lists):
            return cls(candidates.score, candidates.gather, ids, stakes, statistics, offset)
        form = Grouped.of(candidates, folder, 1)
        score, gather = partial(form.score, threads=1), partial(form.gather, threads=1)
        return cls(score, gather, ids, stakes, statistics, offset)


class _Shelf:
    """The cache of a process between tasks: the weights, and the shards that were used with these or the last ones.

    So a worker keeps its own shards, and drops those that other workers have taken over.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.shards, self.used = dict[str, _Shard](), set[str]()
        self.name, self.vector = "", np.zeros(0)

    def weights(self, path: Path) -> Reals:
        with self.lock:
            if path.name != self.name:
                arrays, _ = container.read(path, WEIGHTS)
                self.name, self.vector = path.name, arrays["weights"]
                self.shards = {name: self.shards[name] for name in self.used & self.shards.keys()}
                self.used = set()
            return self.vector

    def shard(self, path: Path, folder: str | None) -> _Shard:
        with self.lock:
            self.used.add(path.name)
            known = self.shards.get(path.name)
        if known is None:
            known = _Shard.read(path, folder)
            with self.lock:
                self.shards[path.name] = known
        return known


def answered(inputs: Mapping[str, Path], settings: Mapping[str, Any], span: tuple[int, int], out: Path) -> None:
    """The task of a shard: write its answer to the weights."""
    shelf = kept(out, _Shelf)
    weights = shelf.weights(inputs["weights"])
    shard = shelf.shard(inputs["shard"], settings["folder"])
    loss = EXPECTATIONS[settings["loss"]](**settings["numbers"])
    scores = shard.score(weights[shard.ids])
    if shard.offset is not None:
        scores += shard.offset
    sums, slopes = loss.sums(shard.stakes, scores)
    statistics = shard.statistics[MODEL.picks(shard.stakes, scores)].sum(axis=0)
    _write(out, ANSWER, Answer(sums, statistics, shard.gather(slopes)), ids=shard.ids)


def _write(path: Path, schema: Schema, answer: Answer, **more: NDArray[Any]) -> None:
    sums = answer.sums
    reals = np.array([sums.costs, sums.entropies])
    arrays = {"sums": reals, "statistics": answer.statistics, "gradient": answer.gradient, **more}
    container.write(path, schema.kind, arrays, {"filled": sums.filled, "lists": sums.lists}, durable=False)


def _read(batch: Sharded, path: Path) -> tuple[Ids, Answer]:
    """Read the answer of a shard, and the ids of its features."""
    arrays, answer = _answer(path, ANSWER, batch)
    ids = arrays["ids"]
    if not (ids[1:] > ids[:-1]).all() or int(ids.max(initial=0)) >= max(1, len(batch.candidates.features)):
        raise StoreError(f"{path}: is no gradient of these features; it cannot be used")
    return ids, answer


def _known(path: Path, batch: Sharded) -> Answer | None:
    """The cached answer of all shards, unless it is missing or damaged."""
    with suppress(StoreError):
        if path.exists():
            answer = _answer(path, GRADIENT, batch)[1]
            return answer if len(answer.gradient) == len(batch.candidates.features) else None
    return None


def _answer(path: Path, schema: Schema, batch: Sharded) -> tuple[dict[str, NDArray[Any]], Answer]:
    arrays, meta = container.read(path, schema)
    costs, entropies = arrays["sums"].tolist()
    sums = Sums(costs, entropies, meta["filled"], meta["lists"])
    answer = Answer(sums, arrays["statistics"], arrays["gradient"])
    if answer.statistics.shape != batch.no_statistics.shape:
        raise StoreError(f"{path}: holds {answer.statistics.shape} statistics of another metric; it cannot be used")
    return arrays, answer
