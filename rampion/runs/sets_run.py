"""The run of `rampion train`: a run folder that holds relevant sets too, and the weights of every iteration."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from rampion.errors import InputError, StoreError
from rampion.formats import container
from rampion.runs.folder import RunFolder
from rampion.sets.files import Sets
from rampion.sets.records import Keyed
from rampion.store.keys import Keys
from rampion.training.relevant import Beginning, Iteration, Learnt

KIND = "keyed weights"


@dataclass(frozen=True, slots=True)
class Run:
    """Weights and the row of an iteration are written before its records: with these it is done."""

    folder: RunFolder
    sets: Sets

    @classmethod
    def begin(cls, path: Path, config: Mapping[str, Any], inputs: Iterable[str], facts: Mapping[str, Any]) -> Self:
        """A new run; facts tell what it must find again if it is stopped and goes on."""
        return cls._to_write(RunFolder.start(path, config, inputs, facts))

    @classmethod
    def resume(
        cls,
        path: Path,
        config: Mapping[str, Any],
        inputs: Iterable[str],
        facts: Mapping[str, Any],
        free: Collection[str],
    ) -> Self:
        """The run as it was left, which had the same settings but for the free ones; or a new one if it never began."""
        run = cls._to_write(RunFolder.resume(path, config, inputs, facts, free))
        run.folder.rewrite(filter(run.stands, run.folder.events))
        return run

    @classmethod
    def open(cls, path: Path) -> Self:
        """A run to look at."""
        folder = RunFolder(path)
        if not folder.begun:
            raise InputError(f"{path}: holds no run; name a folder that rampion train has written")
        return cls._to_read(folder)

    @classmethod
    def _to_write(cls, folder: RunFolder) -> Self:
        for name in ("sets", "weights"):
            (folder.path / name).mkdir(exist_ok=True)
        return cls._to_read(folder)

    @classmethod
    def _to_read(cls, folder: RunFolder) -> Self:
        return cls(folder, Sets.open(folder.path / "sets", folder.manifest.get("corpus")))

    def stands(self, event: Mapping[str, Any]) -> bool:
        """Whether what is told of is on the disk: it is told before it is written."""
        return event.get("part", f"{event.get('iteration', -1):03}") in self.sets.parts and event["event"] != "done"

    @property
    def rows(self) -> list[Iteration]:
        """Of the iterations that are done."""
        found = [event for event in filter(self.stands, self.folder.events) if event.pop("event") == "iteration"]
        return [Iteration(**event) for event in found]

    @property
    def chosen(self) -> Iteration:
        """The iteration that is best on the dev text, the first of equals (S10.11)."""
        if not (rows := self.rows):
            raise InputError(f"{self.folder.path}: has no weights yet; let it finish an iteration (--resume)")
        return max(rows, key=lambda row: row.dev)

    @property
    def fingerprint(self) -> str:
        """Changes with the chosen weights."""
        return hashlib.sha256(self.weights(self.chosen.iteration).read_bytes()).hexdigest()[:16]

    def begun(self, row: Beginning) -> None:
        self.folder.event("begun", row._asdict())

    def keep(self, row: Iteration, learnt: Learnt) -> None:
        arrays = {"keyed": learnt.keyed, "own": np.array(list(learnt.own.values()))}
        container.write(self.weights(row.iteration), KIND, arrays, {"names": list(learnt.own)})
        self.folder.event("iteration", asdict(row))

    def learnt(self, iteration: int) -> Learnt:
        """The weights of an iteration."""
        path = self.weights(iteration)
        arrays, meta = container.read(path, KIND)
        try:
            keyed, own, names = arrays["keyed"], arrays["own"].tolist(), meta["names"]
            fits = keyed.ndim == 1 and keyed.dtype == np.float32 and len(own) == len(names)
        except (KeyError, TypeError) as error:
            raise StoreError(f"{path}: lacks a part of what weights are made of; train again") from error
        if not fits or not (np.isfinite(keyed).all() and np.isfinite(own).all()):
            raise StoreError(f"{path}: weights and names do not fit together, or are not finite; train again")
        return Learnt(keyed, dict(zip(names, own, strict=True)))

    def keyed(self, iteration: int | None = None) -> Keyed:
        """The weights of an iteration, or of the chosen one, as decoders take them."""
        learnt = self.learnt(iteration or self.chosen.iteration)
        if base := self.folder.config.get("base_run"):
            frozen = Run.open(Path(base)).keyed()
            if len(frozen.table):
                return Keyed(frozen.table, learnt.own)
        keys = np.concatenate([np.zeros(0, np.uint64), *(part.keys for part in self.sets.parts.values())])
        if len(learnt.keyed) > len(keys):
            raise StoreError(f"{self.folder.path}: has more weights than features; it cannot be used")
        table = Keys.of(keys[: len(learnt.keyed)], np.zeros(len(learnt.keyed), np.uint32))
        table.set_weights(learnt.keyed)
        return Keyed(table, learnt.own)

    def weights(self, iteration: int) -> Path:
        """Their file."""
        return self.folder.path / "weights" / f"{iteration:03}.bin"
