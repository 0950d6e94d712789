"""Translate with the bundled decoder: the best translation of every line, lists of the k best, or search graphs."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from os.path import dirname, realpath
from typing import NamedTuple

from rampion import console
from rampion.apps.systems import Shared, SystemOptions, read_lines, weighed
from rampion.apps.workers import team
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.count_decoder import LargeDecoder
from rampion.decoder.features.counts import CountFeatures
from rampion.decoder.remote import SIZE, Spread
from rampion.decoder.search import lattice
from rampion.errors import RecipeError
from rampion.formats import save_nbest, texts
from rampion.formats import weights as weight_files
from rampion.store.features import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to make of a text: translations in `out`, or lists in `nbest`."""

    source: str
    system: SystemOptions
    counts: str | None = None
    out: str = "-"
    nbest: str | None = None
    k: int = 100
    distinct: bool = False
    save_weights: str | None = None
    shared: Shared = field(default_factory=Shared)


class Translated(NamedTuple):
    """The numbers of decoded sentences, and of candidates and features if lists were written."""

    sentences: int
    candidates: int | None = None
    features: int | None = None


def translate(task: Task) -> Translated:
    """Write the best translations of a text, or its n-best lists."""
    executor, folder = task.shared.proved()
    lines = read_lines(task.source)
    with ExitStack() as stack:
        bar = stack.enter_context(console.decoding(len(lines)))
        system, given, of_run = weighed(task.system, lines, bar.tick, task.distinct)
        if task.counts and of_run:
            raise RecipeError(
                f"--counts {task.counts}: {task.system.weights} has no weights of these features; "
                "give others (--weights)"
            )
        if task.save_weights:
            if of_run:
                raise RecipeError(
                    f"--save-weights: rampion weights {task.system.weights} --out {task.save_weights} writes those of "
                    "a run"
                )
            saved = given if isinstance(given, Weights) else system.initial
            weight_files.write(task.save_weights, Weights(saved.features, saved.vector, system.parts))
        own = LargeDecoder(system, CountFeatures.read(task.counts)) if task.counts else system
        decoder: BlockDecoder | LargeDecoder | Spread = own
        if executor and folder:
            workers = stack.enter_context(team(executor, folder))
            bar.speeds = lambda: workers.coordinator.speeds
            decoder = Spread(own, workers.coordinator, workers.size or SIZE, name=task.source)
        if not task.nbest:
            texts.write(task.out, decoder.best(lines, given))
            return Translated(len(lines))
        store = dirname(realpath(task.nbest)) if task.nbest.endswith(".store") else None
        lists = decoder.decode(lines, given, task.k, store)
        save_nbest(task.nbest, lists)
        return Translated(len(lines), lists.size, len(lists.features))


class Graphs(NamedTuple):
    """How large the search graphs of a text are."""

    sentences: int
    nodes: int
    edges: int


def write_lattices(source: str, asked: SystemOptions, out: str) -> Graphs:
    """Write the search graph of every line."""
    lines = read_lines(source)
    with console.decoding(len(lines)) as bar:
        system, given, _ = weighed(asked, lines, bar.tick)
        whole = lattice.Lattice.join(list(system.search(lines, system.model(given), system.lattice)))
        lattice.write(out, whole)
    return Graphs(len(lines), len(whole.graph.edge_bounds) - 1, len(whole.graph.origins))
