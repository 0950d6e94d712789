"""From parallel text to a system with learnt features, in stages. Finished stages of the folder are not repeated.

system/            word alignment, blocks, language model
dense/seed-N/      tuning of the fourteen real-valued features on dev, by MERT, a run a seed; the first is the base
lists/N.store      lists of a stretch of the training text, decoded with what the rest of the text gives (Folds)
learnt.bin         weights of sparse features, learnt from these lists by expected BLEU on top of the base
learnt.blocks      the blocks with these weights, and those that blocks share, in columns of their own
tuned/seed-N/      tuning of the fourteen features and these columns
weights.txt        the weights of the first run, to decode with
results.json       the scores of every step on dev and test
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from rampion.analysis.significance import Bootstrapped, bootstrap, paired_bootstrap, randomisation
from rampion.apps.inputs import changed, seeds_of
from rampion.apps.loops import Found, best_of
from rampion.arrays import fingerprint
from rampion.console import note, progress
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.features.shared import KINDS, Shared
from rampion.decoder.folds import Folds
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.search.condense import columns_of, condensed
from rampion.decoder.system import MODEL, Parts, Settings, System
from rampion.decoder.text.corpus import Parallel
from rampion.errors import RecipeError
from rampion.formats import store
from rampion.formats import weights as weight_files
from rampion.formats.files import replacing
from rampion.losses.expectation import ExpectedBleu
from rampion.metrics import metric as named
from rampion.optim.solvers import Descent, Lbfgs
from rampion.report.learnt import RESULTS, page
from rampion.runs.door import kept
from rampion.runs.folder import RunFolder
from rampion.runs.lock import owned
from rampion.store.features import Features, Weights
from rampion.store.text import Texts
from rampion.training.inputs import judge
from rampion.training.policies import Fixed
from rampion.training.pooled import Part, Pool, Tied, volume
from rampion.training.recipes import Recipe, looped, recipe_named

SYSTEM, DENSE, LISTS, LEARNT, BLOCKS, TUNED = "system", "dense", "lists", "learnt.bin", "learnt.blocks", "tuned"
WEIGHTS, COURSE, PAGE = "weights.txt", "course.json", "report.html"
FOURTEEN = "fourteen"
WIDTH = 100  # candidates of a sentence of dev, in each decoding of MERT
EFFECTIVE = 6.0  # the effective number of candidates of a list when learning begins
TAUS = (2e-8, 2e-7, 2e-6)  # of L2; 2e-5 was the worst on Europarl, Fisher and Tatoeba
RATES: Mapping[str, tuple[float, ...]] = {"Sgd": (3.0, 30.0, 300.0), "AdaGrad": (0.01, 0.1, 1.0)}
METRICS = ("bleu", "chrf", "ter")
INITIAL, BASE, UNTUNED, WHOLE = "initial weights", "dense tuning", "features learnt", "and tuned again"
FREE = ("threads",)  # may change when a folder is continued

LOSS = ExpectedBleu()

Say = Callable[[str], None]


class Score(TypedDict, total=False):
    """A score with its interval, its gain over dense tuning, and the p-value of the gain."""

    score: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float
    p: float


class Trial(TypedDict, total=False):
    """Settings that were tried: expected BLEU of the held-out lists after every step, and the step where it is best."""

    rate: float
    l2: float
    step: int
    held_out: float
    curve: list[float]


class Chosen(TypedDict):
    """The trials, the number of steps, and the expected BLEU of the held-out lists before and after them."""

    before: float
    held_out: float
    steps: int
    trials: list[Trial]


class Taught(Chosen):
    """The same, with the factor of the base's scores and the numbers of learnt and nonzero features and of groups."""

    factor: float
    features: int
    nonzero: int
    groups: int


class Results(TypedDict):
    """The scores of every step by "part metric", such as "test bleu"."""

    table: dict[str, dict[str, Score]]
    course: Taught
    signatures: dict[str, str]
    features: str


