"""Features that are computed from the lists alone: from their texts, their sources and their other features.

The name of a feature is its definition: `consensus:chrf`, `length`, `LM*TM`, `LM>-3.5`. So the features of a file of
weights can be computed for other lists, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rampion.arrays import Reals, span_of_each
from rampion.errors import InputError, meant
from rampion.features import words
from rampion.metrics import metric
from rampion.metrics.consensus import consensus, posteriors, votes
from rampion.store.bends import PLACE, bends, places
from rampion.store.candidates import Candidates
from rampion.store.text import Texts

if TYPE_CHECKING:
    from rampion.decoder.models.lm import Lm

Columns = dict[str, Reals]


def add_features(
    lists: Candidates,
    names: str | Sequence[str],
    *,
    source: Sequence[str] | None = None,
    lm: Lm | str | PathLike[str] | None = None,
    answer: str | None = None,
    lenient: bool = False,
) -> Candidates:
    """Add features that are computed from the lists alone.

    Parameters
    ----------
    lists : Candidates
        The lists.
    names : str or sequence of str
        What to add, by name. A product may name features that stand before it.
    source : sequence of str, optional
        The source or prompt of every segment, which `ratio` and `copied` need; by default what the lists hold.
    lm : Lm, str or path, optional
        The language model of `lm`, or its file: ARPA or binary.
    answer : str, optional
        A regular expression that finds the answer in a text, for `vote`: its last match counts, the first group of it
        if it has groups. By default the whole text is the answer.
    lenient : bool
        Whether to leave out what the lists have already or what is no such feature, instead of raising.

    Returns
    -------
    Candidates
        The lists with these features too.

    Raises
    ------
    InputError
        If there is no such feature, if it needs what was not given, or if the lists have it.

    Examples
    --------
    >>> more = rampion.add_features(lists, ["consensus:wer", "length", "LM*TM"])
    >>> more[1][0].features
    {'LM': -0.5, 'TM': -1.0, 'consensus:wer': 0.75, 'length': 2.0, 'LM*TM': 0.5}
    """
    given = Given(lists, _sources(lists, source), _model(lm), _pattern(answer))
    known = set(lists.features.names)
    for name in [names] if isinstance(names, str) else names:
        if lenient and (name in known or not is_made(name)):
            continue
        for made, column in _made(given, name).items():
            if made in known or made in given.columns:
                raise InputError(f"the lists have a feature {made!r} already; leave it out")
            given.columns[made] = column
    return lists.with_features(given.columns)


def column_of(lists: Candidates, name: str) -> Reals:
    """The values of a feature that the lists have, or that can be made without sources or models.

    Examples
    --------
    >>> from rampion.features import column_of
    >>> column_of(lists, "LM").tolist(), column_of(lists, "length*LM").tolist()
    ([-1.0, -1.5, -0.5, -1.0], [-3.0, -4.5, -1.0, -2.0])
    """
    return Given(lists, _sources(lists, None), None, None).column(name)


def is_made(name: str) -> bool:
    """Whether this is the name of a feature that can be made."""
    return bool(_OF_TEXT.fullmatch(name) or _THRESHOLD.fullmatch(name) or _BINS.fullmatch(name) or "*" in name[1:-1])


@dataclass(frozen=True, slots=True)
class Given:
    """What features are computed from; `columns` holds the features computed so far."""

    lists: Candidates
    source: list[str] | None
    lm: Lm | None
    answer: re.Pattern[str] | None
    columns: Columns = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether the lists have this feature, or it can be computed."""
        return name in self.columns or name in self.lists.features.ids or is_made(name)

    def column(self, name: str) -> Reals:
        """The values of a feature of the lists, a new feature, or one that is computed for this use only."""
        if name in self.columns:
            return self.columns[name]
        if name not in self.lists.features.ids:
            if is_made(name) and len(made := _made(self, name)) == 1:
                return next(iter(made.values()))
            near = get_close_matches(name, [*self.columns, *self.lists.features.names, *MAKERS], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"the lists have no feature {name!r}{hint}")
        weights = np.zeros(len(self.lists.features))
        weights[self.lists.features.ids[name]] = 1.0
        return self.lists.score(weights)

    def weights(self, name: str) -> Reals | None:
        """A weight for every candidate: a softmax in its list of a feature, or of the scores that it came with."""
        if not name:
            return None
        column = self.lists.scores if name == "score" else self.column(name)
        if not np.isfinite(column).all():
            raise InputError("some candidates have no score to weigh them by; weigh by a feature, or by nothing")
        starts, counts = self.lists.bounds[:-1], np.diff(self.lists.bounds)
        filled = starts[counts > 0]
        tops = np.repeat(np.maximum.reduceat(column, filled), counts[counts > 0]) if len(filled) else column
        return np.exp(column - tops)


