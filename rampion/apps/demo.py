"""The main job in stages: a corpus, a system, two steps of learning, a comparison. What the folder holds stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from rampion.analysis.significance import Bootstrapped, bootstrap, paired_bootstrap, randomisation
from rampion.apps.learn import FOURTEEN, Course, LearnTask
from rampion.apps.learn import LEARNT as LEARNED
from rampion.apps.loops import Found
from rampion.apps.report import page_of
from rampion.apps.runs import WeightRow
from rampion.console import note, progress
from rampion.decoder.alignment import links
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.explain import built, drawn
from rampion.decoder.folds import Folds
from rampion.decoder.system import LINKS, Settings, System
from rampion.decoder.text.corpus import Corpus, Parallel
from rampion.decoder.text.german import German
from rampion.errors import InputError
from rampion.formats import weights as weight_files
from rampion.formats.files import replacing
from rampion.metrics import metric as named
from rampion.report.demonstrated import RESULTS
from rampion.runs.folder import RunFolder
from rampion.runs.lists_run import ListRun
from rampion.runs.lock import owned
from rampion.store.features import Weights
from rampion.store.text import Texts
from rampion.threads import processors
from rampion.training import loop
from rampion.training.inputs import judge
from rampion.training.recipes import RECIPES

Say = Callable[[str], None]

CORPUS, SYSTEM, DENSE, LEARNT = "corpus", "system", "dense", "learnt"
REFERENCES = 4
TRUTHS = 5  # sequences that the oracle looks for; its best is what is measured
BEAM, OPTIONS = 15, 20  # hypotheses for each number of covered words: few, to be quick; blocks of a source phrase
K, DECODINGS = 100, 8  # of RAMPION
FEATURES = "pairs,lexical,reordering"  # learnt on top
STRETCHES, LISTED, STEPS, AGAIN = 4, 30, 35, 4  # parts of the text, candidates, steps of Rprop, decodings afterwards
SHOWN = 12  # strongest features
HEARD = "\n  BLEU of dev at every decoding:"
FREE = ("threads", "corpus", "system", "source", "refs", "weights")  # may change when a tour goes on


class Gain(TypedDict):
    """The gain over the step before, and its interval."""

    score: float
    low: float
    high: float
    p: float
    folded: float


class Score(TypedDict, total=False):
    """BLEU of the test text with its interval, the gain over the step before, and its p-value."""

    score: float
    low: float
    high: float
    gain: Gain
    p: float


class Translation(TypedDict):
    """A translation and its sentence BLEU."""

    text: str
    score: float


class Example(TypedDict):
    """A sentence of the test text, its translations by the name of the weights, and how two were built."""

    why: str
    segment: int
    source: str
    references: list[str]
    said: dict[str, Translation]
    pictures: dict[str, str]


class Comparison(TypedDict):
    """All translations of the test text beside each other."""

    signature: str
    table: dict[str, Score]
    curves: dict[str, list[float]]
    strongest: dict[str, WeightRow]
    examples: list[Example]


class Results(Comparison):
    """The results of a demo: demo.json."""

    plan: dict[str, int]
    made: dict[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much text is written."""

    seed: int
    pairs: int
    held_out: int


def demonstrate(plan: Plan, out: Path, threads: int | None, say: Say) -> tuple[Results, Path]:
    """Carry out the plan in a folder, and draw its page."""
    if out.is_dir() and not RunFolder(out).begun and any(out.iterdir()):
        raise InputError(f"{out}: holds something else; name a folder of its own for the demo (--out)")
    with owned(out, note):
        tour = Tour.begin(plan, out, threads or processors(), say)
        results, page = tour.run(), out / "report.html"
        with tour.stage("page", "Drawing the page"), replacing(page) as file:
            file.write(page_of(out).html().encode(errors="replace"))
    return results, page


