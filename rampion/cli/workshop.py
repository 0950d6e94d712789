"""What experiments are made with: a corpus, the system that is built from it, and training on relevant sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rampion.cli import table
from rampion.errors import InputError, RecipeError
from rampion.experiments import Row
from rampion.experiments.samples import BLEU, MEAN, TRAINING, Outcome, Settled
from rampion.experiments.tillmann_zhang import SCALES, Scale, Theory, Training, Truth, prove
from rampion.text import References, Texts

if TYPE_CHECKING:
    from rampion.protocols import KeyedDecoder
    from rampion.relevant import Iteration

TRUTHS = 5  # sequences that the oracle looks for; its best is what is measured (S10.4)


@dataclass(frozen=True, eq=False)
class Workshop:
    """Makes rows. Corpus and system are made when a row first needs them, and kept in the folder."""

    out: Path
    name: str
    scale: Scale
    given: str | None  # a corpus folder
    pair: str | None
    threads: int

    @classmethod
    def open(cls, out: Path, scale: str, corpus: str | None, pair: str | None, threads: int) -> Workshop:
        if scale not in SCALES:
            raise RecipeError(f"--scale {scale!r}: expected one of {', '.join(SCALES)}")
        return cls(out, scale, SCALES[scale], corpus, pair, threads)

    @property
    def about(self) -> dict[str, Any]:
        """What the numbers were made with."""
        from rampion.report import manifest

        facts = manifest(())
        return {
            "scale": self.name,
            "corpus": self.given or "toy",
            **{name: facts[name] for name in facts if name != "inputs"},
        }

    def asked(self, row: Row) -> Mapping[str, Any]:
        if isinstance(row.settings, Theory):
            return {}
        return {"corpus": self.given or "toy", **self.scale._asdict()}

    def make(self, row: Row, seed: int, folder: Path) -> Outcome:
        match row.settings:
            case Theory() as theory:
                return prove(theory, seed)
            case Truth() as truth:
                return self.oracle(truth)
            case Training() as training:
                return self.train(training, seed, folder)
        raise RecipeError(f"{row.label}: nobody knows how to make a {type(row.settings).__name__}")

    @cached_property
    def system(self) -> Any:
        """Made from the sentences that are not learnt from: what a sentence gave itself would say it all too well."""
        from decoder.system import Settings, System

        corpus, _ = self.texts
        table.note(f"{corpus}: preparing blocks and language model")
        return System.prepare(corpus, self.out / "system", Settings(), self.threads)

    @cached_property
    def lessons(self) -> Any:
        """The sentences that weights are learnt from."""
        from decoder.corpus import Corpus

        return Corpus.load(self.texts[1]).train

    @cached_property
    def texts(self) -> tuple[Path, Path]:
        """Two folders: a corpus, and the sentences that were taken from its training text, drawn by chance."""
        from decoder.corpus import Corpus
        from decoder.language import Language

        corpus, lessons = self.out / "corpus", self.out / "lessons"
        if not corpus.exists():
            if self.given:
                whole = Corpus.load(self.given, self.pair)
            else:
                table.note(f"inventing a toy corpus of {self.scale.pairs} pairs")
                whole = Language.invent(1).corpus(self.scale.pairs, self.scale.held_out)
            for name, part in (("dev", whole.dev), ("test", whole.test)):
                if not part:
                    files = " and ".join(f"{name}.{language}" for language in whole.languages)
                    raise InputError(f"{self.given}: has no {name} text; expected sentences in {files}")
            drawn = np.random.default_rng(0).permutation(len(whole.train))
            count = min(self.scale.sentences, len(drawn) // 2)
            taken, left = np.sort(drawn[:count]), np.sort(drawn[count:])
            if not lessons.exists():
                Corpus(whole.languages, whole.train.take(taken)).write(lessons)
            replace(whole, train=whole.train.take(left)).write(corpus)
        return corpus, lessons

    def decoder(self, features: str, order: str) -> KeyedDecoder:
        from decoder.states import MON, Reordering

        decoder: KeyedDecoder = self.system.decoder(
            features, MON if order == "MON" else Reordering(), threads=self.threads,
            beam=self.scale.beam, pops=10 * self.scale.beam, options=self.scale.options,
        )  # fmt: skip
        return decoder

    def oracle(self, truth: Truth) -> Outcome:
        """Training BLEU of the best sequence of every sentence."""
        lessons = self.lessons
        found = self.decoder("P1", truth.reordering).truths(lessons.source, lessons.references, TRUTHS)
        texts = Texts.join([part.texts.take(part.bounds[:-1]) for part in found])
        return Outcome({"train": training(texts, lessons.references)})

    def train(self, settings: Training, seed: int, folder: Path) -> Outcome:
        """What the iteration that is best on dev has learnt. The run is left in the folder; a stopped one goes on."""
        from rampion.recipes import SETS
        from rampion.relevant import Lines, Text, train
        from rampion.runs import Run

        fixed = {} if settings.language_model is None else {"LM": settings.language_model}
        decoder = self.decoder(",".join([*fixed, settings.features]), settings.reordering)
        recipe = SETS[settings.recipe].set(iterations=self.scale.iterations, k=settings.k, seed=seed)
        if settings.paced:
            recipe = recipe.set(rate=recipe.solver.rate * self.scale.pace)
        corpus = self.system.corpus
        text = Text(*(Lines(part.source, part.references) for part in (self.lessons, corpus.dev, corpus.test) if part))
        facts = {"corpus": text.fingerprint, "decoder": decoder.fingerprint}
        run = Run.resume(folder / "run", asdict(settings) | recipe.settings(), (), facts, ())
        train(recipe, decoder, text, run, fixed=fixed, threads=self.threads, record=told)
        rows, chosen = run.rows, run.chosen.iteration
        tests = [bleu(decoder.best(text.test.source, run.keyed(row.iteration)), text.test.references) for row in rows]
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


def told(row: Iteration) -> None:
    table.note(f"  iteration {row.iteration}: train {row.train:.2f}, dev {row.dev:.2f}, test {row.test:.2f}")


def bleu(texts: Texts, references: References) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Rows of test BLEU."""
    return BLEU.statistics(texts, np.arange(len(texts) + 1), references)


def training(texts: Texts, references: References) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rows of training BLEU."""
    rows = TRAINING.statistics(texts, np.arange(len(texts) + 1), references)
    return MEAN.rows(100 * TRAINING.segments(rows))
