"""The run of `rampion tune` with a decoder: a run folder that holds lists and weights of every iteration too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from rampion.errors import StoreError
from rampion.formats import store
from rampion.formats import weights as weight_files
from rampion.runs.folder import RunFolder
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.training.loop import Iteration


@dataclass(frozen=True, slots=True)
class Loop:
    """A journal on the disk: lists/NNN.store, weights/NNN.bin, and the event, with which an iteration is done."""

    folder: RunFolder
    rows: list[Iteration]
    told: Callable[[Iteration], None]

    @classmethod
    def begin(
        cls,
        path: Path,
        config: Mapping[str, Any],
        inputs: Iterable[str],
        facts: Mapping[str, Any],
        told: Callable[[Iteration], None],
    ) -> Self:
        """A new run; facts tell what it must find again if it is stopped and goes on."""
        if _holds_something(path):
            RunFolder(path).refuse_begun()
        return cls._of(RunFolder.begin(path, config, inputs, facts), told)

    @classmethod
    def resume(
        cls,
        path: Path,
        config: Mapping[str, Any],
        inputs: Iterable[str],
        facts: Mapping[str, Any],
        told: Callable[[Iteration], None],
        free: Collection[str],
    ) -> Self:
        """The run as it was left, which had the same settings but for the free ones; or a new one."""
        if not _holds_something(path):
            return cls.begin(path, config, inputs, facts, told)
        return cls._of(RunFolder.resume(path, config, inputs, facts, free), told)

    @classmethod
    def _of(cls, folder: RunFolder, told: Callable[[Iteration], None]) -> Self:
        """What the folder knows is told; what came after the last iteration that is done has not happened."""
        for name in ("lists", "weights"):
            (folder.path / name).mkdir(exist_ok=True)
        events = folder.events
        try:
            rows = [Iteration(**_without_kind(event)) for event in events if event["event"] == "iteration"]
        except (KeyError, TypeError) as error:
            raise StoreError(f"{folder.path / 'events.jsonl'}: is damaged; name another folder") from error
        folder.rewrite(event for event in events if event.get("iteration", len(rows) + 1) <= len(rows))
        for row in rows:
            told(row)
        return cls(folder, rows, told)

    def lists(self, iteration: int, decode: Callable[[], Candidates]) -> Candidates:
        path = self.folder.path / "lists" / f"{iteration:03}.store"
        if path.exists():
            return store.read(path)
        lists = decode()
        store.write(path, lists)
        return lists

    def weights(self, iteration: int) -> Weights:
        return weight_files.read(self._weights(iteration))

    def keep(self, row: Iteration, weights: Weights) -> None:
        weight_files.write(self._weights(row.iteration), weights)
        self.folder.event("iteration", asdict(row))
        self.rows.append(row)
        self.told(row)

    def _weights(self, iteration: int) -> Path:
        return self.folder.path / "weights" / f"{iteration:03}.bin"


def _holds_something(path: Path) -> bool:
    """Whether a run in this folder came so far that anything would be lost with it."""
    folder = RunFolder(path)
    return folder.begun and (bool(folder.events) or any(path.glob("lists/*.store")))


def _without_kind(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name != "event"}