@dataclass(frozen=True, eq=False)
class Tour:
    """A plan, the folder where it is carried out, and a function that receives the progress."""

    plan: Plan
    folder: RunFolder
    threads: int
    say: Say

    @classmethod
    def begin(cls, plan: Plan, out: Path, threads: int, say: Say) -> Tour:
        """Begin in a new or empty folder, or continue in the folder of the same tour."""
        return cls(plan, RunFolder.resume(out.absolute(), {"demo": "tour", **asdict(plan)}, (), {}, ()), threads, say)

    @property
    def out(self) -> Path:
        return self.folder.path

    def run(self) -> Results:
        """Run all stages, and write the results to the folder."""
        count = self.plan.pairs
        with self.stage("corpus", f"Writing {count:,} German sentences and their translations, for you to judge"):
            _ = self.corpus
        with self.stage("system", "Aligning words, cutting out blocks, estimating a language model: parts to use\n"):
            made = self.made()
            self.say(f"  {made['blocks']:,} blocks, {made['ngrams']:,} n-grams")
        with self.stage("dense", f"Tuning 14 features with RAMPION: how far to trust each of these parts{HEARD}"):
            _ = self.tuned
        with self.stage("learnt", f"Learning features of words from all of the text: where they help or harm{HEARD}"):
            _ = self.retuned
        with self.stage("test", "Translating the test text, which nothing has learnt from"):
            results: Results = {"plan": asdict(self.plan), "made": made, **self.compare()}
        with replacing(self.out / RESULTS) as file:
            file.write(json.dumps(results, ensure_ascii=False, indent=1).encode())
        return results

    @contextmanager
    def stage(self, name: str, sentence: str) -> Iterator[None]:
        """Report a stage and its time; the folder keeps the time of the first run."""
        self.say(sentence)
        begun = perf_counter()
        with self.folder.stage(name):
            yield
        self.say(f": {perf_counter() - begun:.1f} s\n")

    # Text

    @cached_property
    def written(self) -> Corpus:
        """The whole corpus, with its true alignment."""
        return German(self.plan.seed).corpus(self.plan.pairs, self.plan.held_out, REFERENCES)

    @property
    def dev(self) -> Parallel:
        """The text to tune on."""
        return self.written.needed("dev")

    @property
    def test(self) -> Parallel:
        """The text to compare on."""
        return self.written.needed("test")

    @cached_property
    def corpus(self) -> Path:
        """A folder: what the system is made of, without alignment, dev and test."""
        path = self.out / CORPUS
        if not path.exists():
            replace(self.written, train=replace(self.written.train, links=None)).write(path)
        return path

    # System

    @cached_property
    def system(self) -> System:
        with progress() as watch:
            return System.prepare(self.corpus, self.out / SYSTEM, Settings(), self.threads, watch)

    def made(self) -> dict[str, object]:
        """Figures of corpus, alignment, blocks and language model."""
        system, truth = self.system, self.written.train
        lengths = links.lengths_of(truth.source), links.lengths_of(truth.target)
        known = links.parsed(enumerate(truth.links or (), 1), "the true alignment", lengths)
        agreement = links.compare(links.read(self.out / SYSTEM / LINKS, lengths), known)
        heard = system.lm.perplexity(self.dev.references.texts)
        return {
            "sizes": [size._asdict() for size in system.corpus.sizes()],
            "blocks": len(system.blocks.blocks.sources) - 2,
            "alignment_error": agreement.error_rate,
            "order": system.lm.order,
            "ngrams": len(system.lm),
            "perplexity": heard.perplexity,
        }

    @cached_property
    def dense(self) -> BlockDecoder:
        """The decoder with fourteen features."""
        return self.system.decoder(FOURTEEN, threads=self.threads, beam=BEAM, pops=10 * BEAM, options=OPTIONS)

    # Training

    @cached_property
    def tuned(self) -> ListRun:
        """The run of RAMPION on the dev text."""
        return self._rampion(self.dense, self.dense.initial, DENSE, DECODINGS)

    @cached_property
    def lessons(self) -> Lessons:
        """Learning sparse features on top of the tuned weights, from lists of the whole training text."""
        task = LearnTask(
            corpus=str(self.corpus), out=self.out / LEARNT, features=FEATURES, parts=STRETCHES, k=LISTED, order=3,
            settings=[f"epochs={STEPS}", "l2=2e-6"], beam=BEAM, options=OPTIONS, threads=self.threads,
        )  # fmt: skip
        folder = RunFolder.resume(task.out, {"demo": LEARNT, "features": FEATURES}, (), {}, FREE)
        found = Lessons(task, folder, _quiet, self.system, self.tuned.weights(len(self.tuned.rows)))
        found.decode()
        found.teach()
        return found

    @cached_property
    def retuned(self) -> ListRun:
        """The run of RAMPION with the learnt columns, from the base's weights."""
        return self._rampion(self.lessons.taught, self.lessons.begun, f"{LEARNT}/tuned", AGAIN)

    def _rampion(self, decoder: BlockDecoder, begun: Weights, name: str, decodings: int) -> ListRun:
        """RAMPION on the dev text in a run folder."""
        dev, start = self.dev, self.out / f"{name.replace('/', '-')}.weights"
        weight_files.write(start, begun)
        recipe = RECIPES["rampion"].set(k=K, iterations=decodings, scale="none")
        source, *refs = (str(self.corpus / f"dev.{end}") for end in ("de", *(f"en.{n}" for n in range(REFERENCES))))
        config = {"features": ",".join(decoder.names), "reordering": "swap", "beam": BEAM, "options": OPTIONS}
        config |= {"system": str(self.out / SYSTEM), "recipe": "rampion", "source": source, "refs": refs}
        config |= {"weights": str(start), **recipe.settings()}
        facts = {"decoder": decoder.fingerprint}
        inputs = [source, *refs, str(start)]
        run = ListRun.resume(
            self.out / name, config, inputs, facts, lambda row: self._told(row.decoded), free=FREE
        )  # fmt: skip
        arbiter = judge(Texts.from_strings(map(str, range(len(dev)))), dev.references, recipe.metric, recipe.alpha)
        learnt = loop.train(
            recipe, decoder, dev.source, arbiter, begun, lambda row, _: run.folder.round(row), journal=run
        )
        if not run.folder.weights.exists():
            signature = arbiter.metric.signature(dev.references)
            found = {"recipe": "rampion", "metric": arbiter.metric.name, "signature": signature}
            place = {"iteration": len(run.rows), "weights": str(run.folder.home_of(learnt))}
            run.folder.finish(learnt, learnt, found | place)
        return run

    def _told(self, score: float) -> None:
        self.say(f" {score:.1f}")

    # Comparison

    def compare(self) -> Comparison:
        """Scores on the test text, gains over the initial weights, and sentences to look at."""
        metric, test = named("bleu"), self.test
        rows = self.tuned.rows
        dense = [self.dense.best(test.source, self.tuned.weights(row.iteration)) for row in rows]
        texts = {
            "initial": self.dense.best(test.source, self.dense.initial),
            "dense": dense[-1],
            "learnt": self.lessons.taught.best(test.source, self.retuned.weights(len(self.retuned.rows))),
            "oracle": self.oracle,
        }

        def judged(found: Texts) -> NDArray[np.int64]:
            return metric.statistics(found, np.arange(len(found) + 1), test.references)

        statistics = {name: judged(found) for name, found in texts.items()}
        table: dict[str, Score] = {}
        for name, rows_of in statistics.items():
            score, low, high = bootstrap(metric, rows_of)
            table[name] = {"score": score, "low": low, "high": high}
        for before, name in (("initial", "dense"), ("dense", "learnt")):
            pair = metric, statistics[before], statistics[name]
            table[name] |= {"gain": _gain(paired_bootstrap(*pair)), "p": randomisation(*pair).p}
        return {
            "signature": metric.signature(test.references),
            "table": table,
            "curves": {
                "dense": [float(metric.total_score(judged(found).sum(axis=0))) for found in [texts["initial"], *dense]],
                "held out": self.lessons.course["trials"][0]["curve"],
            },
            "strongest": self.strongest,
            "examples": self.examples(texts),
        }

    @cached_property
    def oracle(self) -> Texts:
        """The best translation of every test sentence that the oracle search found (S10.4)."""
        found = self.dense.truths(self.test.source, self.test.references, TRUTHS)
        return Texts.join([part.texts.take(part.bounds[:-1]) for part in found])

    @property
    def strongest(self) -> dict[str, WeightRow]:
        """The largest learnt weights of features of known words, by name."""
        learnt = weight_files.read(self.out / LEARNT / LEARNED)
        order = np.argsort(-np.abs(learnt.vector), kind="stable")[: 10 * SHOWN].tolist()
        rows = ((learnt.features.names[place], float(learnt.vector[place])) for place in order)
        known = {name: WeightRow(weight=weight) for name, weight in rows if "<unk>" not in name}
        return dict(list(known.items())[:SHOWN])

    def examples(self, texts: Mapping[str, Texts]) -> list[Example]:
        """Where tuning gained most by the metric of a sentence, where it gained the median, and where it lost most."""
        test, metric = self.test, named("bleu:lin-och")
        bounds = np.arange(len(test) + 1)
        scores = {
            name: metric.segments(metric.statistics(said, bounds, test.references)) for name, said in texts.items()
        }
        order = np.argsort(scores["initial"] - scores["dense"], kind="stable").tolist()
        places = {"gained most": order[0], "gained the median": order[len(order) // 2], "lost most": order[-1]}
        return [
            {
                "why": why,
                "segment": at,
                "source": test.source[at],
                "references": test.references[at],
                "said": {name: {"text": said[at], "score": float(scores[name][at])} for name, said in texts.items()},
                "pictures": self.pictures(at),
            }
            for why, at in places.items()
        ]

    def pictures(self, at: int) -> dict[str, str]:
        """How a sentence of the test text was built before and after tuning, as SVG."""
        source = self.test.source[at]
        before, after = self.dense.initial, self.tuned.weights(len(self.tuned.rows))
        return {
            name: drawn(source.split(), built(self.dense, source, weights).steps, title)
            for name, weights, title in (("initial", before, "Initial weights"), ("dense", after, "RAMPION"))
        }


@dataclass(frozen=True, eq=False)
class Lessons(Course):
    """Learning on top of existing weights."""

    given: System
    weights: Weights

    @property
    def system(self) -> System:
        return self.given

    @property
    def dense(self) -> list[Found]:
        return [Found(dict(self.weights), 0.0, 0)]

    @cached_property
    def folds(self) -> Folds:
        return Folds.of(self.system, self.out.parent / SYSTEM, self.task.parts)


def _quiet(sentence: str) -> None:
    """Show no progress, because the demo prints its own sentences."""


def _gain(found: Bootstrapped) -> Gain:
    return {"score": found.score, "low": found.low, "high": found.high, "p": found.p, "folded": found.folded}
