"""Rows that maximise expected BLEU on lists of the training text, add the learnt weights to the blocks, and tune.

Base systems, lists, learnt steps and runs of MERT are made once, stored beside the rows, and shared by them.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import console
from rampion.apps.loops import Found, best_of
from rampion.arrays import Offsets, Reals
from rampion.errors import RecipeError
from rampion.experiments.forecast import Load
from rampion.experiments.papers.wuebker import (
    LARGER,
    RATES,
    RECIPES,
    STEPS,
    STRENGTHS,
    Curve,
    Effort,
    Learning,
    Trial,
    Tuned,
)
from rampion.experiments.runners.inputs import WORDS, Stock
from rampion.experiments.runners.sets import bleu
from rampion.experiments.samples import MEAN, RISES, Outcome, Rise
from rampion.formats import container, store
from rampion.formats.files import replacing
from rampion.losses.expectation import ExpectedBleu
from rampion.metrics.judging import Batch
from rampion.optim.baum_welch import Growth
from rampion.schema import Schema, reals
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.names import Names
from rampion.store.rows import Rows
from rampion.store.text import Texts
from rampion.training.inputs import judge
from rampion.training.pooled import volume
from rampion.training.recipes import RECIPES as KNOWN
from rampion.training.recipes import looped

if TYPE_CHECKING:
    from rampion.decoder.alignment.links import Alignment
    from rampion.decoder.block_decoder import BlockDecoder
    from rampion.decoder.models.lm import Lm
    from rampion.decoder.system import Parts, System

Settings = Tuned | Curve | Effort | Trial
Learnt = Mapping[str, Reals]  # weights of the features of the lists, or probabilities of the entries of tables

BASE = ("pairs", "held_out", "beam", "width", "decodings")  # the fields of the scale that a base system depends on
CHOOSER = 1  # the seed of the base system that makes lists, and of the MERT that chooses a step
HELD = 10  # every tenth list is held out to choose a rate
TIMED = 10  # steps whose time is measured
STRETCHES = 5  # of cross-fitted lists
SEEN = {"left": "one-left-out", "whole": "nothing-left-out", "crossed": "cross-fitted"}
SPREAD = 6.0  # the effective number of candidates of a list when learning begins
LOSS = ExpectedBleu()
WEIGHTS = "weights"
COURSE = Schema("steps", {"expected": reals("*", "*"), "*": reals("*")}, advice="learn again")


def depends(settings: Settings) -> tuple[str, ...]:
    """The fields of the scale that a row depends on."""
    if not isinstance(settings, Tuned):
        return (*BASE, "listed")
    return (*BASE, "listed", "tried", "turns") if settings.learning else BASE


def make(stock: Stock, settings: Settings, seed: int) -> Outcome:
    match settings:
        case Tuned(learning):
            return tune(stock, learning, seed)
        case Curve(learning):
            return curve(stock, learning)
        case Effort(learning):
            return effort(stock, learning)
        case Trial(learning):
            return trial(stock, learning)


def load(stock: Stock, settings: Settings) -> Load:
    """Lists of the training text, and a run of MERT for each step that is tried. Rows with one learning share both."""
    dev, test, scale = len(stock.whole.dev), len(stock.whole.test), stock.scale
    if settings.learning is None:
        return Load(scale.decodings * dev + dev + test, scale.width * scale.decodings * dev)
    count, learning = sentences(stock, settings.learning), settings.learning
    rounds = scale.tried * scale.turns if isinstance(settings, Tuned) else 0
    held = scale.width * max(count, scale.turns * dev)
    return Load(count + rounds * dev + test, held, scale.width * count, shared=(named_(learning), str(rounds)))


# Rows


def tune(stock: Stock, learning: Learning | None, seed: int) -> Outcome:
    """Tune on the dev text by MERT: the base system, or the system with the learnt step that is best on dev."""
    if learning is None:
        found = base(stock, seed)
        return measured(stock, stock.whole, found, {"seed": seed})
    course = Course.of(stock, learning)
    tried = {step: tuned_with(stock, learning, course, step, CHOOSER) for step in course.learnt}
    chosen = max(tried, key=lambda step: (tried[step].dev, -step))
    found = tuned_with(stock, learning, course, chosen, seed)
    outcome = measured(
        stock, condensed(stock, course.learnt[chosen], learning), found,
        {**course.facts, "seed": seed, "chosen": chosen, "dev": {str(step): one.dev for step, one in tried.items()}},
    )  # fmt: skip
    samples = {"expected": MEAN.rows(course.expected[chosen]), "chosen": MEAN.rows(np.array([chosen]))}
    return replace(outcome, samples={**outcome.samples, **samples})


def curve(stock: Stock, learning: Learning) -> Outcome:
    """The expected BLEU of the lists after every step."""
    course = Course.of(stock, learning)
    rise = Rise.rows(course.expected)
    return Outcome(
        {"expected": MEAN.rows(course.expected[-1]), **dict.fromkeys(RISES, rise)},
        {"expected": course.expected[1:].mean(axis=1)},
        course.facts,
    )


def trial(stock: Stock, learning: Learning) -> Outcome:
    """The result of the last step, with weight 1."""
    course = Course.of(stock, learning)
    system = condensed(stock, course.learnt[max(course.learnt)], learning)
    weights = beginning(stock, decoder(stock, system, course.names).names)
    said = spoken(stock, system, course.names, weights, "tune")
    return Outcome({"expected": MEAN.rows(course.expected[-1]), **said}, {}, course.facts)


def effort(stock: Stock, learning: Learning) -> Outcome:
    """The seconds of every step, the peak memory of learning, and the number of values that it changes."""
    lists = listed(stock, learning)
    batch, pace, ticks, changed = judged(stock, lists), paced(stock, learning), list[float](), list[int]()

    def told(weights: Reals, learnt: Learnt, moved: int) -> None:
        ticks.append(perf_counter())
        changed.append(moved)

    climb(stock, learning, pace, batch, told, TIMED)
    tracemalloc.start()
    try:
        climb(stock, learning, pace, replace(batch), lambda *_: None, 2)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return Outcome(
        {
            "step": MEAN.rows(np.diff(ticks)),
            "memory": MEAN.rows(np.array([most / 1e6])),
            "updated": MEAN.rows(np.array([changed[-1]])),
        }
    )


def measured(stock: Stock, system: System, found: Found, facts: Mapping[str, object]) -> Outcome:
    """The BLEU of the decoder's translations of the tuning text and of the test."""
    said = spoken(stock, system, ",".join(found.weights), found.weights, "tune", "test")
    return Outcome(said, {}, {**facts, "iterations": found.decodings}, found.weights)


