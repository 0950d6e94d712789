"""Runs of rampion train for commands that read them: weights of millions of keys, and their decoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np

from rampion.apps.inputs import order_of
from rampion.errors import InputError
from rampion.runs.sets_run import SetRun
from rampion.store.text import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rampion.decoder.block_decoder import BlockDecoder
    from rampion.sets.records import Keyed
    from rampion.store.features import Weights


class TemplateRow(TypedDict):
    """A template: its features, those with a weight, and the length of their weights."""

    features: int
    nonzero: int
    norm: float


class WeightRow(TypedDict):
    """A weight, and how often records have its feature, if it is a sparse one."""

    weight: float
    count: NotRequired[int]


def run_of(path: str | None) -> SetRun | None:
    """The run of rampion train in this folder; None for any other file or folder."""
    return SetRun.open(Path(path)) if path and Path(path, "sets").is_dir() else None


def weights_of(run: SetRun, iteration: int | None) -> tuple[int, Keyed]:
    """The iteration, unless it is given that which was chosen on the dev text, and its weights."""
    number = iteration or run.chosen.iteration
    if number > (count := len(run.rows)):
        raise InputError(f"{run.folder.path}: has {count} iterations, so none is number {number}")
    return number, run.keyed(number)


def decoder_of(run: SetRun) -> BlockDecoder:
    """The decoder that the run was trained with."""
    from rampion.decoder.system import Parts

    path, config = run.folder.path, run.folder.config
    features, order, beam, options = (config[name] for name in ("features", "reordering", "beam", "options"))
    system = Path(config.get("system") or path / "system")
    decoder = Parts.open(system).decoder(features, order_of(order), beam=beam, pops=10 * beam, options=options)
    if decoder.fingerprint != run.folder.manifest.get("decoder"):
        raise InputError(f"{path}: its weights are not of the blocks in {system}; put back those it was trained with")
    return decoder


class Inside:
    """The weights of a run, or of some templates only. Names are made only for weights that are shown."""

    def __init__(self, run: SetRun, iteration: int | None, group: str | None) -> None:
        from rampion.decoder.features.templates import NAMES, mask_of

        self.labels, self.run, self.decoder = NAMES, run, decoder_of(run)
        self.iteration, (table, own) = weights_of(run, iteration)
        self.own, self.keys = {} if group else own, table.listed()
        if group:
            chosen = np.array([mask_of(group) >> t & 1 for t in range(len(NAMES))], np.bool_)
            self.keys = self.keys[chosen[_template(self.keys)]]
        self.weights = table.weigh(self.keys)

    def templates(self) -> dict[str, TemplateRow]:
        """The number of features of each template, of its nonzero weights, and their norm."""
        templates = _template(self.keys)
        counts, nonzero = np.bincount(templates), np.bincount(templates, self.weights != 0)
        squares = np.bincount(templates, np.square(self.weights, dtype=np.float64))
        return {
            self.labels[t]: {"features": int(counts[t]), "nonzero": int(nonzero[t]), "norm": float(squares[t] ** 0.5)}
            for t in np.flatnonzero(counts).tolist()
        }

    def shown(self, top: int) -> dict[str, WeightRow]:
        """The weights of real-valued features, and the largest others with how often the records have them."""
        places = largest(self.weights, top)
        keys, records = self.keys[places], self.run.sets.table()
        ids = np.minimum(records.find(keys), len(records))
        counts = np.append(records.counts[: len(records)], np.uint32(0))[ids]
        rows = zip(self.decoder.spelt(keys), self.weights[places].tolist(), counts.tolist(), strict=True)
        shown: dict[str, WeightRow] = {name: {"weight": weight} for name, weight in self.own.items()}
        return shown | {name: {"weight": weight, "count": count} for name, weight, count in rows}

    def named(self) -> Weights:
        """All weights by name that are not 0."""
        from rampion.store.features import Features, Weights

        heavy = np.flatnonzero(self.weights)
        names = Texts.join([Texts.from_strings(self.own), self.decoder.spelt(self.keys[heavy])])
        vector = np.concatenate([list(self.own.values()), self.weights[heavy].astype(np.float64)])
        return Weights(Features(names, len(self.own)), vector, self.decoder.parts)


def largest(weights: NDArray[np.float32], top: int) -> NDArray[np.int64]:
    """The places of the largest nonzero weights, the first of equals first."""
    sizes = np.abs(weights)
    places = np.flatnonzero(sizes)
    if len(places) > top:
        places = np.flatnonzero(sizes >= np.partition(sizes, -top)[-top])
    return places[np.argsort(-sizes[places], kind="stable")][:top]


def _template(keys: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The number of each key's template."""
    return (keys >> np.uint64(59)).astype(np.uint8) - np.uint8(1)
