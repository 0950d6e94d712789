"""Metrics against sacrebleu, brute force and the published formulas."""

from __future__ import annotations

import math
import sys
from itertools import pairwise, product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from rampion.errors import InputError, RecipeError
from rampion.metrics import METRICS, Bleu, Chrf, Column, Ter, Wer, costs
from rampion.metrics import metric as named
from rampion.metrics.bleu import BREVITIES, SMOOTHINGS
from rampion.metrics.tokens import Tokeniser, characters, words
from rampion.store.names import Names
from rampion.store.text import References, Texts

WHITE = "".join(chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace())
SPACES = st.sampled_from([" ", " ", " ", "  ", *WHITE])
WORDS = st.sampled_from([*"aaabbc.,A", "(hi)", "don't", "été", "日本", "x1,000.5", "&quot;", "e\u0301", "\U0001f600"])
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TEXT = st.one_of(ANY, st.lists(st.one_of(WORDS, SPACES), max_size=24).map(" ".join), st.just(""))


@st.composite
def lists(draw, text=TEXT, max_segments=3):
    """Segments of (candidates, references): unequal numbers of both, empty lists and empty strings among them."""
    segment = st.tuples(st.lists(text, max_size=4), st.lists(text, min_size=1, max_size=3))
    return draw(st.lists(segment, min_size=1, max_size=max_segments))


def inputs(segments):
    bounds = np.cumsum([0, *(len(candidates) for candidates, _ in segments)], dtype=np.int64)
    texts = Texts.from_strings(text for candidates, _ in segments for text in candidates)
    return texts, bounds, References.from_lists(references for _, references in segments)


def sacrebleu_rows(metric, segments):
    return [
        row
        for candidates, references in segments
        for row in metric._extract_corpus_statistics(candidates, [[r] * len(candidates) for r in references])
    ]


PAIRS = {
    "bleu": BLEU(tokenize="none"),
    "bleu:lc": BLEU(tokenize="none", lowercase=True),
    "bleu:13a": BLEU(tokenize="13a"),
    "bleu:intl,lc": BLEU(tokenize="intl", lowercase=True),
    "bleu:char": BLEU(tokenize="char"),
    "bleu:zh": BLEU(tokenize="zh"),
    "chrf": CHRF(),
    "chrf:lc": CHRF(lowercase=True),
    "chrf++": CHRF(word_order=2),
    "ter": TER(),
    "ter:cased,normalised,nopunct,asian": TER(True, True, True, True),
}


@pytest.mark.parametrize("spec", PAIRS)
@given(lists())
def test_statistics_score_and_signature_are_sacrebleus(spec, segments):
    metric, truth = named(spec), PAIRS[spec]
    texts, bounds, references = inputs(segments)
    rows = sacrebleu_rows(truth, segments)
    found = metric.statistics(texts, bounds, references)
    assert found.tolist() == rows
    if rows:
        total = found.sum(axis=0)
        assert metric.total_score(total) == pytest.approx(
            truth._compute_score_from_stats(total.tolist()).score, rel=1e-12
        )
    counts = {len(references) for _, references in segments}
    truth.num_refs = counts.pop() if len(counts) == 1 else -1
    assert metric.signature(references) == str(truth.get_signature())


@pytest.mark.parametrize(
    ("spec", "method", "value"), [("bleu:raw", "none", None), ("bleu", "add-k", 1), ("bleu:exp", "exp", None)]
)
@given(lists())
def test_a_sentence_is_a_corpus_of_one_for_sacrebleu(spec, method, value, segments):
    metric, truth = named(spec), BLEU(tokenize="none", smooth_method=method, smooth_value=value)
    rows = metric.statistics(*inputs(segments))
    expected = [truth._compute_score_from_stats(row.tolist()).score / 100 for row in rows]
    assert metric.segments(rows) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@given(lists())
def test_sentence_values_are_finite_and_zero_without_words(segments):
    rows = Bleu().statistics(*inputs(segments))
    for smoothing, brevity in product(SMOOTHINGS, BREVITIES):
        values = Bleu(smoothing, brevity).segments(rows)
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        assert (values[rows[:, 0] == 0] == 0).all()
        assert brevity == "unclipped" or (values <= 1).all()


@given(lists())
def test_a_text_that_is_a_reference_is_perfect(segments):
    segments = [(references, references) for _, references in segments if all(r.split() for r in references)]
    for spec in ("bleu", "bleu:moses", "bleu:floor", "bleu:he-deng,clipped", "chrf", "chrf++", "wer:reverse"):
        metric = named(spec)
        values = metric.segments(metric.statistics(*inputs(segments)))
        short = "he-deng" in spec and np.array([len(r.split()) < 2 for _, known in segments for r in known], bool)
        assert values[~np.broadcast_to(short, values.shape)] == pytest.approx(1.0)