def spoken(
    stock: Stock, system: System, features: str, weights: Mapping[str, float], *parts: str
) -> dict[str, NDArray[np.int64]]:
    speaker, texts = decoder(stock, system, features), {"tune": system.dev, "test": system.test}
    given = Weights.from_dict(weights)
    return {name: bleu(speaker.best(texts[name].source, given), texts[name].references) for name in parts}


# The base system and its lists


def home(stock: Stock) -> Path:
    """The folder of data that rows share at this scale."""
    scale = stock.scale
    sizes = (scale.beam, scale.listed, scale.width, scale.decodings, scale.tried, scale.turns)
    return stock.out / "expected" / "-".join(map(str, sizes))


def decoder(stock: Stock, system: Parts, features: str) -> BlockDecoder:
    beam = stock.scale.beam
    return system.decoder(features, threads=stock.threads, beam=beam, pops=10 * beam)


def base(stock: Stock, seed: int = CHOOSER) -> Found:
    """The base system: fourteen features, tuned on the dev text from the usual weights."""
    bundled = decoder(stock, stock.whole, "fourteen")
    folder = home(stock) / "base" / f"seed-{seed}"
    return mert(stock, bundled, bundled.initial, seed, stock.scale.decodings, folder)


def mert(stock: Stock, bundled: BlockDecoder, start: Weights, seed: int, decodings: int, folder: Path) -> Found:
    """A run of MERT, which is made only once, and resumed if it was stopped."""
    recipe = looped(KNOWN["mert"]).set(k=stock.scale.width, iterations=decodings, seed=seed)
    return best_of(recipe, bundled, bundled.fingerprint, stock.whole.dev, start, folder)


