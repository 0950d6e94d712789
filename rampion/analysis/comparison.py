"""Comparison of systems on the same segments with the first one: scores, differences and their significance (S12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rampion.analysis.significance import bootstrap, paired_bootstrap, randomisation
from rampion.errors import InputError
from rampion.metrics import Metric, reads_columns
from rampion.metrics import metric as named
from rampion.metrics.base import decimals
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.text import References, Texts
from rampion.training.inputs import GivenReferences, judge, references_for
from rampion.training.reranking import pick

LEVEL = 0.05
TESTS = {"ar": "approximate randomisation", "bs": "paired bootstrap"}

System = Sequence[str] | Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Compared:
    """A system compared with the first one.

    Parameters
    ----------
    name : str
        The system's name.
    score : float
        Its score, the mean of the runs if there are several.
    low, high : float
        The 95 % interval of the score.
    difference : float or None
        Its score minus that of the first system; None for the first one.
    p : float or None
        The two-sided p-value of the difference; never 0.

    Examples
    --------
    >>> found = rampion.compare({"old": ["a cat", "a dog"], "new": ["the cat", "a dog"]}, ["the cat", "a dog"], "wer")
    >>> found["new"].difference, found["new"].p
    (-25.0, 1.0)
    """

    name: str
    score: float
    low: float
    high: float
    difference: float | None = None
    p: float | None = None


class Comparison(Mapping[str, Compared]):
    """The result of `compare`: a mapping from the names of systems, which prints as a table.

    Parameters
    ----------
    metric : str
        The name of the metric.
    signature : str
        The settings behind the scores, as sacrebleu writes them.
    test : str
        The test: "ar" or "bs".
    systems : sequence of Compared
        The systems, the baseline first.

    Examples
    --------
    >>> rampion.compare({"old": ["a cat", "a dog"], "new": ["the cat", "a dog"]}, ["the cat", "a dog"], "wer")
    WER   score    95% interval  difference       p
    old   25.00   [0.00, 50.00]
    new    0.00    [0.00, 0.00]      -25.00  1.0000
    *: p < 0.05 against old, by approximate randomisation
    """

    def __init__(self, metric: str, signature: str, test: str, systems: Sequence[Compared]) -> None:
        self.metric, self.signature, self.test = metric, signature, test
        self.systems = {one.name: one for one in systems}

    def __getitem__(self, name: str) -> Compared:
        return self.systems[name]

    def __iter__(self) -> Any:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    def __repr__(self) -> str:
        rows = [[self.metric, "score", "95% interval", "difference", "p "]]
        d = decimals(one.score for one in self.systems.values())
        for one in self.systems.values():
            tested = ["", ""]
            if one.difference is not None and one.p is not None:
                tested = [f"{one.difference:+.{d}f}", f"{one.p:.4f}{'*' if one.p < LEVEL else ' '}"]
            rows.append([one.name, f"{one.score:.{d}f}", f"[{one.low:.{d}f}, {one.high:.{d}f}]", *tested])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))])
            for cells in rows
        ]
        first = next(iter(self.systems))
        lines.append(f"*: p < {LEVEL} against {first}, by {TESTS[self.test]}")
        return "\n".join(line.rstrip() for line in lines)


def compare(
    systems: Mapping[str, System | Sequence[System]],
    references: GivenReferences | Sequence[str] | None = None,
    metric: str | Metric = "bleu",
    *,
    lists: Candidates | None = None,
    test: Literal["ar", "bs"] = "ar",
    trials: int = 10_000,
    seed: int = 0,
    lenient: bool = False,
) -> Comparison:
    """Compare systems on the same segments with the first of them.

    Parameters
    ----------
    systems : mapping of str to output or weights
        By name, the baseline first: the output of a system, a string a segment; or weights that choose from `lists`;
        or None for the first candidates of `lists`. A list of outputs or weights stands for several runs of a system,
        such as other seeds of its optimiser; all systems need the same number of runs.
    references : References, iterable of str or list of str, or dict, optional
        The references of every segment. A metric column needs none.
    metric : str or Metric
        The metric; "metric:NAME" for a metric column of `lists`.
    lists : Candidates, optional
        The lists that weights choose from.
    test : {"ar", "bs"}
        Approximate randomisation, or the paired bootstrap.
    trials : int
        The number of deals or samples.
    seed : int
        The seed of the deals and samples.
    lenient : bool
        Whether weights and lists may differ in dense features.

    Returns
    -------
    Comparison
        Scores, intervals, differences from the first system and their p-values.

    Raises
    ------
    InputError
        If there are fewer than two systems, or systems and references do not fit together.

    Examples
    --------
    >>> tuned = rampion.tune(lists, references, recipe="risk", metric="chrf")
    >>> found = rampion.compare({"as listed": None, "tuned": tuned.weights}, references, "wer", lists=lists)
    >>> found["tuned"].difference
    -60.0
    """
    judged = named(metric) if isinstance(metric, str) else metric
    if test not in TESTS:
        raise InputError(f"test is {test!r}; expected 'ar' or 'bs'")
    if not isinstance(systems, Mapping) or len(systems) < 2:
        raise InputError("name a baseline and at least one system to compare with it, in a dict from names to systems")
    runs = {name: _runs(system) for name, system in systems.items()}
    rows = _statistics(judged, runs, references, lists, lenient)
    found: list[Compared] = []
    first = next(iter(rows.values()))
    for name, statistics in rows.items():
        interval = bootstrap(judged, statistics, trials, seed)
        if found:
            against = randomisation if test == "ar" else paired_bootstrap
            gain = against(judged, first, statistics, trials, seed)
            found.append(Compared(name, *interval, gain.score, gain.p))
        else:
            found.append(Compared(name, *interval))
    signature = f"{judged.signature(_given(references, lists, runs))}|{test}:{trials}|seed:{seed}"
    return Comparison(judged.name, signature, test, found)


def _runs(system: System | Sequence[System]) -> list[System]:
    """The runs of a system: one, unless it is a list of outputs or weights."""
    if isinstance(system, str | bytes):
        raise InputError(f"a system's output is the string {str(system)[:60]!r}; give a list of strings, one a segment")
    if system is None or isinstance(system, Mapping | Texts) or all(isinstance(one, str) for one in system):
        return [system]  # type: ignore[list-item]
    return list(system)


def _given(references: Any, lists: Candidates | None, runs: Mapping[str, list[System]]) -> References:
    """The references in the order of the segments."""
    if lists is not None:
        segments = lists.segments
    else:
        count = next((len(run) for one in runs.values() for run in one if run is not None), 0)
        segments = Texts.from_strings(map(str, range(count)))
    if references is not None and not isinstance(references, References | Mapping | str | bytes):
        references = [[one] if isinstance(one, str) else one for one in references]
    return references_for(segments, references)


def _statistics(
    metric: Metric,
    runs: Mapping[str, list[System]],
    references: Any,
    lists: Candidates | None,
    lenient: bool,
) -> dict[str, NDArray[Any]]:
    """The statistics of every system, [runs, segments, width]."""
    given = _given(references, lists, runs)
    if references is None and not reads_columns(metric):
        raise InputError(f"{metric.name} needs references; give one or a list of them for every segment")
    batch = None
    if any(run is None or isinstance(run, Mapping) for one in runs.values() for run in one):
        if lists is None:
            raise InputError("weights choose from lists, and there are none; pass lists=...")
        if np.any(np.diff(lists.bounds) == 0):
            raise InputError("a segment of the lists has no candidates; leave it out")
        batch = judge(lists, given, metric).batch(lists)
    found: dict[str, NDArray[Any]] = {}
    for name, one in runs.items():
        rows = []
        for run in one:
            if run is None or isinstance(run, Mapping):
                picks = _picks(lists, run, lenient)  # type: ignore[arg-type]
                rows.append(batch.statistics[picks])  # type: ignore[union-attr]
            else:
                output = Texts.from_strings(run)
                if len(output) != len(given):
                    raise InputError(
                        f"{name}: has {len(output)} segments, expected {len(given)}; outputs must have a string for "
                        "every segment"
                    )
                rows.append(metric.statistics(output, np.arange(len(output) + 1), given))
        found[name] = np.stack(rows)
    return found


def _picks(lists: Candidates, weights: Mapping[str, float] | None, lenient: bool) -> NDArray[np.int64]:
    if weights is None:
        return lists.bounds[:-1]
    return pick(lists, weights if isinstance(weights, Weights) else Weights.from_dict(weights), lenient=lenient)
