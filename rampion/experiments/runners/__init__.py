"""Runners: how rows of experiments become numbers. There is a module for each kind of row, and their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rampion.errors import RecipeError
from rampion.experiments import Row
from rampion.experiments.forecast import Load, sentence, speed
from rampion.experiments.papers import gimpel_smith, wuebker
from rampion.experiments.papers.gimpel_smith import Family, Tuning
from rampion.experiments.papers.tillmann_zhang.binary import Theory, Training, Truth, prove
from rampion.experiments.papers.tillmann_zhang.real import Dense, Flat, Staged
from rampion.experiments.papers.tillmann_zhang.texts import Filtered, Spoken
from rampion.experiments.runners import expected, real, sets, texts, tuned
from rampion.experiments.runners.inputs import Stock
from rampion.experiments.samples import Outcome
from rampion.experiments.scales import SCALES


@dataclass(frozen=True, slots=True, eq=False)
class Workshop:
    """The `Maker` of all kinds of rows."""

    scale: str
    stock: Stock

    @classmethod
    def open(
        cls, out: Path, scale: str, corpus: str | None, pair: str | None, threads: int, held_out: int = 0,
        versions: bool = False,
    ) -> Workshop:  # fmt: skip
        if scale not in SCALES:
            raise RecipeError(f"--scale {scale!r}: expected one of {', '.join(SCALES)}")
        if corpus is None and (held_out or versions):
            raise RecipeError("--held-out and --versions cut a corpus; name its folder (--corpus)")
        return cls(scale, Stock(out, SCALES[scale], corpus, pair, threads, held_out, versions))

    @property
    def about(self) -> dict[str, object]:
        """The scale, the corpus and the seeds that the numbers depend on."""
        from rampion.runs.folder import manifest

        facts = manifest(())
        return {
            "scale": self.scale,
            "corpus": self.stock.name,
            **{name: facts[name] for name in facts if name != "inputs"},
        }

    def asked(self, row: Row) -> Mapping[str, object]:
        if isinstance(row.settings, (Theory, Family, wuebker.Doubt)):
            return {}
        match row.settings:
            case Tuning() as tuning:
                depends = tuned.depends(tuning)
            case Spoken() as spoken:
                depends = tuned.depends(spoken.tuning)
            case Filtered():
                depends = texts.DEPENDS
            case wuebker.Tuned() | wuebker.Curve() | wuebker.Effort() | wuebker.Trial() as settings:
                depends = expected.depends(settings)
            case _:
                depends = sets.DEPENDS
        return {"corpus": self.stock.name, **{name: getattr(self.stock.scale, name) for name in depends}}

    def told(self, rows: Sequence[Row]) -> str | None:
        """What these runs take together, and what the test can tell; None if they decode nothing."""
        whole = Load.joined(self.load(row) for row in rows)
        if not whole.decoded:
            return None
        stock, scale = self.stock, self.stock.scale
        lessons = any(isinstance(row.settings, Training | Truth | Dense | Staged | Flat | Filtered) for row in rows)
        system = stock.system if lessons else stock.whole
        found = speed(system, "fourteen", stock.threads, scale.beam)
        return sentence(whole, found, stock.out)

    def load(self, row: Row) -> Load:
        """What a run of the row decodes and holds."""
        match row.settings:
            case Theory() | Family() | wuebker.Doubt():
                return Load(0)
            case Tuning() as tuning:
                return tuned.load(self.stock, tuning)
            case Spoken(_, tuning):
                return tuned.load(self.stock, tuning)
            case wuebker.Tuned() | wuebker.Curve() | wuebker.Effort() | wuebker.Trial() as settings:
                return expected.load(self.stock, settings)
            case Truth():
                return Load(len(self.stock.lessons))
            case Filtered(training=training):
                return sets.load(self.stock, training)
            case Training() as training:
                return sets.load(self.stock, training)
            case Flat() | Dense() | Staged() as settings:
                return real.load(self.stock, settings)
        raise RecipeError(f"{row.label}: there is no runner for {type(row.settings).__name__}")

    def make(self, row: Row, seed: int, folder: Path) -> Outcome:
        match row.settings:
            case Theory() as theory:
                return prove(theory, seed)
            case Family() as family:
                return gimpel_smith.prove(family, seed)
            case Truth() as truth:
                return sets.oracle(self.stock, truth)
            case Training() as training:
                return sets.train(self.stock, training, seed, folder)
            case Tuning() as tuning:
                return tuned.tune(self.stock, tuning, seed, folder)
            case Flat() as flat:
                return real.flat(self.stock, flat)
            case Dense() as dense:
                return real.learn(self.stock, dense, seed, folder)
            case Staged() as staged:
                return real.stages(self.stock, staged, seed, folder)
            case Filtered() as filtered:
                return texts.learn(self.stock, filtered, seed, folder)
            case Spoken(words, tuning):
                return tuned.tune(self.stock, tuning, seed, folder, self.stock.spoken(words))
            case wuebker.Doubt() as doubt:
                return wuebker.prove(doubt, seed)
            case wuebker.Tuned() | wuebker.Curve() | wuebker.Effort() | wuebker.Trial() as settings:
                return expected.make(self.stock, settings, seed)
        raise RecipeError(f"{row.label}: there is no runner for {type(row.settings).__name__}")