class Step(NamedTuple):
    """A decoder, and the weights of one or several runs, for decoding."""

    decoder: BlockDecoder
    weights: list[Weights]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnTask:
    """The text to learn from, the settings, and the output folder."""

    corpus: str
    out: Path
    features: str = "pairs,lexical,reordering"
    recipe: str = "xbleu-rprop"
    settings: list[str] = field(default_factory=list)
    parts: int = 10
    pairs: int | None = None
    k: int = 50
    least: int = 2
    shared: bool = True
    order: int = 4
    iterations: int = 8
    seeds: str = "1,2,3"
    tuner: str = "mert"
    beam: int = 100
    options: int = 20
    pair: str | None = None
    threads: int = 1

    def chosen(self) -> Recipe:
        """The recipe with its settings."""
        found = changed(recipe_named(self.recipe, "lists"), self.settings, barred=())
        if not isinstance(found.loss, ExpectedBleu):
            raise RecipeError(f"{self.recipe} does not learn by expected BLEU; choose a recipe called xbleu-…")
        return found

    def tuned(self) -> Recipe:
        """The recipe that tunes on dev."""
        found = recipe_named(self.tuner, "lists")
        if isinstance(found.policy, Fixed):
            raise RecipeError(
                f"--tuner {self.tuner}: learns from fixed lists; choose mert, rampion, pro or another loop"
            )
        return looped(found).set(k=WIDTH, iterations=self.iterations)

    def asked(self) -> dict[str, object]:
        """The options that the folder keeps."""
        names = (
            "corpus",
            "features",
            "recipe",
            "settings",
            "parts",
            "pairs",
            "k",
            "least",
            "shared",
            "order",
            "iterations",
        )
        told: dict[str, object] = {name: getattr(self, name) for name in names}
        return told | {name: getattr(self, name) for name in ("seeds", "tuner", "beam", "options", "pair", "threads")}


def learn(task: LearnTask, say: Say) -> Results:
    """Run all stages, and score them."""
    task.chosen()
    task.tuned()
    columns_of(task.features)
    with owned(task.out, note):
        folder = RunFolder.resume(task.out.absolute(), task.asked(), (), {"learn": "expected BLEU"}, FREE)
        return Course(task, folder, say).run()


