"""Workers of dask.distributed: those of a running scheduler, or processes of this machine started for the run.

Dask carries tasks and short answers; inputs and results are files in a folder that all workers share. A task goes to
the worker that the coordinator names. Its answer is a Dask event, so that no worker holds anything that could be lost
with it.
"""

from __future__ import annotations

import queue
import secrets
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import dask
import distributed

from rampion.errors import InputError, RampionError
from rampion.executors import certificates
from rampion.executors.local import drained
from rampion.executors.protocol import Answered, Event, Joined, Lost
from rampion.executors.tasks import Answer, Place, Task, forget, performed
from rampion.executors.workspace import Workspace
from rampion.threads import processors

LOOK = 2.0  # seconds between checks of the workers of our own cluster
GRACE = 10.0  # seconds that a worker of our own cluster may take to restart
STARTS = 3  # tries to start a cluster of our own
BRIEF = 5.0  # seconds for workers to drop their caches at the end
PATIENCE = 30.0  # seconds for a scheduler to answer
GREETING = 10.0  # seconds for it to speak first
SETTINGS = {  # Dask's configuration for a cluster of our own: short logs, no dashboard, no memory limits
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.dashboard.status.task-stream-length": 1,
    "distributed.scheduler.worker-saturation": 2.0,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


class Cluster:
    """The workers of a scheduler. Without an address, a cluster on the loopback interface that ends with the run.

    address   the scheduler's address, such as tcp://host:8786; None starts a cluster on this machine
    workers   the number of processes of that cluster; None: one for each processor
    tls       the names of three PEM files, "ca", "cert" and "key"; with them, Dask encrypts every connection
    """

    def __init__(
        self, address: str | None = None, workers: int | None = None, tls: Mapping[str, str] | None = None
    ) -> None:
        self.address, self.workers, self.tls = address, workers or processors(), tls or {}
        self.events: queue.Queue[Event] = queue.Queue()
        self.sent: dict[tuple[str, str], Any] = {}  # Dask's futures, by worker and name of the task
        self.numbers = count()
        self.own: Any = None
        self.whole = self.looked = time.monotonic()  # when our own cluster was last complete, and last checked

    def open(self, workspace: Workspace) -> None:
        self.workspace, self.topic = workspace, f"rampion-{secrets.token_hex(8)}"
        security = self._security() if self.address else _own()
        if self.address and self.address.startswith("tcp://"):
            _greeted(self.address)
        if self.address is None:
            self.own = _started(self.workers, workspace, security)
        try:
            self.client = distributed.Client(
                self.own or self.address, security=security, timeout=PATIENCE, set_as_default=False, name="rampion"
            )
        except Exception as error:  # Dask raises what its libraries raise
            raise InputError(
                f"{self.address}: no scheduler answers there ({' '.join(str(error).split())[:200]}); start one "
                "(dask scheduler), or correct the address"
            ) from error
        self.scheduler = self._scheduler()
        self.client.subscribe_topic(self.topic, self._answered)
        self.client.subscribe_topic("all", self._changed)
        for name, facts in self.client.scheduler_info()["workers"].items():
            self.events.put(Joined(name, facts["nthreads"]))

    def send(self, worker: str, task: Task) -> None:
        number = next(self.numbers)
        # Tasks submitted within 100 ms are equal to Dask, and a worker may take them in another order. The coordinator
        # blames a lost worker for the first task that it has not answered, so the order must be that of sending.
        future = self.client.submit(
            perform, task, task.name, self.workspace.place, self.topic, key=f"{self.topic}-{number}", workers=[worker],
            pure=False, priority=-number,
        )  # fmt: skip
        future.add_done_callback(lambda done: self._failed(worker, task.name, done))
        self.sent[worker, task.name] = future

    def receive(self, seconds: float) -> list[Event]:
        events, gone = drained(self.events, seconds), False
        if time.monotonic() - self.looked > LOOK:
            self.looked = time.monotonic()
            gone = self._scheduler() != self.scheduler  # Dask connects to a new one at the same address by itself
            if self.own:
                self._revive()
        if gone or self.client.status != "running":
            raise InputError(
                f"the scheduler {self.address or ''} is gone; start it again and go on: what is done is kept"
            )
        for event in events:
            self._settle(event)
        return events

    def drop(self, worker: str) -> None:
        """Restart the worker if it is our own. Workers of a scheduler with an address may serve other clients, too."""
        if self.own:
            threading.Thread(target=self._restart, args=(worker,), daemon=True).start()

    def close(self) -> None:
        clearing = threading.Thread(target=self._clear, daemon=True)
        clearing.start()
        clearing.join(BRIEF)  # do not wait longer for a worker that does not answer
        with suppress(Exception):
            for topic in (self.topic, "all"):
                self.client.unsubscribe_topic(topic)
            self.client.close(timeout=5)
        if self.own:
            with suppress(Exception):
                self.own.close(timeout=10)

    def _clear(self) -> None:
        with suppress(Exception):  # workers or the scheduler may be gone already
            if not self.own:
                self.client.run(clear, self.workspace.place, on_error="ignore")

    def _security(self) -> Any:
        if not self.tls:
            if self.address and self.address.startswith(("tls://", "wss://")):
                raise InputError(f"{self.address}: needs certificates; give ca=FILE,cert=FILE,key=FILE behind it")
            return None
        if strange := self.tls.keys() - {"ca", "cert", "key"} or {"ca", "cert", "key"} - self.tls.keys():
            raise InputError(f"TLS needs the three files ca, cert and key; look at {min(strange)}")
        for path in self.tls.values():
            if not Path(path).is_file():
                raise InputError(f"{path}: there is no such file; TLS needs ca, cert and key")
        for name in ("ca", "cert"):
            certificates.prove(self.tls[name])
        names = {"tls_ca_file": "ca", "tls_client_cert": "cert", "tls_client_key": "key"}
        names |= {f"tls_{role}_{what}": what for role in ("scheduler", "worker") for what in ("cert", "key")}
        return distributed.Security(require_encryption=True, **{name: self.tls[what] for name, what in names.items()})

    def _settle(self, event: Event) -> None:
        """Release the futures of the tasks that an event answers, or that were sent to a lost worker."""
        if isinstance(event, Lost):
            for key in [key for key in self.sent if key[0] == event.worker]:
                self.sent.pop(key).cancel()
        if not isinstance(event, Answered):
            return
        future = self.sent.pop((event.worker, event.answer.name), None)
        if future:
            future.release()

    def _answered(self, event: tuple[float, Any]) -> None:
        _, message = event
        self.events.put(Answered(message["worker"], Answer(*message["answer"])))

    def _failed(self, worker: str, name: str, future: Any) -> None:
        """Report a task that Dask could not start, as an answer of the kind "broken"."""
        if future.status == "error":
            self.events.put(Answered(worker, Answer("broken", name, str(future.exception()))))

    def _changed(self, event: tuple[float, Any]) -> None:
        _, change = event
        if change.get("action") == "add-worker":
            facts = self.client.scheduler_info()["workers"]
            self.events.put(Joined(change["worker"], facts.get(change["worker"], {}).get("nthreads", 1)))
        elif change.get("action") == "remove-worker":
            self.events.put(Lost(change["worker"]))

    def _revive(self) -> None:
        """Replace workers that Dask's nannies no longer restart, because they were killed while they started."""
        alive = self.client.scheduler_info()["workers"].keys()
        if len(alive) >= self.workers:
            self.whole = time.monotonic()
        elif time.monotonic() - self.whole > GRACE:
            for name, keeper in list(self.own.workers.items()):
                if keeper.worker_address not in alive:
                    self.own.worker_spec.pop(name, None)
            self.own.scale(self.workers)
            self.whole = time.monotonic()

    def _scheduler(self) -> str:
        """The name that the scheduler has drawn for itself; a new one knows nothing of what the old one was sent."""
        return str(self.client.scheduler_info().get("id"))

    def _restart(self, worker: str) -> None:
        with suppress(Exception):  # the worker may be gone by now
            self.client.restart_workers([worker], timeout=10, raise_for_error=False)


def perform(task: Task, name: str, place: Place, topic: str) -> None:
    """Runs on a worker: do the task, and log its answer as an event."""
    worker = distributed.get_worker()
    try:
        if place.shared:
            answer = performed(task, name, place, place.result(name))
        else:
            why = f"does not see {place.folder}; name a folder that all workers share (--run)"
            answer = Answer("refused", name, why)
    except (OSError, RampionError) as error:
        answer = Answer("trouble", name, str(error))
    except Exception:
        answer = Answer("broken", name, traceback.format_exc())
    worker.log_event(topic, {"worker": worker.address, "answer": list(answer)})


def clear(place: Place) -> None:
    """Runs on a worker at the end of a run: drop what was cached for it."""
    forget(Path(place.folder, "results"))


@contextmanager
def _deaf() -> Iterator[None]:
    """Threads and processes that are begun here do not hear Ctrl-C, which is for the coordinator alone."""
    if (quiet := "ignore:resource_tracker:UserWarning") not in sys.warnoptions:
        sys.warnoptions.append(quiet)  # it complains of what an interrupted process has left to it, and removes that
    resource_tracker.ensure_running()  # lest it is begun later: that would let this thread hear again
    if sys.platform == "win32":  # which cannot mask signals
        yield
    else:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _greeted(address: str) -> None:
    """Raise InputError unless whoever listens there speaks first, as Dask does; other servers wait for the client."""
    host, _, port = address.removeprefix("tcp://").strip("/").rpartition(":")
    until = time.monotonic() + GREETING
    while True:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=GREETING) as line:
                spoken = line.recv(1)
            break
        except (OSError, ValueError, OverflowError) as error:
            if isinstance(error, ConnectionRefusedError) and time.monotonic() < until:
                time.sleep(0.2)  # it may be starting
                continue
            why = f"no scheduler answers there ({error}); start one, or correct the address"
            raise InputError(f"{address}: {why}") from error
    if not spoken:
        raise InputError(f"{address}: who answers there is no scheduler of Dask; correct the address")


def _own() -> Any:
    """Encryption with a certificate that only this process and its workers know."""
    cert, key = certificates.made()
    roles = {f"tls_{role}_{what}": text for role in ("client", "scheduler", "worker")
             for what, text in (("cert", cert), ("key", key))}  # fmt: skip
    return distributed.Security(require_encryption=True, tls_ca_file=cert, **roles)


def _started(workers: int, workspace: Workspace, security: Any) -> Any:
    """A cluster of processes that end with this one; TLS closes it to other users of the machine."""
    error: Exception | None = None
    for _ in range(STARTS):
        try:
            with dask.config.set(SETTINGS), _deaf():
                return distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", protocol="tls",
                    dashboard_address="127.0.0.1:0", worker_dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False}, memory_limit=0, security=security, silence_logs=50,
                    local_directory=str(workspace.path / "dask"),
                )  # fmt: skip
        except (OSError, RuntimeError) as caught:  # for example, a worker was killed while it started
            error = caught
    raise InputError(f"no Dask cluster can be started here: {error}; use --executor local") from error