def listed(stock: Stock, learning: Learning) -> Candidates:
    """Lists of the first sentences of the training text."""
    count = sentences(stock, learning)
    path = home(stock) / "lists" / f"{learning.features.replace(',', '-')}-{SEEN[learning.lists]}-{count}.store"
    if not path.exists():
        console.note(f"  listing {count} training sentences with {learning.features}, {SEEN[learning.lists]}")
        weights, parts = Weights.from_dict(base(stock).weights), list[Candidates]()
        for rows, lister in listers(stock, learning, count):
            part = lister.decode(stock.whole.corpus.train.source.take(rows), weights, stock.scale.width)
            parts.append(replace(part, segments=Texts.from_strings(map(str, rows))))
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write(path, united(parts))
    return store.read(path)


def listers(stock: Stock, learning: Learning, count: int) -> Iterator[tuple[Offsets, BlockDecoder]]:
    """Stretches of the first sentences of the training text, and the decoder of each.

    Its language model is of the other sentences. So are its blocks, if the lists are cross-fitted.
    """
    from rampion.decoder.folds import Folds
    from rampion.decoder.models.leave_one_out import LENGTH

    system, names = stock.whole, f"fourteen,{learning.features}"
    train = system.corpus.train
    if learning.lists == "crossed":
        folds = Folds.of(system, stock.out / "whole", STRETCHES, count)
        for first, last in folds:
            yield np.arange(first, last), decoder(stock, folds.others(first, last, stock.threads), names)
        return
    edges = [0, count] if count <= len(train) // 2 else [0, count // 2, count]
    for first, last in pairwise(edges):
        rows = np.arange(first, last)
        lister = decoder(stock, replace(system, lm=language(stock, first, last)), names)
        if learning.lists == "left":
            part = train.take(rows)
            lister = lister.leaving_out(part.source, part.target, alignment(stock).take(rows), LENGTH)
        yield rows, lister


def alignment(stock: Stock) -> Alignment:
    """The word alignment that the blocks were made with."""
    from rampion.decoder.text.tokenised import Tokenised

    train = stock.whole.corpus.train
    return stock.whole.alignment(Tokenised.of(train.source), Tokenised.of(train.target), stock.out / "whole")


def united(parts: list[Candidates]) -> Candidates:
    """The lists of several decoders, one after another: features of the same name are one feature."""
    if len(parts) == 1:
        return parts[0]
    names, runs = Names(), list[Rows]()
    while parts:
        part = parts.pop(0)
        ids = names.intern_all(part.features.names).astype(np.uint32)
        rows = part.rows()
        runs.append(rows._replace(ids=ids[rows.ids]))
    return Candidates.from_rows(names, [runs])[0]


def sentences(stock: Stock, learning: Learning) -> int:
    """The number of sentences to list."""
    return min(stock.scale.listed * (LARGER if learning.larger else 1), len(stock.whole.corpus.train))


def language(stock: Stock, first: int, last: int) -> Lm:
    """A language model of all training sentences but those from `first` to `last - 1`."""
    from rampion.decoder.models import kneser, lm

    path = home(stock) / "lists" / f"others-than-{first}-{last}.lm"
    if not path.exists():
        train = stock.whole.corpus.train
        rows = np.concatenate([np.arange(first), np.arange(last, len(train))])
        path.parent.mkdir(parents=True, exist_ok=True)
        kneser.estimate(train.target.take(rows), WORDS).lm.write(path)
    return lm.read(path)


def judged(stock: Stock, lists: Candidates) -> Batch:
    """Lists with their candidates' gains, and the base system's scores under the weights of `loud`."""
    batch = gains(stock, lists)
    return batch.upon(lists.score(Weights.from_dict(loud(stock)).onto(lists.features, lenient=True)))


def loud(stock: Stock) -> Mapping[str, float]:
    """The base system's weights, scaled: the scale does not matter to MERT, but it does to expected BLEU.

    With this scale the effective number of candidates of a list is SPREAD, for lists with phrase pairs.
    """
    path, weights = home(stock) / "loud.json", base(stock).weights
    if not path.exists():
        lists = listed(stock, Learning("RPROP"))
        stakes, scores = (
            gains(stock, lists).stakes,
            lists.score(Weights.from_dict(weights).onto(lists.features, lenient=True)),
        )
        factor = volume(LOSS, stakes, scores, SPREAD)
        with replacing(path) as file:
            file.write(json.dumps({name: factor * weight for name, weight in weights.items()}).encode() + b"\n")
    found: dict[str, float] = json.loads(path.read_bytes())
    return found


