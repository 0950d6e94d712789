"""Work on threads whose result is the same for any number of them: every item has an answer of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(work: Callable[[Item], Answer], items: Iterable[Item], threads: int | None = None) -> list[Answer]:
    """The answers in the order of the items; one thread for each processor unless told otherwise."""
    items = list(items)
    wanted = min(threads or processors(), len(items))
    if wanted < 2:
        return list(map(work, items))
    with ThreadPoolExecutor(wanted) as pool:
        return list(pool.map(work, items))
