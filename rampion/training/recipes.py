"""The table: algorithm = loss x solver x candidate policy x cost (S14), from lists or from relevant sets (S10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np

from rampion.errors import RecipeError, meant
from rampion.losses.contrast import MODEL, Contrast, Side
from rampion.losses.expectation import ExpectedBleu, Risk
from rampion.losses.pairwise import Pairs
from rampion.losses.ranking import Ranking, Regression
from rampion.losses.table import LOSSES
from rampion.optim.mert import CorpusScore, LineSearch
from rampion.optim.mira import BatchMira
from rampion.optim.online_sgd import OnlineSgd
from rampion.optim.pro import Pro
from rampion.optim.solvers import Annealed, Best, Cccp, Descent, Lbfgs, careful
from rampion.optim.updates import AdaGrad, Mira, Rprop, Sgd
from rampion.protocols import Form, Loss, Policy, Solver, Update
from rampion.training.policies import Fixed, Merge, RelevantSets, Replace, refuse_unknown

METRIC = "bleu:lin-och"
NOUNS: dict[Form, str] = {"lists": "lists", "sets": "relevant sets"}
COMMANDS: dict[Form, str] = {"lists": "rampion tune", "sets": "rampion train"}
ALONE: dict[str, Any] = {"alpha": 1.0, "origin": "zero", "base": "none", "free": "all", "keep": "dev", "still": 0.0,
                         "scale": "none"}  # fmt: skip
CHOICES = {
    "origin": ("start", "zero"),
    "base": ("none", "listed", "start"),
    "free": ("all", "sparse"),
    "keep": ("last", "dev"),
    "scale": ("spread", "none"),
}


@dataclass(frozen=True, slots=True, repr=False)
class Recipe:
    """An algorithm: a loss, a solver, a policy for candidates, and a metric for costs.

    Parameters
    ----------
    loss : Loss
        The loss: it turns scores and costs into a value and slopes.
    solver : Solver
        How to move the weights.
    policy : Policy
        Which candidates to learn from, when every decoding iteration lists new ones.
    metric : str
        The metric that costs are made of.
    alpha : float
        The scale of the costs.
    k : int
        The number of candidates that a decoder lists for each segment.
    iterations : int
        The number of decoding iterations.
    origin : {"start", "zero"}
        The point that L2 pulls to: the initial weights, or 0.
    base : {"none", "listed", "start"}
        Scores to add to: none, the decoder's own, or those of the initial weights.
    free : {"all", "sparse"}
        The features whose weights are learnt.
    keep : {"last", "dev"}
        The result: the last weights, or those that are best on held-out lists.
    still : float
        Decoding ends when no weight has moved farther than this; 0: after all iterations.
    scale : {"spread", "none"}
        How features of fixed lists are scaled: each in units of its spread within lists, with steps that cannot raise
        the loss; or not at all, with the papers' steps, as always in a loop with a decoder.
    cite : str
        A key of `rampion.citations.BIBTEX`.
    note : str
        A remark for the table of recipes.

    Examples
    --------
    >>> rampion.RECIPES["rampion"]
    Recipe(Contrast, Cccp(Descent(Sgd)), Replace, metric='bleu:lin-och')
    >>> from rampion.optim.solvers import Lbfgs
    >>> from rampion.training.policies import Merge
    >>> rampion.Recipe(rampion.LOSSES["soft-ramp3"], Lbfgs(l2=1.0), Merge(), metric="chrf")
    Recipe(Contrast, Lbfgs, Merge, metric='chrf')
    """

    loss: Loss
    solver: Solver[Any, Any]
    policy: Policy
    metric: str = METRIC
    alpha: float = 10.0
    k: int = 500
    iterations: int = 20
    origin: Literal["start", "zero"] = "start"  # L2 pulls to the initial weights or to 0
    base: Literal["none", "listed", "start"] = "none"  # scores to add to: the decoder's totals, or the initial weights'
    free: Literal["all", "sparse"] = "all"  # the features that learn
    keep: Literal["last", "dev"] = "last"  # the result: the last weights, or those that are best on held-out lists
    still: float = 0.0  # decoding ends when no weight has moved farther, or merged lists have not grown; 0: never early
    scale: Literal["spread", "none"] = (
        "spread"  # how features of fixed lists are scaled; in a loop with a decoder they never are
    )
    cite: str = ""  # a key of citations.BIBTEX
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("alpha", "k", "iterations"):
            if getattr(self, name) <= 0:
                raise RecipeError(f"{name} is {getattr(self, name)}; expected a positive number")
        refuse_unknown(self, CHOICES)
        if self.free == "sparse" and self.base == "none":
            raise RecipeError("free='sparse' leaves dense features without weights; set base='start' or base='listed'")
        if self.still < 0:
            raise RecipeError(f"still is {self.still}; expected 0 or more")
        learner, keeper = type(self.solver).__name__, type(self.policy).__name__
        if self.solver.form != self.policy.form:
            raise RecipeError(
                f"{learner} learns from {NOUNS[self.solver.form]}, and {keeper} keeps {NOUNS[self.policy.form]}; "
                "use OnlineSgd with RelevantSets, and any other solver with any other policy"
            )
        for name, only in ALONE.items() if self.policy.form == "sets" else ():
            if getattr(self, name) != only:
                raise RecipeError(
                    f"{name} is {getattr(self, name)!r}; relevant sets are learnt from with {only!r} only"
                )
        self.solver.check(self.loss)

    def __repr__(self) -> str:
        parts = type(self.loss).__name__, _part(self.solver), _part(self.policy)
        return f"Recipe({', '.join(parts)}, metric={self.metric!r})"

    def settings(self) -> dict[str, Any]:
        """Every setting of the recipe and its parts.

        Returns
        -------
        dict of str to object
            The settings by name.

        Examples
        --------
        >>> rampion.RECIPES["rampion"].settings()["rate"]
        0.0001
        """
        return {name: value for name, value, _ in _settings(self)}

    def set(self, **changes: Any) -> Self:
        """The same recipe with other settings.

        Parameters
        ----------
        **changes
            The settings to change.

        Returns
        -------
        Recipe
            The changed recipe.

        Raises
        ------
        RecipeError
            If the recipe has no such setting, or if it cannot have that value.

        Examples
        --------
        >>> rampion.RECIPES["rampion"].set(rate=1e-3, metric="wer").settings()["rate"]
        0.001
        """
        for name, value in changes.items():
            found = [path for known, _, path in _settings(self) if known == name]
            if not found:
                settings = sorted(self.settings())
                raise RecipeError(
                    f"this recipe has no setting {name!r}; it has {', '.join(settings)}{meant(name, settings)}"
                )
            self = _changed(self, found[0], value)
        return self

    @property
    def stepwise(self) -> Self:
        """The recipe with steps that cannot raise its loss.

        A loss that lowers only the model's own choice is least at weights of 0. Careful steps would lead there, so its
        steps stay as they are.
        """
        if isinstance(self.loss, Contrast) and self.loss.down == MODEL:
            return self
        return replace(self, solver=careful(self.solver))

    def anew(self, iteration: int) -> Self:
        """The recipe of a decoding iteration, which has a seed of its own.

        Parameters
        ----------
        iteration : int
            The number of the iteration, from 1.

        Returns
        -------
        Recipe
            The recipe, with another seed if it has one.

        Examples
        --------
        >>> [rampion.RECIPES["mert"].anew(iteration).settings()["seed"] for iteration in (1, 2)]
        [0, 3141116543]
        """
        seed = self.settings().get("seed")
        if seed is None or iteration == 1:
            return self
        return self.set(seed=int(np.random.SeedSequence((seed, iteration)).generate_state(1)[0]))


def _settings(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """(name, value, path) of every plain field of a part and of the parts inside it, but not of a contrast's sides."""
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

