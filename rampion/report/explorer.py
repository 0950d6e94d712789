"""The k-best explorer: the scores of every list under the weights of each round, small enough for a page.

Scores are stored as 16-bit levels between the least and the greatest of a list and a round: the error is at most half
a level. Prediction, hope, fear and oracle are computed by the losses' own sides, from the exact scores.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Integers, Reals, ends, rank_in_span, span_of_each
from rampion.losses.contrast import FEAR, HOPE, MODEL, ORACLE
from rampion.metrics import Metric
from rampion.metrics.judging import Batch
from rampion.report.markup import Markup, Section, number, section, table, tag
from rampion.store.text import References

ROLES = {"prediction": MODEL, "hope": HOPE, "fear": FEAR, "oracle": ORACLE}
START, CHOSEN = "start", "chosen"  # names of rounds
SHOWN = 10  # rounds in the page, at most
BUDGET = 2_750_000  # bytes of data in the page, at most
SEGMENTS = 2000  # segments in the page, at most: those with the greatest regret
FEATURES = 12  # features of a candidate: those that change its score most
SAMPLE = 50  # segments, by which the size of all is judged
STEPS = 65535
WORST = 8  # rows of the table of segments


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Lists with their costs, and the weights of the rounds by name; `chosen` is the name of the final ones."""

    batch: Batch
    references: References
    weights: Mapping[str, Reals]
    chosen: str
    alpha: float


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """Scores [round, candidate] and the picked candidates [round, role, segment] of the segments that have any."""

    judged: Judged
    scores: Reals
    picks: Integers
    segments: Integers

    @classmethod
    def at(cls, judged: Judged) -> Looks:
        stakes = judged.batch.stakes
        scores = np.stack([judged.batch.scores(vector) for vector in judged.weights.values()])
        picks = np.stack([[side.picks(stakes, row) for side in ROLES.values()] for row in scores])
        return cls(judged, scores, picks, np.flatnonzero(np.diff(stakes.bounds)))

    @property
    def chosen(self) -> int:
        return list(self.judged.weights).index(self.judged.chosen)

    @property
    def regrets(self) -> Reals:
        """[round, segment]: the cost of the prediction minus the cost of the oracle."""
        costs = self.judged.batch.stakes.costs
        regrets: Reals = costs[self.picks[:, 0]] - costs[self.picks[:, 3]]
        return regrets

    def first(self, most: int) -> Looks:
        """The `most` segments with the greatest regret under the chosen weights, in their original order."""
        kept = np.sort(np.argsort(-self.regrets[self.chosen], kind="stable")[:most])
        return Looks(self.judged, self.scores, self.picks[:, :, kept], self.segments[kept])


def rounds(count: int, chosen: int) -> list[int]:
    """At most SHOWN of `count` rounds, evenly spaced, including the first, the chosen and the last."""
    spaced = np.linspace(0, count - 1, min(count, SHOWN)).round().astype(int).tolist()
    inner = [at for at in spaced if at not in (0, count - 1)]
    if chosen not in spaced:
        inner.remove(min(inner, key=lambda at: abs(at - chosen)))
    return sorted({0, chosen, count - 1, *inner})


def packed(judged: Judged, budget: int = BUDGET) -> dict[str, Any]:
    """The data of the page's script. To stay within the budget, first candidates are left out, then segments."""
    looks = Looks.at(judged)
    whole, looks = looks, looks.first(SEGMENTS)
    limit = _fitting(looks, judged.batch.stakes.longest, budget)
    while (used := len(json.dumps(held := _packed(looks, limit)))) > budget:
        share = 0.95 * budget / used
        if limit > 2 * len(ROLES):
            limit = max(2 * len(ROLES), int(limit * share))
        elif len(looks.segments) > 1:
            looks = looks.first(max(1, int(len(looks.segments) * share)))
        else:
            break
    held["note"] = _sampled(whole, looks, held["candidates"])
    return held


def _fitting(looks: Looks, longest: int, budget: int) -> int:
    """How many candidates of each list fit, judged by some lists: to pack all of large ones would take long."""
    step = len(looks.segments) // SAMPLE
    if step < 2:
        return longest
    some = Looks(looks.judged, looks.scores, looks.picks[:, :, ::step], looks.segments[::step])
    used = len(json.dumps(_packed(some, longest))) * len(looks.segments) / len(some.segments)
    return min(
        longest, max(2 * len(ROLES), int(longest * 0.9 * budget / used))
    )  # fewer candidates take more bytes each


def _sampled(whole: Looks, looks: Looks, candidates: int) -> str:
    """A sentence about what was left out; "" if nothing was."""
    before, now = len(whole.segments), len(looks.segments)
    bounds = whole.judged.batch.stakes.bounds
    there = int(np.diff(bounds)[looks.segments].sum())
    parts = []
    if now < before:
        parts.append(f"the {now:,} of {before:,} segments with the greatest regret")
    if candidates < there:
        parts.append(
            f"{candidates:,} of {there:,} candidates: every prediction, hope, fear and oracle of the rounds shown, "
            "and others at equal distances in every list"
        )
    return f"To keep the page small it holds {'; '.join(parts)}." if parts else ""


