"""The tables: algorithm = loss x optimiser x candidate policy x cost (S14), and training on relevant sets (S10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from rampion.errors import RecipeError
from rampion.losses.contrast import LOSSES, Contrast, Side
from rampion.losses.expectation import ExpectedBleu, Risk
from rampion.losses.pairwise import Pairs
from rampion.losses.ranking import COSTMARGIN, FIXED, LITERAL, PERCEPTRON, Ranking, Regression
from rampion.optim.mert import CorpusScore, LineSearch
from rampion.optim.mira import BatchMira
from rampion.optim.online_sgd import Passes
from rampion.optim.pro import Pro
from rampion.optim.solvers import Annealed, Best, Cccp, Descent, Lbfgs
from rampion.optim.updates import AdaGrad, Mira, Rprop, Sgd
from rampion.protocols import Loss, Policy, Solver, Update
from rampion.training.policies import Fixed, Merge, Replace


class Settings:
    """A row of a table: a frozen dataclass whose plain fields, and those of its parts, are settings by name."""

    __slots__ = ()

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

    def check(self, positive: Iterable[str], choices: Mapping[str, Sequence[str]]) -> None:
        """Raise RecipeError on a number that is not positive, or a word that is none of its choices."""
        for name in positive:
            if getattr(self, name) <= 0:
                raise RecipeError(f"{name} is {getattr(self, name)}; expected a positive number")
        for name, known in choices.items():
            if (given := getattr(self, name)) not in known:
                raise RecipeError(f"{name} is {given!r}; expected {' or '.join(map(repr, known))}")


CHOICES = {
    "origin": ("start", "zero"),
    "base": ("none", "listed", "start"),
    "free": ("all", "sparse"),
    "keep": ("last", "dev"),
}


@dataclass(frozen=True, slots=True)
class Recipe(Settings):
    """One row: what to want, how to move, which candidates, at what cost; k-best size and decoding iterations."""

    loss: Loss
    solver: Solver
    policy: Policy
    metric: str = "bleu:lin-och"
    alpha: float = 10.0
    k: int = 500
    iterations: int = 20
    origin: Literal["start", "zero"] = "start"  # where L2 pulls to: the initial weights or 0
    base: Literal["none", "listed", "start"] = "none"  # scores to add to: the decoder's totals, or the initial weights'
    free: Literal["all", "sparse"] = "all"  # the features that learn
    keep: Literal["last", "dev"] = "last"  # the answer: the last weights, or those best on what is held out
    still: float = 0.0  # decoding ends when no weight has moved so far, or merged lists have not grown; 0: it goes on
    cite: str = ""  # a key of citations.BIBTEX
    note: str = ""

    def __post_init__(self) -> None:
        self.check(("alpha", "k", "iterations"), CHOICES)
        if self.free == "sparse" and self.base == "none":
            raise RecipeError("free='sparse' leaves dense features without weights; set base='start' or base='listed'")
        if self.still < 0:
            raise RecipeError(f"still is {self.still}; expected 0 or more")
        self.solver.check(self.loss)

    def anew(self, iteration: int) -> Self:
        """The recipe of that decoding iteration: what draws by chance draws otherwise in every one."""
        seed = self.settings().get("seed")
        if seed is None or iteration == 1:
            return self
        return self.set(seed=int(np.random.SeedSequence((seed, iteration)).generate_state(1)[0]))


SET_CHOICES = {
    "start": ("bag", "seeds"),
    "learn": ("binary", "real", "both"),
    "text": ("train", "dev"),
}


@dataclass(frozen=True, slots=True)
class SetRecipe(Settings):
    """One row: what to want of a relevant set and how to move; how sets begin and grow; which weights learn."""

    loss: Ranking | Regression
    solver: Passes
    start: Literal["bag", "seeds"] = "bag"  # z_0: random blocks (S10.7); or decoded with flat weights, and z_1 (S10.9)
    truths: int = 5  # the best candidates there are, kept of each segment; 0: the best in the set is the truth
    metric: str = "bleu:lin-och"
    k: int = 1  # candidates added in every iteration
    iterations: int = 30
    restart: bool = True  # every iteration learns from the first weights again, not from the last ones
    learn: Literal["binary", "real", "both"] = "binary"
    text: Literal["train", "dev"] = "train"  # the part of the corpus to learn from
    flat: float = 0.1  # the weight with which real-valued features that learn decode first
    origin: float = 0.1  # the weight from which they learn
    least: int = 2  # occurrences of a binary feature that learns (S10.2)
    cite: str = "tillmann2008"
    note: str = ""

    def __post_init__(self) -> None:
        self.check(("k", "iterations", "least"), SET_CHOICES)
        if self.truths < 0:
            raise RecipeError(f"truths is {self.truths}; expected 0 or more")


def _settings(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """(name, value, way there) of every plain field of a part and of the parts inside it; a contrast's sides stay whole."""
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value):
            if field.name not in ("up", "down"):
                yield from _settings(value, (*path, field.name))
        elif field.name not in ("cite", "note"):
            yield field.name, value, (*path, field.name)


