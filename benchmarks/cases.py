"""The benchmark workloads: n-best lists generated from a seed, alike in shape to a phrase-based system's real ones.

Each reference word meets one of four options: right, another word, nothing, or two words. Candidates of a segment
choose anew at some of the words and are alike at the others. Options bring sparse names along, and features know how
many words are right only through noise. Measured on the word pairs of 400 real lists of 93 candidates (Moses with 1,500
of these features, Arabic-English, zeros left out) and on 100 lists of 200 of S:

                                                                   real                S
    active sparse features of a candidate                          12.9                103
    distinct ones of a list, per active one of a candidate         1.64                1.75
    share of features / of words that two candidates have alike    .89 / .89           .91 / .88
    values 1, 2, 3, more                                           .84 .08 .02 .05     .91 .05 .02 .03

BLEU on S: 38 for random candidates, 45 for the first ones, 56 for the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.text.toy import SOURCE, TARGET, word

from rampion.store.text import Texts


@dataclass(frozen=True, slots=True)
class Case:
    """The size of a workload; with each option of each word come `bundle` of `names` (an even number) sparse names."""

    segments: int
    candidates: int
    length: int = 20
    vocabulary: int = 20_000
    bundle: int = 0
    names: int = 0


CASES = {
    "D": Case(segments=1000, candidates=200),
    "S": Case(segments=1000, candidates=200, bundle=6, names=200_000),
    "tiny": Case(segments=12, candidates=10, vocabulary=300, bundle=6, names=500),
}


class Dense(NamedTuple):
    """value = per_word * words + per_right * right words + noise * sqrt(words) * normal, rounded."""

    name: str
    weight: float  # before tuning: Moses's defaults
    per_word: float
    per_right: float
    noise: float
    decimals: int = 4


DENSE = (
    *(Dense(f"LexicalReordering0[{i}]", 0.3, -0.25 / (1 + i % 3), 0.1, 0.2) for i in range(6)),
    Dense("Distortion0", 0.3, -0.2, 0.0, 0.5, decimals=0),
    Dense("LM0", 0.5, -3.4, 1.2, 0.5),
    Dense("WordPenalty0", -1.0, -1.0, 0.0, 0.0),
    Dense("PhrasePenalty0", 0.2, 0.55, 0.0, 0.1, decimals=0),
    *(Dense(f"TranslationModel0[{i}]", 0.2, -0.9, 0.6, 0.6) for i in range(4)),
)
INITIAL = {column.name: column.weight for column in DENSE}
LINE = (
    "{} ||| {} ||| LexicalReordering0= {:.7g} {:.7g} {:.7g} {:.7g} {:.7g} {:.7g} Distortion0= {:.7g} LM0= {:.7g} "
    "WordPenalty0= {:.7g} PhrasePenalty0= {:.7g} TranslationModel0= {:.7g} {:.7g} {:.7g} {:.7g} {}||| {:.7g}\n"
)

OPTIONS = 4  # right, another word, nothing, right and another word
BASE = (0.62, 0.24, 0.07, 0.07)  # how often they are chosen
OPEN, MOVED = 0.45, 0.4  # share of words where candidates differ; chance that a candidate chooses anew there
SHARED = 0.35  # share of an option's names that are those of the right one
VIRTUE = 0.65  # share of even ranks among the names of right options, and of odd ones among those of wrong ones


class List(NamedTuple):
    """The candidates of one segment, best first under INITIAL."""

    texts: list[str]
    ids: NDArray[np.uint32]  # of the columns of values
    values: NDArray[np.float64]  # 0 in a sparse column: not there
    scores: NDArray[np.float64]


def names(case: str) -> list[str]:
    """Feature names by id: the dense ones, then the sparse ones by rank, so that frequent ones are short."""
    rank = np.arange(CASES[case].names)
    diagonal = ((np.sqrt(8 * rank + 1) - 1) / 2).astype(np.int64)  # Cantor's pairing of two words
    first = rank - diagonal * (diagonal + 1) // 2
    top = int(diagonal.max(initial=0)) + 1
    left, right = ([word(i, consonants) for i in range(top)] for consonants in (SOURCE, TARGET))
    pairs = zip(first.tolist(), (diagonal - first).tolist(), strict=True)
    return [*INITIAL, *(f"WT_{left[i]}~{right[j]}" for i, j in pairs)]


def rows(
    case: str, seed: int = 0, segments: int | None = None, candidates: int | None = None
) -> tuple[list[str], dict[str, Any]]:
    """Feature names by id, and the fields of Rows."""
    size = resized(case, segments, candidates)
    texts, ids, values, scores, lengths = [], [], [], [], []
    for found in lists(size, seed):
        active = found.values != 0
        active[:, : len(DENSE)] = True
        texts += found.texts
        ids.append(found.ids[np.nonzero(active)[1]])
        values.append(found.values[active])
        scores.append(found.scores)
        lengths.append(active.sum(1))
    count = size.segments * size.candidates
    return names(case), {
        "segments": Texts.from_strings(map(str, range(size.segments))),
        "bounds": np.arange(0, count + 1, size.candidates, dtype=np.int64),
        "texts": Texts.from_strings(texts),
        "entry_bounds": np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
        "ids": np.concatenate(ids),
        "values": np.concatenate(values),
        "scores": np.concatenate(scores),
        "notes": Texts.from_strings([""] * count),
        "metrics": {},
    }


def references(case: str, seed: int = 0, segments: int | None = None) -> list[str]:
    """One reference per segment."""
    size = resized(case, segments, None)
    spelt = vocabulary(size)
    return [" ".join(spelt[reference(size, stream(seed, segment))].tolist()) for segment in range(size.segments)]


def write_nbest(
    path: Path, case: str, seed: int = 0, segments: int | None = None, candidates: int | None = None
) -> None:
    """The same lists as Moses text."""
    spelt = np.array(names(case), object)
    with path.open("w", encoding="ascii") as file:
        for segment, found in enumerate(lists(resized(case, segments, candidates), seed)):
            counts = found.values[:, len(DENSE) :].astype(np.int64)
            labels = spelt[found.ids[len(DENSE) :]] + "= "
            cells = np.stack(
                [np.full_like(labels, ""), *(labels + f"{n} " for n in range(1, counts.max(initial=0) + 1))]
            )
            sparse = cells[counts, np.arange(counts.shape[1])].tolist()
            dense, scores = found.values[:, : len(DENSE)].tolist(), found.scores.tolist()
            file.writelines(
                LINE.format(segment, text, *row, "".join(pairs), score)
                for text, row, pairs, score in zip(found.texts, dense, sparse, scores, strict=True)
            )


def resized(case: str, segments: int | None, candidates: int | None) -> Case:
    size = CASES[case]
    return replace(size, segments=segments or size.segments, candidates=candidates or size.candidates)


def vocabulary(size: Case) -> NDArray[np.object_]:
    return np.array([word(rank, TARGET) for rank in range(size.vocabulary)], object)


def stream(seed: int, segment: int) -> np.random.Generator:
    """Each segment has its own randomness, so that fewer segments are the first ones of more."""
    return np.random.default_rng([seed, segment])


def zipf(size: int, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Ranks below size, p(rank) = log((rank + 2) / (rank + 1)) / log(size + 1), which is near 1 / (rank + 1.5)."""
    return ((size + 1) ** rng.random(shape)).astype(np.int64) - 1


