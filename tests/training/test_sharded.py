"""Gradients by shards: against central differences and all lists at once, and to the bit whoever takes them (S11.2)."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from command import ENVIRONMENT, PROGRAM, good
from command import rampion as command
from strategies import random_store
from twins import same_bits

import rampion.training.sharded
from rampion.errors import InputError, RecipeError, StoreError
from rampion.executors import Coordinator, Patience, Workspace
from rampion.executors.protocol import Answered, Joined, Lost
from rampion.executors.tasks import performed
from rampion.formats import container, save_nbest
from rampion.losses.expectation import ExpectedBleu, Risk
from rampion.losses.table import LOSSES
from rampion.optim.baum_welch import Growth
from rampion.optim.solvers import objective
from rampion.training.inputs import judge
from rampion.training.loop import standing
from rampion.training.recipes import RECIPES, recipes_of
from rampion.training.sharded import _Shard, _Shelf, cuts, sharded
from rampion.training.tuning import tune

LENGTHS = [4, 0, 6, 1, 9, 5, 5, 0, 8, 7]
MOST = {"epochs": 6, "steps": 4, "rounds": 2}
BY_SHARDS = [
    "xbleu-rprop",
    "xbleu-adagrad",
    "xbleu-sgd",
    "xbleu-lbfgs",
    "xbleu-fobos",
    "risk",
    "risk-annealed",
    "risk-l1",
]
LOSSES_BY_SHARDS = [Risk(), Risk(0.3), Risk(2.0, 0.7), ExpectedBleu(), ExpectedBleu(0.5)]


def lists(seed=0, counts_only=True):
    """With a metric column, which some feature tells about."""
    random = np.random.default_rng(seed)
    store = random_store(random, LENGTHS, 2, 20, counts_only)
    told = store.score(random.normal(size=len(store.features)))
    return replace(store, metrics={"x": 1 / (1 + np.exp(-told))})


def batch_of(store):
    return judge(store, None, "metric:x", alpha=1.0).batch(store)


def tuned(store, recipe="xbleu-rprop", **more):
    start = {"D0": 0.5, "D1": -0.2} | {f"s{j}": 0.0 for j in range(20)}
    few = {name: most for name, most in MOST.items() if name in RECIPES[recipe].settings()}
    return tune(store, recipe=recipe, metric="metric:x", start=start, **few, **more)


def same_way(one, other):
    """Whether two runs had the same weights and told the same, round by round."""
    same_bits(one.weights.vector, other.weights.vector)
    assert one.rounds == other.rounds


@pytest.mark.parametrize("loss", LOSSES_BY_SHARDS)
def test_gradients_are_central_differences(loss):
    batch = batch_of(lists())
    random = np.random.default_rng(1)
    at, origin = random.normal(size=(2, len(batch.candidates.features)))
    with sharded(batch.upon(random.normal(size=batch.candidates.size)), 3, "local,threads=1") as parts:
        value, gradient = objective(loss, parts, at, origin, 0.3)
        assert np.isfinite(value)
        for j in range(0, len(at), 3):
            shift = np.zeros(len(at))
            shift[j] = 1e-5
            above, below = (objective(loss, parts, at + sign * shift, origin, 0.3)[0] for sign in (1, -1))
            assert gradient[j] == pytest.approx((above - below) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("counts_only", [True, False])
@pytest.mark.parametrize("shards", [2, 3, 7, 50])
def test_shards_add_up_to_all_lists(shards, counts_only):
    batch = batch_of(lists(2, counts_only))
    random = np.random.default_rng(2)
    at = random.normal(size=len(batch.candidates.features))
    for whole in (batch, batch.upon(random.normal(size=batch.candidates.size))):
        with sharded(whole, shards, "local,threads=1") as parts:
            for loss in LOSSES_BY_SHARDS:
                value, gradient = whole.gradient(loss, at)
                found, taken = parts.gradient(loss, at)
                assert found == pytest.approx(value, rel=1e-12)
                np.testing.assert_allclose(taken, gradient, rtol=1e-12, atol=1e-12 * np.abs(gradient).max())
                answer = parts.answer(loss, at)
                assert answer.sums.effective == pytest.approx(loss.effective(whole.stakes, whole.scores(at)), rel=1e-12)
                assert float(whole.metric.total_score(answer.statistics)) == pytest.approx(
                    standing(whole, at).chosen, rel=1e-12
                )


def test_shards_follow_from_the_lists_alone():
    bounds = np.array([0, 4, 4, 10, 11, 20, 25, 30, 30, 38, 45])
    assert cuts(bounds, 1) == [0, 10]
    assert cuts(bounds, 3) == [0, 5, 7, 10]
    assert cuts(bounds, 1000) == [0, 1, 3, 4, 5, 6, 7, 9, 10]
    assert cuts(np.zeros(4, np.int64), 5) == [0, 3]
    assert cuts(np.arange(101), 4) == [0, 25, 50, 75, 100]


@pytest.mark.parametrize("recipe", BY_SHARDS)
def test_threads_change_no_bit(recipe):
    store = lists(3)
    one, three = (tuned(store, recipe, shards=3, executor=f"local,threads={threads}") for threads in (1, 3))
    same_way(one, three)
    whole = tuned(store, recipe)
    np.testing.assert_allclose(one.weights.vector, whole.weights.vector, rtol=1e-9, atol=1e-9)
    assert [row.loss for row in one.rounds] == pytest.approx([row.loss for row in whole.rounds], rel=1e-9)
    assert [row.effective for row in one.rounds] == pytest.approx([row.effective for row in whole.rounds], rel=1e-9)


def test_these_are_the_recipes_of_expectations():
    for name, recipe in recipes_of("lists").items():
        if name in BY_SHARDS:
            continue
        with pytest.raises(
            RecipeError, match="this recipe cannot learn by shards; risk, risk-annealed, risk-l1, xbleu"
        ):
            tune(lists(), recipe=recipe, metric="metric:x", shards=2)


def test_one_shard_is_no_shard():
    same_way(tuned(lists(4), shards=1), tuned(lists(4)))


def test_a_folder_for_the_working_form_and_free_features_are_for_shards_too(tmp_path):
    store = lists(5)
    plain = tuned(store, shards=3, free="sparse")
    same_way(tuned(store, shards=3, free="sparse", folder=str(tmp_path)), plain)
    assert not list(tmp_path.iterdir())
    np.testing.assert_allclose(plain.weights.vector, tuned(store, free="sparse").weights.vector, atol=1e-9)
    with pytest.raises(
        InputError, match=r"shard ., lines . to .* of the lists: 3 tries failed.*cannot hold the working form"
    ):
        tuned(store, shards=3, folder=str(tmp_path / "nowhere"))


def test_a_gradient_is_one_task_a_shard_and_a_shard_is_read_once(tmp_path, monkeypatch):
    read, known = [], _Shard.read
    monkeypatch.setattr(_Shard, "read", lambda path, folder: read.append(path.name) or known(path, folder))
    found = tuned(lists(6), shards=3, executor="local,threads=2", room=tmp_path)
    jobs = [entry for entry in Workspace(tmp_path).journal.entries() if entry["event"] == "job"]
    assert [job["tasks"] for job in jobs] == [3] * (1 + len(found.rounds))
    assert len(read) == len(set(read)) == 3
    for name in ("blobs", "results"):
        assert not list((tmp_path / name).iterdir())
    assert not (tmp_path / "answers").exists()


def test_a_worker_lets_go_of_what_others_have_taken_over(tmp_path):
    batch, shelf = batch_of(lists()), _Shelf()
    with sharded(batch, 3, room=tmp_path) as parts:
        paths = [parts.coordinator.workspace.place.blob(blob) for blob in parts.blobs]
        for round_, asked in enumerate([(0, 1, 2), (0, 1), (1,), (1,)]):
            container.write(tmp_path / f"{round_}", "round weights", {"weights": np.full(22, float(round_))}, {})
            same_bits(shelf.weights(tmp_path / f"{round_}"), np.full(22, float(round_)))
            for shard in asked:
                shelf.shard(paths[shard], None)
            assert len(shelf.shards) == (3, 3, 2, 1)[round_]


class StoppedError(Exception):
    pass


def stop(after):
    rounds = count(1)

    def record(row, reached):
        if next(rounds) == after:
            raise StoppedError

    return record


@pytest.mark.parametrize("recipe", ["xbleu-rprop", "xbleu-lbfgs"])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path, recipe):
    store = lists(7)
    whole = tuned(store, recipe, shards=3)
    with pytest.raises(StoppedError):
        tuned(store, recipe, shards=3, room=tmp_path, record=stop(4))
    answers = sorted((tmp_path / "answers").iterdir())
    before = len([entry for entry in Workspace(tmp_path).journal.entries() if entry["event"] == "job"])
    assert len(answers) == before >= 5
    spoilt = bytearray(answers[0].read_bytes())
    spoilt[-1] ^= 1
    answers[0].write_bytes(spoilt)
    same_way(tuned(store, recipe, shards=3, room=tmp_path, executor="local,threads=3"), whole)
    jobs = [entry for entry in Workspace(tmp_path).journal.entries() if entry["event"] == "job"][before:]
    assert 1 <= len(jobs) <= 1 + len(whole.rounds) + 4 - 5 + 1
    assert not (tmp_path / "answers").exists()


class Fake:
    """One worker, in this thread, that shard 1 kills."""

    def open(self, room):
        self.workspace, self.events, self.killed = room, [Joined("w", 1)], 0

    def send(self, worker, task):
        if task.shard == 1:
            self.killed += 1
            self.events += [Lost("w"), Joined("w", 1)]
            return
        place = self.workspace.place
        self.events.append(Answered("w", performed(task, task.name, place, place.result(task.name))))

    def receive(self, seconds):
        events, self.events = self.events, []
        return events

    def drop(self, worker):
        pass

    def close(self):
        pass


def test_a_shard_that_kills_is_named_or_left_out(tmp_path):
    store, fake = lists(8), Fake()
    with (
        Coordinator(fake, Workspace(tmp_path)) as coordinator,
        pytest.raises(InputError, match="shard 1, lines 6 to 7 of the lists, killed 3 workers"),
    ):
        tuned(store, shards=3, executor=coordinator)
    at = np.random.default_rng(8).normal(size=len(store.features))
    with Coordinator(fake, Workspace(tmp_path), Patience(poison="skip")) as coordinator:
        with sharded(batch_of(store), 3, coordinator) as parts:
            found, taken = parts.gradient(ExpectedBleu(), at)
            parts.gradient(ExpectedBleu(), 2 * at)
            assert len(list((tmp_path / "answers").iterdir())) == 1  # of those who were asked with shard 1 none is kept
        assert fake.killed == 3
        assert coordinator.skipped == ["shard 1, lines 6 to 7 of the lists, killed 3 workers, the last of them w"]
    rest = store[[*range(5), *range(7, 10)]]
    rest = replace(rest, metrics={"x": np.concatenate([store.metrics["x"][:20], store.metrics["x"][30:]])})
    value, gradient = batch_of(rest).gradient(ExpectedBleu(), at)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(taken, gradient, atol=1e-12)


def test_what_does_not_fit_is_refused():
    store = lists()
    with pytest.raises(RecipeError, match="shards is 0; expected 1 or more"):
        tuned(store, shards=0)
    for shards in (None, 1):
        with pytest.raises(RecipeError, match=r"an executor takes shards of the lists; cut them into 2 or more"):
            tuned(store, shards=shards, executor="local")
    with pytest.raises(RecipeError, match="the shards set the size of a task; leave size= out"):
        tuned(store, shards=2, executor="local,size=5")
    batch, at = batch_of(store), np.zeros(22)
    with sharded(batch, 2) as parts:
        with pytest.raises(RecipeError, match="Contrast cannot be learnt by shards; Risk and ExpectedBleu can"):
            parts.gradient(LOSSES["ramp3"], at)
        with pytest.raises(RecipeError, match="lists in shards serve only the gradients of Risk and ExpectedBleu"):
            Growth(()).solve(ExpectedBleu(), parts, at, at)
        assert parts.scores(at).shape == (45,)


def test_damaged_files_are_refused(tmp_path):
    with sharded(batch_of(lists()), 2, room=tmp_path) as parts:
        blob = parts.coordinator.workspace.place.blob(parts.blobs[0])
        arrays, meta = container.opened(blob, "shard")
        for wrong, said in (
            ({name: array for name, array in arrays.items() if name != "costs"}, "its array costs is missing"),
            (arrays | {"statistics": arrays["statistics"][1:]}, "its array statistics has 24 numbers, expected 25"),
            (arrays | {"features": arrays["features"] + np.uint32(99)}, "its array features holds the id"),
        ):
            container.write(tmp_path / "wrong", "shard", wrong, meta)
            with pytest.raises(StoreError, match=said):
                _Shard.read(tmp_path / "wrong", None)
        good = {
            "ids": np.array([1, 5], np.uint32), "sums": np.zeros(2), "statistics": np.zeros(2), "gradient": np.zeros(2),
        }  # fmt: skip
        for change, said in (
            ({}, None),
            ({"ids": np.array([5, 1], np.uint32)}, "is no gradient of these features"),
            ({"ids": np.array([1, 22], np.uint32)}, "is no gradient of these features"),
            ({"gradient": np.zeros(3)}, "has 2 numbers, expected 3|has 3 numbers, expected 2"),
            ({"statistics": np.zeros(3)}, "another metric"),
            ({"sums": np.zeros(3)}, "its array sums has 3 numbers, expected 2"),
        ):
            container.write(tmp_path / "wrong", "shard gradient", good | change, {"filled": 1, "lists": 1})
            if said is None:
                rampion.training.sharded._read(parts, tmp_path / "wrong")
                continue
            with pytest.raises(StoreError, match=said):
                rampion.training.sharded._read(parts, tmp_path / "wrong")


# The command


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("sharded") / "lists.store"
    save_nbest(path, lists(9))
    return path


def line(store, out, *more, epochs=5):
    given = ["--metric", "metric:x", "--recipe", "risk-l1", "--set", f"epochs={epochs}", "--lenient"]
    return ["tune", store, *given, "--out", out, "--shards", 3, *more]


def test_the_command_has_the_same_weights_from_any_executor(store, tmp_path):
    runs = [tmp_path / name for name in ("one", "three", "plain")]
    good(*line(store, runs[0], "--executor", "local,threads=1"))
    good(*line(store, runs[1], "--executor", "local,threads=3"))
    good(*line(store, runs[2]))
    weights, events = ({(run / name).read_bytes() for run in runs} for name in ("weights.txt", "events.jsonl"))
    assert len(weights) == 1
    assert 'shards = 3\nexecutor = "local,threads=3"' in (runs[1] / "config.toml").read_text()
    assert len(events) == 3  # each tells where its weights are
    assert not list((runs[0] / "shards" / "blobs").iterdir())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--recipe", "mira"], "this recipe cannot learn by shards; risk, "),
        (["--set", "rate=0.1,0.2"], "--shards 3: is for one recipe at a time, with one value of every setting"),
        (["--seeds", "1,2"], "--shards 3: is for one recipe at a time"),
        (["--shards", "1", "--executor", "local"], "an executor takes shards of the lists; cut them into 2 or more"),
        (["--executor", "local,size=3"], "--executor local,size=3: --shards sets the size of a shard; leave size="),
        (["--executor", "remote"], "the executor 'remote' is none of local, dask and an address"),
        (["--resume"], "or with --shards continues by itself: leave it out"),
        (["--decoder-command", "cat"], "--shards 3: learns from lists that are there; with a decoder leave it out"),
    ],
)
def test_options_that_do_not_fit(store, tmp_path, more, said):
    code, _, err = command(*line(store, tmp_path / "run", *more))
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


@pytest.mark.slow
def test_a_command_that_was_killed_goes_on_to_the_same_bits(store, tmp_path):
    good(*line(store, tmp_path / "whole", epochs=30))
    again = line(store, tmp_path / "run", epochs=30)
    arguments = [str(word) for word in again]
    for most in (4, 11):
        with subprocess.Popen([*PROGRAM, *arguments], env=ENVIRONMENT, stdout=subprocess.DEVNULL) as process:
            while len(list((tmp_path / "run" / "shards").glob("answers/[0-9a-f]*"))) < most:
                assert process.poll() is None
                time.sleep(0.001)
            process.kill()
    jobs = [entry for entry in Workspace(tmp_path / "run" / "shards").journal.entries() if entry["event"] == "job"]
    good(*again)
    after = [entry for entry in Workspace(tmp_path / "run" / "shards").journal.entries() if entry["event"] == "job"]
    assert len(after) - len(jobs) < 31 - 10
    assert (tmp_path / "run" / "weights.txt").read_bytes() == (tmp_path / "whole" / "weights.txt").read_bytes()


# Dask


@pytest.mark.slow
def test_dask_has_the_same_bits_with_workers_killed_on_the_way(tmp_path):
    pytest.importorskip("distributed")
    from rampion.executors.dask import Cluster

    class Deadly(Cluster):
        """Kills the worker that has just been sent its seventh task, and that of its nineteenth."""

        def __init__(self, workers, fatal):
            super().__init__(workers=workers)
            self.fatal, self.turns = fatal, count(1)

        def send(self, worker, task):
            super().send(worker, task)
            if next(self.turns) in self.fatal:
                nannies = {nanny.worker_address: nanny for nanny in self.own.workers.values()}
                os.kill(nannies[worker].pid, signal.SIGKILL)

    store = lists(10)
    expected = tuned(store, shards=4, executor="local,threads=3")
    for workers, fatal in ((1, ()), (2, (7, 19))):
        room = Workspace(tmp_path / str(workers))
        with Coordinator(Deadly(workers, fatal), room) as coordinator:
            same_way(tuned(store, shards=4, executor=coordinator), expected)
        assert len([entry for entry in room.journal.entries() if entry["event"] == "lost"]) == len(fatal)
