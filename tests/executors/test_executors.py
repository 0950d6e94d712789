"""Executors: whatever goes wrong on the way, the results are those of the tasks, in their order, to the bit."""

from __future__ import annotations

import random
import threading
from collections import deque
from types import SimpleNamespace

import errands
import numpy as np
import pytest
from errands import answers, events, same
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples

from rampion.errors import InputError, RecipeError
from rampion.executors import Coordinator, Job, Patience, Task, Workspace, named, shards
from rampion.executors.journal import Journal
from rampion.executors.local import Local
from rampion.executors.protocol import Answered, Joined, Lost
from rampion.executors.status import Status
from rampion.executors.tasks import Answer, performed
from rampion.formats import container


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order(tmp_path, threads):
    assert same(answers(Workspace(tmp_path), errands.tasks(20), Local(threads)), errands.expected(20))


def test_what_is_done_is_not_done_again(tmp_path):
    room, tasks = Workspace(tmp_path), errands.tasks(6)
    answers(room, tasks)
    results = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()}
    again = Workspace(tmp_path)
    assert same(answers(again, tasks), errands.expected(6))
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()} == results
    assert events(again, "job")[-1]["done"] == 60
    assert len(events(again, "done")) == 6


def test_results_of_another_job_go(tmp_path):
    room = Workspace(tmp_path)
    with Coordinator(Local(2), room) as coordinator:
        for count in (5, 3):
            tasks = errands.tasks(count, seconds=count / 1000)
            assert same(list(coordinator.answers(Job("squares"), tasks, errands.read)), errands.expected(count))
    assert len(list((tmp_path / "results").iterdir())) == 3


def test_inputs_are_named_by_what_they_hold(tmp_path):
    room = Workspace(tmp_path / "room")

    def write(value):
        return lambda path: container.write(path, "more", {"more": np.array([value])}, {})

    one, two, again = (room.made(write(value)) for value in (1.0, 2.0, 1.0))
    assert one == again != two
    elsewhere = tmp_path / "elsewhere"
    write(1.0)(elsewhere)
    assert room.known(elsewhere) == one
    for name, more in ((one, 1.0), (two, 2.0)):
        assert same(answers(room, errands.tasks(3, inputs=[("more", name)])), errands.expected(3, more))
        room.made(write(2.0))
    assert {path.name for path in (tmp_path / "room" / "blobs").iterdir()} == {one, two}  # known ones last


@given(st.data())
def test_the_name_of_a_result_changes_with_the_task(data):
    texts = st.text(max_size=5)
    tasks = st.builds(
        Task, texts, texts, st.lists(st.tuples(texts, texts), max_size=2).map(tuple), st.integers(0, 9),
        st.tuples(st.integers(0, 9), st.integers(0, 9)),
    )  # fmt: skip
    one, two = data.draw(tasks), data.draw(tasks)
    assert (one.name == two.name) == (one == two)


@pytest.mark.parametrize("flipped", [0, 1])
def test_a_damaged_result_is_made_again(tmp_path, flipped):
    room, tasks = Workspace(tmp_path), errands.tasks(4)
    answers(room, tasks)
    path = room.place.result(tasks[2].name)
    content = bytearray(path.read_bytes())
    content[-9 if flipped else 20] ^= 1 << 3
    path.write_bytes(content)
    assert same(answers(Workspace(tmp_path), tasks), errands.expected(4))
    assert [entry["shard"] for entry in events(room, "damaged")] == [2]


def test_a_fault_of_the_input_stops_with_its_sentence(tmp_path):
    with pytest.raises(InputError, match=r"^line 7 has no number; expected one$"):
        answers(Workspace(tmp_path), errands.tasks(4, {"wrong": [1]}, folder=tmp_path))


def test_a_defect_is_told_with_where_it_happened(tmp_path):
    with pytest.raises(RuntimeError, match=r"shard 1, lines 11 to 20 of numbers.txt, on thread") as told:
        answers(Workspace(tmp_path), errands.tasks(4, {"broken": [1]}, folder=tmp_path))
    assert "errands.py" in str(told.value)
    assert "ZeroDivisionError: a defect" in str(told.value)


@pytest.mark.slow
def test_a_worker_that_cannot_write_lets_another_try(tmp_path):
    room = Workspace(tmp_path / "room")
    assert same(answers(room, errands.tasks(5, {"full": [2]}, folder=tmp_path)), errands.expected(5))
    (entry,) = events(room, "trouble")
    assert entry["shard"] == 2
    assert "cannot be written: File too large" in entry["why"]


