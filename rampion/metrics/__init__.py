"""The metrics, and their short names: `bleu`, `bleu:moses,nobp`, `chrf++`, `ter`, `wer:reverse`, `metric:comet`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from rampion.errors import RecipeError, meant
from rampion.metrics.base import Metric as Metric
from rampion.metrics.bleu import Bleu as Bleu
from rampion.metrics.chrf import Chrf as Chrf
from rampion.metrics.column import Column as Column
from rampion.metrics.column import Ratio as Ratio
from rampion.metrics.column import column_metric
from rampion.metrics.column import counts_errors as counts_errors
from rampion.metrics.column import reads_columns as reads_columns
from rampion.metrics.costs import costs as costs
from rampion.metrics.meteor import Meteor as Meteor
from rampion.metrics.ter import Ter as Ter
from rampion.metrics.tokens import Tokeniser
from rampion.metrics.wer import Wer as Wer

Options = dict[str, dict[str, Any]]

_LOWERCASE: Options = {"lc": {"lowercase": True}}
_TOKENISERS: Options = {tokeniser: {"tokeniser": tokeniser} for tokeniser in get_args(Tokeniser)}
_WORDS: Options = _LOWERCASE | _TOKENISERS

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
    "nist": {"length": "shortest"},
    "average": {"length": "average"},
    "scaled": {"scaled": True},
}
_TER: Options = {
    "cased": {"cased": True},
    "normalised": {"normalised": True},
    "nopunct": {"no_punctuation": True},
    "asian": {"asian": True},
}
_METEOR: Options = {
    "exact": {"stems": False},
    "2007": {"alpha": 0.81, "beta": 0.83, "gamma": 0.28},  # Lavie & Agarwal's for English
    "cased": {"cased": True},
}

# name -> (the metric without options, what each option sets); options apply from left to right
METRICS: dict[str, tuple[Bleu | Chrf | Meteor | Ter | Wer, Options]] = {
    "bleu": (Bleu(), _BLEU | _WORDS),
    "chrf": (Chrf(), _LOWERCASE),
    "chrf++": (Chrf(word_order=2), _LOWERCASE),
    "meteor": (Meteor(), _METEOR | _TOKENISERS),
    "ter": (Ter(), _TER),
    "wer": (Wer(), {"reverse": {"reverse": True}} | _WORDS),
    "cer": (Wer(tokeniser="char"), {"reverse": {"reverse": True}} | _LOWERCASE),
}


def metric(spec: str) -> Metric:
    """The metric of this name.

    Parameters
    ----------
    spec : str
        NAME or NAME:OPTION,OPTION,...: "bleu", "bleu:13a,lc", "chrf++", "meteor", "ter", "wer", "cer"; or
        "metric:COLUMN" for a column of numbers that came with the candidates, "metric:COLUMN,lower" if lower is
        better; or "COLUMN/COLUMN" for the sum of one divided by the sum of another.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    RecipeError
        If there is no such metric or option, or if the name of a column leaves open whether more of it is better.

    Examples
    --------
    >>> rampion.metric("bleu:13a,lc")
    Bleu(smoothing='lin-och', brevity='clipped', length='closest', tokeniser='13a', lowercase=True, scaled=False)
    >>> rampion.metric("chrf").score(["a dog"], ["a dog"])
    100.0
    """
    if not isinstance(spec, str):
        raise RecipeError(f"the metric is {spec!r}; give its name, one of {', '.join(METRICS)}, or metric:NAME")
    name, _, rest = spec.partition(":")
    if name == "metric" and rest:
        return column_metric(rest)
    if name not in METRICS:
        if "/" in spec.strip("/"):
            return column_metric(spec)
        known = ", ".join(METRICS)
        raise RecipeError(
            f"no metric {spec!r}; there are {known}, and metric:NAME for a numeric column of the lists"
            + meant(name, METRICS)
        )
    found, options = METRICS[name]
    for option in rest.split(",") if rest else ():
        if option not in options:
            has = f"it has {', '.join(options)}{meant(option, options)}"
            raise RecipeError(f"metric {spec!r}: {name} has no option {option!r}; {has}")
        found = replace(found, **options[option])
    return found


def titles(specs: Sequence[str]) -> list[str]:
    """What to call metrics side by side: by their names, or as they were asked for if another one has that name.

    Examples
    --------
    >>> from rampion.metrics import titles
    >>> titles(["bleu", "bleu:char", "chrf"])
    ['bleu', 'bleu:char', 'chrF2']
    """
    names = [metric(spec).name for spec in specs]
    return [name if names.count(name) == 1 else spec for name, spec in zip(names, specs, strict=True)]


def needs_references(spec: str) -> bool:
    """Whether the metric of this name compares texts with references; columns of numbers do not."""
    return not reads_columns(metric(spec))
