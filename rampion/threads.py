"""Work on threads. Every item has a result of its own, so the results are the same for any number of threads."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from threading import current_thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
NAME = "rampion-each"  # of the threads of `each`


def processors() -> int:
    """The number of processors that this process may use: its CPU affinity, and the CPU quota of its control group."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(here, quota())))


@cache
def quota(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> float:
    """The CPUs that the control groups of this process allow it, of version 2 or 1; infinite if there is no limit."""
    least = math.inf
    for line in _read(groups).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        home = root / controllers if controllers else root
        folder = home / path.lstrip("/")
        # A container may see its own group as the root of the file system, so folders that are not there are no error.
        for group in (folder, *folder.parents):
            if controllers:
                limit, period = (_read(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
            else:
                limit, _, period = _read(group / "cpu.max").strip().partition(" ")
            if limit.isdigit() and period.isdigit() and int(limit) and int(period):
                least = min(least, int(limit) / int(period))
            if group == home:
                break
    return least


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay for the next call of `each`: a solver calls it many thousand times."""
    return ThreadPoolExecutor(threads, NAME)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads


def each(work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None) -> list[Result]:
    """The results in the order of the items; one thread for each processor unless told otherwise."""
    items, threads = list(items), threads or processors()
    # A thread of the pool that waited for the pool could wait for ever.
    if threads < 2 or len(items) < 2 or current_thread().name.startswith(NAME):
        return [work(item) for item in items]
    pool = _pool(threads)
    waiting = [pool.submit(work, item) for item in items]
    try:
        return [future.result() for future in waiting]
    finally:  # after an error nothing new begins, and what has begun ends
        for future in waiting:
            future.cancel()
        wait(waiting)


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int, ahead: int | None = None
) -> Iterator[Result]:
    """The results in the order of the items, which are taken up a few ahead: by default two for each thread."""
    if threads < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > (2 * threads if ahead is None else ahead):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error nothing new begins
            for future in waiting:
                future.cancel()
