"""The run folder of `rampion tune` with a decoder, which also holds the lists of every iteration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rampion.formats import store
from rampion.formats import weights as weight_files
from rampion.runs.run import Run
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.training.loop import ListIteration


class ListRun(Run[ListIteration, Weights]):
    """A run on lists, which are in lists/NNN.store."""

    row, candidates = ListIteration, "lists"

    def lists(self, iteration: int, decode: Callable[[], Candidates]) -> Candidates:
        path = self.folder.path / self.candidates / f"{iteration:03}.store"
        if path.exists():
            return store.read(path)
        lists = decode()
        store.write(path, lists)
        return lists

    def read(self, path: Path) -> Weights:
        return weight_files.read(path)

    def write(self, path: Path, weights: Weights) -> None:
        weight_files.write(path, Weights(weights.features, weights.vector, self.folder.manifest.get("system")))
