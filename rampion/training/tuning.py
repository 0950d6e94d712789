"""The two calls that learn weights: `tune` from lists, and `train` with a decoder that makes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

from rampion.errors import InputError, RecipeError
from rampion.executors import Coordinator
from rampion.formats.files import FilePath
from rampion.losses.expectation import Expectation
from rampion.metrics.judging import Judge
from rampion.protocols import Decoder
from rampion.store.features import Weights
from rampion.store.text import Texts
from rampion.training import loop
from rampion.training.inputs import GivenReferences, Lists, judge
from rampion.training.loop import ListJournal, Record, ignore
from rampion.training.recipes import AUTO, METRIC, Recipe, looped, of_form, recipe_named, recipes_of
from rampion.training.task import Task
from rampion.training.tuned import Tuned


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
    bends: bool = False,
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
        simple choice that clearly beats it, such as the best single feature. It is the default. Settings and shards
        are for one recipe; with them the default is "rampion".
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
    bends : bool
        Whether to add the places that features give candidates in their lists, and products of two, with which the
        weights can bend. The default uses them if they surely serve better.
    folder : str, optional
        Holds the working form of lists that are larger than memory.
    shards : int, optional
        The number of parts in which to compute an expectation loss.
    executor : str or Coordinator, optional
        What computes the shards: "local", "dask,workers=2", or the address of a Dask scheduler.
    room : str or path, optional
        The folder that the executor's workers share, from which an interrupted run is resumed. By default a temporary
        one.
    **settings
        Settings of the recipe to change, such as rate=1e-3.

    Returns
    -------
    Tuned
        The weights and their scores.

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
        folder=folder, groups=groups, bends=bends,
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


def refuse_with_auto(settings: Collection[str], shards: int | None, shared: bool) -> None:
    """Raise RecipeError on settings and shards, which are for one recipe, while the default tries several."""
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
        Stores the iterations, so that an interrupted run can be resumed; by default in memory.
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
    if not hasattr(decoder, "decode"):
        raise InputError(f"the decoder is a {type(decoder).__name__}; give an object with decode(segments, weights, k)")
    if isinstance(segments, str | bytes | PathLike) or not isinstance(segments, Sequence):
        raise InputError(f"segments are {_what(segments)}; give a list of strings")
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


def _what(given: object) -> str:
    return f"the string {str(given)[:60]!r}" if isinstance(given, str | PathLike) else f"a {type(given).__name__}"


def _judge_of_decoded(segments: Sequence[str], references: GivenReferences | None, recipe: Recipe) -> Judge:
    names = references if isinstance(references, Mapping) else map(str, range(len(segments)))
    return judge(Texts.from_strings(names), references, recipe.metric, recipe.alpha)