def _packed(looks: Looks, limit: int) -> dict[str, Any]:
    judged, segments = looks.judged, looks.segments
    batch, names = judged.batch, judged.batch.candidates.segments
    sources = batch.candidates.of_segments("source")
    spans = [_kept(looks, s, limit) for s in range(len(segments))]
    bounds = ends([len(span) for span in spans])
    kept = np.concatenate(spans) if spans else np.zeros(0, np.int64)
    local = np.stack([np.searchsorted(span, looks.picks[:, :, s]) for s, span in enumerate(spans)], axis=2)
    scores, lows, spread = _levels(looks.scores[:, kept], bounds)
    return {
        "roles": list(ROLES),
        "rounds": list(judged.weights),
        "chosen": looks.chosen,
        "candidates": len(kept),
        "bounds": _array(bounds, "Uint32"),
        "scores": _array(bends(scores), "Uint16"),
        "lows": _array(lows, "Float64"),
        "spread": _array(spread, "Float64"),
        "costs": _array(batch.stakes.costs[kept], "Float32"),
        "places": _array(batch.candidates.rank()[kept] + 1, "Uint32"),
        "picks": _array(local, "Uint16"),
        "regrets": _array(looks.regrets, "Float32"),
        "segments": _json([names[s] for s in segments.tolist()]),
        "texts": _json(list(batch.candidates.texts.take(kept))),
        "references": _json([list(filter(None, judged.references[s])) for s in segments.tolist()]),
        "sources": _json([sources[s] for s in segments.tolist()]),
        **_moved(judged, kept),
    }


