"""Tune and rerank in a call each: what the command line and the examples use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Reals
from rampion.errors import InputError, RecipeError, TuningError
from rampion.executors import Coordinator
from rampion.formats import weights as weights_format
from rampion.formats.files import FilePath
from rampion.losses.contrast import MODEL
from rampion.losses.expectation import Expectation
from rampion.metrics import Metric, reads_columns
from rampion.metrics import metric as named
from rampion.metrics.base import decimals
from rampion.metrics.judging import Batch, Forms, Judge, Stakes, totals, unjudged
from rampion.protocols import Decoder, ListPolicy
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.text import References, Texts
from rampion.store.units import Units, spread
from rampion.training import loop
from rampion.training.loop import Held, ListJournal, Record, Round, Standing, absorbed, ignore, learn, standing
from rampion.training.policies import Fixed, Merge, Replace, Window
from rampion.training.recipes import AUTO, METRIC, Recipe, looped, of_form, options, recipe_named, recipes_of
from rampion.training.sharded import sharded
from rampion.training.validation import (
    FOLDS,
    Baselines,
    Figures,
    Ground,
    Parts,
    Validation,
    baselines,
    elsewhere,
    figures,
    validated,
)

Lists = Candidates | Sequence[Candidates]
GivenReferences = References | Iterable[Sequence[str]] | Mapping[str, str | Sequence[str]]


class HeldOut(NamedTuple):
    """Where the initial, the chosen and the last weights stand on held-out lists."""

    before: Standing
    after: Standing
    last: Standing


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuned:
    """What tuning found: weights, the way to them, and where they stand on the lists.

    Parameters
    ----------
    weights : Weights
        The result.
    last_weights : Weights
        The weights of the last round; with keep="dev" they need not be the result.
    recipe : Recipe
        The recipe that found them.
    rounds : list of Round
        Loss and score after every round.
    round : int or None
        The round that the held-out lists chose, if they chose one.
    before, after, last : Standing
        The score of the lists as listed, as chosen by the initial, resulting and last weights, and the best and worst
        possible.
    dev : HeldOut or None
        The same for held-out lists.
    metric : str
        The name of the metric.
    signature : str
        How scores came about, as sacrebleu writes it.
    shrunk : float
        The length of the weights as a share of that of the initial ones; 1 if those were 0.
    choice : str
        What the default has chosen: a recipe with its strength of L2, or a simple choice that nothing surely beats.
    held : Figures or None
        What the weights are worth on lists that they were not learnt from, beside choices that need no learning.

    Examples
    --------
    >>> tuned = rampion.tune(lists, references, recipe="risk", metric="chrf")
    >>> tuned
    Tuned(chrF2 26.56 -> 100.00, oracle 100.00; Weights({'LM': ...}))
    >>> tuned.weights["TM"] > tuned.weights["LM"]
    True
    """

    weights: Weights
    last_weights: Weights
    recipe: Recipe
    rounds: list[Round]
    round: int | None
    before: Standing
    after: Standing
    last: Standing
    dev: HeldOut | None
    metric: str
    signature: str
    shrunk: float
    choice: str = ""
    held: Figures | None = None

    def __repr__(self) -> str:
        d = decimals([self.before.chosen, self.after.chosen, self.after.oracle])
        held = f", held out {self.dev.before.chosen:.{d}f} -> {self.dev.after.chosen:.{d}f}" if self.dev else ""
        scores = f"{self.metric} {self.before.chosen:.{d}f} -> {self.after.chosen:.{d}f}"
        scores += f", oracle {self.after.oracle:.{d}f}"
        return f"Tuned({scores}{held}; {self.weights!r})"

    def summary(self) -> str:
        """Where the weights stand, as a table to print.

        Returns
        -------
        str
            A line for every choice of candidates, a column for the lists and one for held-out lists.

        Examples
        --------
        >>> print(rampion.tune(lists, references, recipe="risk", metric="chrf").summary())
        chrF2              tuned on
        as listed             26.56
        initial weights       26.56
        tuned weights        100.00
        best in the lists    100.00
        """
        stands = [(self.before, self.after)] + ([(self.dev.before, self.dev.after)] if self.dev else [])
        heads = ["tuned on", "held out"][: len(stands)]
        rows = [
            ("as listed", [after.listed for _, after in stands]),
            ("initial weights", [before.chosen for before, _ in stands]),
            ("tuned weights", [after.chosen for _, after in stands]),
            ("best in the lists", [after.oracle for _, after in stands]),
        ]
        d = decimals(score for _, scores in rows for score in scores)
        lines = [f"{self.metric:17}" + "".join(f"{head:>10}" for head in heads)]
        lines += [f"{name:17}" + "".join(f"{score:10.{d}f}" for score in scores) for name, scores in rows]
        return "\n".join(lines)

    def save(self, path: FilePath) -> None:
        """Write the weights to a file.

        Parameters
        ----------
        path : str or path
            Where to write; a name in .bin asks for the binary form.

        Examples
        --------
        >>> rampion.tune(lists, references, recipe="risk", metric="chrf").save("tuned.weights")
        >>> list(rampion.load_weights("tuned.weights"))
        ['LM', 'TM', 'Cat']
        """
        weights_format.write(path, self.weights)


def policy_named(name: str) -> ListPolicy:
    """replace, merge, fixed, or window:N."""
    kind, _, size = name.partition(":")
    if kind == "window" and size.isdigit():
        return Window(int(size))
    policies: dict[str, ListPolicy] = {"replace": Replace(), "merge": Merge(), "fixed": Fixed()}
    if name not in policies:
        raise RecipeError(f"no policy {name!r}; there are {', '.join(policies)} and window:N")
    return policies[name]


def judge(
    lists: Candidates | Texts,
    references: GivenReferences | None,
    metric: str | Metric,
    alpha: float = 10.0,
    *,
    listed: bool = False,
) -> Judge:
    """The judge of these lists or segments; a metric column needs no references."""
    segments = lists.segments if isinstance(lists, Candidates) else lists
    if isinstance(metric, str):
        metric = named(metric)
    if references is None and not reads_columns(metric):
        columns = lists.metrics if isinstance(lists, Candidates) else {}
        known = f" (there are {', '.join(columns)})" if columns else ""
        raise InputError(
            f"{metric.name} needs references; give a list of strings for every segment, or choose a metric column of "
            f"the lists{known}: metric='metric:NAME'"
        )
    return Judge(metric, references_for(segments, references), segments, alpha, listed)


def references_for(segments: Texts, references: GivenReferences | None) -> References:
    """The references in the order of the segments; without any, one empty reference a segment."""
    if references is None:
        return References(Texts.from_strings([""] * len(segments)), np.arange(len(segments) + 1))
    if isinstance(references, References):
        return references
    if not isinstance(references, Mapping):
        return References.from_lists(references)
    for identity in segments:
        if identity not in references:
            raise InputError(f"segment {identity} of the lists has no references; give references for every segment")
    found = (references[identity] for identity in segments)
    return References.from_lists([one] if isinstance(one, str) else one for one in found)


def runs_of(lists: Lists) -> list[Candidates]:
    """The lists of every decoding iteration; anything else than lists is refused."""
    if isinstance(lists, Candidates):
        return [lists]
    if isinstance(lists, str | bytes | PathLike):
        raise InputError(f"lists are the name {str(lists)[:60]!r}; read the file by rampion.load_nbest")
    runs = list(lists) if isinstance(lists, Iterable) else [lists]
    for run in runs:
        if not isinstance(run, Candidates):
            raise InputError(
                f"lists are a {type(lists).__name__} with a {type(run).__name__} in it; make Candidates of it by "
                "rampion.Candidates.from_records or from_frame"
            )
    return runs


def segments_of(runs: Sequence[Candidates]) -> Texts:
    """The segments of all runs in order of first appearance."""
    if all(run.segments == runs[0].segments for run in runs):
        return runs[0].segments
    return Texts.from_strings(dict.fromkeys(name for run in runs for name in run.segments))


def tune(
    lists: Lists,
    references: GivenReferences | None = None,
    *,
    recipe: str | Recipe | None = None,
    start: Weights | Mapping[str, float] | None = None,
    metric: str | None = None,
    policy: str | None = None,
    record: Record = ignore,
    lenient: bool = False,
    dev: Lists | None = None,
    dev_references: GivenReferences | None = None,
    folds: int | None = None,
    groups: Sequence[str] | None = None,
    folder: str | None = None,
    shards: int | None = None,
    executor: str | Coordinator | None = None,
    room: FilePath | None = None,
    **settings: Any,
) -> Tuned:
    """Tune weights on lists.

    Parameters
    ----------
    lists : Candidates or sequence of Candidates
        The lists, or those of successive decoding iterations, which the policy merges.
    references : References, iterable of list of str, or dict, optional
        The references of every segment: in order of first appearance, or by the segment's id. A metric column needs
        none.
    recipe : str or Recipe, optional
        A row of `RECIPES` or its name. "auto" tries a few of them on folds of the lists, and keeps the best, or a
        simple choice that surely beats it, such as the best single feature. It is the default; with settings or
        shards, which are for one recipe, the default is "rampion".
    start : Weights or mapping of str to float, optional
        The initial weights; all 0 by default.
    metric : str, optional
        The metric to tune towards, such as "bleu:13a" or "metric:is_correct"; by default the recipe's.
    policy : str, optional
        What to learn from when there are several lists: "merge" (the default), "replace", "fixed" or "window:N".
    record : callable
        It is called after every round, with a `Round` and the weights.
    lenient : bool
        Whether `start` and the lists may differ in dense features.
    dev : Candidates or sequence of Candidates, optional
        Held-out lists. They are scored after every round, and choose the round if the recipe has keep="dev".
    dev_references : References, iterable of list of str, or dict, optional
        Their references.
    folds : int, optional
        In how many folds to hold out lists in turn, for the figures `held` of the result; 0: none. By default 5 with
        recipe="auto", which needs them anyway, and none with another. Held-out lists take the place of folds.
    groups : sequence of str, optional
        A name for every segment; segments of one name stay in one fold. By default each is a group of its own.
    folder : str, optional
        Holds the working form of lists that are larger than memory.
    shards : int, optional
        The number of parts in which to compute an expectation loss.
    executor : str or Coordinator, optional
        Who computes the shards: "local", "dask,workers=2", or the address of a Dask scheduler.
    room : str or path, optional
        The folder that the executor's workers share, from which a run that was stopped goes on. By default a
        temporary one.
    **settings
        Settings of the recipe to change, such as rate=1e-3.

    Returns
    -------
    Tuned
        The weights, and where they stand.

    Raises
    ------
    InputError
        If lists and references do not fit together, or are something else.
    RecipeError
        If there is no such recipe, metric or setting.
    TuningError
        If training ended with weights that are of no use.

    Examples
    --------
    >>> tuned = rampion.tune(lists, references, recipe="risk", metric="chrf", start={"LM": 1.0, "TM": 0.0})
    >>> tuned.before.chosen < tuned.after.chosen
    True
    >>> rampion.tune("dev.nbest")
    Traceback (most recent call last):
    rampion.errors.InputError: lists are the name 'dev.nbest'; read the file by rampion.load_nbest
    """
    task = partial(
        Task, lists, references, start=start, policy=policy, lenient=lenient, dev=dev, dev_references=dev_references,
        folder=folder, groups=groups,
    )  # fmt: skip
    if recipe is None:
        recipe = "rampion" if settings or shards is not None or executor is not None else AUTO
    if recipe == AUTO:
        refuse_with_auto(settings, shards, executor is not None)
        return task().choose(metric or METRIC, record, folds)
    chosen = recipe_named(recipe, "lists") if isinstance(recipe, str) else of_form(recipe, "lists")
    chosen = chosen.set(**({"metric": metric} if metric else {}), **settings)
    refuse_shards(chosen, shards, executor is not None)
    ready = task()
    tuned = ready.tune(chosen, record, shards=shards, executor=executor, room=room)
    return ready.proven(tuned, folds or 0) if folds or (dev is not None and folds is None) else tuned


class Task:
    """Lists with references that any number of recipes tune on: merged once, judged once by each metric."""

    def __init__(
        self,
        lists: Lists,
        references: GivenReferences | None = None,
        *,
        start: Weights | Mapping[str, float] | None = None,
        policy: str | None = None,
        lenient: bool = False,
        dev: Lists | None = None,
        dev_references: GivenReferences | None = None,
        folder: str | None = None,
        groups: Sequence[str] | None = None,
    ) -> None:
        """The arguments are those of `tune`."""
        runs = runs_of(lists)
        kept = absorbed(policy_named(policy or "merge"), runs)
        if not len(kept.features):
            raise InputError(
                "the lists have no features to weigh; make some of their texts by rampion features, or of columns by "
                "--columns indicators=NAME"
            )
        if start is None:
            start = Weights(kept.features, np.zeros(len(kept.features)))
        elif not isinstance(start, Weights):
            start = Weights.from_dict(start)
        self.start = Weights(kept.features, start.onto(kept.features, lenient=lenient))
        self.lists = _Judged(kept, segments_of(runs), references, folder)
        self.groups, self._known = groups, dict[tuple[str, int, bool], Baselines]()
        self.dev = None
        if dev is not None:
            others = dev if isinstance(dev, Candidates) else absorbed(Merge(), runs_of(dev))
            self.start.onto(others.features, lenient=lenient)
            self.dev = _Judged(others, others.segments, dev_references, None)

    def batch(self, recipe: Recipe) -> Batch:
        """The lists as a recipe's metric judges them."""
        return self.lists.batch(recipe.metric, recipe.alpha, listed=recipe.base == "listed")

    def choose(self, metric: str, record: Record = ignore, folds: int | None = None) -> Tuned:
        """Tune by the recipe that serves best on lists held out, or keep a simple choice that surely beats it."""
        batch = self.lists.batch(metric, 1.0)
        able = options(metric, spread(batch.stakes.costs, batch.stakes.bounds))
        base = self._baselines(metric, folds or FOLDS)
        if base.ground.parts.folds < 2:
            label, recipe = next(iter(able.items()))
            return self.proven(replace(self.tune(recipe, record), choice=label))
        validation = self._validation(base, able)
        tuned = replace(self.tune(able[validation.learnt], record), choice=validation.answer)
        if validation.answer not in able:
            tuned = self._settled(tuned, validation.weights(self.start))
        return self.proven(tuned) if self.dev else replace(tuned, held=validation.figures())

    def _settled(self, tuned: Tuned, weights: Weights) -> Tuned:
        """With the weights of a simple choice instead of the learnt ones, which stay as the last ones."""
        batch, dev = self.lists.batch(tuned.recipe.metric), tuned.dev
        if self.dev and dev:
            held = Held.out(self.dev.batch(tuned.recipe.metric), batch.candidates.features)
            dev = dev._replace(after=held.standing(weights.vector))
        return replace(tuned, weights=weights, after=standing(batch, weights.vector), dev=dev, shrunk=1.0)

    def proven(self, tuned: Tuned, folds: int = 0) -> Tuned:
        """With figures on the held-out lists, or without any on so many folds of the lists."""
        recipe, listed = tuned.recipe, tuned.recipe.base == "listed"
        base = self._baselines(recipe.metric, folds, listed=listed)
        if self.dev:
            held = Held.out(self.dev.batch(recipe.metric, listed=listed), base.ground.batch.candidates.features)
            there = self._there(recipe.metric, base, held, listed)
            picks = MODEL.picks(held.batch.stakes, held.batch.scores(held.onto(tuned.weights.vector)))
            return replace(tuned, held=figures(there, picks, f"{len(there.ground.filled)} lists of their own"))
        if base.ground.parts.folds < 2:
            return tuned
        return replace(tuned, held=self._validation(base, {"": recipe}).figures())

    def _baselines(self, metric: str, folds: int, *, listed: bool = False) -> Baselines:
        """Made once, whichever recipe asks first."""
        key = metric, folds, listed
        if key not in self._known:
            batch = self.lists.batch(metric, listed=listed)
            parts = Parts.of(batch.candidates.segments, folds, self.groups)
            self._known[key] = baselines(Ground(batch, parts), self.start)
        return self._known[key]

    def _there(self, metric: str, base: Baselines, held: Held, listed: bool) -> Baselines:
        """Those on the held-out lists."""
        key = metric, -1, listed
        if key not in self._known:
            self._known[key] = elsewhere(base, held.batch, held, self.start)
        return self._known[key]

    def _validation(self, base: Baselines, recipes: Mapping[str, Recipe]) -> Validation:
        views = {name: self._view(recipe, base.ground.batch, None) for name, recipe in recipes.items()}
        seen = next(iter(views.values())).batch
        learners = {name: partial(_learnt, view, self.start, recipes[name].alpha) for name, view in views.items()}
        return validated(base, seen, learners)

    def tune(
        self,
        recipe: Recipe,
        record: Record = ignore,
        *,
        shards: int | None = None,
        executor: str | Coordinator | None = None,
        room: FilePath | None = None,
    ) -> Tuned:
        """Tune weights by a recipe; the arguments are those of `tune`."""
        start = self.start
        if recipe.base == "listed" and start.vector.any():
            raise RecipeError(
                "base='listed' adds to the decoder's own totals, and to initial weights too: leave one out"
            )
        batch, held = self.batch(recipe), None
        if self.dev:
            judged = self.dev.batch(recipe.metric, listed=recipe.base == "listed")
            held = Held.out(judged, batch.candidates.features)
        refuse_equal(batch)
        choice = _Choice(batch.metric.higher_is_better, record)
        before = standing(batch, start.vector)
        with ExitStack() as stack:
            view = self._view(recipe, batch, held)
            if shards and shards > 1:
                view = view._replace(batch=stack.enter_context(sharded(view.batch, shards, executor or "local", room)))
            last = view.learn(start, choice)
        weights = choice.best if recipe.keep == "dev" and choice.best is not None else last
        vectors = [at.vector for at in (start, weights, last)]
        length = float(np.linalg.norm(start.vector))
        return Tuned(
            weights,
            last,
            recipe,
            choice.rounds,
            None if weights is last else choice.best_round,
            before,
            standing(batch, weights.vector),
            standing(batch, last.vector),
            HeldOut(*map(held.standing, vectors)) if held else None,
            batch.metric.name,
            batch.metric.signature(references_for(self.lists.segments, self.lists.references)),
            float(np.linalg.norm(weights.vector)) / length if length else 1.0,
        )

    def _view(self, recipe: Recipe, batch: Batch, held: Held | None) -> _View:
        """What the recipe sees: the lists as they are, or in units."""
        if recipe.scale == "none":
            return _View(recipe, batch, held, None)
        units = self.lists.units
        if held and self.dev:
            held = Held.out(self.dev.in_units(held.batch, units), batch.candidates.features)
        return _View(recipe.stepwise, self.lists.in_units(batch, units), held, units)


