"""Tuning in a loop with the bundled decoder in a folder. Finished runs are reused, interrupted ones resumed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rampion import console
from rampion.decoder.text.corpus import Parallel
from rampion.formats import weights as weight_files
from rampion.formats.files import replacing
from rampion.metrics import Bleu
from rampion.protocols import Decoder
from rampion.runs.door import kept
from rampion.runs.lists_run import ListRun
from rampion.store.features import Weights
from rampion.store.text import References, Texts
from rampion.training.inputs import judge
from rampion.training.loop import ListIteration, ignore, train
from rampion.training.recipes import Recipe

BLEU = Bleu()


class Speaker(Decoder, Protocol):
    """A decoder that can also return its best translations."""

    def best(self, segments: Texts, weights: Weights) -> Texts: ...


class Found(NamedTuple):
    """The best weights of a run: those with which the decoder's dev BLEU is highest."""

    weights: dict[str, float]
    dev: float
    decodings: int


def loop(
    recipe: Recipe, decoder: Decoder, fingerprint: str, dev: Parallel, start: Weights, asked: Mapping[str, object],
    folder: Path,
) -> tuple[list[ListIteration], Weights]:  # fmt: skip
    """Tune in a run folder. The lists are removed at the end, because they can be decoded again."""
    numbers = Texts.from_strings(map(str, range(len(dev))))
    arbiter = judge(numbers, dev.references, recipe.metric, recipe.alpha)
    run = ListRun.resume(folder, {**asked, **recipe.settings()}, (), {"decoder": fingerprint}, told)
    weights = train(recipe, decoder, dev.source, arbiter, start, ignore, journal=run)
    run.folder.finish(weights, weights, {"iteration": len(run.rows), "weights": str(run.folder.home_of(weights))})
    shutil.rmtree(folder / "lists")
    return run.rows, weights


def best_of(recipe: Recipe, decoder: Speaker, fingerprint: str, dev: Parallel, start: Weights, folder: Path) -> Found:
    """The weights of the iteration that is best on dev; a run is made only once, and resumed if it was stopped."""
    told_in = folder / "found.json"
    if not told_in.exists():
        run = folder / "run"
        rows, _ = loop(recipe, decoder, fingerprint, dev, start, {}, run)
        ends = [start, *(weight_files.read(run / "weights" / f"{row.iteration:03}.bin") for row in rows)]
        last = float(BLEU.total_score(bleu(decoder.best(dev.source, ends[-1]), dev.references).sum(axis=0)))
        scores = np.array([*(row.decoded for row in rows), last])
        best = int(scores.argmax())
        told = Found(dict(ends[best]), float(scores[best]), len(rows))
        with replacing(told_in) as file:
            file.write(json.dumps(told._asdict()).encode() + b"\n")
    return Found(**kept(told_in, Found))


def bleu(texts: Texts, references: References) -> NDArray[np.int64]:
    """The BLEU statistics of a translation of each segment."""
    return BLEU.statistics(texts, np.arange(len(texts) + 1), references)


def told(row: ListIteration) -> None:
    console.note(f"  iteration {row.iteration}: tune {row.decoded:.2f}, on the lists {row.learnt:.2f}")