@dataclass(frozen=True, eq=False)
class Course:
    """A task, its folder, and a function that receives the progress."""

    task: LearnTask
    folder: RunFolder
    say: Say

    @property
    def out(self) -> Path:
        return self.folder.path

    def run(self) -> Results:
        """Run all stages, and write the results to the folder."""
        with self.stage("system", "aligning words, extracting blocks, estimating a language model"):
            _ = self.system, self.folds
            self.folder.remember({"text": _print(self.dev, self.test)})
        with self.stage("dense", f"tuning fourteen features on dev, seeds {self.task.seeds}"):
            _ = self.dense
        with self.stage("lists", f"listing the training text in {self.task.parts} parts"):
            self.decode()
        with self.stage("learnt", f"learning {self.task.features} from the lists"):
            self.teach()
        with self.stage("tuned", f"tuning again, seeds {self.task.seeds}"):
            best = Weights.from_dict(self.tuned[0].weights)
            weight_files.write(self.out / WEIGHTS, Weights(best.features, best.vector, self.taught.parts))
        with self.stage("results", "translating dev and test"):
            results = self.results()
        with replacing(self.out / RESULTS) as file:
            file.write(json.dumps(results, indent=1).encode() + b"\n")
        with replacing(self.out / PAGE) as file:
            file.write(page(self.folder, results).html().encode(errors="replace"))
        return results

    @contextmanager
    def stage(self, name: str, sentence: str) -> Iterator[None]:
        """Report a stage; the folder keeps its time and its number of busy processors from the first run."""
        self.say(sentence)
        with self.folder.stage(name):
            yield

    # The base

    @cached_property
    def system(self) -> System:
        task = self.task
        with progress() as watch:
            return System.prepare(
                task.corpus, self.out / SYSTEM, Settings(task.pair, order=task.order), task.threads, watch
            )

    @property
    def dev(self) -> Parallel:
        return self.system.dev

    @property
    def test(self) -> Parallel:
        return self.system.test

    def decoder(self, system: Parts, features: str) -> BlockDecoder:
        """A decoder of a system, or of the parts of one."""
        task = self.task
        return system.decoder(features, threads=task.threads, beam=task.beam, pops=10 * task.beam, options=task.options)

    @cached_property
    def base(self) -> BlockDecoder:
        return self.decoder(self.system, FOURTEEN)

    @cached_property
    def dense(self) -> list[Found]:
        """Runs of MERT on dev, one a seed."""
        return self.runs(self.base, self.base.initial, DENSE)

    def runs(self, decoder: BlockDecoder, start: Weights, name: str) -> list[Found]:
        """A run of the tuner for each seed; one, if it draws no random numbers."""
        recipe = self.task.tuned()
        seeded, seeds = recipe.settings().get("seed") is not None, seeds_of(self.task.seeds)
        prints = decoder.fingerprint
        return [
            best_of(
                recipe.set(seed=seed) if seeded else recipe,
                decoder, prints, self.dev, start, self.out / name / f"seed-{seed}",
            )
            for seed in (seeds if seeded else seeds[:1])
        ]  # fmt: skip

    # Lists of the training text

    @cached_property
    def folds(self) -> Folds:
        return Folds.of(self.system, self.out / SYSTEM, self.task.parts, self.task.pairs)

    def lists_of(self, part: int) -> Path:
        return self.out / LISTS / f"{part:02}.store"

    def decode(self) -> None:
        """Decode every stretch that has no lists yet, with the weights of the base."""
        weights, features = Weights.from_dict(self.dense[0].weights), f"{FOURTEEN},{self.task.features}"
        base = fingerprint(*weights.features.names.arrays, weights.vector)
        self.folder.remember({"system": self.base.parts, "base": base})
        (self.out / LISTS).mkdir(exist_ok=True)
        for part, (first, last) in enumerate(self.folds):
            path, begun = self.lists_of(part), perf_counter()
            if path.exists():
                continue
            decoder = self.decoder(self.folds.others(first, last, self.task.threads), features)
            rows = np.arange(first, last)
            store.write(path, decoder.decode(self.system.corpus.train.source.take(rows), weights, self.task.k))
            left = (self.task.parts - part - 1) * (perf_counter() - begun) / 60
            room = self.task.parts * path.stat().st_size / 1e9
            self.say(f"  part {part + 1} of {self.task.parts}; about {left:.0f} min left, {room:.1f} GB in all")

    def pool(self) -> tuple[Tied, Shared, float]:
        """All lists, judged, with the base's scores; their groups; and the factor of scores that suits an expectation.

        Features that few lists have get no weight of their own, but belong to groups.
        """
        recipe, weights, parts = self.task.chosen(), Weights.from_dict(self.dense[0].weights), list[Part]()
        for part, (first, last) in enumerate(self.folds):
            lists = store.read(self.lists_of(part))
            references = self.system.corpus.train.take(np.arange(first, last)).references
            batch = judge(lists, references, recipe.metric, recipe.alpha).batch(lists)
            parts.append(Part.of(batch, lists.score(weights.onto(lists.features, lenient=True))))
        factor = volume(LOSS, parts[0].stakes, parts[0].base, EFFECTIVE)
        pool = Pool.of(parts, 1 if self.task.shared else self.task.least).scaled(factor)
        groups = Shared.of(self.system.blocks, pool.names, KINDS if self.task.shared else ())
        return Tied(pool, pool.spread >= self.task.least, groups), groups, factor

    # Learning

    def teach(self) -> None:
        """Choose settings and the last step on the last stretch, learn from all, and write weights and blocks."""
        if (self.out / COURSE).exists() and (self.out / BLOCKS).exists():
            return
        pool, groups, factor = self.pool()
        recipe, facts = chosen(self.task, pool, self.say)
        zero = np.zeros(len(pool))
        vector = recipe.solver.solve(recipe.loss, pool, zero, zero) if facts["steps"] else zero
        own, shared = pool.split(vector)
        taken = np.flatnonzero(own)
        learnt = Weights(Features(pool.names.take(taken), 0), own[taken])
        weight_files.write(self.out / LEARNT, learnt)
        blocks = self.system.blocks
        condensed(blocks, learnt, groups.columns(blocks, shared)).write(self.out / BLOCKS)
        told: Taught = {
            **facts, "factor": factor, "features": len(own), "nonzero": len(taken), "groups": len(groups),
        }  # fmt: skip
        with replacing(self.out / COURSE) as file:
            file.write(json.dumps(told, indent=1).encode() + b"\n")

    @cached_property
    def course(self) -> Taught:
        """The figures of learning."""
        return cast(Taught, kept(self.out / COURSE, Taught))

    @cached_property
    def taught(self) -> BlockDecoder:
        """The decoder with the learnt columns."""
        blocks = BlockSet.read(self.out / BLOCKS)
        return self.decoder(replace(self.system, blocks=blocks), ",".join([FOURTEEN, *columns_of(self.task.features)]))

    @property
    def begun(self) -> Weights:
        """The base's weights on the scale of the learnt ones, and 1 for each learnt column."""
        base, factor = self.dense[0].weights, self.course["factor"]
        return Weights.from_dict({name: factor * base[name] if name in base else 1.0 for name in self.taught.names})

    @cached_property
    def tuned(self) -> list[Found]:
        """Runs of MERT on dev with the learnt columns, one a seed."""
        return self.runs(self.taught, self.begun, TUNED)

    # Scores

    def results(self) -> Results:
        steps = {
            INITIAL: Step(self.base, [self.base.initial]),
            BASE: Step(self.base, [Weights.from_dict(run.weights) for run in self.dense]),
            UNTUNED: Step(self.taught, [self.begun]),
            WHOLE: Step(self.taught, [Weights.from_dict(run.weights) for run in self.tuned]),
        }
        table: dict[str, dict[str, Score]] = {name: {} for name in steps}
        for part, text in (("dev", self.dev), ("test", self.test)):
            said = {name: [step.decoder.best(text.source, one) for one in step.weights] for name, step in steps.items()}
            for metric in METRICS if part == "test" else METRICS[:1]:
                for name, score in scores_of(metric, said, text).items():
                    table[name][f"{part} {metric}"] = score
        signatures = {metric: named(metric).signature(self.test.references) for metric in METRICS}
        return {"table": table, "course": self.course, "signatures": signatures, "features": self.task.features}