def _learnt(view: _View, start: Weights, alpha: float, batch: Batch) -> Reals:
    """What a recipe learns from some of the lists, as it sees them; where it learns nothing, the initial weights."""
    inside = start if view.units is None else Weights(start.features, view.units.inward(start.vector))
    priced = replace(batch, stakes=batch.priced(alpha))
    try:
        return learn(view.recipe, priced, inside, inside, ignore).vector
    except TuningError:
        return inside.vector


class _View(NamedTuple):
    """What a recipe sees of the lists, and how weights go there and back."""

    recipe: Recipe
    batch: Batch
    held: Held | None
    units: Units | None

    def learn(self, start: Weights, record: Record) -> Weights:
        """The weights of raw features that the recipe learns."""
        if self.units is None:
            return learn(self.recipe, self.batch, start, start, record, held=self.held)
        units, features = self.units, start.features

        def tell(row: Round, weights: Weights) -> None:
            record(row, Weights(features, units.outward(weights.vector)))

        inside = Weights(features, units.inward(start.vector))
        found = learn(self.recipe, self.batch, inside, inside, tell, held=self.held)
        return Weights(features, units.outward(found.vector))


class _Judged:
    """Lists, and what each metric that was asked for says of them."""

    def __init__(
        self,
        lists: Candidates,
        segments: Texts,
        references: GivenReferences | None,
        folder: str | None,
    ) -> None:
        self.lists, self.segments = lists, segments
        self.references = None if references is None else references_for(segments, references)
        self.forms, self.forms_in_units = Forms(folder), Forms(folder)
        self._in_units: tuple[Units, Candidates] | None = None
        self._batches: dict[str, Batch] = {}
        self._stakes: dict[tuple[str, float], Stakes] = {}

    def batch(self, metric: str, alpha: float = 10.0, *, listed: bool = False) -> Batch:
        """The statistics are made once a metric, the costs once a metric and alpha."""
        if metric not in self._batches:
            judged = judge(self.segments, self.references, metric, alpha).batch(self.lists)
            self._batches[metric] = replace(judged, forms=self.forms)
            self._stakes[metric, alpha] = judged.stakes
        batch = self._batches[metric]
        if (metric, alpha) not in self._stakes:
            self._stakes[metric, alpha] = batch.priced(alpha)
        offset = totals(self.lists) if listed else None
        return replace(batch, stakes=self._stakes[metric, alpha], offset=offset)

    @cached_property
    def units(self) -> Units:
        return Units.of(self.lists)

    def in_units(self, batch: Batch, units: Units) -> Batch:
        """These lists as a metric judged them, with features in units; they are made once."""
        if self._in_units is None or self._in_units[0] is not units:
            self._in_units = units, units.applied(self.lists)
        return replace(batch, candidates=self._in_units[1], forms=self.forms_in_units)


