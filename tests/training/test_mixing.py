"""Shards that learn on workers end in the bits of those that learn here, whoever has them and whatever happens."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake import FakeDecoder, text
from trained import bits

from rampion.errors import InputError, StoreError, TuningError
from rampion.executors import Coordinator, Patience, Task, Workspace
from rampion.executors.local import Local
from rampion.executors.tasks import forget, kept
from rampion.formats import container
from rampion.losses.ranking import COSTMARGIN, PERCEPTRON, Ranking, Regression
from rampion.optim.online_sgd import SetWeights
from rampion.runs.sets_run import SetRun
from rampion.sets.records import Keyed
from rampion.sets.selection import Packing
from rampion.timing import Clock
from rampion.training.mixing import CHANGED, START, Here, Mixing, _Shelf
from rampion.training.recipes import RECIPES, Recipe
from rampion.training.relevant import Frozen, SetSteps, train

TEXT = text((12, 3, 3))
QUICK = RECIPES["costmargin"].set(iterations=3, epochs=4, rate=0.05, seed=3, shards=3)
CASES = {
    "truths apart": QUICK,
    "windows": QUICK.set(window=4, shards=2),
    "warm": QUICK.set(restart=False, k=2),
    "pulled to 0": QUICK.set(l2=0.5),
    "every truth": replace(QUICK, loss=replace(COSTMARGIN, every=True)),
    "truths among alternatives": replace(QUICK, loss=PERCEPTRON),
    "both kinds": QUICK.set(learn="both"),
    "regression": replace(QUICK, loss=Regression()),
    "real-valued": RECIPES["costmargin-dense"].set(iterations=3, epochs=4, rate=0.02, text="train", shards=3),
    "more shards than segments": QUICK.set(shards=30),
}


def run(folder: Path, recipe: Recipe, resume: bool = False, **options) -> SetRun:
    decoder = FakeDecoder()
    asked = recipe.settings(), [], {"corpus": TEXT.fingerprint, "decoder": decoder.fingerprint}
    one = SetRun.resume(folder, *asked) if resume else SetRun.begin(folder, *asked)
    fixed = {"Odd": 0.25} if recipe.policy.learn == "both" else {"Right": 0.1, "Odd": 0.0}
    train(recipe, decoder, TEXT, one, **{"fixed": {} if recipe.policy.learn == "real" else fixed} | options)
    return one


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The bits of a run that learns here."""
    found = {}

    def made(recipe: Recipe) -> dict[str, bytes]:
        if recipe not in found:
            folder = tmp_path_factory.mktemp("here") / "run"
            run(folder, recipe)
            found[recipe] = bits(folder)
        return found[recipe]

    return made


def coordinated(folder: Path, executor=None, **patience) -> Coordinator:
    return Coordinator(executor or Local(2), Workspace(folder), Patience(**patience))


# The same bits


@pytest.mark.parametrize("name", CASES)
def test_workers_find_the_bits_of_threads(name, here, tmp_path):
    with coordinated(tmp_path / "room") as coordinator:
        run(tmp_path / "run", CASES[name], coordinator=coordinator)
    assert bits(tmp_path / "run") == here(CASES[name])


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads(threads, here, tmp_path):
    with coordinated(tmp_path / "room", Local(threads)) as coordinator:
        run(tmp_path / "run", QUICK, coordinator=coordinator)
    assert bits(tmp_path / "run") == here(QUICK)


def test_weights_of_a_base_stay(tmp_path):
    run(tmp_path / "base", QUICK.set(shards=1))
    binary = SetRun.open(tmp_path / "base").keyed()
    base = Keyed(binary.table, {"Odd": 0.3})
    recipe = CASES["real-valued"].set(start="bag", truths=2)
    run(tmp_path / "here", recipe, base=base)
    with coordinated(tmp_path / "room") as coordinator:
        run(tmp_path / "run", recipe, base=base, coordinator=coordinator)
    assert bits(tmp_path / "run") == bits(tmp_path / "here")


def test_sets_that_memory_cannot_hold(here, tmp_path):
    with coordinated(tmp_path / "room") as coordinator:
        run(tmp_path / "run", QUICK, coordinator=coordinator, spill=tmp_path)
    assert bits(tmp_path / "run") == here(QUICK)