class Maker(NamedTuple):
    """How to compute a feature from the lists and the text after the colon."""

    make: Callable[[Given, str, str], Columns]
    help: str


def _consensus(given: Given, option: str, by: str) -> Columns:
    name = f"consensus:{option or 'bleu'}" + (f"@{by}" if by else "")
    return {name: consensus(given.lists, metric(option or "bleu"), given.weights(by))}


def _vote(given: Given, option: str, by: str) -> Columns:
    lists, name = given.lists, f"vote:{option}" if option else "vote" if given.answer is None else "vote:answer"
    if name == "vote":
        answers = words.answers(lists.texts, None)
    elif name == "vote:answer":
        answers = _answers(given)
    elif option in lists.fields:
        answers = [answer or None for answer in lists.fields[option]]
    else:
        raise InputError(
            f"the lists have no field {option!r}; they have: {', '.join(lists.fields) or 'none'} (to keep a column of "
            f"a table: --columns keep={option}){meant(option, lists.fields)}"
        )
    return {name + (f"@{by}" if by else ""): votes(lists, answers, given.weights(by))}


def _answers(given: Given) -> list[str | None]:
    """The answers that the pattern finds; raise InputError if it finds none in any text."""
    if given.answer is None:
        raise InputError("the feature 'vote:answer' needs a pattern that finds the answer in a text; give --answer")
    answers = words.answers(given.lists.texts, given.answer)
    if answers and not any(answers):
        last = given.lists.texts[0][-60:]
        raise InputError(f"no text has an answer by the pattern {given.answer.pattern!r}; the first ends with {last!r}")
    return answers


def _posteriors(given: Given, option: str, by: str) -> Columns:
    order = _order(option, 4)
    found = posteriors(given.lists, order, given.weights(by))
    return {f"posterior:{n}" + (f"@{by}" if by else ""): found[:, n - 1] for n in range(1, order + 1)}


def _posterior(given: Given, option: str, by: str) -> Columns:
    order = _order(option, 1)
    found = posteriors(given.lists, order, given.weights(by))
    return {f"posterior:{order}" + (f"@{by}" if by else ""): found[:, order - 1]}


def _order(option: str, default: int) -> int:
    if option and not (option.isdecimal() and 1 <= int(option) <= 9):
        raise InputError(f"{option!r} is no length of n-grams; expected a number from 1 to 9")
    return int(option or default)


def _rank(given: Given, option: str, by: str) -> Columns:
    return {"rank": (given.lists.rank() + 1).astype(np.float64)}


def _place(given: Given, option: str, by: str) -> Columns:
    if not option:
        raise InputError("the feature 'place' needs a feature whose places to take: place:NAME")
    return {PLACE + option: places(given.column(option), given.lists.bounds)}


def _bends(given: Given, option: str, by: str) -> Columns:
    return bends(given.lists)


def _lm(given: Given, option: str, by: str) -> Columns:
    if given.lm is None:
        raise InputError("the feature 'lm' needs a language model; give its file with --lm")
    return {"lm": given.lm.score(given.lists.texts)}


def _of_texts(name: str, function: Callable[[Texts], Reals]) -> Callable[[Given, str, str], Columns]:
    return lambda given, option, by: {name: function(given.lists.texts)}


def _of_sources(name: str, function: Callable[[Texts, list[str]], Reals]) -> Callable[[Given, str, str], Columns]:
    def make(given: Given, option: str, by: str) -> Columns:
        if given.source is None:
            raise InputError(f"the feature {name!r} needs the sources; give them with --source, a line a segment")
        owner = span_of_each(given.lists.bounds)
        return {name: function(given.lists.texts, [given.source[s] for s in owner.tolist()])}

    return make


def _repeats(given: Given, option: str, by: str) -> Columns:
    order = _order(option, 4)
    return {f"repeats:{order}": words.repeats(given.lists.texts, order)}


