"""The lists of the board: files that are given, and lists made here whose best weights are known."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rampion
from rampion.store.candidates import Candidates
from rampion.store.text import References


class Row(NamedTuple):
    """Lists with their references, if the metric asks for any, and the weights that made them, if somebody knows."""

    name: str
    lists: Candidates
    references: References | list[list[str]] | None
    metric: str
    truth: Mapping[str, float] | None = None


SEGMENTS, K = 400, 8


def made(kind: str, seed: int = 0) -> Row:
    """Lists whose value is a hidden weighing of their features, with noise; 1 if it is above the corpus median.

    Of each list, the first candidate is an arbitrary one.
    """
    random = np.random.default_rng([seed, *map(ord, kind)])
    make = MADE[kind]
    features, weights = make(random, SEGMENTS * K)
    names = [f"f{n}" for n in range(features.shape[1])]
    noise = 0.0 if kind == "near-perfect" else 1.0
    latent = features @ weights + noise * random.standard_normal(len(features))
    middle = np.median(latent.reshape(SEGMENTS, K).max(axis=1))
    target = latent > middle if kind != "noise" else random.random(len(features)) < 0.3
    if kind == "bent":
        features, weights, names = features[:, :-1], weights[:-1], names[:-1]
    scales = 10.0 ** random.integers(-4, 5, len(names)) if kind == "scales" else np.ones(len(names))
    shown = features * scales
    if kind == "near-perfect":
        shown[:, 0] += 0.3 * random.standard_normal(len(features))
    hyps = [
        {"text": f"candidate {c}", "feats": _features(names, row, kind), "metrics": {"right": float(right)}}
        for c, (row, right) in enumerate(zip(shown, target, strict=True))
    ]
    records = [{"id": str(s), "hyps": hyps[s * K : (s + 1) * K]} for s in range(SEGMENTS)]
    truth = dict(zip(names, (weights / scales).tolist(), strict=True))
    return Row(kind, Candidates.from_records(records), None, "metric:right", truth)


def _features(names: list[str], values: Any, kind: str) -> dict[str, float]:
    """Of sparse ones only those that are not 0."""
    return {name: float(value) for name, value in zip(names, values, strict=True) if value or kind != "sparse"}


Made = tuple[Any, Any]


def _plain(random: np.random.Generator, n: int) -> Made:
    return random.standard_normal((n, 6)), np.array([1.0, -0.6, 0.4, 0.2, 0.0, 0.0])


def _useless(random: np.random.Generator, n: int) -> Made:
    return random.standard_normal((n, 60)), np.array([1.0, -0.6, 0.4] + [0.0] * 57)


def _correlated(random: np.random.Generator, n: int) -> Made:
    shared = random.standard_normal((n, 2))
    noise = random.standard_normal((n, 8))
    return 0.95 * shared[:, [0, 0, 0, 0, 1, 1, 1, 1]] + 0.3 * noise, np.array([1.0, 0.5, 0, 0, -0.7, 0, 0, 0])


def _perfect(random: np.random.Generator, n: int) -> Made:
    return random.standard_normal((n, 8)), np.array([1.0] + [0.0] * 7)


def _noise(random: np.random.Generator, n: int) -> Made:
    return random.standard_normal((n, 8)), np.zeros(8)


def _sparse(random: np.random.Generator, n: int) -> Made:
    fired = random.random((n, 80)) < 0.05
    return np.hstack([random.standard_normal((n, 2)), fired]), np.append([0.5, 0.2], random.standard_normal(80))


def _penalty(random: np.random.Generator, n: int) -> Made:
    """As Joshua's lists: a count of unknown words that costs -200 each beside flags; mostly the same in a list."""
    features = _plain(random, n)[0]
    features[:, :3] = features[:, :3] > 0.5
    unknown = np.repeat(random.poisson(1.0, n // K), K) + (random.random(n) < 0.1)
    return np.column_stack([features, -200.0 * unknown]), np.array([0.8, -0.5, 0.3, 0.5, -0.2, 0.0, 0.005])


def _bent(random: np.random.Generator, n: int) -> Made:
    """What counts is hidden: far from the middle of the list is bad in one feature, and two others count together."""
    shown = random.standard_normal((n, 6))
    within = shown - np.repeat(np.median(shown.reshape(-1, K, 6), axis=1), K, axis=0)
    far, both = (
        -1.2 * np.abs(within[:, 2]),
        0.8 * within[:, 3] * (shown[:, 4] > 0) + 0.7 * np.tanh(within[:, 5]) * within[:, 4],
    )
    return np.column_stack([shown, far + both]), np.array([0.6, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0])


MADE: dict[str, Callable[[np.random.Generator, int], Made]] = {
    "plain": _plain, "useless": _useless, "scales": _plain, "correlated": _correlated, "near-perfect": _perfect,
    "noise": _noise, "sparse": _sparse, "penalty": _penalty, "bent": _bent,
}  # fmt: skip


def moses(segments: int = 600, candidates: int = 200) -> Row:
    """Lists with fourteen dense features as Moses writes them, of a made language (benchmarks/cases.py)."""
    import cases

    from rampion.store.names import Names
    from rampion.store.rows import Rows
    from rampion.store.text import Texts

    spelt, rows = cases.rows("D", segments=segments, candidates=candidates)
    names = Names()
    names.intern_all(Texts.from_strings(spelt))
    (found,) = Candidates.from_rows(names, [[Rows(**rows)]])
    return Row("D", found, [[text] for text in cases.references("D", segments=segments)], "bleu")


def gsm8k(path: Path) -> Row:
    """Solutions of problems, one a row: who wrote it, its length, how many others agree with its answer."""
    problems: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        problems.setdefault(row["question_id"], []).append(row)
    models = sorted({row["model"] for rows in problems.values() for row in rows})
    lists = Candidates.from_records(_solved(problems, models))
    return Row("GSM8K", lists, None, "metric:correct")


def _solved(problems: Mapping[str, list[dict[str, Any]]], models: list[str]) -> Iterator[dict[str, Any]]:
    for name, rows in problems.items():
        votes = Counter(map(_answer, rows))
        hyps = []
        for row in rows:
            text = row["solution"]
            wrong = sum(not _holds(one) for one in re.findall(r"<<([^<>]*)>>", text))
            asked = set(re.findall(r"\d+", row["question"]))
            feats = {f"model={model}": float(row["model"] == model) for model in models}
            feats |= {"chars": float(len(text)), "steps": float(text.count("\n")), "vote": float(votes[_answer(row)])}
            feats |= {"wrong": float(wrong), "overlap": float(len(asked & set(re.findall(r"\d+", text))))}
            hyps.append({"text": text, "feats": feats, "metrics": {"correct": float(row["is_correct"])}})
        yield {"id": name, "hyps": hyps}


def _answer(row: Mapping[str, Any]) -> str:
    numbers = re.findall(r"-?[\d.]*\d", row["solution"].replace(",", ""))
    return f"{float(numbers[-1]):g}" if numbers else ""


def _holds(equation: str) -> bool:
    """Whether what stands left of = comes to what stands right of it."""
    left, _, right = equation.partition("=")
    if not re.fullmatch(r"[\d.+*/() -]+", left):
        return True
    try:
        return abs(eval(left, {"__builtins__": {}}) - float(right)) < 0.01  # noqa: S307  # digits and signs only
    except (ArithmeticError, SyntaxError, TypeError, ValueError):
        return False


def files(lists: list[str], refs: list[str], name: str, metric: str = "bleu") -> Row:
    """N-best lists and the files of their references."""
    from rampion.formats import references

    found = rampion.load_nbest(lists[0])
    return Row(name, found, references.read(refs, found.segments), metric)
