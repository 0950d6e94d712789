"""Rows that learn binary features from relevant sets, and the oracles beside them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rampion import console
from rampion.arrays import Reals
from rampion.experiments.forecast import Load
from rampion.experiments.papers.tillmann_zhang.binary import Training, Truth
from rampion.experiments.runners.inputs import Stock
from rampion.experiments.samples import BLEU, MEAN, METEOR, TRAINING, Outcome, Settled
from rampion.store.text import References, Texts

if TYPE_CHECKING:
    from rampion.decoder.system import System
    from rampion.decoder.text.corpus import Parallel
    from rampion.training.recipes import Recipe
    from rampion.training.relevant import SetIteration

DEPENDS = ("pairs", "held_out", "sentences", "iterations", "options", "beam")  # the fields of the scale
TRUTHS = 5  # best sequences that the oracle search returns; the first one is measured (S10.4)


def oracle(stock: Stock, truth: Truth) -> Outcome:
    """The training BLEU of every sentence's best possible sequence."""
    lessons = stock.lessons
    found = stock.decoder("P1", truth.reordering).truths(lessons.source, lessons.references, TRUTHS)
    texts = Texts.join([part.texts.take(part.bounds[:-1]) for part in found])
    return Outcome({"train": training(texts, lessons.references)})


def load(stock: Stock, settings: Training) -> Load:
    """Every iteration decodes the lessons, dev and test; sets keep the truths and all candidates."""
    lessons, dev, test = len(stock.lessons), len(stock.system.dev), len(stock.system.test)
    iterations = stock.scale.iterations
    candidates = (TRUTHS + 1 + settings.k * iterations) * lessons
    return Load(iterations * (lessons + dev + test), candidates, candidates)


def train(
    stock: Stock, settings: Training, seed: int, folder: Path, material: tuple[System, Parallel] | None = None
) -> Outcome:
    """Learn, and measure the weights of the iteration that is best on dev. A stopped run in the folder is resumed.

    The material is a system and lessons; by default, those of the stock.
    """
    from rampion.runs.sets_run import SetRun
    from rampion.training.relevant import Lines, Text, train

    fixed = {} if settings.language_model is None else {"LM": settings.language_model}
    system, lessons = material or (stock.system, stock.lessons)
    decoder = stock.decoder(",".join([*fixed, settings.features]), settings.reordering, system=system)
    recipe = recipe_of(stock, settings).set(seed=seed)
    text = Text(*(Lines(part.source, part.references) for part in (lessons, system.dev, system.test)))
    facts = {"corpus": text.fingerprint, "decoder": decoder.fingerprint}
    run = SetRun.resume(folder / "run", asdict(settings) | recipe.settings(), (), facts, told)
    train(recipe, decoder, text, run, fixed=fixed, threads=stock.threads)
    rows, chosen = run.rows, run.chosen.iteration
    outputs = [decoder.best(text.test.source, run.keyed(row.iteration)) for row in rows]
    tests = [bleu(output, text.test.references) for output in outputs]
    trains = {
        iteration: training(decoder.best(text.learn.source, run.keyed(iteration)), text.learn.references)
        for iteration in {1, chosen}
    }
    half = len(rows) // 2
    seconds = {name: np.array([row.seconds[name] for row in rows]) for name in ("decoding", "learning")}
    candidates = np.array([row.candidates for row in rows])
    return Outcome(
        {
            "train": trains[chosen],
            "train first": trains[1],
            "test": tests[chosen - 1],
            "test first": tests[0],
            "meteor": meteor(outputs[chosen - 1], text.test.references),
            "settled": Settled.rows(tests),
            "decoding": MEAN.rows(seconds["decoding"]),
            "online": MEAN.rows(seconds["learning"]),
            "early pace": MEAN.rows(seconds["learning"][:half], candidates[:half]),
            "late pace": MEAN.rows(seconds["learning"][half:], candidates[half:]),
        },
        {
            **{name: np.array([getattr(row, name) for row in rows]) for name in ("train", "dev", "test")},
            "online": seconds["learning"],
        },
        {"seed": seed, "chosen": chosen, "features": rows[chosen - 1].features},
    )


def recipe_of(stock: Stock, settings: Training) -> Recipe:
    """The recipe of a row, with its rate."""
    from rampion.training.recipes import RECIPES

    recipe = RECIPES[settings.recipe].set(iterations=stock.scale.iterations, k=settings.k)
    return recipe.set(rate=recipe.settings()["rate"] * stock.scale.pace) if settings.paced else recipe


def told(row: SetIteration) -> None:
    console.note(f"  iteration {row.iteration}: train {row.train:.2f}, dev {row.dev:.2f}, test {row.test:.2f}")


def bleu(texts: Texts, references: References) -> NDArray[np.int64]:
    """The statistics of test BLEU, a row a segment."""
    return BLEU.statistics(texts, np.arange(len(texts) + 1), references)


def meteor(texts: Texts, references: References) -> NDArray[np.int64]:
    """The statistics of test METEOR, a row a segment."""
    return METEOR.statistics(texts, np.arange(len(texts) + 1), references)


def training(texts: Texts, references: References) -> Reals:
    """The statistics of training BLEU, a row a segment."""
    rows = TRAINING.statistics(texts, np.arange(len(texts) + 1), references)
    return MEAN.rows(100 * TRAINING.segments(rows))