def test_a_single_shard_learns_here(tmp_path):
    recipe = QUICK.set(shards=1, iterations=1)
    run(tmp_path / "here", recipe)
    with coordinated(tmp_path / "room") as coordinator:
        run(tmp_path / "run", recipe, coordinator=coordinator)
        assert [entry["event"] for entry in coordinator.workspace.journal.entries()] == ["opened"]
    assert bits(tmp_path / "run") == bits(tmp_path / "here")


def test_a_run_goes_on_with_other_workers(here, tmp_path):
    """First it has threads, then workers, then threads again."""
    for iterations, workers in ((1, False), (2, True), (3, False)):
        recipe = QUICK.set(iterations=iterations)
        with coordinated(tmp_path / "room") as coordinator:
            asked = recipe.settings() | {"iterations": 3}, [], {"corpus": TEXT.fingerprint, "decoder": ""}
            begin = SetRun.begin if iterations == 1 else SetRun.resume
            one = begin(tmp_path / "run", *asked)
            train(
                recipe, FakeDecoder(), TEXT, one, fixed={"Right": 0.1, "Odd": 0.0},
                coordinator=coordinator if workers else None,
            )  # fmt: skip
    assert bits(tmp_path / "run") == here(QUICK)


class Scattered(Local):
    """Workers who know nothing: whatever they keep is lost before every task."""

    def send(self, worker: str, task: Task) -> None:
        forget(self.workspace.path / "results")
        super().send(worker, task)


def test_workers_that_keep_nothing(here, tmp_path):
    with coordinated(tmp_path / "room", Scattered(2)) as coordinator:
        run(tmp_path / "run", QUICK, coordinator=coordinator)
    assert bits(tmp_path / "run") == here(QUICK)


class Damaging(Local):
    """Some results are not as they were written."""

    def receive(self, seconds: float):
        for result in (self.workspace.path / "results").glob("[0-9a-f]*"):
            if result.name[0] in "0123" and result.name not in self.stuck:
                self.stuck.add(result.name)
                with open(result, "r+b") as file:
                    file.seek(200)
                    file.write(b"\x55" * 8)
        return super().receive(seconds)


def test_results_that_are_damaged_are_made_again(here, tmp_path):
    with coordinated(tmp_path / "room", Damaging(2)) as coordinator:
        run(tmp_path / "run", QUICK, coordinator=coordinator)
        assert any(entry["event"] == "damaged" for entry in coordinator.workspace.journal.entries())
    assert bits(tmp_path / "run") == here(QUICK)


# Who has what


def packed(tmp_path: Path, recipe: Recipe = QUICK):
    """Sets of a run of one iteration: a function that gives them to a learner."""
    one = run(tmp_path / "sets", recipe.set(iterations=1))
    frozen, names = Frozen.of(recipe.policy, FakeDecoder().names, {"Right": 0.1, "Odd": 0.0}, None), FakeDecoder().names
    packing = Packing(recipe.loss.packed, names, frozen.own, recipe.policy.learn != "real")

    def given(learner):
        sets = SetSteps(recipe, frozen, packing, learner, FakeDecoder(), TEXT, one)
        sets.pack()
        return sets

    return packing, given


def test_what_is_told_of_epochs_is_the_same(tmp_path):
    packing, given = packed(tmp_path)
    threads = Here(packing, len(TEXT.learn.source))
    with coordinated(tmp_path / "room") as coordinator:
        workers = Mixing(coordinator, packing, len(TEXT.learn.source))
        one, other = given(threads), given(workers)
        for sets in (one, other):
            sets.solve(1, Clock())
    assert (one.losses, one.moved) == (other.losses, other.moved)
    assert len(one.losses) == len(one.moved) == 4


def test_the_weights_to_start_from_stay_as_they_are(tmp_path):
    packing, given = packed(tmp_path)
    with coordinated(tmp_path / "room") as coordinator:
        learner = Mixing(coordinator, packing, len(TEXT.learn.source))
        start = np.linspace(0, 1, given(learner).numbers.awake + 1, dtype=np.float32)
        before = start.copy()
        learnt = QUICK.solver.solve(QUICK.loss, learner.batch(1), SetWeights(start, np.zeros(0)))
    assert start.tolist() == before.tolist() != learnt.places.tolist()