def _changed(part: Any, path: tuple[str, ...], value: Any) -> Any:
    return replace(part, **{path[0]: value if len(path) == 1 else _changed(getattr(part, path[0]), path[1:], value)})


def _ssd(rate: float = 1e-4, l2: float = 1.0) -> Cccp:
    """Algorithm 1's optimiser: 10 CCCP rounds of 5 epochs in corpus order (S4)."""
    return Cccp(Descent(Sgd(rate), epochs=5, l2=l2), rounds=10)


def _pa(epochs: int) -> Descent:
    """Averaged passive-aggressive passes in random order (S7.3)."""
    return Descent(Mira(0.01), epochs, seed=0, averaged=True)


def _sweep() -> Descent:
    """Averaged online steps in random order."""
    return Descent(Sgd(1e-3), epochs=20, seed=0, averaged=True)


def _ascent(update: Update, epochs: int = 40, l2: float = 2e-6) -> Descent:
    """40 steps, each after all lists (S11.3); l2 is twice the paper's tau."""
    return Descent(update, epochs=epochs, after="all", l2=l2)


_XBLEU: dict[str, Any] = {
    "metric": "bleu:he-deng", "alpha": 1.0, "base": "start", "keep": "dev", "cite": "wuebker2015",
}  # fmt: skip

