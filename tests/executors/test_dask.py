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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

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


def test_a_worker_that_takes_long_to_import_is_waited_for(tmp_path):
    with scheduler("tardy") as (address, _):
        assert same(answers(Workspace(tmp_path), errands.tasks(4), named(address)[0]), errands.expected(4))


def test_a_scheduler_that_comes_back_empty(tmp_path, monkeypatch):
    """A run that it knew stops at once; a new one waits for workers, and says so when none comes."""
    from rampion.executors import coordinator as coordinating

    tasks = errands.tasks(COUNT, seconds=0.05)
    with scheduler("") as (address, main), Coordinator(named(address)[0], Workspace(tmp_path)) as coordinator:
        found = coordinator.answers(Job("squares"), tasks, errands.read)
        assert same([next(found) for _ in range(3)], errands.expected(3))
        main.kill()
        main.wait()
        port = address.rpartition(":")[2]
        program = [sys.executable, "-P", "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
        with process(*program, "--host", f"tcp://127.0.0.1:{port}") as empty:
            begun = time.monotonic()
            with pytest.raises(InputError, match=r"the scheduler tcp://.* is gone; start it again and go on"):
                list(found)
            assert time.monotonic() - begun < 20
            monkeypatch.setattr(coordinating, "LONELY", 3.0)
            with pytest.raises(InputError, match=r"no worker came within \d seconds; look at them, then go on"):
                answers(Workspace(tmp_path), tasks, named(address)[0], Patience(deadline=1.0))
            assert empty.poll() is None
    assert same(answers(Workspace(tmp_path), tasks), errands.expected(COUNT))


def certificate(folder, first, last):
    """Three PEM files of a certificate that is valid between these days from now."""
    from rampion.executors import certificates

    with mock.patch.multiple(certificates, BEFORE=timedelta(days=-first), AFTER=timedelta(days=last)):
        cert, key = certificates.made()
    for name, text in {"ca": cert, "cert": cert, "key": key}.items():
        (folder / f"{name}.pem").write_text(text)
    return ",".join(f"{name}={folder / name}.pem" for name in ("ca", "cert", "key"))


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (-9, -1, r"ca.pem: has expired on \d{4}-\d\d-\d\d \d\d:\d\d UTC; make a new one"),
        (1, 9, r"ca.pem: is valid from .* UTC on, and here it is .*; set the clock"),
    ],
)
def test_certificates_out_of_their_time_are_told_at_once(tmp_path, first, last, said):
    files = certificate(tmp_path, first, last)
    with pytest.raises(InputError, match=said):
        answers(Workspace(tmp_path / "room"), errands.tasks(1), named(f"tls://127.0.0.1:1,{files}")[0])
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(InputError, match="holds no certificate that can be read"):
        answers(Workspace(tmp_path / "room"), errands.tasks(1), named(f"tls://127.0.0.1:1,{files}")[0])


def test_our_own_certificate_is_older_than_clocks_are_wrong():
    from cryptography import x509

    from rampion.executors import certificates

    cert = x509.load_pem_x509_certificate(certificates.made().cert.encode())
    now = datetime.now(UTC)
    assert cert.not_valid_before_utc < now - timedelta(days=6)
    assert cert.not_valid_after_utc > now + timedelta(days=300)


SCRIPT = """
import sys
from pathlib import Path
import errands
from rampion.executors import Workspace, named
if __name__ == "__main__":
    found = errands.answers(Workspace(Path(sys.argv[1])), errands.tasks(20, seconds=0.05), named("dask,workers=2")[0])
    print(errands.same(found, errands.expected(20)))
"""


@pytest.mark.parametrize("after", [1, 3])
def test_a_clock_that_jumps_back_while_the_cluster_starts(tmp_path, after):
    """By an hour, in all processes at once."""
    (tmp_path / "run.py").write_text(SCRIPT)
    clock = tmp_path / "clock.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", clock, KIT / "clock.c", "-ldl"], check=True)
    jump = {"LD_PRELOAD": str(clock), "CLOCK_JUMP": str(int(time.time()) + after)}
    told = subprocess.run(
        [sys.executable, tmp_path / "run.py", tmp_path / "room"], env=os.environ | jump, capture_output=True, text=True
    )
    assert (told.returncode, told.stdout) == (0, "True\n"), told.stderr


def test_a_cluster_of_our_own_listens_where_the_page_says(tmp_path):
    """On the loopback interface only: so many ports with TLS, and so many that answer nothing but 404."""
    import psutil

    page = (KIT.parents[1] / "docs" / "scaling.md").read_text("utf-8")
    workers = 2
    executor = named(f"dask,workers={workers}")[0]
    executor.open(Workspace(tmp_path))
    try:
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        lines = {line.laddr for one in family for line in one.net_connections("inet") if line.status == "LISTEN"}
        assert {line.ip for line in lines} == {"127.0.0.1"}
        kinds = [_kind(line.port) for line in sorted(lines)]
    finally:
        executor.close()
    rows = dict(re.findall(r"^\| (TLS|HTTP) \| ([^|]+) \|", page, re.MULTILINE))
    assert rows == {"TLS": "1 and 2 for each worker", "HTTP": "1 and 1 for each worker"}
    assert kinds.count("TLS") == 1 + 2 * workers
    assert kinds.count("HTTP") == 1 + workers
    assert len(kinds) == 2 + 3 * workers


def _kind(port):
    """What answers to HTTP: an error without content, or a line that is not encrypted is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
        line.sendall(b"GET / HTTP/1.0\r\n\r\n")
        try:
            said = line.recv(1000)
        except OSError:
            return "TLS"
    if said.startswith(b"HTTP"):
        assert said.split()[1] == b"404"
        return "HTTP"
    return "TLS"


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