def test_a_worker_keeps_its_shards_from_epoch_to_epoch_and_from_part_to_part(tmp_path, monkeypatch):
    from rampion.sets import selection

    calls = Counter()
    take = selection.Packed.take
    monkeypatch.setattr(selection.Packed, "take", lambda *given: calls.update([given[1]]) or take(*given))
    with coordinated(tmp_path / "room") as coordinator:
        run(tmp_path / "run", QUICK, coordinator=coordinator)
        shelf = kept(coordinator.workspace.place.result("x"), _Shelf)
        assert sorted(shelf.shards) == [0, 1, 2]
        assert len({id(shard.packed.numbers.places) for shard in shelf.shards.values()}) == 1
    assert calls == {"oracle": 3, "000": 3, "001": 3, "002": 3}
    assert not kept(coordinator.workspace.place.result("x"), _Shelf).shards


def test_shards_that_went_elsewhere_are_forgotten(tmp_path):
    packing, given = packed(tmp_path)
    with coordinated(tmp_path / "room") as coordinator:
        learner = Mixing(coordinator, packing, len(TEXT.learn.source))
        sets = given(learner)
        sets.solve(1, Clock())
        shelf = kept(coordinator.workspace.place.result("x"), _Shelf)
        gone = shelf.shards[0]
        gone.when -= 2
        shelf.shards[7] = gone
        sets.solve(2, Clock())
        assert sorted(shelf.shards) == [0, 1, 2]
        assert shelf.shards[0] is not gone


def test_what_a_packing_tells_makes_it_again():
    for loss in (COSTMARGIN, Ranking(margin=0.3, every=True), Regression()):
        packing = Packing(loss.packed, ("B", "A"), {"C": 0.1, "A": 1 / 3}, True)
        again = Packing.of(json.loads(json.dumps(packing.told())))
        assert again == packing
        assert list(again.own) == ["C", "A"]


def test_a_shard_that_is_given_up_moves_nothing(tmp_path):
    """The mean is that of a training whose shard has no segments."""
    packing, given = packed(tmp_path, QUICK.set(epochs=2))

    class Deadly(Local):
        def send(self, worker: str, task: Task) -> None:
            if task.shard:
                super().send(worker, task)

    with coordinated(tmp_path / "room", Deadly(4), deadline=0.5, deaths=1, poison="skip") as coordinator:
        learner = Mixing(coordinator, packing, len(TEXT.learn.source))
        sets = given(learner)
        sets.solve(1, Clock())
        assert learner.without == {0}
        assert [one.split(",")[:2] for one in coordinator.skipped] == [["shard 0", " lines 1 to 4 of the text"]]
    assert len(sets.moved) == 2
    assert sets.moved[0] > 0


# On workers of Dask


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_of_dask(workers, here, tmp_path):
    pytest.importorskip("distributed")
    from rampion.executors.dask import Cluster

    with coordinated(tmp_path / "room", Cluster(workers=workers)) as coordinator:
        for name in ("truths apart", "windows", "both kinds"):
            run(tmp_path / name, CASES[name], coordinator=coordinator)
            assert bits(tmp_path / name) == here(CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 5])
def test_workers_that_are_killed(kills, here, tmp_path, monkeypatch):
    """SIGKILL of a worker that has shards, once or again and again; others take over."""
    pytest.importorskip("distributed")
    from rampion.executors.dask import Cluster

    executor, left, sent = Cluster(workers=2), [kills], [0]
    send = executor.send

    def sending(worker: str, task: Task) -> None:
        send(worker, task)
        sent[0] += 1
        if left[0] and sent[0] % 7 == 6:
            pids = [pid for pid in executor.client.run(os.getpid, on_error="ignore").values() if isinstance(pid, int)]
            if pids:
                left[0] -= 1
                os.kill(pids[sent[0] % len(pids)], signal.SIGKILL)

    monkeypatch.setattr(executor, "send", sending)
    with coordinated(tmp_path / "room", executor, deaths=10) as coordinator:
        run(tmp_path / "run", QUICK, coordinator=coordinator)
        assert any(entry["event"] == "lost" for entry in coordinator.workspace.journal.entries())
    assert left == [0]
    assert bits(tmp_path / "run") == here(QUICK)