def test_a_disk_that_stays_full_stops_and_keeps_what_is_done(tmp_path, monkeypatch):
    room, kept = Workspace(tmp_path), container.write

    def full(path, *rest):
        if path.name == errands.tasks(3)[1].name:
            raise OSError(28, "No space left on device", str(path))
        kept(path, *rest)

    monkeypatch.setattr(container, "write", full)
    with pytest.raises(InputError, match=r"shard 1, lines 11 to 20 of numbers.txt: 3 tries failed.*No space left"):
        answers(room, errands.tasks(3))
    monkeypatch.undo()
    assert same(answers(Workspace(tmp_path), errands.tasks(3)), errands.expected(3))


def test_a_thread_that_does_not_answer_is_left_alone(tmp_path):
    room, patience = Workspace(tmp_path / "room"), Patience(deadline=0.3)
    assert same(answers(room, errands.tasks(6, {"late": [1]}, folder=tmp_path), None, patience), errands.expected(6))
    (entry,) = events(room, "late")
    assert 1 in entry["shards"]


def test_another_version_is_refused_with_both(tmp_path):
    place = Workspace(tmp_path).place._replace(version="9.9")
    answer = performed(errands.tasks(1)[0], "out", place, tmp_path / "out")
    assert answer.kind == "refused"
    assert "has Rampion 0.1.0" in answer.message
    assert "the run is of Rampion 9.9" in answer.message


class Simulated:
    """Workers that need a second for a task, of time that passes as fast as one likes, and have faults by chance."""

    def __init__(self, workers, seed, faults, slow=()):
        self.random, self.faults, self.slow = random.Random(seed), faults, set(slow)
        self.now, self.sent, self.count = 0.0, {}, workers
        self.done, self.stuck = deque(), set()

    def open(self, room):
        self.workspace = room
        for _ in range(self.count):
            self._join()

    def _join(self):
        name = f"worker {len(self.sent)}"
        self.sent[name] = deque()
        self.done.append(Joined(name, 1))

    def send(self, worker, task):
        self.sent[worker].append(task)

    def receive(self, seconds):
        self.now += 1.0
        for name, tasks in list(self.sent.items()):
            if tasks and name not in self.stuck:
                self._work(name, tasks)
        found = list(self.done)
        self.random.shuffle(found)
        self.done.clear()
        return found

    def _work(self, name, tasks):
        fault = self.random.choice(["none"] * 4 + self.faults)
        if fault == "dies":
            tasks.clear()
            self.stuck.add(name)
            self.done.append(Lost(name))
            self._join()
        elif fault == "sleeps":
            self.stuck.add(name)
        elif fault == "trouble" and self.random.random() < 0.3:
            self.done.append(Answered(name, Answer("trouble", tasks.popleft().name, "no space left")))
        else:
            task = tasks.popleft()
            answer = performed(task, task.name, self.workspace.place, self.workspace.place.result(task.name))
            if fault == "flips":
                path = self.workspace.place.result(task.name)
                path.write_bytes(path.read_bytes()[:-1])
            self.done.append(Answered(name, answer))

    def drop(self, worker):
        self._join()

    def close(self):
        pass


@examples(60)
@given(
    st.integers(1, 5), st.integers(1, 30), st.integers(0, 10**6),
    st.lists(st.sampled_from(["dies", "sleeps", "trouble", "flips"]), max_size=3), st.booleans(),
)  # fmt: skip
def test_any_faults_in_any_order_change_nothing(tmp_path_factory, workers, count, seed, faults, loyal):
    room, simulated = Workspace(tmp_path_factory.mktemp("room")), Simulated(workers, seed, faults)
    patience = Patience(deadline=5.0, deaths=1000, tries=1000)
    with Coordinator(simulated, room, patience, clock=lambda: simulated.now) as coordinator:
        for _ in range(2):
            found = list(coordinator.answers(Job("squares"), errands.tasks(count), errands.read, loyal=loyal))
            assert same(found, errands.expected(count))
    status = Status.of(room.journal.entries())
    assert (status.finished, status.closed, status.items) == (True, True, 10 * count)
    assert status.done >= 10 * count


@pytest.mark.slow
def test_two_hundred_workers_with_faults_give_the_same_bits(tmp_path):
    """Some die, some sleep, some have full disks; all is told, and none is sent more than it can take."""
    room, simulated = Workspace(tmp_path), Simulated(200, 1, ["dies", "sleeps", "trouble"] * 2)
    patience = Patience(deadline=5.0, deaths=1000, tries=1000)
    with Coordinator(simulated, room, patience, clock=lambda: simulated.now) as coordinator:
        found = list(coordinator.answers(Job("squares"), errands.tasks(600), errands.read))
        assert max(map(len, simulated.sent.values())) <= 2
    assert same(found, errands.expected(600))
    faults = Status.of(room.journal.entries()).faults
    assert min(faults[kind] for kind in ("lost", "late", "trouble")) > 10
    assert simulated.now < 60  # where one worker would take 600 s


