"""The main job in stages: a corpus, a system, two trainings, a comparison. What the folder holds already stays."""

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
from rampion.apps.report import page_of
from rampion.apps.runs import Inside, WeightRow
from rampion.console import progress
from rampion.decoder.alignment import links
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.explain import built, drawn
from rampion.decoder.system import LINKS, Settings, System
from rampion.decoder.text.corpus import Corpus, Parallel
from rampion.decoder.text.language import Language
from rampion.errors import InputError
from rampion.formats import weights as weight_files
from rampion.formats.files import replacing
from rampion.metrics import metric as named
from rampion.report.demonstrated import RESULTS
from rampion.runs.folder import RunFolder
from rampion.runs.lists_run import ListRun
from rampion.runs.sets_run import SetRun
from rampion.store.text import Texts
from rampion.threads import processors
from rampion.training import loop, relevant
from rampion.training.recipes import RECIPES
from rampion.training.relevant import Lines, Text
from rampion.training.tuning import judge

Say = Callable[[str], None]

CORPUS, LESSONS, SYSTEM, START, DENSE, BINARY = "corpus", "lessons", "system", "initial.weights", "dense", "binary"
DENSE_FEATURES, BINARY_FEATURES = "fourteen", "LM,all"
REFERENCES = 4
TRUTHS = 5  # sequences that the oracle looks for; its best is what is measured
BEAM = 15  # hypotheses for each number of covered words: few, to be quick
OPTIONS = {DENSE_FEATURES: 20, BINARY_FEATURES: 3}  # blocks of a source phrase
K, DECODINGS = 100, 8  # of RAMPION
LM = 0.1  # its weight among binary features (Tillmann & Zhang 2008)
RATE = 1e-3  # of their steps: ten times the paper's, who has a hundred times the text
SHOWN = 12  # strongest features
NOTHING = Parallel(Texts.from_strings([]), (Texts.from_strings([]),))
FREE = ("threads", "corpus", "system", "source", "refs", "weights")  # may change when a tour goes on


class Gain(TypedDict):
    """How much is gained over the initial weights, and its interval."""

    score: float
    low: float
    high: float
    p: float
    folded: float