# Who takes which shard


class Noted(Local):
    """Who was sent what, by name of worker."""

    def open(self, room: Workspace) -> None:
        self.sent = []
        super().open(room)

    def send(self, worker: str, task: Task) -> None:
        self.sent.append((worker, task.shard, json.loads(task.settings)["epoch"]))
        super().send(worker, task)


def test_shards_stay_with_their_worker_and_are_shared_out_evenly(tmp_path):
    recipe = QUICK.set(shards=4, epochs=6)
    packing, given = packed(tmp_path, recipe)
    executor = Noted(2)
    with coordinated(tmp_path / "room", executor) as coordinator:
        learner = Mixing(coordinator, packing, len(TEXT.learn.source))
        given(learner).solve(1, Clock())
        late = [{(worker, shard) for worker, shard, epoch in executor.sent if epoch == e} for e in (3, 4, 5)]
        assert late[0] == late[1] == late[2]
        assert sorted(Counter(worker for worker, _ in late[0]).values()) == [2, 2]
        # a worker that comes later takes over some
        coordinator.executor._begin()
        executor.sent.clear()
        zero = SetWeights(np.zeros(learner.awake + 1, np.float32), np.zeros(0))
        recipe.solver.solve(recipe.loss, learner.batch(2), zero)
        last = [worker for worker, _, epoch in executor.sent if epoch == 5]
        assert sorted(Counter(last).values()) == [1, 1, 2]


# What is refused


def test_weights_beyond_all_bounds(tmp_path):
    recipe = RECIPES["regression"].set(iterations=1, epochs=40, rate=1e30, shards=2)
    with (
        coordinated(tmp_path / "room") as coordinator,
        pytest.raises(TuningError, match=r"the weights grew beyond all bounds in epoch \d+; use a rate below 1e\+30"),
    ):
        run(tmp_path / "run", recipe, coordinator=coordinator)


def test_weights_that_do_not_fit(tmp_path):
    packing, given = packed(tmp_path)
    with coordinated(tmp_path / "room") as coordinator:
        learner = Mixing(coordinator, packing, len(TEXT.learn.source))
        given(learner)
        with pytest.raises(InputError, match="3 weights of places and 0 of real-valued features; expected"):
            QUICK.solver.solve(QUICK.loss, learner.batch(1), SetWeights(np.zeros(3, np.float32), np.zeros(0)))


def test_a_start_of_other_features_is_refused_by_a_worker(tmp_path, monkeypatch):
    packing, given = packed(tmp_path)
    write = container.write

    def short(path, kind, arrays, *rest):
        write(path, kind, arrays | {"weights": arrays["weights"][:3]} if kind == START.kind else arrays, *rest)

    monkeypatch.setattr(container, "write", short)
    with coordinated(tmp_path / "room") as coordinator:
        learner = Mixing(coordinator, packing, len(TEXT.learn.source))
        with pytest.raises(StoreError, match="these weights are not of these features"):
            given(learner).solve(1, Clock())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"values": np.zeros(3, np.float32)}, "its array values has 3 numbers, expected"),
        ({"own": np.zeros(3)}, "does not fit the task"),
        ({"places": np.array([1 << 30], np.uint32), "values": np.zeros(1, np.float32)}, "does not fit the task"),
        ({"met": None}, "its array met is missing"),
    ],
)
def test_answers_that_do_not_fit(change, sentence, tmp_path, monkeypatch):
    packing, given = packed(tmp_path)
    write = container.write

    def strange(path, kind, arrays, *rest, **more):
        if kind == CHANGED.kind:
            arrays = {name: array for name, array in (arrays | change).items() if array is not None}
        write(path, kind, arrays, *rest, **more)

    monkeypatch.setattr(container, "write", strange)
    with coordinated(tmp_path / "room") as coordinator:
        learner = Mixing(coordinator, packing, len(TEXT.learn.source))
        with pytest.raises(StoreError, match=sentence):
            given(learner).solve(1, Clock())