def refuse_equal(batch: Batch) -> None:
    """Raise TuningError if no list has candidates of different costs."""
    if not spread(batch.stakes.costs, batch.stakes.bounds):
        raise TuningError(
            f"in each list all candidates have the same {batch.metric.name}, so there is nothing to learn from; give "
            "lists in which some candidates are better than others (rampion inspect)"
        )


def refuse_with_auto(settings: Collection[str], shards: int | None, shared: bool) -> None:
    """Raise RecipeError on what is for one recipe, where the default chooses among several."""
    for name in settings:
        raise RecipeError(f"the setting {name!r} is for one recipe, and the default tries several: name a recipe too")
    if shards is not None or shared:
        raise RecipeError("shards are for one recipe, and the default tries several: name a recipe too")


def refuse_shards(recipe: Recipe, shards: int | None, shared: bool) -> None:
    """Raise RecipeError if the recipe cannot be learnt by so many shards, or an executor has nothing to do."""
    if shards is not None and shards < 1:
        raise RecipeError(f"shards is {shards}; expected 1 or more")
    if shards is None or shards == 1:
        if shared:
            raise RecipeError("an executor takes shards of the lists; cut them into 2 or more (shards)")
    elif not isinstance(recipe.loss, Expectation):
        able = ", ".join(name for name, row in recipes_of().items() if isinstance(row.loss, Expectation))
        raise RecipeError(f"this recipe cannot learn by shards; {able} can")