class Score(TypedDict, total=False):
    """BLEU of the test text with its interval; the gain over the initial weights, and how likely it is by chance."""

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
    """What came of a demo: demo.json."""

    plan: dict[str, int]
    made: dict[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much text is invented, and how often the decoder's own translations are learnt from."""

    seed: int
    pairs: int
    held_out: int
    iterations: int


def demonstrate(plan: Plan, out: Path, threads: int | None, say: Say) -> tuple[Results, Path]:
    """Carry out the plan in a folder, and draw its page."""
    tour = Tour.begin(plan, out, threads or processors(), say)
    results, page = tour.run(), out / "report.html"
    with tour.stage("page", "Drawing the page"), replacing(page) as file:
        file.write(page_of(out).html().encode(errors="replace"))
    return results, page


@dataclass(frozen=True, eq=False)
class Tour:
    """A plan, the folder where it is carried out, and whoever listens."""

    plan: Plan
    folder: RunFolder
    threads: int
    say: Say

    @classmethod
    def begin(cls, plan: Plan, out: Path, threads: int, say: Say) -> Tour:
        """In a new or empty folder, or in that of the same tour, which goes on."""
        if out.is_dir() and not RunFolder(out).begun and any(out.iterdir()):
            raise InputError(f"{out}: holds something else; name a folder of its own for the demo (--out)")
        return cls(plan, RunFolder.resume(out.absolute(), {"demo": "tour", **asdict(plan)}, (), {}, ()), threads, say)

    @property
    def out(self) -> Path:
        return self.folder.path

    def run(self) -> Results:
        """All stages; the results are in the folder then, too."""
        count = self.plan.pairs
        with self.stage("corpus", f"Inventing two languages and {count:,} pairs of sentences"):
            _ = self.corpus, self.lessons
        with self.stage("system", "Aligning words, cutting out blocks, estimating a language model"):
            made = self.made()
        with self.stage("dense", "Tuning 14 dense features with RAMPION; BLEU of dev at every decoding\n "):
            _ = self.tuned
        with self.stage("binary", "Learning binary features from relevant sets; BLEU of dev at every decoding\n "):
            _ = self.trained
        with self.stage("test", "Translating the test text"):
            results: Results = {"plan": asdict(self.plan), "made": made, **self.compare()}
        with replacing(self.out / RESULTS) as file:
            file.write(json.dumps(results, ensure_ascii=False, indent=1).encode())
        return results

    @contextmanager
    def stage(self, name: str, sentence: str) -> Iterator[None]:
        """Say what is being done, and how long it took; the folder remembers that of the first time."""
        self.say(sentence)
        begun = perf_counter()
        yield
        seconds = perf_counter() - begun
        if name not in {event.get("stage") for event in self.folder.events}:
            self.folder.event("stage", {"stage": name, "seconds": seconds})
        self.say(f": {seconds:.1f} s\n")

    # Text

    @cached_property
    def invented(self) -> Corpus:
        """The whole corpus, with its true alignment."""
        return Language.invent(self.plan.seed).corpus(self.plan.pairs, self.plan.held_out, REFERENCES)

    @property
    def dev(self) -> Parallel:
        """The text to tune on."""
        return self.invented.dev or NOTHING

    @property
    def test(self) -> Parallel:
        """The text to compare on."""
        return self.invented.test or NOTHING

    @property
    def taught(self) -> int:
        """How many pairs the system is made of."""
        return self.plan.pairs // 2

    @cached_property
    def corpus(self) -> Path:
        """A folder: what the system is made of, without alignment, dev and test."""
        train = self.invented.train.take(np.arange(self.taught))
        return self._kept(CORPUS, replace(self.invented, train=replace(train, links=None)))

    @cached_property
    def lessons(self) -> Parallel:
        """Sentences that weights of binary features are learnt from: what gave blocks would say itself all too well."""
        lessons = self.invented.train.take(np.arange(self.taught, self.plan.pairs))
        self._kept(LESSONS, Corpus(self.invented.languages, lessons))
        return lessons

    def _kept(self, name: str, corpus: Corpus) -> Path:
        path = self.out / name
        if not path.exists():
            corpus.write(path)
        return path

    # System

    @cached_property
    def system(self) -> System:
        with progress() as watch:
            return System.prepare(self.corpus, self.out / SYSTEM, Settings(), self.threads, watch)

    def made(self) -> dict[str, object]:
        """Figures of corpus, alignment, blocks and language model."""
        system, truth = self.system, self.invented.train.take(np.arange(self.taught))
        lengths = links.lengths_of(truth.source), links.lengths_of(truth.target)
        known = links.parsed(enumerate(truth.links or (), 1), "the true alignment", lengths)
        agreement = links.compare(links.read(self.out / SYSTEM / LINKS, lengths), known)
        heard = system.lm.perplexity(self.dev.references.texts)
        return {
            "sizes": [size._asdict() for size in system.corpus.sizes()],
            "lessons": len(self.lessons),
            "blocks": len(system.blocks.blocks.sources) - 2,
            "alignment_error": agreement.error_rate,
            "order": system.lm.order,
            "ngrams": len(system.lm),
            "perplexity": heard.perplexity,
        }

    def decoder(self, features: str) -> BlockDecoder:
        return self.system.decoder(features, threads=self.threads, beam=BEAM, pops=10 * BEAM, options=OPTIONS[features])

    @cached_property
    def dense(self) -> BlockDecoder:
        return self.decoder(DENSE_FEATURES)

    @cached_property
    def binary(self) -> BlockDecoder:
        return self.decoder(BINARY_FEATURES)

    def facts(self, features: str) -> dict[str, object]:
        """What a training is made with, for those who look at its folder later."""
        return {
            "features": features, "reordering": "swap", "beam": BEAM, "options": OPTIONS[features],
            "system": str(self.out / SYSTEM),
        }  # fmt: skip

    # Training

    @cached_property
    def tuned(self) -> ListRun:
        """The run of RAMPION on the dev text."""
        dev, start, decoder = self.dev, self.out / START, self.dense
        weight_files.write(start, decoder.initial)
        recipe = RECIPES["rampion"].set(k=K, iterations=DECODINGS)
        source, *refs = (str(self.corpus / f"dev.{end}") for end in ("src", *(f"tgt.{n}" for n in range(REFERENCES))))
        config = self.facts(DENSE_FEATURES) | {"recipe": "rampion", "source": source, "refs": refs}
        config |= {"weights": str(start), **recipe.settings()}
        facts = {"decoder": self.decoder(DENSE_FEATURES).fingerprint}
        inputs = [source, *refs, str(start)]
        run = ListRun.resume(
            self.out / DENSE, config, inputs, facts, lambda row: self._told(row.decoded), free=FREE
        )  # fmt: skip
        arbiter = judge(Texts.from_strings(map(str, range(len(dev)))), dev.references, recipe.metric, recipe.alpha)
        learnt = loop.train(
            recipe,
            decoder,
            dev.source,
            arbiter,
            decoder.initial,
            lambda row, _: run.folder.round(row),
            journal=run,
        )
        if not run.folder.weights.exists():
            signature = arbiter.metric.signature(dev.references)
            found = {"recipe": "rampion", "metric": arbiter.metric.name, "signature": signature}
            run.folder.finish(
                learnt, learnt, found | {"iteration": len(run.rows), "weights": str(run.folder.home_of(learnt))}
            )
        return run

    @cached_property
    def trained(self) -> SetRun:
        """The run on relevant sets."""
        recipe = RECIPES["costmargin"].set(iterations=self.plan.iterations, rate=RATE)
        text = Text(*(Lines(one.source, one.references) for one in (self.lessons, self.dev, self.test)))
        config = self.facts(BINARY_FEATURES) | {"corpus": str(self.out / LESSONS), "recipe": "costmargin"}
        config |= {"fixed": [f"LM={LM}"], **recipe.settings()}
        facts = {"corpus": text.fingerprint, "decoder": self.binary.fingerprint}
        run = SetRun.resume(self.out / BINARY, config, (), facts, lambda row: self._told(row.dev), free=FREE)
        relevant.train(recipe, self.binary, text, run, fixed={"LM": LM}, threads=self.threads)
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
            "binary": self.binary.best(test.source, self.trained.keyed()),
            "oracle": self.oracle,
        }

        def judged(found: Texts) -> NDArray[np.int64]:
            return metric.statistics(found, np.arange(len(found) + 1), test.references)

        statistics = {name: judged(found) for name, found in texts.items()}
        table: dict[str, Score] = {}
        for name, rows_of in statistics.items():
            score, low, high = bootstrap(metric, rows_of)
            table[name] = {"score": score, "low": low, "high": high}
        for name in ("dense", "binary"):
            pair = metric, statistics["initial"], statistics[name]
            table[name] |= {"gain": _gain(paired_bootstrap(*pair)), "p": randomisation(*pair).p}
        return {
            "signature": metric.signature(test.references),
            "table": table,
            "curves": {
                "dense": [float(metric.total_score(judged(found).sum(axis=0))) for found in [texts["initial"], *dense]],
                "binary": [row.test for row in self.trained.rows],
            },
            "strongest": self.strongest,
            "examples": self.examples(texts),
        }

    @cached_property
    def oracle(self) -> Texts:
        """Of every test sentence the best translation that was found with references in hand (S10.4)."""
        found = self.decoder(DENSE_FEATURES).truths(self.test.source, self.test.references, TRUTHS)
        return Texts.join([part.texts.take(part.bounds[:-1]) for part in found])

    @property
    def strongest(self) -> dict[str, WeightRow]:
        """The largest weights of binary features of known words, by name."""
        shown = Inside(self.trained, None, None).shown(10 * SHOWN)
        known = {name: row for name, row in shown.items() if "count" in row and "<unk>" not in name}
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


def _gain(found: Bootstrapped) -> Gain:
    return {"score": found.score, "low": found.low, "high": found.high, "p": found.p, "folded": found.folded}