@pytest.mark.parametrize("late", [3.0, 55.0])
def test_workers_may_take_a_while_to_come(tmp_path, late):
    room, simulated = Workspace(tmp_path), Simulated(0, 0, [])
    receive = simulated.receive

    def receives(seconds):
        if simulated.now < late <= simulated.now + 1:
            simulated._join()
        return receive(seconds)

    simulated.receive = receives
    with Coordinator(simulated, room, clock=lambda: simulated.now) as coordinator:
        found = list(coordinator.answers(Job("squares"), errands.tasks(5), errands.read))
    assert same(found, errands.expected(5))


def test_who_dies_is_blamed_on_what_it_had_in_hand(tmp_path):
    room, simulated = Workspace(tmp_path), Simulated(2, 0, [])
    coordinator = Coordinator(simulated, room, Patience(deaths=2, poison="skip"), clock=lambda: simulated.now)
    works, poison = simulated._work, errands.tasks(5)[1].name

    def work(name, tasks):
        if tasks[0].name == poison:
            simulated.done.append(Lost(name))
            simulated.stuck.add(name)
            simulated._join()
        else:
            works(name, tasks)

    simulated._work = work
    with coordinator:
        found = list(coordinator.answers(Job("squares", "numbers.txt"), errands.tasks(5), errands.read))
    wanted = errands.expected(5)
    assert found.pop(1) is None
    wanted.pop(1)
    assert same(found, wanted)
    (told,) = coordinator.skipped
    assert told.startswith("shard 1, lines 11 to 20 of numbers.txt, killed 2 workers, the last of them worker ")


def test_what_a_refused_worker_had_is_done_by_others(tmp_path):
    room, simulated = Workspace(tmp_path), Simulated(2, 0, [])
    works = simulated._work

    def work(name, tasks):
        if name == "worker 0":
            simulated.done.append(Answered(name, Answer("refused", tasks.popleft().name, "is too old")))
        else:
            works(name, tasks)

    simulated._work = work
    with Coordinator(simulated, room, clock=lambda: simulated.now) as coordinator:
        found = list(coordinator.answers(Job("squares"), errands.tasks(5), errands.read))
    assert same(found, errands.expected(5))
    assert [entry["why"] for entry in events(room, "refused")] == ["is too old"]


def test_poison_stops_and_names_its_lines(tmp_path):
    simulated = Simulated(2, 0, ["dies"])
    simulated.random = SimpleNamespace(choice=lambda _: "dies", shuffle=lambda _: None)
    coordinator = Coordinator(simulated, Workspace(tmp_path), Patience(deaths=3), clock=lambda: simulated.now)
    sentence = "shard [01], lines .* of numbers.txt, killed 3 workers.*look at these lines, or go on"
    with coordinator, pytest.raises(InputError, match=sentence):
        list(coordinator.answers(Job("squares", "numbers.txt"), errands.tasks(5), errands.read))


def test_nobody_at_work_is_told(tmp_path):
    simulated = Simulated(1, 0, [])
    simulated._work = lambda name, tasks: None
    simulated.drop = lambda worker: None
    patience = Patience(deadline=5, deaths=9)
    coordinator = Coordinator(simulated, Workspace(tmp_path), patience, clock=lambda: simulated.now)
    with coordinator, pytest.raises(InputError, match=r"none of 1 workers answered within .* what is done is kept"):
        list(coordinator.answers(Job("squares"), errands.tasks(2), errands.read))


def test_loyal_tasks_go_where_their_shard_is_known(tmp_path):
    room, simulated, owners = Workspace(tmp_path), Simulated(3, 0, []), []
    send = simulated.send
    simulated.send = lambda worker, task: (owners[-1].update({task.shard: worker}), send(worker, task))
    with Coordinator(simulated, room, clock=lambda: simulated.now) as coordinator:
        for turn in range(3):
            owners.append({})
            tasks = errands.tasks(6, seconds=turn / 1e6)
            list(coordinator.answers(Job("squares"), tasks, errands.read, loyal=True))
    assert owners[0] == owners[1] == owners[2]


def test_a_journal_survives_what_was_torn_off(tmp_path):
    journal = Journal(tmp_path / "journal")
    for shard in range(5):
        journal.log("told", shard=shard)
    whole = journal.path.read_bytes()
    for cut in range(len(whole) + 1):
        journal.path.write_bytes(whole[:cut])
        kept = whole[:cut].count(b"\n")
        assert [entry["shard"] for entry in journal.entries()] == list(range(kept))
        journal.log("told", shard=9)
        ended = whole[: cut + 1].count(b"\n")  # a line that lacked nothing but its end has one now
        assert [entry["shard"] for entry in journal.entries()] == [*range(ended), 9]