# L-BFGS goes all the way to the least loss, and one list leaves it free where the next will be: lists are merged.
RECIPES = {
    #                        loss                        optimiser                             candidates
    "rampion":          Recipe(LOSSES["ramp3"],            _ssd(),                               Replace(), cite="gimpel2012", note="A1: Algorithm 1"),
    "rampion-merge":    Recipe(LOSSES["ramp3"],            _ssd(),                               Merge(), origin="zero", iterations=30, cite="gimpel2012", note="A2: as co-released in cdec, but for the cost: merged lists, L2 towards 0"),
    "rampion-mira":     Recipe(LOSSES["ramp3"],            Cccp(Descent(Mira(0.01), epochs=5)),  Replace(), cite="gimpel2012", note="A3: passive-aggressive steps inside CCCP, sec. 3.1"),
    "ramp1":            Recipe(LOSSES["ramp1"],            _ssd(),                               Replace(), cite="gimpel2012", note="A4: eq. 6; knows no oracle and is expected to fail"),
    "ramp2":            Recipe(LOSSES["ramp2"],            _ssd(),                               Replace(), cite="gimpel2012", note="A5: eq. 7"),
    "soft-ramp1":       Recipe(LOSSES["soft-ramp1"],       Lbfgs(l2=1.0),                        Merge(),   still=1e-5,cite="gimpel2012", note="A6: the Jensen risk bound, sec. 3.4"),
    "soft-ramp2":       Recipe(LOSSES["soft-ramp2"],       Lbfgs(l2=1.0),                        Merge(),   still=1e-5,cite="gimpel2012", note="A7: sec. 3.4"),
    "soft-ramp3":       Recipe(LOSSES["soft-ramp3"],       Lbfgs(l2=1.0),                        Merge(),   still=1e-5,cite="gimpel2012", note="A8: sec. 3.4"),
    "soft-hope-ramp3":  Recipe(LOSSES["soft-hope-ramp3"],  _ssd(),                               Replace(), cite="gimpel2012", note="A9: one side soft, fig. 2"),
    "soft-fear-ramp3":  Recipe(LOSSES["soft-fear-ramp3"],  _ssd(),                               Replace(), cite="gimpel2012", note="A9: one side soft, fig. 2"),
    "perceptron":       Recipe(LOSSES["perceptron"],       _ssd(rate=1e-3, l2=0.0),              Replace(), cite="liang2006", note="A11: eq. 9 of gimpel2012; lists that reach no reference take no part"),
    "kbest-perceptron": Recipe(LOSSES["kbest-perceptron"], _ssd(rate=1e-3, l2=0.0),              Replace(), cite="liang2006", note="A12: eq. 10 of gimpel2012"),
    "gamma-perceptron": Recipe(LOSSES["gamma-perceptron"], _ssd(rate=1e-3, l2=0.0),              Replace(), alpha=1.0, cite="gimpel2012", note="A13: eq. 11 with gamma = 10"),
    "averaged-perceptron":       Recipe(LOSSES["perceptron"],       _sweep(), Replace(), cite="collins2002", note="A10: eq. 12 of gimpel2012, online, averaged"),
    "averaged-kbest-perceptron": Recipe(LOSSES["kbest-perceptron"], _sweep(), Replace(), cite="liang2006", note="A12: eq. 10 of gimpel2012, online, averaged"),
    "averaged-gamma-perceptron": Recipe(LOSSES["gamma-perceptron"], _sweep(), Replace(), alpha=1.0, cite="gimpel2012", note="A13: eq. 11 with gamma = 10, online, averaged"),
    "hinge":            Recipe(LOSSES["hinge"],            _ssd(),                               Replace(), cite="gimpel2012", note="A15: eq. 13; lists that reach no reference take no part"),
    "softmax-margin":   Recipe(LOSSES["softmax-margin"],   Cccp(Lbfgs(l2=1.0)),                  Merge(),   still=1e-5,alpha=1.0, cite="gimpel2010", note="A16: sec. 3.4 of gimpel2012"),
    "log":              Recipe(LOSSES["log"],              Cccp(Lbfgs(l2=1.0)),                  Merge(),   still=1e-5,cite="gimpel2012", note="A17: sec. 2"),
    "latent-log":       Recipe(LOSSES["latent-log"],       Lbfgs(l2=1.0),                        Merge(),   still=1e-5,cite="gimpel2012", note="A18: sec. 3.4"),
    "och-ney":          Recipe(LOSSES["och-ney"],          Cccp(Lbfgs(l2=1.0)),                  Merge(),   still=1e-5,cite="och2002", note="A19: the list's oracle as reference"),
    "hope-log":         Recipe(LOSSES["hope-log"],         Cccp(Lbfgs(l2=1.0)),                  Merge(),   still=1e-5,cite="och2002", note="A19: the hope as reference"),
    "mira":             Recipe(LOSSES["ramp3"],            Best(BatchMira(0.01, epochs=60)),     Merge(), k=100, iterations=25, still=1e-5, cite="cherry2012", note="A24: batch MIRA; costs are BLEU in a pseudo-corpus, the averaged weights of the best epoch"),
    "mira-sentence":    Recipe(LOSSES["ramp3"],            Best(_pa(epochs=60)),                 Merge(), k=100, iterations=25, still=1e-5, cite="cherry2012", note="A24 with sentence costs, for any metric"),
    "mira-online":      Recipe(LOSSES["oracle-worst"],     _pa(epochs=15),                       Replace(), k=250, cite="crammer2006", note="A25: k-best MIRA as in cdec; the list's oracle against its worst"),
    "pro":              Recipe(Pairs(),                    Pro(psi=0.1, rounds=25, l2=1.0),      Merge(), alpha=1.0, k=1500, iterations=25, cite="hopkins2011", note="A22: 25 rounds of interpolation on fixed lists; rounds=1 if a decoder makes new ones"),
    "pro-regularised":  Recipe(Pairs(),                    Pro(psi=0.1, rounds=25, l2=500.0),    Merge(), alpha=1.0, k=1500, iterations=25, cite="hopkins2011", note="A23: L2 as strong as cdec's"),
    "risk":             Recipe(Risk(),                     Lbfgs(l2=0.01),                       Merge(), alpha=1.0, cite="smith2006", note="A20: without annealing"),
    "mert":             Recipe(CorpusScore(),              LineSearch(),                         Merge(), metric="bleu", k=100, iterations=25, still=1e-5, cite="och2003", note="A21: exact line searches from 21 points"),
    "risk-annealed":    Recipe(Risk(),                     Annealed(Lbfgs(l2=0.01)),             Merge(), alpha=1.0, cite="smith2006", note="A20: the entropy term cooled in rounds"),
    "risk-l1":          Recipe(Risk(),                     _ascent(AdaGrad(0.1, l1=0.1), epochs=100, l2=0.0), Merge(), alpha=1.0, cite="duchi2011", note="A20: L1 by AdaGrad's proximal step, on top of the initial weights", base="start"),
    "xbleu-rprop":      Recipe(ExpectedBleu(),             _ascent(Rprop()),                     Fixed(), **_XBLEU, note="D1: signs choose the steps (riedmiller1993)"),
    "xbleu-adagrad":    Recipe(ExpectedBleu(),             _ascent(AdaGrad(0.003)),             Fixed(), **_XBLEU, note="D2: AdaGrad (duchi2011)"),
    "xbleu-sgd":        Recipe(ExpectedBleu(),             _ascent(Sgd(0.03)),                  Fixed(), **_XBLEU, note="D3: gradient ascent"),
    "xbleu-lbfgs":      Recipe(ExpectedBleu(),             Lbfgs(l2=2e-6, steps=40),            Fixed(), **_XBLEU, note="L-BFGS, which the paper does not try"),
    "xbleu-fobos":      Recipe(ExpectedBleu(),             _ascent(AdaGrad(0.003, l1=1e-4), l2=0.0), Fixed(), **_XBLEU, note="D6: AdaGrad with L1 by its proximal step (duchi2011)"),
}  # fmt: skip


