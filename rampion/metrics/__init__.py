"""The metrics, and their short names: `bleu`, `bleu:moses,nobp`, `chrf++`, `ter`, `wer:reverse`, `metric:comet`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from rampion.errors import RecipeError
from rampion.metrics.base import Metric as Metric
from rampion.metrics.bleu import Bleu as Bleu
from rampion.metrics.chrf import Chrf as Chrf
from rampion.metrics.column import Column as Column
from rampion.metrics.costs import costs as costs
from rampion.metrics.ter import Ter as Ter
from rampion.metrics.tokens import Tokeniser
from rampion.metrics.wer import Wer as Wer

Options = dict[str, dict[str, Any]]

_LOWERCASE: Options = {"lc": {"lowercase": True}}
_WORDS: Options = _LOWERCASE | {tokeniser: {"tokeniser": tokeniser} for tokeniser in get_args(Tokeniser)}

_BLEU: Options = {
    "lin-och": {"smoothing": "lin-och"},
    "moses": {"smoothing": "moses"},
    "nakov": {"smoothing": "lin-och", "brevity": "bp+1"},
    "floor": {"smoothing": "floor"},
    "he-deng": {"smoothing": "he-deng", "brevity": "unclipped"},
    "exp": {"smoothing": "exp"},
    "raw": {"smoothing": "raw"},
    "nobp": {"brevity": "nobp"},
    "bp+1": {"brevity": "bp+1"},
    "clipped": {"brevity": "clipped"},
    "unclipped": {"brevity": "unclipped"},
    "nist": {"shortest": True},
}
_TER: Options = {
    "cased": {"cased": True},
    "normalised": {"normalised": True},
    "nopunct": {"no_punctuation": True},
    "asian": {"asian": True},
}

# name -> (the metric without options, what each option sets); options apply from left to right
METRICS: dict[str, tuple[Bleu | Chrf | Ter | Wer, Options]] = {
    "bleu": (Bleu(), _BLEU | _WORDS),
    "chrf": (Chrf(), _LOWERCASE),
    "chrf++": (Chrf(word_order=2), _LOWERCASE),
    "ter": (Ter(), _TER),
    "wer": (Wer(), {"reverse": {"reverse": True}} | _WORDS),
}


def metric(spec: str) -> Metric:
    """The metric of that name.

    Parameters
    ----------
    spec : str
        NAME or NAME:OPTION,OPTION,...: "bleu", "bleu:13a,lc", "chrf++", "ter", "wer:char"; or "metric:COLUMN" for a
        column of numbers that came with the candidates, "metric:COLUMN,lower" if lower is better.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    RecipeError
        If there is no such metric or option.

    Examples
    --------
    >>> rampion.metric("bleu:13a,lc")
    Bleu(smoothing='lin-och', brevity='clipped', shortest=False, tokeniser='13a', lowercase=True)
    >>> rampion.metric("chrf").score(["a dog"], ["a dog"])
    100.0
    """
    name, _, rest = spec.partition(":")
    if name == "metric" and rest:
        column, comma, last = rest.rpartition(",")
        return Column(column, higher_is_better=False) if comma and last == "lower" else Column(rest)
    if name not in METRICS:
        known = ", ".join(METRICS)
        raise RecipeError(f"no metric {spec!r}; there are {known}, and metric:NAME for a numeric column of the lists")
    found, options = METRICS[name]
    for option in rest.split(",") if rest else ():
        if option not in options:
            raise RecipeError(f"metric {spec!r}: {name} has no option {option!r}; it has {', '.join(options)}")
        found = replace(found, **options[option])
    return found