def test_every_flipped_bit_of_a_journal_is_found(tmp_path):
    journal = Journal(tmp_path / "journal")
    for shard in range(3):
        journal.log("done", shard=shard, worker="é")
    whole = journal.path.read_bytes()
    for bit in range(8 * len(whole)):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        journal.path.write_bytes(content)
        kept = [entry["shard"] for entry in journal.entries()]
        assert len(kept) < 3
        assert kept == [shard for shard in range(3) if shard in kept]
        assert journal.damaged() or content[-1:] != b"\n"


def test_a_journal_that_cannot_be_written_says_so(tmp_path):
    with pytest.raises(InputError, match="cannot be written: Is a directory; what is done is kept"):
        Journal(tmp_path).log("done")


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("loca", "the executor 'loca' is none of local, dask and an address such as tcp://"),
        ("local,workers=2", "has no 'workers=2'; it takes threads=, size="),
        ("local,threads", "has no 'threads'"),
        ("local,threads=x", "'threads=x': expected a number, for example threads=2"),
        ("local,threads=0", "'threads=0': expected 1 or more"),
        ("local,deadline=-1", r"deadline is -1.0; expected more than 0"),
        ("local,poison=eat", "poison is 'eat'; expected stop or skip"),
    ],
)
def test_a_bad_executor_is_refused(spec, sentence):
    with pytest.raises(RecipeError, match=sentence):
        named(spec)


def test_a_specification_says_all():
    executor, patience, size = named("local,threads=3,size=7,deadline=2.5,deaths=4,tries=5,poison=skip")
    assert (executor.threads, size, patience) == (3, 7, Patience(2.5, 4, 5, "skip"))


@given(st.integers(0, 1000), st.integers(1, 100))
def test_shards_cover_all_segments_once(segments, size):
    spans = shards(segments, size)
    assert [n for first, last in spans for n in range(first, last)] == list(range(segments))
    assert all(last - first == size for first, last in spans[:-1])


def test_status_tells_speed_and_time_left():
    def entry(time, event, **facts):
        return {"time": time, "event": event, **facts}

    done = [entry(10.0 + n, "done", shard=n, items=50, worker="w", seconds=0.5) for n in range(1, 11)]
    status = Status.of(
        [
            entry(0.0, "opened", process=7),
            entry(1.0, "joined", worker="w"),
            entry(10.0, "job", job="lists", tasks=40, items=2000, done=0),
            *done,
        ]
    )
    assert status.speed(20.0) == 50.0
    assert status.left(20.0) == 30.0
    assert (status.workers["w"].shards, status.workers["w"].speed) == (10, 100.0)
    lost = entry(21.0, "lost", worker="w", shards=[10])
    assert Status.of([*done, lost]).workers["w"].state == "lost"
    assert Status.of([lost]).faults == {"lost": 1}


def test_nothing_is_left_running(tmp_path):
    before = threading.active_count()
    answers(Workspace(tmp_path), errands.tasks(3))
    assert threading.active_count() == before


def test_a_link_to_a_file_that_was_overwritten_is_made_anew(tmp_path):
    """The same content lies elsewhere, and the file that the name has led to holds something else by now."""
    room = Workspace(tmp_path / "room")
    (tmp_path / "one").write_text("content")
    name = room.known(tmp_path / "one")
    (tmp_path / "two").write_text("content")
    (tmp_path / "one").write_text("another")
    assert room.known(tmp_path / "two") == name
    assert room.place.proved(name).read_text() == "content"
    assert room.known(tmp_path / "one") != name


@pytest.mark.parametrize("gone", [False, True])
def test_a_file_that_is_overwritten_while_workers_read_it_stops_the_run(tmp_path, gone):
    room = Workspace(tmp_path / "room")
    container.write(tmp_path / "more", "more", {"more": np.ones(1)}, {})
    tasks = errands.tasks(4, inputs=[("more", room.known(tmp_path / "more"))])
    with Coordinator(Local(1), room) as coordinator:
        answers = coordinator.answers(Job("squares"), tasks, errands.read)
        first = next(answers)
        container.write(tmp_path / "more", "more", {"more": np.zeros(1)}, {})
        why = "has changed since the run took it; put it back, and go on"
        if gone:
            (tmp_path / "more").unlink()
            why = "cannot be read: No such file or directory"
        for path in (room.path / "results").iterdir():
            path.unlink()  # what was done before the file has changed
        with pytest.raises(InputError, match=f"more: {why}"):
            list(coordinator.answers(Job("squares"), tasks, errands.read))
    assert first is not None