@dataclass(slots=True)
class _Choice:
    """Collects the rounds, and the first weights that no others beat on the held-out lists."""

    higher_is_better: bool
    record: Record
    rounds: list[Round] = field(default_factory=list)
    best: Weights | None = None
    best_round: int = 0

    def __call__(self, row: Round, weights: Weights) -> None:
        self.rounds.append(row)
        self.record(row, weights)
        if row.dev is None:
            return
        before = self.rounds[self.best_round - 1].dev if self.best_round else None
        if before is None or (row.dev > before if self.higher_is_better else row.dev < before):
            self.best, self.best_round = weights, len(self.rounds)


def train(
    decoder: Decoder,
    segments: Sequence[str],
    references: GivenReferences | None = None,
    *,
    start: Weights | Mapping[str, float],
    recipe: str | Recipe = "rampion",
    metric: str | None = None,
    dev: Sequence[str] | None = None,
    dev_references: GivenReferences | None = None,
    record: Record = ignore,
    journal: ListJournal | None = None,
    lenient: bool = False,
    **settings: Any,
) -> Weights:
    """Decode, learn, and decode again (S4).

    Parameters
    ----------
    decoder : Decoder
        What lists candidates: an object with a method decode(segments, weights, k).
    segments : sequence of str
        What to decode.
    references : References, iterable of list of str, or dict, optional
        The references of every segment: in order, if the decoder numbers segments from 0, or by the names that the
        decoder gives to them. A metric column needs none.
    start : Weights or mapping of str to float
        The weights to begin with.
    recipe : str or Recipe
        A row of `RECIPES`, or its name, with which PRO does one round and expected BLEU one decoding.
    metric : str, optional
        The metric to tune towards; by default the recipe's.
    dev : sequence of str, optional
        Held-out text, which is decoded after every iteration; it chooses the iteration if the recipe has keep="dev".
    dev_references : References, iterable of list of str, or dict, optional
        Its references.
    record : callable
        It is called after every round of learning, with a `Round` and the weights.
    journal : ListJournal, optional
        Keeps the iterations, so that a run that was stopped can go on; by default in memory.
    lenient : bool
        Whether `start` and the lists may differ in dense features.
    **settings
        Settings of the recipe to change, such as iterations=5.

    Returns
    -------
    Weights
        The last weights, or those that are best on `dev`.

    Raises
    ------
    InputError
        If segments and references do not fit together, or are something else.
    RecipeError
        If the recipe is not for a decoder.
    TuningError
        If training ended with weights that are of no use.

    Examples
    --------
    >>> from rampion.training.decoders import Function
    >>> def translate(segment, weights, k):
    ...     for text, features in [("ein Haus", {"LM": -3.0}), ("das Haus", {"LM": -2.0})]:
    ...         yield text, features
    >>> weights = rampion.train(Function(translate), ["the house"], [["das Haus"]], start={"LM": -1.0}, iterations=3)
    >>> weights["LM"] > -1
    True
    """
    if isinstance(segments, str | bytes | PathLike):
        raise InputError(f"segments are the string {str(segments)[:60]!r}; give a list of strings")
    chosen = looped(recipe_named(recipe, "lists")) if isinstance(recipe, str) else of_form(recipe, "lists")
    chosen = chosen.set(**({"metric": metric} if metric else {}), **settings)
    weights = start if isinstance(start, Weights) else Weights.from_dict(start)
    held = None
    if dev is not None:
        held = loop.Judged(Texts.from_strings(dev), _judge_of_decoded(dev, dev_references, chosen))
    arbiter = _judge_of_decoded(segments, references, chosen)
    return loop.train(
        chosen, decoder, Texts.from_strings(segments), arbiter, weights, record,
        dev=held, journal=journal, lenient=lenient,
    )  # fmt: skip