_SETS: dict[str, Any] = ALONE | {"k": 1, "iterations": 30, "cite": "tillmann2008"}

# Weights begin at 0: with the paper's rate weights of 0.1 would hardly move (S10.9 does not give the beginning).
_DENSE = RelevantSets("seeds", truths=0, learn="real", text="dev", initial=0.0)

# L-BFGS minimises the loss completely, and may go far from the next lists, so lists are merged.
RECIPES = {
    #                        loss                        optimiser                             candidates
    "rampion":          Recipe(LOSSES["ramp3"],            _ssd(),                               Replace(), cite="gimpel2012", note="A1: Algorithm 1"),
    "rampion-merge":    Recipe(LOSSES["ramp3"],            _ssd(),                               Merge(), origin="zero", iterations=30, cite="gimpel2012", note="A2: as co-released in cdec, but for the cost: merged lists, L2 towards 0"),
    "rampion-mira":     Recipe(LOSSES["ramp3"],            Cccp(Descent(Mira(0.01), epochs=5)),  Replace(), cite="gimpel2012", note="A3: passive-aggressive steps inside CCCP, sec. 3.1"),
    "ramp1":            Recipe(LOSSES["ramp1"],            _ssd(),                               Replace(), cite="gimpel2012", note="A4: eq. 6; no good candidate is raised, so it is expected to fail"),
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
    "oracle-log":       Recipe(LOSSES["oracle-log"],       Lbfgs(l2=1.0),                        Merge(),   still=1e-5,alpha=1.0, cite="och2002", note="A19: all candidates of least cost as references, with latent choice among them"),
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
    "xbleu-adagrad":    Recipe(ExpectedBleu(),             _ascent(AdaGrad(1.0)),               Fixed(), **_XBLEU, note="D2: AdaGrad (duchi2011)"),
    "xbleu-sgd":        Recipe(ExpectedBleu(),             _ascent(Sgd(0.03)),                  Fixed(), **_XBLEU, note="D3: gradient ascent"),
    "xbleu-lbfgs":      Recipe(ExpectedBleu(),             Lbfgs(l2=2e-6, steps=40),            Fixed(), **_XBLEU, note="L-BFGS, which the paper does not try"),
    "xbleu-fobos":      Recipe(ExpectedBleu(),             _ascent(AdaGrad(0.003, l1=1e-4), l2=0.0), Fixed(), **_XBLEU, note="D6: AdaGrad with L1 by its proximal step (duchi2011)"),

    "costmargin":         Recipe(LOSSES["costmargin"],         OnlineSgd(),          RelevantSets(), **_SETS, note="B1: eq. 7"),
    "costmargin-fixed":   Recipe(LOSSES["costmargin-fixed"],   OnlineSgd(),          RelevantSets(), **_SETS, note="B1: Table II with its selection mended"),
    "costmargin-literal": Recipe(LOSSES["costmargin-literal"], OnlineSgd(),          RelevantSets(), **_SETS, note="B1: Table II as printed, which takes the least violating alternative"),
    "costmargin-all":     Recipe(LOSSES["costmargin-all"],     OnlineSgd(),          RelevantSets(), **_SETS, note="B1: eq. 5, all truths and not the best one alone"),
    "set-perceptron":     Recipe(LOSSES["set-perceptron"],     OnlineSgd(),          RelevantSets(), **_SETS, note="B4: footnote 1"),
    "set-perceptron-always": Recipe(LOSSES["set-perceptron-always"], OnlineSgd(),       RelevantSets(), **_SETS, note="B4 with the truths outside of the set: every visit moves the weights"),
    "costmargin-dense":   Recipe(LOSSES["costmargin"],         OnlineSgd(rate=1e-5), _DENSE,         **_SETS, note="B2: Tables VI and VII"),
    "perceptron-dense":   Recipe(LOSSES["set-perceptron"],     OnlineSgd(rate=1e-5), _DENSE,         **_SETS, note="B3: Table III"),
    "regression":         Recipe(LOSSES["regression"],         OnlineSgd(),          RelevantSets(), **_SETS, note="B8: the simpler idea that the paper rejects"),
}  # fmt: skip


