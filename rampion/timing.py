"""Seconds of the parts of a piece of work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import TypeVar

T = TypeVar("T")


class Clock(dict[str, float]):
    """Seconds of every part of the work."""

    def __init__(self) -> None:
        super().__init__()
        self._begun, self._spent = perf_counter(), process_time()

    @property
    def cores(self) -> float:
        """How many processors the process has kept busy since this clock began, a mean."""
        return (process_time() - self._spent) / max(perf_counter() - self._begun, 1e-9)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self[part] = self.get(part, 0.0) + perf_counter() - start

    def each(self, part: str, items: Iterator[T]) -> Iterator[T]:
        """The items; what it takes to get them is counted, not what is done with them."""
        while True:
            with self(part):
                item = next(items, None)
            if item is None:
                return
            yield item