def _print(*texts: Parallel) -> str:
    """A name of the texts and their references."""
    arrays = list[NDArray[np.generic]]()
    for text in texts:
        arrays += [*text.source.arrays, *text.references.texts.arrays, text.references.bounds]
    return fingerprint(*arrays)


def command(task: LearnTask) -> str:
    """The command that translates with the system."""
    out, features = task.out, ",".join([FOURTEEN, *columns_of(task.features)])
    return (
        f"rampion decode TEXT --blocks {out / BLOCKS} --lm {out / SYSTEM / MODEL} --weights {out / WEIGHTS} "
        f"--features {features} --out TRANSLATIONS"
    )


def chosen(task: LearnTask, pool: Tied, say: Say) -> tuple[Recipe, Chosen]:
    """The recipe with the rate, the L2 and the number of steps that are best on the last part, learnt from the others.

    Settings of the user stay.
    """
    recipe, last = task.chosen(), len(pool.parts) - 1
    rest, held = pool.only(0, last), pool.only(last, last + 1)
    before = held.expected(LOSS, np.zeros(len(pool)))
    best, found, trials = before, recipe, list[Trial]()
    steps = 0
    for tried in variants(recipe, {setting.partition("=")[0] for setting in task.settings}):
        curve = climbed(tried, rest, held)
        at = int(np.argmax(curve))
        settings = tried.settings()
        trial: Trial = {"step": at + 1, "held_out": curve[at], "curve": curve}
        told = {name: float(settings[name]) for name in ("rate", "l2") if name in settings}
        if "rate" in told:
            trial["rate"] = told["rate"]
        if "l2" in told:
            trial["l2"] = told["l2"]
        trials.append(trial)
        shown = ", ".join(f"{name} {value:g}" for name, value in told.items())
        say(f"  {shown}: held-out expected BLEU {before:.2f} -> {curve[at]:.2f} at step {at + 1}")
        if curve[at] > best:
            best, found, steps = curve[at], tried, at + 1
    facts: Chosen = {"before": before, "held_out": best, "steps": steps, "trials": trials}
    return stopped(found, steps) if steps else found, facts


def climbed(recipe: Recipe, rest: Tied, held: Tied) -> list[float]:
    """The expected BLEU of the held-out lists after every step."""
    curve, zero = list[float](), np.zeros(len(rest))
    recipe.solver.solve(recipe.loss, rest, zero, zero, lambda _, weights: curve.append(held.expected(LOSS, weights)))
    return curve


def variants(recipe: Recipe, fixed: set[str]) -> list[Recipe]:
    """The recipe with every rate and every L2 that are worth trying."""
    settings, found = recipe.settings(), [recipe]
    solver = recipe.solver
    rates = RATES.get(type(solver.update).__name__, ()) if isinstance(solver, Descent) else ()
    if rates and "rate" not in fixed:
        found = [one.set(rate=rate) for one in found for rate in rates]
    if settings.get("l2") and "l2" not in fixed:
        found = [one.set(l2=l2) for one in found for l2 in TAUS]
    return found


def stopped(recipe: Recipe, steps: int) -> Recipe:
    """The recipe that ends after `steps` steps."""
    return recipe.set(**{"steps" if isinstance(recipe.solver, Lbfgs) else "epochs": steps})


def scores_of(metric: str, said: Mapping[str, list[Texts]], text: Parallel) -> dict[str, Score]:
    """Every step's score, and its gain over dense tuning. A step of one run is compared with the run it stands on."""
    judged = named(metric)
    bounds = np.arange(len(text) + 1)
    known = dict[str, NDArray[np.int64]]()

    def counted(texts: Texts) -> NDArray[np.int64]:
        """The statistics of a translation, cached, because TER takes a minute and runs may have equal translations."""
        printed = fingerprint(texts.blob, texts.bounds)
        if printed not in known:
            known[printed] = judged.statistics(texts, bounds, text.references)
        return known[printed]

    rows = {name: np.stack([counted(one) for one in texts]) for name, texts in said.items()}
    found: dict[str, Score] = {}
    for name, statistics in rows.items():
        score, low, high = bootstrap(judged, statistics)
        found[name] = {"score": score, "low": low, "high": high}
        if name in (UNTUNED, WHOLE):
            other = rows[BASE][: len(statistics)]
            gain: Bootstrapped = paired_bootstrap(judged, other, statistics)
            p = randomisation(judged, other.sum(axis=0), statistics.sum(axis=0)).p  # runs of a seed may end alike
            found[name] |= {"gain": gain.score, "gain_low": gain.low, "gain_high": gain.high, "p": p}
    return found
