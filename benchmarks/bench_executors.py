"""What executors cost, and what a fault costs: python benchmarks/bench_executors.py simulate | decode | recover [N].

simulate  5,000 tasks that sleep two seconds, on 50 workers of Dask inside this process: how much of the time they sleep
decode    N sentences of a toy corpus in shards of 100: two threads of this process, and two processes of Dask
recover   the same with Dask while workers are killed: seconds lost a kill
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from rampion.decoder.remote import Spread
from rampion.decoder.system import Settings, System
from rampion.decoder.text.language import Language

from rampion.executors import Coordinator, Job, Task, Workspace, named
from rampion.formats import container
from rampion.store.text import Texts
from rampion.system import resident

SLEEP, TASKS, WORKERS, TURNS = 2.0, 5000, 50, 2


def nap(files, settings, span, out):
    """The work of a simulated task."""
    time.sleep(SLEEP)
    container.write(out, "nap", {"span": np.array(span)}, {})


def simulate(folder: Path, count: int) -> None:
    import dask
    import distributed

    from rampion.executors.dask import SETTINGS

    room = Workspace(folder / "room")
    tasks = [Task("bench_executors:nap", "{}", (), n, (n, n + 1)) for n in range(count)]
    with dask.config.set(SETTINGS), distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", memory_limit=0
    ) as cluster, Coordinator(named(cluster.scheduler_address)[0], room) as coordinator:  # fmt: skip
        memory, began, cpu = [resident()], time.perf_counter(), time.process_time()
        for n, _ in enumerate(coordinator.answers(Job("naps"), tasks, lambda path: path)):
            if n % (count // 5) == 0:
                memory.append(resident())
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    memory.append(resident())
    ideal = SLEEP * count / WORKERS
    print(f"{count:,} tasks of {SLEEP:g} s on {WORKERS} workers: {wall:.1f} s, ideal {ideal:.1f} s: {ideal / wall:.1%}")
    print(f"CPU {1000 * cpu / count:.2f} ms a task; MiB in use: {', '.join(str(m >> 20) for m in memory)}")


class Bench:
    """A toy corpus, its system, and sentences to decode."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        Language.invent(1).corpus(max(count, 2000), 20, 1).write(folder / "corpus")
        made = System.prepare(folder / "corpus", folder / "system", Settings(least=2), threads=2)
        self.text = made.corpus.train.source.part(0, count)
        self.decoder = made.decoder("fourteen", beam=30, options=10)
        self.weights = self.decoder.initial

    def run(self, spec: str, hurt=None) -> tuple[float, float, list[int], Texts, Workspace]:
        room = Workspace(self.folder / f"room-{time.time_ns()}")
        executor = named(spec)[0]
        with Coordinator(executor, room) as coordinator:
            spread = Spread(self.decoder, coordinator, 100)
            memory, began, stop = [resident()], time.perf_counter(), threading.Event()
            if hurt:
                threading.Thread(target=hurt, args=(stop,), daemon=True).start()
            cpu = spent()
            best = spread.best(self.text, self.weights)
            wall = time.perf_counter() - began
            stop.set()
            memory.append(resident())
        return wall, spent() - cpu, memory, best, room


def spent() -> float:
    """CPU seconds, of children that have ended too."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def decode(folder: Path, count: int) -> None:
    bench, known = Bench(folder, count), None
    for turn in range(TURNS):
        for spec in ("local,threads=2", "dask,workers=2") if turn == 0 else ("dask,workers=2", "local,threads=2"):
            wall, cpu, memory, best, room = bench.run(spec)
            busy = sum(entry["seconds"] for entry in room.journal.entries() if entry["event"] == "done")
            known = known or best
            same = "same bits" if best == known else "OTHER BITS"
            print(
                f"{spec:16} {count / wall:7.0f} sentences/s, {wall:6.1f} s, {cpu:6.1f} s of CPU, "
                f"{busy:6.1f} s in tasks, MiB here {memory[0] >> 20} to {memory[1] >> 20}, {same}", flush=True
            )  # fmt: skip


def recover(folder: Path, count: int) -> None:
    bench, kills = Bench(folder, count), list[int]()

    def hurt(stop: threading.Event) -> None:
        while not stop.wait(12):
            command = ["pgrep", "-P", str(os.getpid()), "-f", "spawn_main"]
            if children := subprocess.run(command, capture_output=True, text=True).stdout.split():
                kills.append(int(children[len(kills) % len(children)]))
                os.kill(kills[-1], signal.SIGKILL)

    whole = bench.run("dask,workers=2")
    broken = bench.run("dask,workers=2", hurt)
    again = bench.run("dask,workers=2")
    lost = [entry for entry in broken[4].journal.entries() if entry["event"] == "lost"]
    calm = (whole[0] + again[0]) / 2
    print(f"without faults {whole[0]:.1f} and {again[0]:.1f} s; with {len(kills)} kills {broken[0]:.1f} s")
    print(
        f"{(broken[0] - calm) / max(1, len(kills)):.2f} s lost a kill; shards begun again: "
        f"{sum(len(entry['shards']) for entry in lost)}; same bits: {whole[3] == broken[3] == again[3]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["simulate", "decode", "recover"])
    parser.add_argument("count", type=int, nargs="?")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rampion-bench-") as folder:
        count = asked.count or {"simulate": TASKS, "decode": 100_000, "recover": 20_000}[asked.what]
        {"simulate": simulate, "decode": decode, "recover": recover}[asked.what](Path(folder), count)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