def _kept(looks: Looks, s: int, limit: int) -> Integers:
    """The candidates of a list to show: those that any round marks, and others at equal distances, in order."""
    bounds, segment = looks.judged.batch.stakes.bounds, looks.segments[s]
    start, end = int(bounds[segment]), int(bounds[segment + 1])
    marked = np.unique(looks.picks[:, :, s])
    others = np.setdiff1d(np.arange(start, end), marked, assume_unique=True)
    room = min(len(others), max(0, limit - len(marked)))
    return np.sort(np.concatenate([marked, others[np.arange(room) * len(others) // max(room, 1)]]))


def _levels(scores: Reals, bounds: Integers) -> tuple[Reals, Reals, Reals]:
    """Scores as STEPS levels between the least and the greatest of each list and round."""
    lows = np.minimum.reduceat(scores, bounds[:-1], axis=1)
    spread = np.maximum.reduceat(scores, bounds[:-1], axis=1) - lows
    sizes = np.diff(bounds)
    share = (scores - np.repeat(lows, sizes, axis=1)) / np.repeat(np.where(spread > 0, spread, 1.0), sizes, axis=1)
    return np.rint(STEPS * share), lows, spread


def bends(levels: Reals) -> NDArray[np.uint16]:
    """Second differences of the levels over rounds, modulo 65536, which need fewer bytes than the levels."""
    start = np.zeros((2, levels.shape[1]), np.uint16)
    return np.diff(np.vstack([start, levels.astype(np.uint16)]), n=2, axis=0)


def levels(bends: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """The inverse of bends."""
    return bends.cumsum(axis=0, dtype=np.uint16).cumsum(axis=0, dtype=np.uint16)


def _moved(judged: Judged, kept: Integers) -> dict[str, Any]:
    """Each candidate's features that changed its score most over the rounds; with one round, the largest terms."""
    vectors = np.stack(list(judged.weights.values()))
    reach = np.ptp(vectors, axis=0) if len(vectors) > 1 else np.abs(vectors[0])
    candidates = judged.batch.candidates
    shown = np.zeros(candidates.size, np.bool_)
    shown[kept] = True
    rows = candidates.keep(shown).rows()  # those that are kept stand in their order
    owners = span_of_each(rows.entry_bounds)
    strength = reach[rows.ids] * np.abs(rows.values)
    order = np.lexsort((-strength, owners))
    order = order[(rank_in_span(rows.entry_bounds) < FEATURES) & (strength[order] > 0)]
    used, entries = np.unique(rows.ids[order], return_inverse=True)
    return {
        "features": _json(list(candidates.features.names.take(used.astype(np.int64)))),
        "weights": _array(vectors[:, used], "Float32"),
        "entryBounds": _array(ends(np.bincount(owners[order], minlength=len(kept))), "Uint32"),
        "entries": _array(entries, "Uint32"),
        "values": _array(rows.values[order], "Float32"),
    }


DTYPES = {"Uint16": "<u2", "Uint32": "<u4", "Float32": "<f4", "Float64": "<f8"}


def _array(array: NDArray[Any], kind: str) -> dict[str, str]:
    """A typed array for JavaScript, row by row: the first bytes of all numbers, then the second bytes, and so on."""
    plain = np.ascontiguousarray(array, DTYPES[kind]).reshape(-1, 1)
    return {"type": kind, "data": _squeezed(plain.view(np.uint8).T.tobytes())}


def _json(facts: Sequence[Any]) -> dict[str, str]:
    return {"type": "JSON", "data": _squeezed(json.dumps(facts, ensure_ascii=False).encode(errors="replace"))}


def _squeezed(content: bytes) -> str:
    """Level 9 takes three times as long and saves one byte in a hundred."""
    return base64.b64encode(zlib.compress(content, 6)).decode()


def unpacked(array: Mapping[str, str]) -> Any:
    """The inverse of `_array`, as in the page's script."""
    content = zlib.decompress(base64.b64decode(array["data"]))
    if array["type"] == "JSON":
        return json.loads(content)
    kind = np.dtype(DTYPES[array["type"]])
    planes = np.frombuffer(content, np.uint8).reshape(kind.itemsize, -1)
    return np.ascontiguousarray(planes.T).view(kind).ravel()


# The section of the page


def explorer(held: Mapping[str, Any], metric: Metric, alpha: float) -> Section | None:
    """The controls, and the elements that the script fills; without JavaScript, a sentence."""
    cost = f"{alpha:g} × (1 − {metric.name})" if metric.higher_is_better else f"{alpha:g} × {metric.name}"
    last = len(held["rounds"]) - 1
    about = (
        "Every point is a candidate of one list. Candidates to the right have a higher model score; those lower down "
        f"have a smaller cost ({cost} of the sentence). The prediction has the highest score, the oracle the least "
        "cost. The hope has the highest score − cost (lower right dashed line), the fear the highest score + cost "
        "(upper right dashed line). Ramp losses raise the score of the hope and lower that of the fear."
    )
    few = "" if last else "Only the chosen weights were kept; rampion tune --keep-rounds keeps those of every round."
    find = tag(
        "div",
        tag("label", "Find ", tag("input", type="search", id="find", autocomplete="off",
                                  placeholder="segment or words")),
        tag("label", "Sort by ", tag("select", _option("regret", "regret"), _option("gain", "reduction of regret"),
                                     _option("order", "order in the file"), id="sort")),
        tag("p", "", id="found", role="status", class_="quiet"),
        tag("ul", "", id="list", role="listbox", tabindex=0, aria_label="Segments"),
        class_="finder",
    )  # fmt: skip
    step = tag(
        "div",
        tag("label", "Round", for_="round"),
        tag("input", type="range", id="round", min=0, max=last, value=held["chosen"], step=1, disabled=not last),
        tag("output", held["rounds"][held["chosen"]], id="shown", for_="round"),
        class_="stepper",
    )
    plane = tag("div", step, tag("div", "", id="plane"), tag("p", "", id="said", role="status", class_="said"),
                class_="seen")  # fmt: skip
    parts = [tag("p", about, class_="lead"), *(tag("p", told, class_="quiet") for told in (held["note"], few) if told)]
    return section(
        "explorer", "k-best explorer", *parts,
        Markup('<noscript><p class="quiet">The explorer needs JavaScript; the rest of this page does not.</p>'
               "<style>.explorer{display:none}</style></noscript>"),
        tag("div", find, plane, tag("div", "", id="texts"), tag("div", "", id="moved"), class_="explorer",
            aria_busy="true"),
    )  # fmt: skip


def _option(value: str, label: str) -> Markup:
    return tag("option", label, value=value)


def worst(judged: Judged) -> Markup:
    """A table of the segments with the greatest regret under the chosen weights."""
    looks = Looks.at(judged)
    regrets, candidates = looks.regrets[looks.chosen], judged.batch.candidates
    rows, sources = [], candidates.of_segments("source")
    for s in np.argsort(-regrets, kind="stable")[:WORST].tolist():
        if regrets[s] <= 0:
            break
        prediction, _, _, oracle = looks.picks[looks.chosen, :, s].tolist()
        segment = int(looks.segments[s])
        said = tag(
            "dl",
            *(
                tag("div", tag("dt", role), tag("dd", text, dir="auto"))
                for role, text in (
                    ("source", sources[segment]),
                    ("prediction", candidates.texts[prediction]),
                    ("oracle", candidates.texts[oracle]),
                    *(("reference", text) for text in judged.references[segment]),
                )
                if text
            ),
            class_="said-of",
        )
        name = candidates.segments[segment]
        link = tag("a", name, href="#explorer", data_segment=name)
        rows.append([link, number(float(regrets[s])), said])
    if not rows:
        return tag("p", "The prediction of every segment is its oracle.", class_="quiet")
    return table("Segments with the greatest regret", ["segment", "regret", "texts"], rows, words=(0, 2))
