"""Seconds of the parts of a piece of work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


class Clock(dict[str, float]):
    """Seconds of every part of the work."""

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
