"""Rows that learn real-valued features from the dev text, also before or after binary features (two stages)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rampion import console
from rampion.experiments.forecast import Load
from rampion.experiments.papers.tillmann_zhang.binary import Training
from rampion.experiments.papers.tillmann_zhang.real import FLAT, SEVEN, Dense, Flat, Staged
from rampion.experiments.runners import sets
from rampion.experiments.runners.inputs import Stock
from rampion.experiments.samples import MEAN, Outcome, Settled, curves
from rampion.metrics import Bleu
from rampion.metrics import metric as named
from rampion.sets.records import Keyed
from rampion.store.keys import Keys
from rampion.store.text import Texts

if TYPE_CHECKING:
    from rampion.protocols import KeyedDecoder
    from rampion.runs.sets_run import SetRun
    from rampion.store.candidates import Candidates
    from rampion.training.loop import ListIteration
    from rampion.training.recipes import Recipe

OPTIONS = 20  # blocks of a source phrase: phrase scores rank bad ones low, so more blocks do no harm
SENTENCES = 1043  # dev sentences of Tillmann & Zhang
SENTENCE = Bleu("raw")  # sentence BLEU, whose mean is dev BLEU (S2.5)
FIRST, SECOND = "first", "second"  # the folders of the stages


def load(stock: Stock, settings: Flat | Dense | Staged) -> Load:
    """Dev is decoded to learn from it, dev and test again with the weights of every iteration."""
    match settings:
        case Staged(first, second):
            return Load.joined(
                sets.load(stock, one) if isinstance(one, Training) else load(stock, one) for one in (first, second)
            )
        case Dense(k=k, recipe=recipe):
            rounds = stock.scale.decodings if recipe == "mert" else stock.scale.iterations
        case Flat():
            rounds = k = 1
    dev, test = len(stock.system.dev), len(stock.system.test)
    return Load(rounds * (2 * dev + test), k * rounds * dev, k * rounds * dev)


def flat(stock: Stock, settings: Flat) -> Outcome:
    """Decode with equal weights."""
    decoder = dense(stock, settings.features)
    return measured(stock, decoder, [own(dict.fromkeys(decoder.names, FLAT))], "bleu", {})


def learn(stock: Stock, settings: Dense, seed: int, folder: Path) -> Outcome:
    """Learn, and measure the weights of the iteration that is best on dev. A stopped run in the folder is resumed."""
    decoder = dense(stock, settings.features)
    if settings.recipe == "mert":
        weights = minimum_error(stock, settings, decoder, seed, folder / "run")
    else:
        run = relevant(stock, settings, decoder, seed, folder / "run")
        weights = [own(run.weights(row.iteration).own) for row in run.rows]
    return measured(stock, decoder, weights, settings.metric, {"seed": seed})


def stages(stock: Stock, settings: Staged, seed: int, folder: Path) -> Outcome:
    """Learn both stages, and measure the second one. Both runs stay in the folder, and are resumed if stopped."""
    first = relevant(stock, settings.first, stage(stock, settings.first), seed, folder / FIRST)
    both = stage(stock, settings.second, f"{SEVEN},all")
    second = relevant(stock, settings.second, both, seed, folder / SECOND, first)
    weights = (second.keyed(row.iteration) for row in second.rows)
    return measured(stock, both, weights, "bleu", {"seed": seed, "first": first.chosen.iteration})


def dense(stock: Stock, features: str) -> KeyedDecoder:
    return stock.decoder(features, "SWAP", OPTIONS)


def own(weights: dict[str, float]) -> Keyed:
    """Weights of real-valued features only."""
    return Keyed(Keys(), weights)


def stage(stock: Stock, settings: Dense | Training, features: str | None = None) -> KeyedDecoder:
    """The decoder of a stage, with the stage's features or with these."""
    if isinstance(settings, Training):
        return stock.decoder(features or settings.features, settings.reordering)
    return dense(stock, features or settings.features)


def relevant(
    stock: Stock,
    settings: Dense | Training,
    decoder: KeyedDecoder,
    seed: int,
    folder: Path,
    below: SetRun | None = None,
) -> SetRun:
    """A finished run on relevant sets. The weights of the run `below`, if any, stay fixed."""
    from rampion.runs.sets_run import SetRun
    from rampion.training.relevant import Lines, Text, train

    dev, test = (Lines(part.source, part.references) for part in (stock.system.dev, stock.system.test))
    if isinstance(settings, Training):
        text, recipe = (
            Text(Lines(stock.lessons.source, stock.lessons.references), dev, test),
            sets.recipe_of(stock, settings),
        )
    else:
        text, recipe = Text(dev, dev, test), paced(stock, settings, len(dev.source))
    # On top of a fixed score, sets do not begin with bags of blocks: a bag has no real-valued score, so that beside
    # sentences with a score of -5 it seemed best, and binary features learnt to beat it. And real-valued weights do not
    # begin at 0: the scale is no longer free, and they ended ten times too small (on a toy corpus of 6,000 pairs test
    # BLEU was 27.0, and 28.2 from 0.1).
    if below:
        recipe = recipe.set(start="seeds", initial=recipe.settings()["flat"])
    recipe = recipe.set(seed=seed)
    facts = {"corpus": text.fingerprint, "decoder": decoder.fingerprint, "base": below.fingerprint if below else None}
    asked = asdict(settings) | recipe.settings() | {"base_run": str(below.folder.path.absolute()) if below else None}
    run = SetRun.resume(folder, asked, (), facts, sets.told, free=("base_run",))
    train(recipe, decoder, text, run, base=below.keyed() if below else None, threads=stock.threads)
    return run