@given(lists())
def test_the_reference_length_is_the_closest_and_then_the_shorter_or_the_shortest(segments):
    lengths = [
        (len(text.split()), [len(r.split()) for r in references])
        for candidates, references in segments
        for text in candidates
    ]
    closest = named("bleu").statistics(*inputs(segments))[:, 1].tolist()
    assert closest == [min(known, key=lambda r: (abs(r - c), r)) for c, known in lengths]
    assert named("bleu:nist").statistics(*inputs(segments))[:, 1].tolist() == [min(known) for _, known in lengths]


@given(lists())
def test_the_average_reference_length_is_the_mean(segments):
    means = [
        np.mean([len(reference.split()) for reference in references])
        for candidates, references in segments
        for _ in candidates
    ]
    average, closest = (named(spec).statistics(*inputs(segments)) for spec in ("bleu:average", "bleu"))
    assert average[:, 1].tolist() == pytest.approx(means, rel=1e-15)
    assert np.delete(average, 1, axis=1).tolist() == np.delete(closest, 1, axis=1).tolist()


@given(lists())
def test_with_references_of_one_length_the_average_is_sacrebleus(segments):
    segments = [(candidates, references[:1]) for candidates, references in segments]
    rows, truth = named("bleu:average").statistics(*inputs(segments)), PAIRS["bleu"]
    assert rows.tolist() == sacrebleu_rows(truth, segments)
    if len(rows):
        total = rows.sum(axis=0)
        expected = truth._compute_score_from_stats(total.astype(int).tolist()).score
        assert named("bleu:average").total_score(total) == pytest.approx(expected, rel=1e-12)


@given(lists(), st.sampled_from(["bleu", "bleu:average", "bleu:moses,nist", "bleu:raw,nobp"]))
def test_a_scaled_value_is_that_of_the_sentence_times_its_shortest_reference(segments, spec):
    plain, scaled = named(spec), named(f"{spec},scaled" if ":" in spec else f"{spec}:scaled")
    rows, more = plain.statistics(*inputs(segments)), scaled.statistics(*inputs(segments))
    shortest = [
        min(len(reference.split()) for reference in references)
        for candidates, references in segments
        for _ in candidates
    ]
    assert scaled.segments(more) == pytest.approx(plain.segments(rows) * np.array(shortest), rel=1e-15)
    if len(rows):
        assert scaled.total_score(more.sum(axis=0)) == plain.total_score(rows.sum(axis=0))


