"""Runs of rampion train, as commands look into them: weights of millions of keys, and the decoder that they are of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rampion.errors import InputError
from rampion.runs import Run
from rampion.text import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rampion.features import Weights
    from rampion.keys import Keys
    from rampion.records import Keyed


def run_of(path: str | None) -> Run | None:
    """The run of rampion train in this folder; None for any other file or folder."""
    return Run.open(Path(path)) if path and Path(path, "sets").is_dir() else None


def weights_of(run: Run, iteration: int | None) -> tuple[int, Keyed]:
    """The iteration, unless it is given that which was chosen on the dev text, and its weights."""
    number = iteration or run.chosen.iteration
    if number > (count := len(run.rows)):
        raise InputError(f"{run.folder.path}: has {count} iterations, so none is number {number}")
    return number, run.keyed(number)


def decoder_of(run: Run) -> Any:
    """The KeyedBlockDecoder that the run was trained with."""
    from decoder.states import MON, Reordering
    from decoder.system import Parts

    path, config = run.folder.path, run.folder.config
    system = Path(config.get("system") or path / "system")
    beam, reordering = config["beam"], MON if config["reordering"] == "mon" else Reordering()
    decoder = Parts.open(system).decoder(
        config["features"], reordering, beam=beam, pops=10 * beam, options=config["options"]
    )
    if decoder.fingerprint != run.folder.manifest["decoder"]:
        raise InputError(f"{path}: its weights are not of the blocks in {system}; put back those it was trained with")
    return decoder


class Inside:
    """The binary features of keyed weights by template, the group's only."""

    def __init__(self, table: Keys, group: str | None) -> None:
        from decoder.templates import NAMES, mask_of

        self.keys = table.listed()
        self.templates = (self.keys >> np.uint64(59)).astype(np.uint8) - np.uint8(1)
        self.names = NAMES
        if group:
            known = np.array([mask_of(group) >> t & 1 for t in range(len(NAMES))], np.bool_)
            chosen = known[self.templates]
            self.keys, self.templates = self.keys[chosen], self.templates[chosen]
        self.weights = table.weigh(self.keys)

    def by_template(self) -> dict[str, dict[str, Any]]:
        """How many features each template has, how many of them weigh something, and the norm of their weights."""
        counts = np.bincount(self.templates)
        nonzero = np.bincount(self.templates, self.weights != 0)
        squares = np.bincount(self.templates, np.square(self.weights, dtype=np.float64))
        return {
            self.names[t]: {"features": int(counts[t]), "nonzero": int(nonzero[t]), "norm": float(squares[t] ** 0.5)}
            for t in np.flatnonzero(counts).tolist()
        }

    def largest(self, top: int) -> NDArray[np.int64]:
        """The places of the largest weights, the first of equals first."""
        sizes = np.abs(self.weights)
        places = np.flatnonzero(sizes)
        if len(places) > top:
            least = np.partition(sizes, -top)[-top]
            places = np.flatnonzero(sizes >= least)
        return places[np.argsort(-sizes[places], kind="stable")][:top]


def told(run: Run, iteration: int | None, group: str | None, top: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What stands in the weights of a run: facts and a table of templates, and name to weight and count."""
    number, weights = weights_of(run, iteration)
    inside, decoder = Inside(weights.table, group), decoder_of(run)
    largest = inside.largest(top)
    keys = inside.keys[largest]
    records = run.sets.table()
    counts = np.append(records.counts[: len(records)], np.uint32(0))[np.minimum(records.find(keys), len(records))]
    rows = zip(decoder.spelt(keys), inside.weights[largest].tolist(), counts.tolist(), strict=True)
    shown = {name: {"weight": weight, "count": count} for name, weight, count in rows}
    own = {} if group else {name: {"weight": weight} for name, weight in weights.own.items()}
    return {"iteration": number, "templates": inside.by_template()}, own | shown


def named(run: Run, iteration: int | None, group: str | None) -> Weights:
    """All weights by name that are not 0, those of the group only."""
    from rampion.features import Features, Weights

    _, weights = weights_of(run, iteration)
    inside = Inside(weights.table, group)
    heavy = np.flatnonzero(inside.weights)
    own = {} if group else weights.own
    names = Texts.join([Texts.of(own), decoder_of(run).spelt(inside.keys[heavy])])
    return Weights(Features(names, len(own)), np.append(list(own.values()), inside.weights[heavy].astype(np.float64)))