def paced(stock: Stock, settings: Dense, sentences: int) -> Recipe:
    """The recipe of a row, with a rate at which an epoch moves the weights as far as in the paper."""
    from rampion.training.recipes import RECIPES

    recipe = RECIPES[settings.recipe].set(iterations=stock.scale.iterations, k=settings.k)
    if settings.metric == "wer":
        recipe = recipe.set(metric="wer:reverse")
    return recipe.set(rate=recipe.settings()["rate"] * SENTENCES / sentences)


def minimum_error(stock: Stock, settings: Dense, decoder: KeyedDecoder, seed: int, folder: Path) -> list[Keyed]:
    """The weights of every decoding after the first, and the last ones; when a run has converged, its weights repeat.

    Both seeds of relevant sets are decoded (S10.9), because a list with one candidate teaches MERT nothing.
    """
    from rampion.runs.lists_run import ListRun
    from rampion.store.features import Weights
    from rampion.training.inputs import judge
    from rampion.training.loop import train
    from rampion.training.policies import Merge
    from rampion.training.recipes import RECIPES
    from rampion.training.relevant import WeightsById, disturbed

    dev = stock.system.dev
    segments, lister = dev.source, stock.lister(settings.features, "SWAP", OPTIONS)
    most = stock.scale.decodings - 1  # the first two are one
    first = dict.fromkeys(decoder.names, FLAT)
    second = disturbed(WeightsById(np.zeros(0, np.float32), first), decoder.names, seed).own
    recipe = RECIPES[settings.recipe].set(k=settings.k, iterations=most, seed=seed, metric=settings.metric)
    asked = asdict(settings) | recipe.settings()
    run = ListRun.resume(folder, asked, (), {"decoder": decoder.fingerprint}, heard)

    def seeds() -> Candidates:
        one, two = (lister.decode(segments, Weights.from_dict(weights), settings.k) for weights in (first, second))
        return Merge().absorb(one, two, 2)

    run.lists(1, seeds)
    truth = judge(Texts.from_strings(map(str, range(len(segments)))), dev.references, settings.metric)
    train(recipe, lister, segments, truth, Weights.from_dict(second), journal=run)
    weights = [own(each) for each in (second, *(dict(run.weights(row.iteration)) for row in run.rows))]
    return weights + weights[-1:] * (most + 1 - len(weights))


def heard(row: ListIteration) -> None:
    console.note(f"  iteration {row.iteration}: dev {row.decoded:.2f}, learnt {row.learnt:.2f}")


def measured(
    stock: Stock, decoder: KeyedDecoder, weights: Iterable[Keyed], metric: str, facts: Mapping[str, object]
) -> Outcome:
    """Dev and test scores with the weights of every iteration. `metric` chooses the iteration by its dev score."""
    dev, test = stock.system.dev, stock.system.test
    devs, outputs, known = [], [], []
    for each in weights:
        devs.append(decoder.best(dev.source, each))
        outputs.append(decoder.best(test.source, each))
        known.append(each.own)
    bounds = np.arange(len(dev.source) + 1)
    rows = {name: [named(name).statistics(texts, bounds, dev.references) for texts in devs] for name in ("bleu", "wer")}
    judge = named(metric)
    scores = judge.scores(np.stack([each.sum(axis=0) for each in rows[metric]]))
    chosen = int(scores.argmax() if judge.higher_is_better else scores.argmin())
    means = [100 * SENTENCE.segments(each) for each in rows["bleu"]]
    tests = [sets.bleu(output, test.references) for output in outputs]
    course = Settled.rows(tests)
    return Outcome(
        {
            "dev": MEAN.rows(means[chosen]),
            "dev mWER": rows["wer"][chosen],
            "test": tests[chosen],
            "meteor": sets.meteor(outputs[chosen], test.references),
            **dict.fromkeys(("settled", "dip", "recovery", "rough"), course),
        },
        {
            "dev": np.array([each.mean() for each in means]),
            "test": curves(course.sum(axis=0)[np.newaxis])[0],
        },
        {**facts, "chosen": chosen + 1, "weights": known[chosen]},
    )
