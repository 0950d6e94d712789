"""The doctor: every number against something independent, every warning provoked once and absent from clean lists."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from rampion.decoder.text import toy
from sacrebleu.metrics import BLEU

from rampion.analysis.inspection import KINDS, examine
from rampion.errors import InputError, InputWarning
from rampion.metrics import metric as named
from rampion.metrics.tokens import fitting
from rampion.store.candidates import Candidates
from rampion.store.names import Names
from rampion.store.records import rows_of
from rampion.store.text import References, Texts
from rampion.training.inputs import judge

SEGMENTS, K = 60, 12
TOY = list(toy.task(3, SEGMENTS, K))


def lists_of(records):
    return Candidates.from_records(records)


def refs_of(records):
    return [record["refs"] for record in records]


def examined(records, refs=None, metric="bleu", **options):
    lists = lists_of(records)
    return examine(lists, judge(lists, refs or refs_of(records), metric), **options)


def kinds(examination):
    return [finding.kind for finding in examination.findings]


def spans(lists):
    return zip(lists.bounds[:-1], lists.bounds[1:], strict=True)


# Numbers


def corpus(records, picks):
    texts = [record["hyps"][pick]["text"] for record, pick in zip(records, picks, strict=True)]
    return (
        BLEU(tokenize="none")
        .corpus_score(texts, [list(column) for column in zip(*refs_of(records), strict=True)])
        .score
    )


def test_oracle_and_worst_by_depth_are_those_of_brute_force():
    lists = lists_of(TOY)
    arbiter = judge(lists, refs_of(TOY), "bleu")
    costs = arbiter.batch(lists).stakes.costs
    found = examine(lists, arbiter).scores
    assert [depth.k for depth in found.depths] == [1, 5, 10, None]
    for depth in found.depths:
        heads = [costs[start:end][: depth.k].tolist() for start, end in spans(lists)]
        assert depth.oracle == pytest.approx(corpus(TOY, [head.index(min(head)) for head in heads]))
        assert depth.worst == pytest.approx(corpus(TOY, [head.index(max(head)) for head in heads]))
    assert found.depths[0].oracle == found.depths[0].worst == found.listed == pytest.approx(corpus(TOY, [0] * SEGMENTS))
    assert found.listed + 5 < found.depths[-1].oracle
    assert found.depths[-1].worst < found.chance < found.depths[-1].oracle
    assert found.chosen is None


@pytest.mark.parametrize("seed", range(5))
def test_places_are_those_of_the_first_of_the_best_in_a_sorted_list(seed):
    rng = np.random.default_rng(seed)
    lists = lists_of(TOY)
    arbiter = judge(lists, refs_of(TOY), "wer")
    weights = np.zeros(len(lists.features))
    weights[: lists.features.width] = rng.integers(-1, 2, lists.features.width)
    found = examine(lists, arbiter, weights)
    costs, scores = arbiter.batch(lists).stakes.costs, lists.score(weights)
    for place, keys in zip(found.scores.places, (np.zeros(lists.size), scores), strict=True):
        places = []
        for start, end in spans(lists):
            order = sorted(range(start, end), key=lambda i: -keys[i])
            places.append(1 + min(order.index(i) for i in order if costs[i] == min(costs[start:end])))
        assert (place.mean, place.median) == (pytest.approx(np.mean(places)), np.median(places))
        assert place.first == pytest.approx(places.count(1) / SEGMENTS)
    picks = [max(range(start, end), key=scores.__getitem__) - start for start, end in spans(lists)]
    rows = arbiter.batch(lists).statistics[lists.bounds[:-1] + picks]
    assert found.scores.chosen == pytest.approx(arbiter.metric.total_score(rows.sum(axis=0)))


def centred(values, lists):
    return np.concatenate([values[start:end] - values[start:end].mean() for start, end in spans(lists)])


@pytest.mark.parametrize("metric", ["bleu", "wer"])
@pytest.mark.parametrize("half", [False, True], ids=["counts", "values"])
def test_features_agree_with_numpy_dense_and_sparse(metric, half):
    records = copy.deepcopy(TOY)
    if half:
        for record in records:
            for hyp in record["hyps"]:
                hyp["feats"] = {name: np.multiply(value, 0.5).tolist() for name, value in hyp["feats"].items()}
    else:
        assert max(value for r in TOY for h in r["hyps"] for name, value in h["feats"].items() if "WT_" in name) > 1
    lists = lists_of(records)
    assert bool(len(lists.lists.values)) == half
    arbiter = judge(lists, refs_of(records), metric)
    quality = centred(-arbiter.batch(lists).stakes.costs, lists)
    rows = lists.rows()
    owners = np.repeat(np.arange(lists.size), np.diff(rows.entry_bounds))
    table = np.zeros((lists.size, len(lists.features)))
    table[owners, rows.ids] = rows.values
    found = examine(lists, arbiter, top=40).features
    assert [row.dense for row in found] == [True] * 5 + [False] * 40
    for row in found:
        column = table[:, lists.features.ids[row.name]]
        inside = centred(column, lists)
        assert row.active == pytest.approx(1.0 if row.dense else (column != 0).mean())
        assert row.mean == pytest.approx(column.mean())
        assert row.variance == pytest.approx(column.var())
        assert row.within == pytest.approx(inside.var() / column.var(), abs=1e-12)
        if inside.any():
            assert row.correlation == pytest.approx(np.corrcoef(inside, quality)[0, 1], abs=1e-9)
        else:
            assert row.correlation is None
    actives = [row.active for row in found if not row.dense]
    assert actives == sorted(actives, reverse=True)


def test_a_metric_column_needs_no_references_and_its_chance_is_the_mean_of_means():
    records = copy.deepcopy(TOY)
    rng = np.random.default_rng(0)
    for record in records:
        for hyp in record["hyps"]:
            hyp["metrics"] = {"comet": rng.random()}
    lists = lists_of(records)
    found = examine(lists, judge(lists, None, "metric:comet"))
    values = lists.metrics["comet"]
    assert found.scores.chance == pytest.approx(np.mean([values[start:end].mean() for start, end in spans(lists)]))
    assert found.scores.depths[-1].oracle == pytest.approx(
        np.mean([values[start:end].max() for start, end in spans(lists)])
    )
    assert found.findings == ()


def test_counts_and_diversity():
    records = [hand("1", "a b c d", "a b c x", "a b c x"), hand("2", "a b", "a b")]
    found = examine(lists_of(records))
    assert (found.counts.segments, found.counts.candidates, found.counts.distinct) == (2, 5, 3)
    assert (found.counts.shortest, found.counts.median, found.counts.longest) == (2, 2.5, 3)
    assert found.diversity.distinct == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found.diversity.distance == pytest.approx((1 / 4 + 0) / 2)
    assert found.scores is None


def hand(segment, *texts):
    return {"id": segment, "hyps": [{"text": text, "feats": {"f": i}} for i, text in enumerate(texts)], "refs": ["a"]}


# Warnings


def test_clean_lists_have_none():
    assert examined(TOY).findings == ()
    assert examined(TOY, metric="chrf").findings == ()
    assert examined(TOY[:8]).findings == ()
    assert examine(lists_of(TOY)).findings == ()
    assert examine(lists_of(TOY), other=lists_of(list(toy.task(3, 3 * SEGMENTS, K))[SEGMENTS:])).findings == ()


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda feats, s, i: feats.update(big=1e7 + i), "feature 'big' has the mean 1e+07; harmless"),
        (lambda feats, s, i: feats.update(tiny=1e-6 * i), "times as widely as 'tiny'; harmless"),
    ],
)
def test_odd_scales_are_told_and_are_no_warning(change, note):
    records = copy.deepcopy(TOY)
    each(change)(records)
    found = examined(records)
    assert found.findings == ()
    assert len(found.notes) == 1
    assert note in found.notes[0]
    assert examined(TOY).notes == ()


def test_places_count_only_lists_that_have_a_best_candidate():
    """Labels: the first list is all wrong, the second all right, in the others the third candidate alone is right."""
    records = [
        {"id": str(s), "hyps": [{"text": f"{s} {i}", "feats": {"x": 1.0 * i}} for i in range(4)]} for s in range(6)
    ]
    for s, record in enumerate(records):
        for i, hyp in enumerate(record["hyps"]):
            hyp["metrics"] = {"good": int(s == 1 or (s > 1 and i == 2))}
    lists = lists_of(records)
    place = examine(lists, judge(lists, None, "metric:good")).scores.places[0]
    assert (place.mean, place.median, place.first, place.lists) == (3, 3, 0, 4)
    alike = lists_of(records[:2])
    assert examine(alike, judge(alike, None, "metric:good")).scores.places[0].lists == 0


def test_missing_features_are_told():
    records = [
        {
            "id": str(s),
            "hyps": [{"text": f"{s} {i}", "feats": {"x": None if i == 0 and s < 6 else float(i)}} for i in (0, 1)],
        }
        for s in range(12)
    ]
    with pytest.warns(InputWarning):
        lists = lists_of(records)
    (note,) = examine(lists).notes
    assert note == "feature 'x' is missing in 25.0% of the candidates: the mean of the list stands in its place"


SENTENCES = {
    "13a": ("He said, it rains.", "She knew: it snows!"),
    "zh": ("今天天气很好，我们去公园散步吧。", "他说明天会下雨，我们就不去了。"),
    "char": ("今日はとても天気がいいですね。", "明日は雨が降るでしょうから行きません。"),
}


@pytest.mark.parametrize("tokeniser", SENTENCES)
def test_text_that_is_not_tokenised_is_told_what_fits(tokeniser):
    texts = [f"{SENTENCES[tokeniser][s % 2]}" for s in range(20)]
    records = []
    for s, text in enumerate(texts):
        hyps = [{"text": one, "feats": {"x": float(i)}} for i, one in enumerate((text, text[::-1]))]
        records.append({"id": str(s), "hyps": hyps, "refs": [text]})
    (told,) = [one for one in examined(records).findings if one.kind == "tokenisation"]
    assert told.sentence.endswith(f"let it tokenise (bleu:{tokeniser})")
    for metric in (f"bleu:{tokeniser}", "chrf"):
        assert "tokenisation" not in kinds(examined(records, metric=metric))
    apart = [" ".join(re.findall(r"\w+|[^\w\s]", text)) for text in texts]
    spaced = [" ".join(text) for text in texts] if tokeniser != "13a" else apart
    assert fitting(Texts.from_strings(spaced)) == "none"
    assert fitting(Texts.from_strings(texts)) == tokeniser


def each(change):
    """Change the features of every candidate, given its segment and place."""

    def apply(records):
        for s, record in enumerate(records):
            for i, hyp in enumerate(record["hyps"]):
                change(hyp["feats"], s, i)

    return apply


def texts(change, *sides):
    def apply(records):
        for record in records:
            if "refs" in sides:
                record["refs"] = [change(text) for text in record["refs"]]
            if "hyps" in sides:
                for hyp in record["hyps"]:
                    hyp["text"] = change(hyp["text"])

    return apply


def cut(records, size, share):
    for record in records[: int(share * len(records))]:
        del record["hyps"][size:]


def moved(shift, start=0):
    def apply(records):
        refs = refs_of(records)
        for s in range(start, len(records)):
            records[s]["refs"] = refs[(s + shift) % len(refs)]

    return apply


def column_moved(records):
    refs = refs_of(records)
    for s, record in enumerate(records):
        record["refs"] = [refs[s][0], refs[(s + 1) % len(refs)][1]]


def leak(records):
    lists = lists_of(records)
    values = named("bleu").segments(judge(lists, refs_of(records), "bleu").batch(lists).statistics)
    each(lambda feats, s, i: feats.update(oracle=float(values[lists.bounds[s] + i])))(records)


def shuffled(records):
    refs = refs_of(records)
    for record, s in zip(records, np.random.default_rng(1).permutation(len(refs)), strict=True):
        record["refs"] = refs[s]


def third_in_capitals(text):
    return " ".join(word if i % 3 else word.upper() for i, word in enumerate(text.split()))


def full_stops(hyps, refs):
    def apply(records):
        texts(lambda text: text + hyps, "hyps")(records)
        texts(lambda text: text + refs, "refs")(records)

    return apply


def few_texts(records):
    for record in records[:40]:
        for hyp in record["hyps"][4:]:
            hyp["text"] = record["hyps"][0]["text"]


def equal_costs(records):
    for record in records:
        text = record["hyps"][0]["text"]
        for i, hyp in enumerate(record["hyps"], 1):
            hyp["text"] = f"{text} {'x' * i}"


def first_twice(records):
    for record in records:
        record["refs"] = record["refs"][:1] * 2


# what is done to clean lists, the kind of the only finding, what its sentence says, and where it is
WRONG = {
    "constant": (
        each(lambda feats, s, i: feats.update(bias=s % 7)),
        "constant features",
        "feature 'bias' has one value within every list, so no weight can change a choice; leave it out",
        {"feature": "bias"},
    ),
    "constant sparse": (
        each(lambda feats, s, i: feats.update({f"topic{s}.{j}": 1 for j in range(30)})),
        "constant features",
        "sparse features have one value within every list",
        {},
    ),
    "leak": (leak, "leak", "feature 'oracle' correlates +1.000 with the metric within lists", {"feature": "oracle"}),
    "one candidate": (
        lambda records: cut(records, 1, 0.1),
        "ragged lists",
        "6 of 60 lists hold one candidate",
        {"segment": "0"},
    ),
    "repeated": (
        lambda records: records[2]["hyps"].append(records[2]["hyps"][4]),
        "repeated candidates",
        "1 candidate repeats the text and the features of another",
        {"segment": "2", "candidate": K},
    ),
    "few texts": (few_texts, "few texts", "in 40 of 60 lists fewer than half", {"segment": "0"}),
    "empty reference": (
        lambda records: records[7].update(refs=["", records[7]["refs"][1]]),
        "empty references",
        "1 reference is empty",
        {"segment": "7"},
    ),
    "one line lost": (
        moved(-1),
        "misaligned references",
        "60 segments in a row (0 to 59) fit the references that stand one line behind their own; see whether one line "
        "too many stand",
        {"segment": "0"},
    ),
    "two lines more": (
        moved(2, start=30),
        "misaligned references",
        "stand 2 lines before their own; see whether 2 lines got lost in the references near segment 32",
        {"segment": "32"},
    ),
    "second column": (column_moved, "misaligned references", "(reference no. 2 of each)", {"segment": "0"}),
    "shuffled": (shuffled, "misaligned references", "hardly better than those of other segments", {"segment": "0"}),
    "given twice": (first_twice, "identical references", "references no. 1 and 2 are equal in 60 of 60 segments", {}),
    "cased references": (
        texts(third_in_capitals, "refs"),
        "casing",
        "the references are cased where the hypotheses are not",
        {},
    ),
    "cased hypotheses": (
        texts(third_in_capitals, "hyps"),
        "casing",
        "the hypotheses are cased where the references are not",
        {},
    ),
    "tokenised hypotheses": (
        full_stops(hyps=" .", refs="."),
        "tokenisation",
        "the hypotheses are tokenised and the references are not: 100% and 0% of the punctuation stands alone",
        {},
    ),
    "tokenised references": (
        full_stops(hyps=".", refs=" ."),
        "tokenisation",
        "the references are tokenised and the hypotheses are not",
        {},
    ),
    "pieces": (
        texts(lambda text: re.sub(r"^(\w)(\w)", r"\1@@ \2", text), "hyps"),
        "tokenisation",
        "the hypotheses are in subword pieces (@@ or ▁) and the references are not",
        {},
    ),
    "long hypotheses": (
        texts(lambda text: " ".join([text, *text.split()[:4]]), "hyps"),
        "lengths",
        "times as many words as the references",
        {},
    ),
    "equal costs": (
        equal_costs,
        "nothing to learn",
        "in 60 of 60 lists all candidates have the same cost",
        {"segment": "0"},
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_fault_is_the_only_one_found(case):
    change, kind, sentence, place = WRONG[case]
    records = copy.deepcopy(TOY)
    change(records)
    (finding,) = examined(records).findings
    assert finding.kind == kind
    assert sentence in finding.sentence
    assert {name: getattr(finding, name) for name in place} == place


def test_empty_hypotheses_which_readers_refuse():
    lists = lists_of(TOY)
    strings = list(lists.texts)
    strings[5 * K + 3] = " "
    (finding,) = examine(replace(lists, texts=Texts.from_strings(strings))).findings
    assert (finding.kind, finding.segment, finding.candidate) == ("empty hypotheses", "5", 3)


def test_lists_far_shorter_than_usual():
    records = list(toy.task(3, 20, 40))
    cut(records, 3, 0.2)
    (finding,) = examined(records).findings
    assert (finding.kind, finding.segment) == ("ragged lists", "0")
    assert "4 of 20 lists have at most a tenth of the usual 40 candidates" in finding.sentence


def test_segments_without_candidates_are_named_and_left_out():
    lists = lists_of(TOY)
    kept = np.ones(lists.size, bool)
    kept[lists.bounds[4] : lists.bounds[5]] = False
    lists = lists.keep(kept)
    found = examine(lists, judge(lists, refs_of(TOY), "bleu"))
    assert [(f.kind, f.segment) for f in found.findings] == [("empty lists", "4")]
    assert (found.counts.segments, found.counts.shortest) == (SEGMENTS, 0)
    rest = [record for record in TOY if record["id"] != "4"]
    assert found.scores.depths == examined(rest).scores.depths
    with pytest.raises(InputError, match="the lists hold no candidates"):
        examine(lists.keep(np.zeros(lists.size, bool)))


def test_a_column_that_some_candidates_lack():
    lists = lists_of(TOY)
    column = np.zeros(lists.size)
    column[[15, 20]] = np.nan
    (finding,) = examine(replace(lists, metrics={"comet": column})).findings
    assert (finding.kind, finding.segment, finding.candidate) == ("unlabelled", "1", 15 - K)
    assert f"2 of {lists.size} candidates have no comet; they are reranked" in finding.sentence


@pytest.mark.parametrize(("weight", "sentence"), [(0.0, "all weights are zero"), (np.nan, "weight of 'LM' is nan")])
def test_collapsed_weights(weight, sentence):
    lists = lists_of(TOY)
    found = examine(lists, judge(lists, refs_of(TOY), "bleu"), np.full(len(lists.features), weight))
    assert kinds(found) == ["collapsed weights"]
    assert sentence in found.findings[0].sentence
    json.dumps(found.as_dict(), allow_nan=False)


def test_references_of_one_segment_that_are_one_file_are_transposed():
    four = list(toy.task(3, 4, K, references=4))
    refs = refs_of(four)
    assert examined(four).findings == ()
    found = examined(four, [list(column) for column in zip(*refs, strict=True)])
    assert kinds(found) == ["transposed references"]
    with pytest.raises(InputError, match="references look transposed: 2 lists of 60 strings for 60 segments"):
        examined(TOY, [list(column) for column in zip(*refs_of(TOY), strict=True)])


def test_features_of_one_side():
    here, there = copy.deepcopy(TOY), copy.deepcopy(TOY)
    each(lambda feats, s, i: feats.update(mine=i + 1))(here)
    each(lambda feats, s, i: [feats.update({f"y{s}{name}": feats.pop(name)}) for name in [*feats] if "WT_" in name])(
        there
    )
    names = Names()
    apart = lists_of(here), lists_of(there)
    together = Candidates.from_rows(names, [[rows_of(here, names)], [rows_of(there, names)]])
    for one, other in (apart, together):
        found = examine(one, other=other)
        assert kinds(found) == ["one-sided features"] * 3
        assert found.findings[0].feature == "mine"
        assert found.split.dense_here == ("mine",)
        assert found.split.dense_there == ()
        assert found.split.sparse_here == found.split.sparse_there == 1.0
        assert "100% of the sparse features of the other lists never occur in these" in found.findings[2].sentence
    assert examine(apart[1], other=apart[0]).split.dense_there == ("mine",)


def test_the_worst_comes_first():
    records = copy.deepcopy(TOY)
    cut(records, 1, 0.1)
    each(lambda feats, s, i: feats.update(bias=1))(records)
    texts(str.upper, "refs")(records)
    moved(1)(records)
    found = kinds(examined(records, metric="bleu:lc"))
    assert found == ["misaligned references", "constant features", "ragged lists"]
    assert found == sorted(found, key=KINDS.index)


def test_metrics_that_see_through_case_and_tokenisation_get_no_warning():
    records = copy.deepcopy(TOY)
    texts(third_in_capitals, "refs")(records)
    full_stops(hyps=" .", refs=".")(records)
    assert kinds(examined(records, metric="bleu:13a,lc")) == []
    assert kinds(examined(records, metric="bleu")) == ["casing", "tokenisation"]


def test_ragged_references_are_no_fault():
    records = copy.deepcopy(TOY)
    for s, record in enumerate(records):
        record["refs"] = record["refs"][: 1 + s % 2]
    lists = lists_of(records)
    assert examine(lists, judge(lists, References.from_lists(refs_of(records)), "bleu")).findings == ()


# JSON and the command line


def names_of(kind):
    return {field.name for field in fields(kind)}


def test_as_dict_is_json_and_holds_everything():
    found = examined(TOY, weights=np.ones(len(lists_of(TOY).features)), other=lists_of(TOY))
    facts = found.as_dict()
    assert json.loads(json.dumps(facts, allow_nan=False))["scores"]["depths"][0]["k"] == 1
    assert facts.keys() == names_of(type(found))
    for name in facts:
        part = getattr(found, name)
        for one, fact in zip(part, facts[name], strict=True) if isinstance(part, tuple) else [(part, facts[name])]:
            assert is_dataclass(one)
            assert fact.keys() == names_of(type(one))


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-P", "-m", "rampion", "inspect", *map(str, arguments)], capture_output=True, text=True
    )


@pytest.fixture
def files(tmp_path):
    """Lists as JSONL with references inside, the references of each place as a file, and weights."""
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(record) + "\n" for record in TOY), "utf-8")
    for place, column in enumerate(zip(*refs_of(TOY), strict=True)):
        (tmp_path / f"ref.{place}").write_text("".join(text + "\n" for text in column), "utf-8")
    (tmp_path / "weights.txt").write_text("LM= 0.5\nTM= 0.2 0.2\nWordPenalty= -1\nDistortion= 0.3\n", "utf-8")
    return tmp_path


def test_the_command_shows_tables_that_fit_and_warnings_last(files):
    lists = files / "dev.jsonl"
    answer = run(lists, "--refs", files / "ref.0", "--weights", files / "weights.txt", "--other", lists, "--top", 3)
    assert answer.returncode == 0
    assert max(map(len, answer.stdout.splitlines())) <= 80
    assert answer.stdout.endswith("nothing wrong was found\n")
    for word in ("as listed", "by the weights", "oracle", "first 5", "TM[1]", "weight", "corr", "more sparse features"):
        assert word in answer.stdout
    (files / "ref.1").write_text("\n".join(record["refs"][0] for record in [*TOY[1:], TOY[0]]) + "\n", "utf-8")
    answer = run(lists, "--refs", files / "ref.1")
    assert answer.returncode == 0, "findings are no failure"
    assert "1 warning, worst first\n! misaligned references (segment 0): 60 segments in a row" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80


def test_the_command_prints_the_examination_as_json(files):
    answer = run(files / "dev.jsonl", "--json", "--metric", "bleu")
    lists = lists_of(TOY)
    expected = examine(lists, judge(lists, refs_of(TOY), "bleu")).as_dict()
    assert json.loads(answer.stdout) == json.loads(json.dumps(expected))


def test_the_command_does_without_references_and_says_so(files):
    bare = [{key: value for key, value in record.items() if key != "refs"} for record in TOY]
    (files / "bare.jsonl").write_text("".join(json.dumps(record) + "\n" for record in bare), "utf-8")
    answer = run(files / "bare.jsonl")
    assert answer.returncode == 0
    assert "examined without references" in answer.stderr
    assert "oracle" not in answer.stdout
    assert run(files / "bare.jsonl", "--metric", "bleu").returncode == 2


@pytest.mark.parametrize(
    "wrong", [["nothing.jsonl"], ["dev.jsonl", "--refs", "nothing"], ["dev.jsonl", "--metric", "x"]]
)
def test_bad_input_ends_with_one_sentence_and_2(files, wrong):
    answer = run(files / wrong[0], *(files / word if word == "nothing" else word for word in wrong[1:]))
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert "Traceback" not in answer.stderr
    assert answer.stderr.count("rampion: ") == 1


def test_help_has_an_example():
    assert "rampion inspect dev.nbest.gz --refs" in run("--help").stdout