def edits(a, b):
    """The textbook's table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


@given(lists())
def test_wer_takes_the_reference_with_the_smallest_ratio(segments):
    expected = []
    for candidates, references in segments:
        for text in candidates:
            pairs = [(edits(text.split(), r.split()), len(r.split())) for r in references]
            expected.append(min(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else float(pair[0] > 0)))
    metric, reverse = named("wer"), named("wer:reverse")
    rows = metric.statistics(*inputs(segments))
    assert [tuple(row) for row in rows.tolist()] == expected
    assert (reverse.segments(rows) == 1 - metric.segments(rows)).all()
    d, r = rows.sum(axis=0).tolist()
    assert metric.total_score(rows.sum(axis=0)) == pytest.approx(100 * d / r if r else 100 * (d > 0))
    assert reverse.total_score(rows.sum(axis=0)) == pytest.approx(100 - metric.total_score(rows.sum(axis=0)))


def test_wer_survives_tokens_whose_number_is_a_surrogate():
    vocabulary = [str(k) for k in range(0xE000 + 10)]
    texts = [" ".join(vocabulary), " ".join(vocabulary[:0xD800] + vocabulary[:0xDBFF:-1])]
    rows = Wer().statistics(Texts.from_strings(texts), np.array([0, 2]), References.from_lists([[texts[0]]]))
    assert rows[0].tolist() == [0, len(vocabulary)]
    assert rows[1, 0] > 0


def test_wer_names_its_limit(monkeypatch):
    monkeypatch.setattr("sys.maxunicode", 2)
    with pytest.raises(InputError, match="the references hold 3 different words, WER takes up to 2; score fewer"):
        Wer().statistics(Texts.from_strings(["a"]), np.array([0, 1]), References.from_lists([["a b c"]]))


@given(st.lists(TEXT, max_size=5))
def test_words_and_characters_are_those_of_split(strings):
    texts, segments, names = Texts.from_strings(strings), np.array([0, len(strings)]), Names()
    found = words(names, texts, segments)
    vocabulary = list(names.texts())
    cut = [found.ids[a:b].tolist() for a, b in pairwise(found.bounds.tolist())]
    assert [[vocabulary[k] for k in ids] for ids in cut] == [text.split() for text in strings]
    points = characters(texts, segments)
    cut = [points.ids[a:b].tolist() for a, b in pairwise(points.bounds.tolist())]
    assert ["".join(map(chr, ids)) for ids in cut] == ["".join(text.split()) for text in strings]


@pytest.mark.parametrize("white", WHITE)
def test_every_white_space_of_unicode_separates(white):
    texts, segments = Texts.from_strings([f"a{white}b"]), np.array([0, 1])
    assert len(words(Names(), texts, segments).ids) == len(characters(texts, segments).ids) == 2


@given(
    lists(st.sampled_from(["a b", "a c d", ""])),
    st.sampled_from(["bleu", "bleu:scaled", "chrf", "meteor", "ter", "wer"]),
)
def test_statistics_of_a_slice_are_a_slice_of_the_statistics(segments, spec):
    metric = named(spec)
    whole = metric.statistics(*inputs(segments))
    parts = [metric.statistics(*inputs([segment])) for segment in segments]
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_progress_of_ter_ends_at_all_candidates():
    calls = []
    Ter(progress=lambda done, total: calls.append((done, total))).statistics(
        *inputs([(["a", "b"], ["a"]), (["c"], ["c"])])
    )
    assert calls == [(2, 3), (3, 3)]


def test_a_column_is_its_mean():
    column = named("metric:comet")
    rows = column.statistics(*inputs([(["a", "b"], ["a"])]), columns={"comet": np.array([0.25, 0.5])})
    assert column.total_score(rows.sum(axis=0)) == 0.375
    assert column.segments(rows).tolist() == [0.25, 0.5]
    assert column.signature(References.from_lists([["a"]])) == "column:comet|mean"
    assert named("metric:a,b") == Column("a,b")
    assert named("metric:qe,lower") == Column("qe", higher_is_better=False)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "no metric column 'comet'; they have: none"),
        ({"bleu": np.zeros(3)}, "no metric column 'comet'; they have: bleu"),
        (
            {"comet": np.array([0.0, 0.0, math.nan])},
            r"metric column 'comet' is nan for candidate 0 of segment 1 \(both counted from 0\); give every candidate",
        ),
    ],
)
def test_a_column_must_be_there_and_finite(columns, message):
    with pytest.raises(InputError, match=message):
        Column("comet").statistics(*inputs([(["a", "b"], ["a"]), (["c"], ["c"])]), columns=columns)


@pytest.mark.parametrize("spec", ["bleu", "bleu:average,scaled", "chrf", "meteor", "ter", "wer"])
def test_references_must_fit_the_candidates(spec):
    texts, bounds, _ = inputs([(["a"], ["a"]), (["b"], ["b"])])
    with pytest.raises(InputError, match="2 segments of candidates but 1 of references; give one line"):
        named(spec).statistics(texts, bounds, References.from_lists([["a"]]))
    with pytest.raises(InputError, match=r"segment 1 \(counted from 0\) has no reference; give it one or leave"):
        named(spec).statistics(texts, bounds, References.from_lists([["a"], []]))


@pytest.mark.parametrize(
    "spec",
    [
        "bleu",
        "bleu:he-deng",
        "bleu:nakov,nobp",
        "bleu:scaled",
        "wer",
        "wer:reverse",
        "chrf",
        "meteor",
        "metric:x,lower",
    ],
)
def test_costs_are_alpha_times_what_is_missing(spec):
    metric = named(spec)
    rows = metric.statistics(*inputs([(["a b c", "a"], ["a b c d"])]), columns={"x": np.array([0.5, 0.75])})
    value = metric.segments(rows)
    missing = 1 - value if metric.higher_is_better else value
    assert costs(metric, rows, 3.0).tolist() == (3.0 * missing).tolist()
    assert (costs(metric, rows) == 10.0 * missing).all()


def test_wer_as_a_cost_is_the_same_reversed():
    rows = Wer().statistics(*inputs([(["a b c", "a", "x y z w v"], ["a b c d"])]))
    assert costs(Wer(), rows) == pytest.approx(costs(Wer(reverse=True), rows))


def test_names_give_what_they_say():
    assert named("bleu") == Bleu()
    assert named("bleu:nakov") == Bleu("lin-och", "bp+1")
    assert named("bleu:he-deng") == Bleu("he-deng", "unclipped")
    assert named("bleu:he-deng,clipped,nist,lc,13a") == Bleu("he-deng", "clipped", "shortest", "13a", True)
    assert named("bleu:scaled,average") == Bleu(length="average", scaled=True)
    assert named("chrf++:lc") == Chrf(word_order=2, lowercase=True)
    assert named("wer:reverse") == Wer(reverse=True)
    assert [named(name).name for name in METRICS] == ["BLEU", "chrF2", "chrF2++", "METEOR", "TER", "WER", "CER"]
    assert named("cer:lc") == named("wer:char,lc")
    assert named("wer:reverse").name == "reverse WER"
    assert [named(f"bleu:{name}").tokeniser for name in get_args(Tokeniser)] == list(get_args(Tokeniser))


@pytest.mark.parametrize("spec", ["", "blue", "metric:", "metric"])
def test_an_unknown_metric_lists_all(spec):
    with pytest.raises(
        RecipeError,
        match=rf"no metric '{spec}'; there are bleu, chrf, chrf\+\+, meteor, ter, wer, cer, and metric:NAME for",
    ):
        named(spec)


def test_an_unknown_option_lists_the_options():
    with pytest.raises(RecipeError, match="metric 'chrf:lc,x': chrf has no option 'x'; it has lc"):
        named("chrf:lc,x")


def test_signatures_name_what_sacrebleu_cannot():
    references = References.from_lists([["a", "b"], ["c"]])
    assert "|reflen:shortest|version:" in named("bleu:nist").signature(references)
    assert "|reflen:average|version:" in named("bleu:average").signature(references)
    assert named("wer:lc").signature(references).startswith("nrefs:var|case:lc|tok:none|version:rapidfuzz-")


R1 = "the israeli warplanes violated the lebanese airspace today"
R2 = "israeli fighter planes violate lebanese air space"
FULL = "the israeli warplanes violated lebanese airspace today"
PART = "israeli warplanes violate the lebanese airspace"
LONG = "the israeli warplanes violated the lebanese airspace again today by accident"
GOLDEN = {
    # candidate, references: m and t, r, then the values of SPECS to the digits known
    (PART, R1): ([5, 3, 1, 0, 6, 5, 4, 3], 8, [0.347870, 0.350329, 0.102372, 0.277647, 0.277647, 0.0]),
    (PART, R1, R2): ([6, 3, 1, 0, 6, 5, 4, 3], 7, [0.430125, 0.430125, 0.126579, 0.313526, 0.313526, 0.0]),
    (FULL, R1): ([7, 5, 3, 1, 7, 6, 5, 4], 8, [0.599395, 0.599395, 0.515449, 0.587214, 0.587214, 0.515449]),
    (FULL, R1, R2): ([7, 5, 3, 1, 7, 6, 5, 4], 7, [0.691442, 0.691442, 0.594604, 0.677390, 0.677390, 0.594604]),
    ("lebanese airspace", R1): ([2, 1, 0, 0, 2, 1, 0, 0], 8, [0.049787, 0.049787, 0.049787, 0.049787, 0.049787, 0.0]),
    ("warplanes", R1): ([1, 0, 0, 0, 1, 0, 0, 0], 8, [0.000912, 0.000912, 0.000912, 0.0, 0.0, 0.0]),
    (LONG, R1): ([8, 6, 5, 4, 11, 10, 9, 8], 8, [0.626715, 0.631555, 0.590047, 0.763699, 0.581405, 0.590047]),
}
SPECS = ["bleu", "bleu:moses", "bleu:floor", "bleu:he-deng", "bleu:he-deng,clipped", "bleu:raw"]


@pytest.mark.parametrize("texts", GOLDEN)
def test_sentence_bleu_has_its_golden_values(texts):
    candidate, *references = texts
    counts, length, values = GOLDEN[texts]
    rows = Bleu().statistics(*inputs([([candidate], references)]))
    assert rows.tolist() == [[len(candidate.split()), length, *counts]]
    assert [named(spec).segments(rows)[0] for spec in SPECS] == pytest.approx(values, abs=5e-7)


def test_raw_bleu_without_the_brevity_penalty_has_its_golden_value():
    rows = Bleu().statistics(*inputs([([FULL], [R1])]))
    assert named("bleu:raw,nobp").segments(rows)[0] == pytest.approx(0.594604, abs=5e-7)


@pytest.mark.parametrize(("name", "most"), [("ter", 500), ("wer", 100_000), ("cer", 100_000)])
@pytest.mark.parametrize("who", ["candidate", "reference"])
def test_texts_whose_comparison_would_take_for_ever_are_refused(name, most, who):
    long = "a " * (most + 1) if name != "cer" else "a" * (most + 1)
    texts = [["b", long], [["b"], ["b", long]]] if who == "reference" else [["b", long], [["b"], ["b"]]]
    bad = 2 if who == "reference" else 1
    if who == "reference":
        texts[0] = ["b", "b"]
    with pytest.raises(InputError, match=rf"{who} {bad} .* has {most + 1:,} words; {name.upper()} takes {most:,}: it"):
        named(name).score(texts[0], texts[1])
