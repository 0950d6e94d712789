"""The table: algorithm = loss x optimiser x candidate policy x cost (S14)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, Self

from rampion.errors import RecipeError
from rampion.expected import Risk
from rampion.losses import LOSSES
from rampion.policies import Merge, Replace
from rampion.protocols import Loss, Policy, Solver
from rampion.solvers import Cccp, Descent, Lbfgs
from rampion.updates import Mira, Sgd


@dataclass(frozen=True, slots=True)
class Recipe:
    """One row: what to want, how to move, which candidates, at what cost; k-best size and decoding iterations."""

    loss: Loss
    solver: Solver
    policy: Policy
    metric: str = "bleu:lin-och"
    alpha: float = 10.0
    k: int = 500
    iterations: int = 20
    origin: Literal["start", "zero"] = "start"
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("alpha", "k", "iterations"):
            if getattr(self, name) <= 0:
                raise RecipeError(f"{name} is {getattr(self, name)}; expected a positive number")
        if self.origin not in ("start", "zero"):
            raise RecipeError(f"origin is {self.origin!r}; expected 'start' (the initial weights) or 'zero'")
        self.solver.check(self.loss)

    def settings(self) -> dict[str, Any]:
        """Every number that can be turned, by name."""
        return {name: value for name, value, _ in _settings(self)}

    def set(self, **changes: Any) -> Self:
        """The same recipe with other settings."""
        for name, value in changes.items():
            found = [path for known, _, path in _settings(self) if known == name]
            if not found:
                known = ", ".join(sorted(self.settings()))
                raise RecipeError(f"this recipe has no setting {name!r}; it has {known}")
            self = _changed(self, found[0], value)
        return self


def _settings(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """(name, value, way there) of every plain field of a part and of the parts inside it; a contrast's sides stay whole."""
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value):
            if field.name not in ("up", "down"):
                yield from _settings(value, (*path, field.name))
        elif field.name != "source":
            yield field.name, value, (*path, field.name)


def _changed(part: Any, path: tuple[str, ...], value: Any) -> Any:
    return replace(part, **{path[0]: value if len(path) == 1 else _changed(getattr(part, path[0]), path[1:], value)})


def _ssd(rate: float = 1e-4, l2: float = 1.0) -> Cccp:
    """Algorithm 1's optimiser: 10 CCCP rounds of 5 epochs in corpus order (S4)."""
    return Cccp(Descent(Sgd(rate), epochs=5, l2=l2), rounds=10)


RECIPES = {
    #                        loss                        optimiser                             candidates
    "rampion":          Recipe(LOSSES["ramp3"],            _ssd(),                               Replace(), source="S14 A1: Gimpel & Smith 2012, Algorithm 1"),
    "rampion-merge":    Recipe(LOSSES["ramp3"],            _ssd(),                               Merge(), origin="zero", iterations=30, source="S14 A2: as co-released in cdec, BLEU+1 as cost"),
    "rampion-mira":     Recipe(LOSSES["ramp3"],            Cccp(Descent(Mira(0.01), epochs=5)),  Replace(), source="S14 A3: Gimpel & Smith 2012, sec. 3.1"),
    "ramp1":            Recipe(LOSSES["ramp1"],            _ssd(),                               Replace(), source="S14 A4: Gimpel & Smith 2012, eq. 6"),
    "ramp2":            Recipe(LOSSES["ramp2"],            _ssd(),                               Replace(), source="S14 A5: Gimpel & Smith 2012, eq. 7"),
    "soft-ramp1":       Recipe(LOSSES["soft-ramp1"],       Lbfgs(l2=1.0),                        Replace(), source="S14 A6: Gimpel & Smith 2012, sec. 3.4"),
    "soft-ramp2":       Recipe(LOSSES["soft-ramp2"],       Lbfgs(l2=1.0),                        Replace(), source="S14 A7: Gimpel & Smith 2012, sec. 3.4"),
    "soft-ramp3":       Recipe(LOSSES["soft-ramp3"],       Lbfgs(l2=1.0),                        Replace(), source="S14 A8: Gimpel & Smith 2012, sec. 3.4"),
    "soft-hope-ramp3":  Recipe(LOSSES["soft-hope-ramp3"],  _ssd(),                               Replace(), source="S14 A9: Gimpel & Smith 2012, fig. 2"),
    "soft-fear-ramp3":  Recipe(LOSSES["soft-fear-ramp3"],  _ssd(),                               Replace(), source="S14 A9: Gimpel & Smith 2012, fig. 2"),
    "perceptron":       Recipe(LOSSES["perceptron"],       _ssd(rate=1e-3, l2=0.0),              Replace(), source="S14 A11: Gimpel & Smith 2012, eq. 9; Liang et al. 2006"),
    "kbest-perceptron": Recipe(LOSSES["kbest-perceptron"], _ssd(rate=1e-3, l2=0.0),              Replace(), source="S14 A12: Gimpel & Smith 2012, eq. 10; Liang et al. 2006"),
    "gamma-perceptron": Recipe(LOSSES["gamma-perceptron"], _ssd(rate=1e-3, l2=0.0),              Replace(), alpha=1.0, source="S14 A13: Gimpel & Smith 2012, eq. 11"),
    "hinge":            Recipe(LOSSES["hinge"],            _ssd(),                               Replace(), source="S14 A15: Gimpel & Smith 2012, eq. 13"),
    "softmax-margin":   Recipe(LOSSES["softmax-margin"],   Cccp(Lbfgs(l2=1.0)),                  Replace(), alpha=1.0, source="S14 A16: Gimpel & Smith 2012, sec. 3.4"),
    "log":              Recipe(LOSSES["log"],              Cccp(Lbfgs(l2=1.0)),                  Replace(), source="S14 A17: Gimpel & Smith 2012, sec. 2"),
    "latent-log":       Recipe(LOSSES["latent-log"],       Lbfgs(l2=1.0),                        Replace(), source="S14 A18: Gimpel & Smith 2012, sec. 3.4"),
    "och-ney":          Recipe(LOSSES["och-ney"],          Cccp(Lbfgs(l2=1.0)),                  Replace(), source="S14 A19: Och & Ney 2002"),
    "hope-log":         Recipe(LOSSES["hope-log"],         Cccp(Lbfgs(l2=1.0)),                  Replace(), source="S14 A19, hope as oracle"),
    "risk":             Recipe(Risk(),                     Lbfgs(l2=0.01),                       Merge(), alpha=1.0, source="S14 A20: Smith & Eisner 2006"),
}  # fmt: skip