MAKERS: dict[str, Maker] = {
    "consensus": Maker(
        _consensus, "expected score against the candidates of the list: consensus:chrf; bleu by default"
    ),
    "vote": Maker(
        _vote, "share of the list with the same answer (--answer), the same field (vote:FIELD), or the same text"
    ),
    "posteriors": Maker(_posteriors, "mean probability in the list of the candidate's n-grams, of orders 1 to 4"),
    "posterior": Maker(_posterior, "the same of one order: posterior:2"),
    "rank": Maker(_rank, "place in the list, from 1"),
    "place": Maker(_place, "place in the list sorted by a feature, from -0.5 to 0.5 for the greatest: place:LM"),
    "bends": Maker(_bends, "the places of all features that differ within lists, and products of two of them"),
    "length": Maker(_of_texts("length", words.lengths), "words"),
    "letters": Maker(_of_texts("letters", words.letters), "characters other than white space"),
    "repeats": Maker(_repeats, "share of n-grams that occurred before in the text: repeats:2; of order 4 by default"),
    "ratio": Maker(_of_sources("ratio", words.ratios), "number of words divided by that of the source (--source)"),
    "copied": Maker(_of_sources("copied", words.copied), "share of words that the source has, too (--source)"),
    "lm": Maker(_lm, "natural log-probability by a language model (--lm)"),
}
OTHERS = {
    "A*B": "the product of two features",
    "A>NUMBER": "1 if a feature is greater than a number, else 0",
    "bins:A,N": "A>NUMBER for the numbers that cut the values of these lists into N equal parts",
}
WEIGHED = "consensus, vote and posteriors weigh candidates by a softmax of the feature after @: consensus:bleu@LM"

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_OF_TEXT = re.compile(rf"({'|'.join(MAKERS)})(?::([^@*>]*))?(?:@([^*>]+))?")
_THRESHOLD = re.compile(rf"(.+)>({_NUMBER})")
_BINS = re.compile(r"bins:(.+),(\d{1,4})")
_WITH_OPTION, _WEIGHED = (
    {"consensus", "vote", "posteriors", "posterior", "repeats", "place"},
    {"consensus", "vote", "posteriors", "posterior"},
)


def _made(given: Given, name: str) -> Columns:
    """The features of this name: usually one, several for bins."""
    if found := _OF_TEXT.fullmatch(name):
        kind, option, by = found[1], found[2] or "", found[3] or ""
        if (option and kind not in _WITH_OPTION) or (by and kind not in _WEIGHED):
            raise InputError(f"the feature {name!r}: {kind} takes nothing after the name; write {kind}")
        return MAKERS[kind].make(given, option, by)
    if found := _BINS.fullmatch(name):
        return _binned(given, found[1], int(found[2]))
    if found := _THRESHOLD.fullmatch(name):
        return {name: (given.column(found[1]) > float(found[2])).astype(np.float64)}
    for place in (at for at, letter in enumerate(name) if letter == "*"):
        first, second = name[:place], name[place + 1 :]
        if given.has(first) and given.has(second):
            return {name: given.column(first) * given.column(second)}
    if "*" in name[1:-1]:
        first, _, second = name.partition("*")
        return {name: given.column(first) * given.column(second)}
    near = get_close_matches(name.partition(":")[0], MAKERS, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join([*MAKERS, *OTHERS])}"
    raise InputError(f"no feature {name!r} can be made; {hint}")


def _binned(given: Given, name: str, parts: int) -> Columns:
    """Whether a feature exceeds each of the numbers that cut its values into equal parts."""
    column = given.column(name)
    if parts < 2 or not len(column):
        raise InputError(f"bins:{name},{parts}: expected at least 2 bins, and a candidate")
    edges: list[float] = np.quantile(column, np.arange(1, parts) / parts, method="inverted_cdf").tolist()
    shown = dict.fromkeys(f"{edge:.6g}" for edge in edges)
    found = {f"{name}>{edge}": (column > float(edge)).astype(np.float64) for edge in shown}
    found = {made: marks for made, marks in found.items() if marks.any() and not marks.all()}
    if not found:
        raise InputError(f"bins:{name},{parts}: the feature has one value in all candidates; nothing can be cut")
    return found


def _sources(lists: Candidates, source: Sequence[str] | None) -> list[str] | None:
    if source is None:
        return lists.of_segments("source") if "source" in lists.fields else None
    if isinstance(source, str):
        raise InputError("the sources are one string; give a list of strings, one a segment")
    found = list(source)
    if len(found) != len(lists):
        raise InputError(f"there are {len(found)} sources for {len(lists)} segments; give one for every segment")
    return found


def _model(lm: Lm | str | PathLike[str] | None) -> Lm | None:
    if not isinstance(lm, str | PathLike):
        return lm
    from rampion.decoder.models import arpa

    return arpa.load(lm)


def _pattern(answer: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(answer) if answer is not None else None
    except re.error as error:
        raise InputError(f"the answer pattern {answer!r} is not a regular expression: {error}") from error


def described() -> Iterable[tuple[str, str]]:
    """Every feature that can be made, and what it is."""
    return [*((name, maker.help) for name, maker in MAKERS.items()), *OTHERS.items()]