def reference(size: Case, rng: np.random.Generator) -> NDArray[np.int64]:
    return zipf(size.vocabulary, (max(3, int(rng.poisson(size.length))),), rng)


def lists(size: Case, seed: int) -> Iterator[List]:
    """The candidates of each segment in turn."""
    spelt = vocabulary(size) + " "
    for segment in range(size.segments):
        rng = stream(seed, segment)
        tokens = reference(size, rng)
        words = len(tokens)
        shape = (size.candidates, words)
        free = (rng.random(words) < OPEN) & (rng.random(shape) < MOVED)
        choice = np.where(free, rng.choice(OPTIONS, shape, p=BASE), rng.choice(OPTIONS, words, p=BASE))
        right, other = spelt[tokens], spelt[zipf(size.vocabulary, (words,), rng)]
        said = np.stack([right, other, np.full_like(right, ""), right + other], axis=1)[np.arange(words), choice]
        dense = dense_values(np.array([1, 1, 0, 2])[choice].sum(1), (choice == 0).sum(1), rng)
        ids, counts = sparse_counts(size, choice, rng)
        scores = np.round(dense @ np.array(list(INITIAL.values())), 4)
        order = np.argsort(-scores, kind="stable")
        yield List(
            texts=["".join(row)[:-1] for row in said[order].tolist()],
            ids=np.concatenate([np.arange(len(DENSE)), len(DENSE) + ids]).astype(np.uint32),
            values=np.concatenate([dense, counts], axis=1)[order],
            scores=scores[order],
        )


def dense_values(words: NDArray[np.int64], right: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """One column of each of DENSE; all are log-probabilities or penalties, at most 0, but for the phrases' number."""
    columns = []
    for column in DENSE:
        noise = column.noise * np.sqrt(words) * rng.standard_normal(len(words))
        value = np.round(column.per_word * words + column.per_right * right + noise, column.decimals)
        columns.append(np.minimum(value, 0.0) if column.per_word < 0 else value)
    return np.stack(columns, axis=1)


def sparse_counts(
    size: Case, choice: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The segment's sparse names as ascending ranks, and how often each candidate has each of them."""
    candidates, words = choice.shape
    shape = (words, OPTIONS, size.bundle)
    rank = zipf(size.names, shape, rng) // 2 * 2
    rank += rng.random(shape) < np.where(np.arange(OPTIONS) == 0, 1 - VIRTUE, VIRTUE)[:, None]
    rank = np.where(rng.random(shape) < SHARED, rank[:, :1], rank)
    found, place = np.unique(rank, return_inverse=True)
    brought = place.reshape(shape)[np.arange(words), choice].reshape(candidates, words * size.bundle)
    cells = np.arange(candidates)[:, None] * len(found) + brought
    counts = np.bincount(cells.ravel(), minlength=candidates * len(found))
    return found, counts.reshape(candidates, len(found)).astype(np.float64)
