"""Workers of Dask, killed, stopped, blinded and aged: results are those of threads, to the bit."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import errands
import pytest
from errands import answers, events, same

from rampion.errors import InputError
from rampion.executors import Coordinator, Job, Patience, Workspace, named

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

KIT = Path(errands.__file__).parent
COUNT = 30


@pytest.fixture(autouse=True)
def errands_are_found(monkeypatch):
    """By processes that are started here."""
    paths = [str(KIT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def clustered(room, tasks, patience=None, workers=2):
    return answers(room, tasks, named(f"dask,workers={workers}")[0], patience)


@contextmanager
def process(*command):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.send_signal(signal.SIGCONT)
            running.kill()


@contextmanager
def scheduler(*workers, tls=()):
    """A scheduler and its workers as others would start them, each loaded with a module of tests or with none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{port}"
    program = [sys.executable, "-P", "-m"]  # -P: the installed package, not that of the folder one stands in
    with process(*program, "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard", *tls) as main:
        time.sleep(1)
        started = []
        for preload in workers:
            more = ["--preload", str(KIT / f"{preload}.py")] if preload else []
            command = [*program, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
            worker = process(*command, "--no-nanny", *more, *tls)
            started.append((worker, worker.__enter__()))
        try:
            yield address, main
        finally:
            for worker, _ in started:
                worker.__exit__(None, None, None)


def test_processes_give_the_same_bits(tmp_path):
    for workers in (1, 2, 4):
        room = Workspace(tmp_path / str(workers))
        assert same(clustered(room, errands.tasks(COUNT, seconds=0.02), workers=workers), errands.expected(COUNT))
        assert len({entry["worker"] for entry in events(room, "done")}) == workers


def test_killed_workers_lose_only_what_they_had_in_hand(tmp_path):
    room, killed = Workspace(tmp_path / "room"), [3, 9, 10, 21]
    tasks = errands.tasks(COUNT, {"kill": killed}, 0.02, tmp_path)
    assert same(clustered(room, tasks), errands.expected(COUNT))
    assert sorted(shard for entry in events(room, "lost") for shard in entry["shards"]) == killed
    assert len(events(room, "done")) == COUNT


def test_a_stopped_worker_is_replaced(tmp_path):
    room, tasks = Workspace(tmp_path / "room"), errands.tasks(COUNT, {"hang": [5]}, 0.02, tmp_path)
    assert same(clustered(room, tasks, Patience(deadline=2)), errands.expected(COUNT))
    assert events(room, "late")[0]["shards"][0] == 5


def test_a_full_disk_of_a_worker(tmp_path):
    room, tasks = Workspace(tmp_path / "room"), errands.tasks(COUNT, {"full": [2, 8]}, 0.0, tmp_path)
    assert same(clustered(room, tasks), errands.expected(COUNT))
    assert sorted(entry["shard"] for entry in events(room, "trouble")) == [2, 8]


def test_poison_is_left_out_where_that_is_wanted(tmp_path):
    room, tasks = Workspace(tmp_path / "room"), errands.tasks(COUNT, {"poison": [4]}, 0.0, tmp_path)
    found = clustered(room, tasks, Patience(deaths=2, poison="skip"))
    assert [n for n, answer in enumerate(found) if answer is None] == [4]
    assert re.search("shard 4, lines 41 to 50 of numbers.txt, killed 2 workers", events(room, "poison")[0]["why"])


def test_poison_stops_the_run_and_keeps_what_is_done(tmp_path):
    room, tasks = Workspace(tmp_path / "room"), errands.tasks(COUNT, {"poison": [14]}, 0.02, tmp_path)
    with pytest.raises(InputError, match=r"shard 14, lines 141 to 150 of numbers.txt, killed 3 workers"):
        clustered(room, tasks)
    assert len(list((tmp_path / "room" / "results").iterdir())) >= 12


def test_faults_of_input_and_work_are_told_as_on_threads(tmp_path):
    with pytest.raises(InputError, match=r"^line 7 has no number; expected one$"):
        clustered(Workspace(tmp_path / "a"), errands.tasks(4, {"wrong": [1]}, folder=tmp_path))
    with pytest.raises(RuntimeError, match=r"(?s)shard 1, .*ZeroDivisionError"):
        clustered(Workspace(tmp_path / "b"), errands.tasks(4, {"broken": [1]}, folder=tmp_path))


def test_a_scheduler_that_dies_and_a_run_that_goes_on(tmp_path):
    tasks = errands.tasks(COUNT, seconds=0.05)
    with scheduler("", "") as (address, main):
        coordinator = Coordinator(named(address)[0], Workspace(tmp_path))
        with coordinator:
            found = coordinator.answers(Job("squares"), tasks, errands.read)
            assert same([next(found) for _ in range(6)], errands.expected(6))
            main.kill()
            with pytest.raises(InputError, match=r"the scheduler tcp://.* is gone; start it again and go on"):
                list(found)
    done = len(list((tmp_path / "results").iterdir()))
    assert done >= 6
    room = Workspace(tmp_path)
    with scheduler("") as (address, _):
        assert same(answers(room, tasks, named(address)[0]), errands.expected(COUNT))
    assert events(room, "job")[-1]["done"] >= 60


def test_a_worker_that_does_not_see_the_folder_is_refused(tmp_path):
    room = Workspace(tmp_path / "a")
    with scheduler("blind", "") as (address, _):
        assert same(answers(room, errands.tasks(COUNT, seconds=0.02), named(address)[0]), errands.expected(COUNT))
    (entry,) = events(room, "refused")
    assert entry["why"] == f"does not see {room.path}; name a folder that all workers share (--run)"
    sentence = r"the worker tcp://.* does not see .*; name a folder that all workers share"
    with scheduler("blind") as (address, _), pytest.raises(InputError, match=sentence):
        answers(Workspace(tmp_path / "b"), errands.tasks(2), named(address)[0])


def test_a_worker_of_another_version_is_refused(tmp_path):
    room = Workspace(tmp_path / "a")
    with scheduler("older", "") as (address, _):
        assert same(answers(room, errands.tasks(COUNT, seconds=0.02), named(address)[0]), errands.expected(COUNT))
    (entry,) = events(room, "refused")
    assert "has Rampion 0.0.9 with" in entry["why"]
    assert "and the run is of Rampion 0.1.0" in entry["why"]
    sentence = r"the worker tcp://.* has Rampion 0\.0\.9"
    with scheduler("older") as (address, _), pytest.raises(InputError, match=sentence):
        answers(Workspace(tmp_path / "b"), errands.tasks(2), named(address)[0])


def test_no_scheduler_answers(tmp_path, monkeypatch):
    from rampion.executors import dask

    monkeypatch.setattr(dask, "PATIENCE", 0.5)
    with pytest.raises(InputError, match=r"tcp://127.0.0.1:1: no scheduler answers there"):
        answers(Workspace(tmp_path), errands.tasks(1), named("tcp://127.0.0.1:1")[0])


def test_a_cluster_of_our_own_is_closed_to_others(tmp_path):
    import distributed

    executor = named("dask,workers=1")[0]
    executor.open(Workspace(tmp_path))
    try:
        assert executor.own.scheduler_address.startswith("tls://127.0.0.1:")
        address = executor.own.scheduler_address
        strange = distributed.Security.temporary()
        with pytest.raises((OSError, TimeoutError)):
            distributed.Client(address, security=strange, timeout=2, set_as_default=False)
        with pytest.raises((OSError, TimeoutError)):
            distributed.Client(address.replace("tls", "tcp"), timeout=2, set_as_default=False)
    finally:
        executor.close()


def test_certificates_are_passed_on(tmp_path):
    from distributed import Security

    own = Security.temporary()
    files = {name: tmp_path / f"{name}.pem" for name in ("ca", "cert", "key")}
    for name, text in zip(files, (own.tls_ca_file, own.tls_scheduler_cert, own.tls_scheduler_key), strict=True):
        files[name].write_text(text)
    tls = ["--tls-ca-file", files["ca"], "--tls-cert", files["cert"], "--tls-key", files["key"]]
    room = Workspace(tmp_path / "room")
    with scheduler("", tls=[str(part) for part in tls]) as (address, _):
        spec = f"{address},ca={files['ca']},cert={files['cert']},key={files['key']}"
        assert same(answers(room, errands.tasks(4), named(spec)[0]), errands.expected(4))
    with pytest.raises(InputError, match="TLS needs the three files ca, cert and key; look at key"):
        answers(room, errands.tasks(1), named("tls://127.0.0.1:1,ca=a,cert=b")[0])


def test_workers_end_with_a_coordinator_that_is_killed(tmp_path):
    script = (
        "import errands, sys\nfrom pathlib import Path\nfrom rampion.executors import Workspace, named\n"
        "if __name__ == '__main__':\n"
        "    tasks = errands.tasks(200, seconds=0.05)\n"
        "    errands.answers(Workspace(Path(sys.argv[1])), tasks, named('dask,workers=2')[0])\n"
    )
    (tmp_path / "run.py").write_text(script)
    room = tmp_path / "room"
    with process(sys.executable, str(tmp_path / "run.py"), str(room)) as running:
        while len(list(room.glob("results/[0-9a-f]*"))) < 5:
            assert running.poll() is None, running.stderr.read()
            time.sleep(0.05)
        running.kill()
    time.sleep(3)
    count = len(list(room.glob("results/[0-9a-f]*")))
    time.sleep(1)
    assert len(list(room.glob("results/[0-9a-f]*"))) == count < 200  # nobody works on
    assert same(answers(Workspace(room), errands.tasks(200, seconds=0.05)), errands.expected(200))