# From 0: at the paper's rate weights of 0.1 would hardly move (S10.9 does not say where they begin).
_DENSE: dict[str, Any] = {"start": "seeds", "truths": 0, "learn": "real", "text": "dev", "origin": 0.0}

SETS = {
    #                        what to want               how to move         how sets begin and grow, what learns
    "costmargin":         SetRecipe(COSTMARGIN,                 Passes(),           note="B1: eq. 7"),
    "costmargin-fixed":   SetRecipe(FIXED,                      Passes(),           note="B1: Table II with its selection mended"),
    "costmargin-literal": SetRecipe(LITERAL,                    Passes(),           note="B1: Table II as printed, which takes the least violating alternative"),
    "costmargin-all":     SetRecipe(replace(COSTMARGIN, every=True), Passes(),      note="B1: eq. 5, all truths and not the best one alone"),
    "set-perceptron":     SetRecipe(PERCEPTRON,                 Passes(),           note="B4: footnote 1"),
    "costmargin-dense":   SetRecipe(COSTMARGIN,                 Passes(rate=1e-5),  **_DENSE, note="B2: Tables VI and VII"),
    "perceptron-dense":   SetRecipe(PERCEPTRON,                 Passes(rate=1e-5),  **_DENSE, note="B3: Table III"),
    "regression":         SetRecipe(Regression(),               Passes(),           note="B8: the simpler idea that the paper rejects"),
}  # fmt: skip


def looped(recipe: Recipe) -> Recipe:
    """The recipe where a decoder lists anew what repeats on fixed lists: PRO's rounds (S6). First lists are one decoding."""
    if isinstance(recipe.solver, Pro):
        recipe = recipe.set(rounds=1)
    return replace(recipe, iterations=1) if isinstance(recipe.policy, Fixed) else recipe


def described(recipe: Recipe) -> dict[str, str]:
    """A row in words: what it raises and lowers, how it moves, which candidates it keeps, and whom to cite."""
    loss = recipe.loss
    up, down = map(_side, (loss.up, loss.down)) if isinstance(loss, Contrast) else ("", _part(loss))
    return {
        "up": up,
        "down": down,
        "solver": _part(recipe.solver),
        "policy": _part(recipe.policy),
        "cite": recipe.cite,
        "note": recipe.note,
    }


def described_set(recipe: SetRecipe) -> dict[str, str]:
    """A row in words: what a step makes of slack and stakes, which candidate is the truth, what learns."""
    loss, best = recipe.loss, f"the best of {recipe.truths} oracles" if recipe.truths else "the best of the set"
    if isinstance(loss, Regression):
        return {
            "loss": "(gain - score)^2",
            "truth": "none",
            "learn": recipe.learn,
            "cite": recipe.cite,
            "note": recipe.note,
        }
    slack = f"({loss.margin:g} - ds)" if loss.margin else "-ds"
    value = ("dg " if loss.staked else "") + slack + ("+^2" if loss.squared else "")
    return {
        "loss": f"{'max' if loss.sense > 0 else 'min'} {value}",
        "truth": f"each of {recipe.truths} oracles" if loss.every else best,
        "learn": recipe.learn,
        "cite": recipe.cite,
        "note": recipe.note,
    }


def _side(side: Side) -> str:
    names = {(-1.0, "anywhere"): "hope", (0.0, "anywhere"): "model", (1.0, "anywhere"): "fear"}
    name = names.get((side.tilt, side.where)) or (
        side.where if side.where != "anywhere" else f"score {side.tilt:+g} cost"
    )
    return f"soft {name}" if side.softness else name


def _part(part: Any) -> str:
    """Cccp(Descent(Sgd)) of a solver, without its numbers."""
    inside = [_part(value) for field in fields(part) if is_dataclass(value := getattr(part, field.name))]
    return f"{type(part).__name__}({', '.join(inside)})" if inside else type(part).__name__
