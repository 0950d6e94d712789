"""Invent problems of school arithmetic and samples of two models that solve them, as a user would have them in files.

A problem is a chain of steps, each an addition, a subtraction or a multiplication. A model takes every step. The chance
of an error depends on its skill and on the problem. It goes on with its result, and reports a log-probability.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion.formats.files import replacing
from rampion.runs.lock import owned

NAMES = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo", "Ida", "Jonas")
THINGS = ("apples", "books", "coins", "marbles", "stamps", "shells", "pencils", "cards")
STEPS = (
    ("{name} gets {n} more.", "+"), ("{name} gives {n} away.", "-"), ("Then a friend brings {n} times as many.", "*"),
    ("{name} finds {n} in a drawer.", "+"), ("{n} of them get lost.", "-"),
)  # fmt: skip
FEWEST, MOST = 2, 5  # steps
EACH = 4  # samples of a model


class Model(NamedTuple):
    """A model that solves problems: its name, the chance of an error in a step, and how wordy it is."""

    name: str
    error: float
    words: int


MODELS = (Model("small", 0.24, 2), Model("large", 0.16, 5))


class Sample(NamedTuple):
    """A row of the file: one solution of one problem."""

    question_id: str
    question: str
    model: str
    solution: str
    logprob: float
    is_correct: bool


def samples(problems: int, seed: int) -> Iterator[Sample]:
    """The solutions of `count` problems, in a random order for each."""
    rng = np.random.default_rng(seed)
    for number in range(problems):
        name, thing = str(rng.choice(NAMES)), str(rng.choice(THINGS))
        start = int(rng.integers(3, 40))
        steps = _steps(rng, start)
        told = " ".join(STEPS[kind][0].format(name=name, n=n) for kind, n in steps)
        question = f"{name} has {start} {thing}. {told} How many {thing} does {name} have now?"
        truth, hardness = _solved(start, steps), float(rng.uniform(0.3, 2.2))
        found = [_sample(rng, model, start, steps, hardness) for model in MODELS for _ in range(EACH)]
        for at in rng.permutation(len(found)).tolist():
            model, text, logprob, answer = found[at]
            yield Sample(f"q{number:04}", question, model.name, text, logprob, answer == truth)


def write(folder: Path, problems: int, seed: int) -> tuple[Path, Path]:
    """The solutions of problems to learn from and of as many others: train.jsonl and test.jsonl."""
    paths = folder / "train.jsonl", folder / "test.jsonl"
    with owned(folder):
        for path, own in zip(paths, (seed, seed + 1), strict=True):
            with replacing(path) as file:
                for row in samples(problems, own):
                    file.write(json.dumps(row._asdict(), ensure_ascii=False).encode() + b"\n")
    return paths


def _steps(rng: np.random.Generator, value: int) -> list[tuple[int, int]]:
    """Kinds of steps and their numbers; no step takes away more than there is."""
    steps = list[tuple[int, int]]()
    for _ in range(rng.integers(FEWEST, MOST)):
        kind = int(rng.integers(len(STEPS)))
        most = {"*": 4, "+": 30, "-": max(3, min(value, 30))}[STEPS[kind][1]]
        steps.append((kind, int(rng.integers(2, most))))
        value = _applied(value, *steps[-1])
    return steps


def _solved(start: int, steps: list[tuple[int, int]]) -> int:
    """The right answer."""
    for kind, n in steps:
        start = _applied(start, kind, n)
    return start


def _applied(value: int, kind: int, n: int) -> int:
    return {"+": value + n, "-": value - n, "*": value * (n + 1)}[STEPS[kind][1]]


def _sample(
    rng: np.random.Generator, model: Model, start: int, steps: list[tuple[int, int]], hardness: float
) -> tuple[Model, str, float, int]:
    """One solution, its log-probability, and its answer."""
    value, lines, logprob = start, list[str](), 0.0
    for kind, n in steps:
        right, sign = _applied(value, kind, n), STEPS[kind][1]
        wrong = bool(rng.random() < model.error * hardness)
        found = right + int(rng.choice([-10, -2, -1, 1, 2, 10])) if wrong else right
        shown = n + 1 if sign == "*" else n
        lines.append(" ".join(["so"] * int(rng.integers(model.words)) + [f"{value} {sign} {shown} = {found}"]))
        logprob -= rng.exponential(0.8 + 1.2 * wrong)
        value = found
    lines.append(f"A: {value}")
    return model, "\n".join(lines), round(logprob, 3), value
