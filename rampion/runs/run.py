"""A run of iterations in a folder, which can be resumed: the same for lists and for relevant sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from rampion.errors import InputError, StoreError
from rampion.runs.folder import RunFolder
from rampion.training.loop import Iteration

Row = TypeVar("Row", bound=Iteration)
W = TypeVar("W")


class Run(ABC, Generic[Row, W]):
    """A journal on disk. An iteration writes its candidates, then weights/NNN.bin, then the event that completes it."""

    row: ClassVar[type[Iteration]]
    candidates: ClassVar[str]  # the folder that holds them

    def __init__(self, folder: RunFolder, told: Callable[[Row], None] | None = None) -> None:
        self.folder, self._told, self.rows = folder, told, list[Row]()
        for event in folder.events:
            if event.get("event") == "iteration" and self.stands(event):
                self._add(self._row(event))

    @classmethod
    def begin(
        cls, path: Path, config: Mapping[str, Any], inputs: Iterable[str], facts: Mapping[str, Any],
        told: Callable[[Row], None] | None = None,
    ) -> Self:  # fmt: skip
        """Begin a new run. `facts` must be unchanged when it is resumed; `told` is called with every iteration."""
        RunFolder(path).refuse_begun()
        return cls._to_write(RunFolder.begin(path, config, inputs, facts), told)

    @classmethod
    def resume(
        cls, path: Path, config: Mapping[str, Any], inputs: Iterable[str], facts: Mapping[str, Any],
        told: Callable[[Row], None] | None = None, *, free: Collection[str] = (),
    ) -> Self:  # fmt: skip
        """Resume the run, which must have the same settings except for the free ones; begin one if there is none."""
        if not RunFolder(path).holds_results:
            return cls.begin(path, config, inputs, facts, told)
        run = cls._to_write(RunFolder.resume(path, config, inputs, facts, free), told)
        run.folder.rewrite(event for event in run.folder.events if event.get("event") != "done" and run.stands(event))
        return run

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run for reading."""
        if not (folder := RunFolder(path)).begun:
            raise InputError(f"{path}: holds no run; name a folder that rampion train has written")
        return cls(folder)

    @classmethod
    def _to_write(cls, folder: RunFolder, told: Callable[[Row], None] | None) -> Self:
        for name in (cls.candidates, "weights"):
            (folder.path / name).mkdir(exist_ok=True)
        return cls(folder, told)

    def stands(self, event: Mapping[str, Any]) -> bool:
        """Whether the event belongs to a completed iteration; later events are dropped when the run is resumed."""
        number: int = event.get("iteration", 0)
        return event["event"] == "iteration" or number <= len(self.rows)

    def keep(self, row: Row, weights: W) -> None:
        """Record a completed iteration."""
        self.write(self.file(row.iteration), weights)
        self.folder.event("iteration", asdict(row))
        self._add(row)

    def weights(self, iteration: int) -> W:
        """The weights at the end of an iteration."""
        return self.read(self.file(iteration))

    def file(self, iteration: int) -> Path:
        """The file of an iteration's weights."""
        return self.folder.path / "weights" / f"{iteration:03}.bin"

    @abstractmethod
    def read(self, path: Path) -> W:
        """Read a file of weights as this kind of run writes it."""

    @abstractmethod
    def write(self, path: Path, weights: W) -> None:
        """Write weights in the form of this kind of run."""

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        if self._told:
            self._told(row)

    def _row(self, event: Mapping[str, Any]) -> Row:
        try:
            return self.row(**{name: value for name, value in event.items() if name != "event"})  # type: ignore[return-value]
        except TypeError as error:
            raise StoreError(f"{self.folder.path / 'events.jsonl'}: is damaged; name another folder") from error