def _judge_of_decoded(segments: Sequence[str], references: GivenReferences | None, recipe: Recipe) -> Judge:
    names = references if isinstance(references, Mapping) else map(str, range(len(segments)))
    return judge(Texts.from_strings(names), references, recipe.metric, recipe.alpha)


def pick(lists: Candidates, weights: Weights, *, lenient: bool = False, listed: bool = False) -> NDArray[np.int64]:
    """The best candidate of every segment by the weights; the first of equals.

    Parameters
    ----------
    lists : Candidates
        The lists to choose from.
    weights : Weights
        What to choose by.
    lenient : bool
        Whether weights and lists may differ in dense features.
    listed : bool
        Whether to add the scores that came with the candidates, for weights tuned with base="listed".

    Returns
    -------
    numpy.ndarray of int64
        The places of the candidates among all candidates, one for every segment that has some.

    Raises
    ------
    InputError
        If only one side has a dense feature, unless lenient.

    Examples
    --------
    >>> weights = rampion.Weights.from_dict({"LM": 0.0, "TM": 1.0})
    >>> rampion.pick(lists, weights).tolist(), list(lists.texts[rampion.pick(lists, weights)])
    ([1, 3], ['the cat sat', 'a dog'])
    """
    return MODEL.picks(unjudged(lists), scores_of(lists, weights, lenient=lenient, listed=listed))


def scores_of(lists: Candidates, weights: Weights, *, lenient: bool = False, listed: bool = False) -> Reals:
    """The score of every candidate; `listed` adds the decoder's own (weights tuned on base="listed")."""
    scores = lists.score(weights.onto(lists.features, lenient=lenient))
    return scores + totals(lists) if listed else scores


def rerank(lists: Candidates, weights: Weights, *, lenient: bool = False, listed: bool = False) -> Candidates:
    """The same lists sorted by the weights, best first, with the new scores.

    Parameters
    ----------
    lists : Candidates
        The lists to sort.
    weights : Weights
        What to sort by.
    lenient : bool
        Whether weights and lists may differ in dense features.
    listed : bool
        Whether to add the scores that came with the candidates, for weights tuned with base="listed".

    Returns
    -------
    Candidates
        The sorted lists.

    Raises
    ------
    InputError
        If only one side has a dense feature, unless lenient.

    Examples
    --------
    >>> rampion.rerank(lists, rampion.Weights.from_dict({"LM": 0.0, "TM": 1.0}))[0].texts
    ['the cat sat', 'a cat sits']
    """
    return lists.sorted_by(scores_of(lists, weights, lenient=lenient, listed=listed))
