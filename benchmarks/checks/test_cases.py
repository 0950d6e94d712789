"""Laws of the benchmark workloads: the text says what the rows say, and the lists look like real ones."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import cases
import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from rampion.store.text import Texts

BLEU4 = BLEU(tokenize="none", force=True)
SENTENCE = BLEU(tokenize="none", effective_order=True, smooth_method="add-k")
SEGMENTS, K = 60, 40


def features(names: list[str], rows: dict[str, Any]) -> list[dict[str, float]]:
    """The features of each candidate by name."""
    bounds, ids, values = (rows[field].tolist() for field in ("entry_bounds", "ids", "values"))
    return [{names[ids[e]]: values[e] for e in range(start, end)} for start, end in pairwise(bounds)]


def parsed(field: str) -> dict[str, float]:
    """The features of one line of Moses text, the values of a group numbered unless they are counts of pairs."""
    groups: dict[str, list[float]] = {}
    for token in field.split():
        if token.endswith("="):
            values = groups.setdefault(token[:-1], [])
        else:
            values.append(float(token))
    single = {label: values[0] for label, values in groups.items() if len(values) == 1}
    several = {label: values for label, values in groups.items() if len(values) > 1}
    return single | {f"{label}[{i}]": value for label, values in several.items() for i, value in enumerate(values)}


@pytest.mark.parametrize("case", cases.CASES)
def test_text_says_what_the_rows_say(case: str, tmp_path: Path) -> None:
    cases.write_nbest(tmp_path / "nbest", case, seed=3, segments=4, candidates=9)
    names, rows = cases.rows(case, seed=3, segments=4, candidates=9)
    lines = [line.split(" ||| ") for line in (tmp_path / "nbest").read_text().splitlines()]
    assert [line[0] for line in lines] == [segment for segment in rows["segments"] for _ in range(9)]
    assert [line[1] for line in lines] == list(rows["texts"])
    assert [parsed(line[2]) for line in lines] == features(names, rows)
    assert [float(line[3]) for line in lines] == rows["scores"].tolist()


@pytest.mark.parametrize("case", cases.CASES)
def test_rows_are_sound_and_sorted_by_the_initial_weights(case: str) -> None:
    names, rows = cases.rows(case, segments=5, candidates=8)
    assert len(set(names)) == len(names) == len(cases.DENSE) + cases.CASES[case].names
    assert names[: len(cases.DENSE)] == list(cases.INITIAL)
    assert rows["bounds"].tolist() == list(range(0, 41, 8))
    assert {field: rows[field].dtype for field in ("bounds", "entry_bounds", "ids", "values", "scores")} == {
        "bounds": np.int64, "entry_bounds": np.int64, "ids": np.uint32, "values": np.float64, "scores": np.float64
    }  # fmt: skip
    assert len(rows["ids"]) == len(rows["values"]) == rows["entry_bounds"][-1]
    assert rows["notes"] == Texts.from_strings([""] * 40)
    found = features(names, rows)
    assert sum(map(len, found)) == len(rows["ids"])
    totals = [sum(weight * candidate[name] for name, weight in cases.INITIAL.items()) for candidate in found]
    assert rows["scores"] == pytest.approx(totals, abs=1e-4)
    assert (np.diff(rows["scores"].reshape(5, 8)) <= 0).all()


def test_equal_seeds_are_equal_rows_and_more_segments_begin_with_the_fewer() -> None:
    (_, long), (_, short), (_, other) = (cases.rows("tiny", seed, n) for seed, n in ((1, 9), (1, 4), (2, 4)))
    entries = short["entry_bounds"][-1]
    assert long["ids"][:entries].tolist() == short["ids"].tolist() != other["ids"].tolist()
    assert long["values"][:entries].tolist() == short["values"].tolist()
    assert list(long["texts"])[: len(short["texts"])] == list(short["texts"])
    assert cases.references("tiny", 1, 9)[:4] == cases.references("tiny", 1, 4) != cases.references("tiny", 2, 4)


def test_candidates_overlap_like_real_ones() -> None:
    names, rows = cases.rows("S", segments=SEGMENTS, candidates=K)
    sparse = [{name: n for name, n in row.items() if name not in cases.INITIAL} for row in features(names, rows)]
    words = [Counter(text.split()) for text in rows["texts"]]
    neighbours = [(i, i + K // 2) for s in range(SEGMENTS) for i in range(s * K, s * K + K // 2)]
    assert np.mean([len(row) for row in sparse]) == pytest.approx(100, abs=15)
    assert np.mean([len(sparse[i].keys() & sparse[j].keys()) / len(sparse[i]) for i, j in neighbours]) > 0.85
    assert np.mean([(words[i] & words[j]).total() / words[i].total() for i, j in neighbours]) > 0.8
    counts = Counter(value for row in sparse for value in row.values())
    assert 0.8 < counts[1.0] / counts.total() < 0.95
    assert all(value == int(value) > 0 for value in counts)


def test_first_candidates_are_better_than_chance_and_far_from_the_oracle() -> None:
    _, rows = cases.rows("D", segments=SEGMENTS, candidates=K)
    texts, references = list(rows["texts"]), cases.references("D", segments=SEGMENTS)
    lists = [texts[s * K : (s + 1) * K] for s in range(SEGMENTS)]
    quality = [
        [SENTENCE.sentence_score(text, [reference]).score for text in found]
        for found, reference in zip(lists, references, strict=True)
    ]

    def bleu(picks: list[int]) -> float:
        return BLEU4.corpus_score([found[i] for found, i in zip(lists, picks, strict=True)], [references]).score

    chance = bleu(np.random.default_rng(0).integers(K, size=SEGMENTS).tolist())
    first, oracle = bleu([0] * SEGMENTS), bleu([int(np.argmax(row)) for row in quality])
    assert chance + 2 < first < oracle - 5


@pytest.mark.parametrize(("case", "size"), [("D", 300), ("S", 1800)])
def test_lines_have_the_length_of_real_ones(case: str, size: int, tmp_path: Path) -> None:
    cases.write_nbest(tmp_path / "nbest", case, segments=20)
    assert (tmp_path / "nbest").stat().st_size / (20 * 200) == pytest.approx(size, rel=0.15)
