"""The run folder of `rampion train`, which also holds relevant sets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from rampion.errors import InputError, StoreError
from rampion.formats import container
from rampion.runs.folder import RunFolder
from rampion.runs.run import Run
from rampion.schema import Schema, reals, singles
from rampion.sets.files import ENDING, Sets
from rampion.sets.records import Keyed
from rampion.store.keys import Keys
from rampion.training.relevant import FirstPart, SetIteration, WeightsById

SCHEMA = Schema(
    "keyed weights",
    {"keyed": singles("keyed"), "own": reals("own")},
    {"names": list},
    "train again",
)


class SetRun(Run[SetIteration, WeightsById]):
    """A run on relevant sets, in sets/NNN.records: truths, first candidates, and those decoded in each iteration."""

    row, candidates = SetIteration, "sets"

    def __init__(self, folder: RunFolder, told: Callable[[SetIteration], None] | None = None) -> None:
        self.sets = Sets.open(folder.path / self.candidates, folder.manifest.get("corpus"))
        super().__init__(folder, told)

    @classmethod
    def _to_write(cls, folder: RunFolder, told: Callable[[SetIteration], None] | None) -> Self:
        """Open the run for writing. Records without an event are left over from an interruption, and are removed."""
        known = {_part(event) for event in folder.events}
        for path in (folder.path / cls.candidates).glob(f"*{ENDING}"):
            if path.stem not in known:
                path.unlink()
        return super()._to_write(folder, told)

    def stands(self, event: Mapping[str, Any]) -> bool:
        return event["event"] == "done" or _part(event) in self.sets.parts

    @property
    def chosen(self) -> SetIteration:
        """The number of the iteration that is best on the dev text; the first of equals (S10.11)."""
        if not self.rows:
            raise InputError(f"{self.folder.path}: has no weights yet; let it finish an iteration (--resume)")
        return max(self.rows, key=lambda row: row.dev)

    @property
    def fingerprint(self) -> str:
        """A hash of the chosen weights."""
        return hashlib.sha256(self.file(self.chosen.iteration).read_bytes()).hexdigest()[:16]

    def begun(self, row: FirstPart) -> None:
        self.folder.event("begun", row._asdict())

    def keyed(self, iteration: int | None = None) -> Keyed:
        """The weights of an iteration, by default the chosen one, in the form that decoders take."""
        learnt = self.weights(iteration or self.chosen.iteration)
        if base := self.folder.config.get("base_run"):
            below = SetRun.open(Path(base))
            if below.fingerprint != (known := self.folder.manifest.get("base")):
                raise InputError(
                    f"{self.folder.path}: was learnt on top of weights of {base} ({known}) that are not there any more "
                    f"({below.fingerprint}); put back that run"
                )
            frozen = below.keyed()
            if len(frozen.table):
                return Keyed(frozen.table, learnt.own)
        keys = self.sets.keys
        if len(learnt.keyed) > len(keys):
            raise StoreError(f"{self.folder.path}: has more weights than features; it cannot be used")
        table = Keys.of(keys[: len(learnt.keyed)], np.zeros(len(learnt.keyed), np.uint32))
        table.set_weights(learnt.keyed)
        return Keyed(table, learnt.own)

    def read(self, path: Path) -> WeightsById:
        arrays, meta = container.read(path, SCHEMA)
        keyed, own, names = arrays["keyed"], arrays["own"].tolist(), meta["names"]
        if len(own) != len(names) or not all(isinstance(name, str) for name in names):
            raise StoreError(f"{path}: weights and names do not fit together; train again")
        return WeightsById(keyed, dict(zip(names, own, strict=True)))

    def write(self, path: Path, weights: WeightsById) -> None:
        arrays = {"keyed": weights.keyed, "own": np.array(list(weights.own.values()))}
        container.write(path, SCHEMA.kind, arrays, {"names": list(weights.own)})


def _part(event: Mapping[str, Any]) -> str:
    """The file of records that an event announces."""
    return str(event.get("part", f"{event.get('iteration', -1):03}"))