AUTO = "auto"  # the name of the default: rampion/training/automatic.py


def recipe_named(name: str, form: Form | None = None, **settings: Any) -> Recipe:
    """The row of the table with some settings changed; raise RecipeError if it is not of the given form."""
    if name not in RECIPES:
        known = recipes_of(form)
        raise RecipeError(f"no recipe {name!r}; there are {', '.join(known)}{meant(name, known)}")
    return of_form(RECIPES[name].set(**settings), form, name)


def of_form(recipe: Recipe, form: Form | None, name: str = "this recipe") -> Recipe:
    """The recipe; raise RecipeError if it learns from candidates of another form."""
    if form and (found := recipe.policy.form) != form:
        raise RecipeError(
            f"{name} learns from {NOUNS[found]}, as {COMMANDS[found]} does; recipes that learn from {NOUNS[form]} are "
            f"{', '.join(recipes_of(form))}"
        )
    return recipe


def recipes_of(form: Form | None = None) -> dict[str, Recipe]:
    """The rows of the table that learn from lists, or from relevant sets."""
    return {name: recipe for name, recipe in RECIPES.items() if form in (None, recipe.policy.form)}


def looped(recipe: Recipe) -> Recipe:
    """The recipe for a loop with a decoder: PRO does one round a decoding (S6), and fixed lists need one decoding."""
    if isinstance(recipe.solver, Pro):
        recipe = recipe.set(rounds=1)
    return replace(recipe, iterations=1) if isinstance(recipe.policy, Fixed) else recipe


def described(recipe: Recipe) -> dict[str, str]:
    """A row in words: what it raises and lowers, how it moves, which candidates it keeps, and the paper to cite."""
    loss, policy = recipe.loss, recipe.policy
    up, down = map(_side, (loss.up, loss.down)) if isinstance(loss, Contrast) else ("", type(loss).__name__)
    if isinstance(policy, RelevantSets):
        rule = cast("Ranking | Regression", loss)
        down = rule.formula
        up = ("each truth" if rule.packed.every else "truth" if policy.truths else "best") if rule.packed.sense else ""
    return {
        "up": up,
        "down": down,
        "solver": _part(recipe.solver),
        "policy": _part(recipe.policy),
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