def gains(stock: Stock, lists: Candidates) -> Batch:
    """Lists with their candidates' gains."""
    train = stock.whole.corpus.train
    numbers = np.array([int(name) for name in lists.segments])
    recipe = KNOWN["xbleu-rprop"]
    return judge(lists, train.take(numbers).references, recipe.metric, recipe.alpha).batch(lists)


# Steps


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """The course of learning: every list's expected BLEU before and after each step, and the weights of some steps."""

    expected: Reals
    learnt: Mapping[int, Learnt]
    facts: Mapping[str, object]
    names: str  # the features of a decoder with the learnt columns

    @classmethod
    def of(cls, stock: Stock, learning: Learning) -> Course:
        """Learn, or read back what was learnt before."""
        path = home(stock) / "steps" / named_(learning)
        if not path.exists():
            console.note(f"  learning: {learning.method}, {learning.features}")
            path.parent.mkdir(parents=True, exist_ok=True)
            _learn(stock, learning, path)
        arrays, facts = container.read(path, COURSE)
        learnt: dict[int, dict[str, Reals]] = {}
        for name in arrays:
            step, _, what = name.partition(" ")
            if what and step.isdigit():
                learnt.setdefault(int(step), {})[what] = arrays[name]
        return cls(arrays["expected"], learnt, facts, ",".join(["fourteen", *_columns(learning)]))


def named_(learning: Learning) -> str:
    size = "larger" if learning.larger else "usual"
    numbers = ("chosen" if number is None else f"{number:g}" for number in (learning.tau, learning.rate))
    return "-".join([learning.method, *learning.features.split(","), learning.lists, size, *numbers])


def _columns(learning: Learning) -> list[str]:
    """The features of the learnt columns, which blocks have in addition to the fourteen."""
    from rampion.decoder.search.condense import columns_of

    return [] if learning.method == "GT" else list(columns_of(learning.features))


def _learn(stock: Stock, learning: Learning, path: Path) -> None:
    batch = judged(stock, listed(stock, learning))
    pace = paced(stock, learning)
    tried = set(steps_tried(stock.scale.tried))
    points, arrays = [expected(batch, np.zeros(len(batch.candidates.features)))], dict[str, Reals]()
    last: Learnt = {}

    def told(weights: Reals, learnt: Learnt, moved: int) -> None:
        nonlocal last
        points.append(expected(batch, weights))
        last = {name: numbers.copy() for name, numbers in learnt.items()}
        if len(points) - 1 in tried:
            arrays.update({f"{len(points) - 1} {name}": numbers for name, numbers in last.items()})

    climb(stock, learning, pace, batch, told)
    facts = {**pace._asdict(), "steps": len(points) - 1, "features": len(batch.candidates.features)}
    if len(points) - 1 not in tried:  # learning ended early, because no step helped
        arrays.update({f"{len(points) - 1} {name}": numbers for name, numbers in last.items()})
    points += points[-1:] * (STEPS + 1 - len(points))
    container.write(path, COURSE.kind, {"expected": np.stack(points), **arrays}, facts)


def steps_tried(count: int) -> list[int]:
    """The steps to tune with: denser among the first, in which some methods move far, and including the last."""
    if count >= STEPS:
        return list(range(1, STEPS + 1))
    return [max(1, int(STEPS * (n / count) ** 2)) for n in range(1, count + 1)]


def expected(batch: Batch, weights: Reals) -> Reals:
    """The expected BLEU of every list in percent, 0 for an empty list."""
    means, _, _ = LOSS.expect(batch.stakes, batch.scores(weights))
    found: Reals = np.where(np.diff(batch.stakes.bounds) > 0, 100 * (1 - means), 0.0)
    return found


class Pace(NamedTuple):
    """The strength of the regulariser, and the learning rate of a method that has one."""

    tau: float
    rate: float | None

    def __str__(self) -> str:
        return f"tau {self.tau:g}" if self.rate is None else f"eta {self.rate:g}"


