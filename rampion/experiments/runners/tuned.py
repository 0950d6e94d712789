"""Rows that tune weights in a loop with the decoder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rampion.apps.inputs import changed
from rampion.apps.loops import loop
from rampion.experiments.forecast import Load
from rampion.experiments.papers.gimpel_smith import COUNTS, Tuning
from rampion.experiments.runners.inputs import Stock
from rampion.experiments.runners.sets import bleu
from rampion.experiments.samples import MEAN, Outcome
from rampion.experiments.scales import Scale
from rampion.store.features import Weights
from rampion.training.policies import Replace
from rampion.training.recipes import RECIPES, Recipe, looped

if TYPE_CHECKING:
    from rampion.decoder.system import System
    from rampion.training.loop import ListIteration

SENTENCES = 900  # about the number of sentences that the paper tunes on (S4)


def depends(settings: Tuning) -> tuple[str, ...]:
    """The fields of the scale that a row depends on."""
    text = ("pairs", "held_out", *(["counts"] if COUNTS in settings.features else []))
    return (*text, "k", "decodings") if settings.recipe else text


def load(stock: Stock, settings: Tuning) -> Load:
    """A loop that decodes dev once more in every iteration, and merges its lists unless the recipe replaces them."""
    dev, test = len(stock.whole.dev), len(stock.whole.test)
    if not settings.recipe:
        return Load(dev + test)
    recipe = scaled(RECIPES[settings.recipe], stock.scale, dev)
    held = recipe.k * dev * (1 if isinstance(recipe.policy, Replace) else recipe.iterations)
    return Load((recipe.iterations + 1) * dev + test, held)


def tune(stock: Stock, settings: Tuning, seed: int, folder: Path, system: System | None = None) -> Outcome:
    """Tune in a loop, and measure the decoder's output with the final weights. A stopped loop is resumed.

    The decoder is that of all sentences, or of `system`.
    """
    from rampion.decoder.count_decoder import LargeDecoder

    system = system or stock.whole
    names, counts, _ = settings.features.partition(f",{COUNTS}")
    dense, dev, test = system.decoder(names, threads=stock.threads), system.dev, system.test
    decoder = LargeDecoder(dense, stock.counts) if counts else dense
    start = weights = drawn(decoder.initial, settings.start)
    rows = list["ListIteration"]()
    if settings.recipe:
        recipe = scaled(RECIPES[settings.recipe], stock.scale, len(dev))
        recipe = changed(recipe, list(filter(None, [settings.change])), barred=())
        if settings.seeded:
            recipe = recipe.set(seed=seed)
        rows, weights = loop(recipe, decoder, dense.fingerprint, dev, start, asdict(settings), folder / "run")
    said = {
        name: bleu(decoder.best(part.source, weights), part.references)
        for name, part in (("tune", dev), ("test", test))
    }
    decoding = np.array([row.seconds["decoding"] for row in rows])
    learning = np.array([sum(row.seconds.values()) for row in rows]) - decoding
    seconds = {"decoding": decoding, "learning": learning, "loop": decoding + learning}
    if not rows:
        return Outcome(said, {}, {"start": settings.start}, dict(start))
    return Outcome(
        said | {name: MEAN.rows(values) for name, values in seconds.items()},
        {
            "tune": np.array([row.decoded for row in rows]),
            "candidates": np.array([float(row.candidates) for row in rows]),
            "seconds decoding": decoding,
            "seconds learning": learning,
        },
        {"seed": seed, "iterations": len(rows), "candidates": rows[-1].candidates, "features": len(weights)},
        {name: weights[name] for name in dense.names},
    )


def scaled(recipe: Recipe, scale: Scale, sentences: int) -> Recipe:
    """The recipe of a loop at this scale: fewer candidates and iterations, and a rate for the number of sentences."""
    k, iterations = min(recipe.k, scale.k), min(recipe.iterations, scale.decodings)
    recipe = looped(recipe).set(k=k, iterations=iterations)
    rate = recipe.settings().get("rate")
    return recipe if rate is None else recipe.set(rate=rate * SENTENCES / sentences)


def drawn(usual: Weights, number: int) -> Weights:
    """The usual weights, or random ones: each is normal, with a standard deviation of half its size (S9.2)."""
    if not number:
        return usual
    draws = np.random.default_rng(number).normal(usual.vector, np.abs(usual.vector) / 2)
    return Weights(usual.features, draws)