def paced(stock: Stock, learning: Learning) -> Pace:
    """The pace that is best on the held-out lists after learning from the others, where there is a choice."""
    lists, tried = listed(stock, learning), paces(learning)
    if len(tried) == 1:
        return tried[0]
    apart = np.arange(len(lists.segments)) % HELD == 0
    rest, held = (judged(stock, lists[np.flatnonzero(rows)]) for rows in (~apart, apart))
    reached = dict[Pace, float]()
    for pace in tried:
        last = np.zeros(len(lists.features))

        def told(weights: Reals, learnt: Learnt, moved: int, last: Reals = last) -> None:
            last[:] = weights

        climb(stock, learning, pace, rest, told)
        reached[pace] = float(expected(held, last).mean())
    console.note("  " + ", ".join(f"{pace}: {score:.2f}" for pace, score in reached.items()))
    return max(reached, key=lambda pace: reached[pace])


def paces(learning: Learning) -> list[Pace]:
    """What there is to choose from: rates of methods that have one, and strengths of the regulariser."""
    taus = STRENGTHS[learning.method] if learning.tau is None else (learning.tau,)
    rates = RATES[learning.method] if learning.rate is None and learning.method in RATES else (learning.rate,)
    return [Pace(tau, rate) for tau in taus for rate in rates]


def climb(
    stock: Stock,
    learning: Learning,
    pace: Pace,
    batch: Batch,
    told: Callable[[Reals, Learnt, int], None],
    steps: int | None = None,
) -> None:
    """Run the steps of a method. After each, call told(weights, what was learnt, the number of changed values)."""
    size, steps = len(batch.candidates.features), steps or STEPS
    if learning.method == "GT":
        from rampion.decoder.features.channels import tables

        found = tables(stock.whole.blocks, batch.candidates.features, loud(stock))
        if not found:
            raise RecipeError("no phrase channel of the base system has a weight above 0, so that none can grow")
        used = {name: whole.used for name, whole in found.items()}
        parts = tuple(whole.only(used[name]) for name, whole in found.items())
        for grown in Growth(parts, pace.tau, steps).grow(LOSS, batch):
            learnt = {name: whole.start.copy() for name, whole in found.items()}
            for (name, whole), part in zip(found.items(), grown.tables, strict=True):
                learnt[name][used[name][whole.rows]] = part
            told(grown.weights, learnt, grown.moved)
        return
    recipe = KNOWN[RECIPES[learning.method]].set(l2=2 * pace.tau, epochs=steps)
    if pace.rate is not None:
        recipe = recipe.set(rate=pace.rate)
    zero, free = np.zeros(size), replace(batch, candidates=batch.candidates.narrowed(0))
    recipe.solver.solve(
        recipe.loss, free, zero, zero, lambda _, now: told(now, {WEIGHTS: now}, int(np.count_nonzero(now)))
    )


# Back into blocks


def condensed(stock: Stock, learnt: Learnt, learning: Learning) -> System:
    """The system with the weights of a step in its blocks."""
    from rampion.decoder.features.channels import channelled
    from rampion.decoder.search.condense import condensed as into

    blocks = stock.whole.blocks
    if WEIGHTS not in learnt:
        return replace(stock.whole, blocks=channelled(blocks, learnt))
    return replace(stock.whole, blocks=into(blocks, Weights(listed(stock, learning).features, learnt[WEIGHTS])))


def beginning(stock: Stock, names: tuple[str, ...]) -> Weights:
    """The base system's weights at the beginning of learning, and 1 for the learnt columns."""
    known = loud(stock)
    return Weights.from_dict({name: known.get(name, 1.0) for name in names})


def tuned_with(stock: Stock, learning: Learning, course: Course, step: int, seed: int) -> Found:
    """Tune the system with the weights of a step by MERT."""
    folder = home(stock) / "tuned" / named_(learning) / f"step-{step}" / f"seed-{seed}"
    kept = folder / "found.json"
    if kept.exists():
        return Found(**json.loads(kept.read_bytes()))
    console.note(f"  MERT with step {step}, seed {seed}")
    bundled = decoder(stock, condensed(stock, course.learnt[step], learning), course.names)
    return mert(stock, bundled, beginning(stock, bundled.names), seed, stock.scale.turns, folder)
