"""Files of strangers: each is read rightly, or refused in one sentence; nothing is wrong in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import good, rampion

from rampion.errors import InputError
from rampion.formats import load_nbest, load_weights, read_lists, references, scores
from rampion.store.candidates import Candidates
from rampion.store.columns import Columns
from rampion.store.text import Texts

ROWS = [
    {
        "question_id": f"q{q}", "prompt": f"What is {q}?", "output": f"{q} {s}", "logprob": -q - (s % 3) / 4,
        "is_correct": s == 1,
    }
    for q in range(6)
    for s in range(4)
]  # fmt: skip
CHOICE = {"index": 0, "message": {"content": "a"}, "logprobs": {"content": [{"logprob": -1.0}, {"logprob": -0.5}]}}
OPENAI = {"id": "c1", "choices": [CHOICE, {"index": 1, "message": {"content": "b"}, "logprobs": None}]}
VLLM = {"request_id": "0", "prompt": "p", "finished": True, "outputs": [
    {"text": "5", "token_ids": [7, 8], "cumulative_logprob": None},
    {"text": "6", "token_ids": [7], "cumulative_logprob": None}]}  # fmt: skip
SAMPLE = {"doc_id": 0, "doc": {}, "target": "#### 5", "arguments": {"gen_args_0": {"arg_0": "Q:", "arg_1": {}}},
          "resps": [["5", "6", "5"]], "filter": "strict", "metrics": ["exact_match"]}  # fmt: skip
FAIRSEQ = "S-1\tein haus\nH-1\t-0.5\ta house\nP-1\t-0.25 -0.5\n"
NBEST = "0 ||| a b ||| LM= 1\n0 ||| c ||| LM= 2\n1 ||| d ||| LM= 3\n"


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def csv(rows, comma=","):
    return "\n".join([comma.join(rows[0]), *(comma.join(map(str, row.values())) for row in rows), ""])


def changed(**others):
    return [
        {**row, **{name: cell(i) if callable(cell) else cell for name, cell in others.items()}}
        for i, row in enumerate(ROWS)
    ]


def read(path, columns=None, lenient=False):
    files = read_lists([path], lenient=lenient, columns=Columns.parse(columns))
    return Candidates.from_rows(files.names, files.runs)[0], files


@pytest.mark.parametrize(
    ("content", "columns", "sentence"),
    [
        (csv(changed(logprob=lambda i: f"-1,{i}"), ";"), None, "x:2: '-1,0' is a number with a comma or a perc"),
        (csv(changed(logprob=lambda i: f"{i},5" if i % 2 else i), ";"), None, "x:3: '1,5' is a number with a comma or"),
        (csv(changed(logprob=lambda i: f"{i} %")), None, "x:2: '0 %' is a number with a comma or a percent sign"),
        (json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}), None, "x:1: has 24 cells"),
        (jsonl(changed(question_id=lambda i: 1e17 + i)), None, "x:1: question_id is 1e.17: a float keeps 15 digits"),
        (csv([{"output": "a", "lp": 1}, {"output": "b", "lp": 2}]), "text=output", "x:2: has no segment; .* id=COLUMN"),
        ("a\t-1\nb\t-2\n", None, r"x:1: has no segment; .* how many rows a list has \(--columns size=N\)"),
        ('id\ttext\tscore\n1\t"a\t0.5\n2\tb"\t1\n', None, "x:2: .* begins with a quote"),
        (jsonl([{"input": ["hi", "hy"], "output": "hi"}]), None, "x:1: input is a list of 2 texts"),
        ("version https://git-lfs.github.com/spec/v1\noid x\n", None, "x: is a pointer of Git LFS"),
        ("<html><body>404</body></html>\n", None, "x: is a web page; get the file itself"),
        ("0 ||| a ||| LM=-1.5;WP=2\n", None, "x:1: '=-1.5;WP=2' are several features; write blanks between them"),
        ("0 ||| a ||| -1.5 ||| LM=-1 WP=2\n", None, "x:1: the total 'LM=-1 WP=2' .*; write the features before it"),
        (csv(ROWS).encode("utf-16"), None, r"x: is UTF-16 text; convert it to UTF-8 \(iconv"),
        (b"PK\x03\x04 and more", None, "x: is a ZIP archive or a spreadsheet"),
        (b"\x80\x04\x95", None, "x: is a pickle, which is never read"),
        (jsonl(changed(output=lambda i: None if i else "a")), None, "x:2: output is missing; a text is expected"),
        (jsonl([ROWS[0], {"question_id": "q0"}]), None, "x:2: has no 'output', the column of the text"),
        (csv(ROWS), "text=outputs", "x:2: --columns text=outputs: there is no such column; .*; did you mean 'output'"),
        (csv(ROWS), "id=question", "x:2: --columns id=question: there is no such .*; did you mean 'question_id'"),
        (csv(ROWS), "features=logprb", "x: --columns features=logprb: there is no such .* did you mean 'logprob'"),
        (csv(ROWS), "drop=modle", "x: --columns drop=modle: there is no such column; it has question_id"),
        (jsonl(changed(group=lambda i: i % 2)), None, "x: segment q0 has two groups; .*: --columns keep=group"),
        (jsonl([SAMPLE, SAMPLE | {"filter": "flexible"}]), None, r"x:2: segment 0 \(filter flexible\) is in the list"),
        ("log\n" * 5000 + FAIRSEQ + "S-0\tx\nT-0\ty\n", None, r"x:5004: sentence 0 has no hypothesis \(H-0\)"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(tmp_path, content, columns, sentence):
    (tmp_path / "x").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=sentence):
        read(tmp_path / "x", columns)


def test_a_label_is_never_a_feature_because_another_one_is_named(tmp_path):
    (tmp_path / "x").write_text(jsonl(changed(reward=lambda i: i / 2)))
    lists, _ = read(tmp_path / "x", "target=reward")
    assert (sorted(lists.metrics), list(lists.features.names)) == (["is_correct", "reward"], ["logprob"])


def test_new_lists_may_lack_the_label_that_columns_name(tmp_path):
    (tmp_path / "x").write_text(jsonl({name: row[name] for name in row if name != "is_correct"} for row in ROWS))
    lists, files = read(tmp_path / "x", "target=is_correct")
    assert list(lists.metrics) == []
    assert "--columns target=is_correct: there is no such column" in files.notices[-1]


def test_the_index_of_a_data_frame_has_no_name(tmp_path):
    lines = csv(ROWS).splitlines()
    (tmp_path / "x").write_text("\n".join([f",{lines[0]}", *(f"{i},{line}" for i, line in enumerate(lines[1:])), ""]))
    (tmp_path / "y").write_text(csv(ROWS))
    assert read(tmp_path / "x")[0].to_records() == read(tmp_path / "y")[0].to_records()


def test_objects_and_lists_of_numbers_are_told_and_can_be_features(tmp_path):
    rows = changed(scores=lambda i: {"lm": i, "tm": -i}, pair=lambda i: [i, 2 * i])
    (tmp_path / "x").write_text(jsonl(rows))
    notices = read(tmp_path / "x")[1].notices
    assert any("not used: scores, which holds \"{'lm': 0" in told and "features=scores" in told for told in notices)
    lists, _ = read(tmp_path / "x", "features=scores+pair")
    assert lists[0][3].features == {"scores.lm": 3.0, "scores.tm": -3.0, "pair[0]": 3.0, "pair[1]": 6.0}


def test_columns_of_numbers_and_words_are_counted(tmp_path):
    (tmp_path / "x").write_text(jsonl(changed(logprob=lambda i: i if i % 2 else "unknown")))
    assert any(
        "not used: logprob, since 12 of 24 cells are no numbers (such as 'unknown')" in told
        for told in read(tmp_path / "x")[1].notices
    )


def test_rows_that_each_have_a_name_of_their_own_are_told(tmp_path):
    (tmp_path / "x").write_text(
        csv([{"id": i} | {k: v for k, v in row.items() if k != "question_id"} for i, row in enumerate(ROWS)])
    )
    assert any(
        "every list has one candidate; if some belong together" in told for told in read(tmp_path / "x")[1].notices
    )


@pytest.mark.parametrize("name", ["data", "predictions"])
def test_a_table_inside_an_object_is_a_table(tmp_path, name):
    (tmp_path / "x").write_text(json.dumps({name: ROWS}))
    (tmp_path / "y").write_text(jsonl(ROWS))
    assert read(tmp_path / "x")[0].to_records() == read(tmp_path / "y")[0].to_records()


def test_lists_of_what_a_pipeline_generates(tmp_path):
    (tmp_path / "x").write_text(
        json.dumps([[{"generated_text": "a"}, {"generated_text": "b"}], [{"generated_text": "c"}]])
    )
    assert [segment.texts for segment in read(tmp_path / "x")[0]] == [["a", "b"], ["c"]]


def test_log_probabilities_that_some_choices_lack_are_missing_and_not_0(tmp_path):
    (tmp_path / "x").write_text(jsonl([OPENAI, OPENAI | {"id": "c2"}]))
    lists, files = read(tmp_path / "x")
    assert lists[0][1].features == {"logprob": -1.5, "tokens": 2.0, "logprob:missing": 1.0, "tokens:missing": 1.0}
    assert any("the feature logprob is missing in 2 of 4 candidates" in told for told in files.notices)
    (tmp_path / "x").write_text(jsonl([VLLM]))
    assert list(read(tmp_path / "x")[0].features.names) == ["tokens"]


def test_samples_of_the_evaluation_harness(tmp_path):
    (tmp_path / "x").write_text(jsonl([SAMPLE | {"exact_match": [1.0, 0.0, 1.0]}]))
    lists, _ = read(tmp_path / "x")
    assert (lists.metrics["exact_match"].tolist(), lists.of_segments("source")) == ([1.0, 0.0, 1.0], ["Q:"])
    (tmp_path / "x").write_text(jsonl([SAMPLE | {"exact_match": 1.0}]))
    lists, files = read(tmp_path / "x")
    assert (list(lists.metrics), "not used: exact_match" in files.notices[-1]) == ([], True)
    choices = {
        "doc_id": 0,
        "doc": {},
        "target": " no",
        "arguments": [["p", " yes"], ["p", " no"]],
        "resps": [[[-1.5, False]], [[-0.5, True]]],
    }
    (tmp_path / "x").write_text(jsonl([choices]))
    assert read(tmp_path / "x")[0].metrics["correct"].tolist() == [0.0, 1.0]


def test_results_without_scores_and_logs_of_any_length(tmp_path):
    (tmp_path / "x").write_text(jsonl([{"hypotheses": [["a", "b"], ["c"]], "scores": []}]))
    assert read(tmp_path / "x")[0][0].texts == ["a b", "c"]
    (tmp_path / "x").write_text("2020 | INFO | settings\n" * 2000 + FAIRSEQ)
    assert read(tmp_path / "x")[0][0].texts == ["a house"]


def test_costs_of_other_candidates_are_refused(tmp_path):
    (tmp_path / "text").write_text("u1-1 hi\nu1-2 ho\n")
    (tmp_path / "ac_cost").write_text("x1-1 1.5\nx1-2 2\n")
    with pytest.raises(
        InputError, match=r"ac_cost: has costs of 'x1-1' and others, but of no candidate in text \(such as 'u1-1'\)"
    ):
        read(tmp_path)


def test_lattices_that_hold_more_than_is_read_are_told(tmp_path):
    slots = 9
    for name, ways in (("a", 4), ("b", 1)):
        links = [f"J={ways * i + j} S={i} E={i + 1} W=w{j} a=-{j}.5" for i in range(slots) for j in range(ways)]
        head = ["VERSION=1.0", f"N={slots + 1} L={len(links)}", *(f"I={i}" for i in range(slots + 1))]
        (tmp_path / f"{name}.lat").write_text("\n".join([*head, *links, ""]))
    lists, files = read(tmp_path)
    assert [len(segment) for segment in lists] == [100, 1]
    assert f"{tmp_path}: 1 of 2 lists hold no more than the 100 best texts of their lattices" in files.notices[0]


def test_references_in_tables_and_lists_given_as_references(tmp_path):
    (tmp_path / "x.csv").write_text('id,reference\n1,"b, c"\n0,a\n0,d\n')
    segments = Texts.from_strings(["0", "1"])
    assert list(references.read([tmp_path / "x.csv"], segments)) == [["a", "d"], ["b, c"]]
    (tmp_path / "x.nbest").write_text(NBEST)
    with pytest.raises(InputError, match=r"x.nbest:1: '0 \|\|\| a b .*' is a line of an n-best list; references are"):
        references.read([tmp_path / "x.nbest"], segments)


def test_scores_with_a_head_or_a_log(tmp_path):
    (tmp_path / "x").write_text("score\n0.5\n0.25\n")
    assert scores.read(tmp_path / "x", "qe") == [0.5, 0.25]
    (tmp_path / "x").write_text("Seed set to 1\nh.txt\tSegment 0\tscore: 0.5\nh.txt\tscore: 0.5\n")
    assert scores.read(tmp_path / "x", "qe") == [0.5]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_any_column_can_be_the_target_and_is_no_feature_then(folder):
    Path("x.jsonl").write_text(jsonl(changed(quality=lambda i: i % 4 == 1)))
    done = good("tune", "x.jsonl", "--target", "quality", "--recipe", "rampion", "--folds", "0", "--out", "run")
    assert "quality" not in Path("run/weights.txt").read_text()
    assert "quality of the lists" in done
    facts = json.loads(good("rerank", "x.jsonl", "-w", "run", "--target", "quality", "--out", "y", "--json"))
    assert (facts["metric"], facts["oracle"]) == ("quality", 1.0)
    good("rerank", "x.jsonl", "-w", "run", "--out", "z")  # the run knows that it is a label
    assert Path("y").read_text() == Path("z").read_text()
    code, _, err = rampion("tune", "x.jsonl", "--target", "qualty", "--out", "new")
    assert (code, "no metric column 'qualty'" in err) == (2, True)


PROGRAMS = {
    "openai": lambda more: {**OPENAI, "choices": [{**choice, **more} for choice in OPENAI["choices"]]},
    "vllm": lambda more: {**VLLM, "outputs": [{**output, **more} for output in VLLM["outputs"]]},
    "nested": lambda more: {"id": "n", "candidates": [{"text": "a", **more}, {"text": "b", **more}]},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_users_add_to_the_output_of_programs_is_used(tmp_path, name):
    more = {"score": 0.5, "judge": 7, "reward": 0.25, "feats": {"len": 3}, "metrics": {"gold": True}, "why": "words"}
    record = PROGRAMS[name](more) | {"weight": 2.0, "category": "sums", "question": "2 + 3", "reference": "5", "run": 3}
    (tmp_path / "x").write_text(jsonl([record]))
    lists, files = read(tmp_path / "x")
    expected = {"score": 0.5, "judge": 7.0, "len": 3.0}
    assert [{one: candidate.features[one] for one in expected} for candidate in lists[0]] == [expected] * 2
    assert not {"reward", "gold", "seed", "index"} & set(lists.features.names)
    assert {one: column.tolist() for one, column in lists.metrics.items()} == {"reward": [0.25] * 2, "gold": [1.0] * 2}
    assert (lists.of_segments("weight"), lists.of_segments("group")) == (["2.0"], ["sums"])
    assert lists.of_segments("source") == ["p" if name == "vllm" else "2 + 3"]
    assert list(files.records[0].references(lists.segments)) == [["5"]]
    told = " ".join(files.notices)
    assert "labels, not features: reward (as a feature: --columns features=reward)" in told
    assert "why" in told
    assert "run" in told


def test_a_label_beside_feats_is_no_feature_unless_one_says_so(tmp_path):
    hyps = [{"text": "a", "feats": {"lp": -1}, "reward": 1}, {"text": "b", "feats": {"lp": -2}, "reward": 0}]
    (tmp_path / "x").write_text(jsonl([{"id": "1", "hyps": hyps}]))
    lists, _ = read(tmp_path / "x")
    assert (list(lists.features.names), lists.metrics["reward"].tolist()) == (["lp"], [1.0, 0.0])
    lists, files = read(tmp_path / "x", "features=reward")
    assert (sorted(lists.features.names), dict(lists.metrics), files.notices) == (["lp", "reward"], {}, [])


def test_the_index_of_a_data_frame_is_no_feature(tmp_path):
    (tmp_path / "x").write_text(csv([{"Unnamed: 0": i, **row} for i, row in enumerate(ROWS)]))
    lists, files = read(tmp_path / "x")
    assert list(lists.features.names) == ["logprob"]
    assert files.notices[-1].startswith(f"{tmp_path / 'x'}: not used: Unnamed: 0")
    assert "Unnamed: 0" in read(tmp_path / "x", "features=logprob+Unnamed: 0")[0].features.names


def test_lines_of_references_belong_to_the_numbers_of_segments_in_another_order(tmp_path):
    (tmp_path / "refs").write_text("zero\none\ntwo\n")

    def found(*ids):
        return [one for [one] in references.read([tmp_path / "refs"], Texts.from_strings(ids))]

    assert found("2", "0", "1") == ["two", "zero", "one"]  # as fairseq writes them
    assert found("3", "1", "2") == ["two", "zero", "one"]  # counted from 1
    assert found("1", "2", "3") == found("5", "9", "7") == found("b", "c", "a") == ["zero", "one", "two"]
    assert found("2", "0") == ["two", "zero"]
    with pytest.raises(
        InputError, match="refs: has 3 lines for the segments 1 to 2, and lines may be counted from 0 or"
    ):
        found("1", "2")


def test_records_are_no_path():
    with pytest.raises(InputError, match=r"a dict is no path of a file; make lists of records by rampion\.Candidates"):
        load_nbest({"id": "1", "hyps": []})


def test_every_command_that_judges_doubts_bleu_of_untokenised_text(folder):
    text = [f'"Well," said {n} of them, "it isn\'t far (is it?)!"' for n in range(12)]
    Path("refs").write_text("\n".join(text) + "\n")
    Path("x").write_text(
        "".join(f"{n} ||| {one} ||| LM= 1\n{n} ||| no, {one} ||| LM= 2\n" for n, one in enumerate(text))
    )
    Path("w").write_text("LM= 1\n")
    said = "--metric bleu:13a gives the numbers that others report"
    for command in (
        ["score", "refs", "--metric", "bleu"],
        ["score", "listed", "--from", "x", "--metric", "bleu"],
        ["compare", "refs", "a=refs", "--metric", "bleu"],
        ["compare", "listed", "oracle", "--from", "x", "--metric", "bleu"],
        ["rerank", "x", "--weights", "w", "--out", "y"],
    ):
        assert said in rampion(*command, "--refs", "refs").err, command
    assert said not in rampion("score", "refs", "--refs", "refs", "--metric", "bleu:13a").err


def test_labels_that_are_all_equal_are_bad_input(folder):
    Path("x.jsonl").write_text(jsonl(changed(is_correct=1)))
    code, _, err = rampion("tune", "x.jsonl", "--target", "is_correct", "--out", "run")
    assert (code, "in each list all candidates have the same is_correct" in err, Path("run").exists()) == (
        2,
        True,
        False,
    )


def test_a_feature_that_holds_the_answers_is_told(folder):
    rows = [row | {"question_id": f"{n}{row['question_id']}"} for n in "ab" for row in ROWS]
    checked = [row | {"checked": 1 - row["is_correct"], "good": row["logprob"] + row["is_correct"]} for row in rows]
    Path("x.jsonl").write_text(jsonl(checked))
    said = "rampion: feature 'checked' correlates -1.000 with the target within lists: it seems to use the references"
    for more in ([], ["--recipe", "risk,mira"]):
        told = rampion("tune", "x.jsonl", "--target", "is_correct", *more, "--out", f"run{len(more)}").err
        assert (said in told, "feature 'good'" in told) == (True, False)
    assert "leak: feature 'checked' correlates" in " ".join(good("inspect", "x.jsonl").split())


def test_several_columns_to_learn_from_are_named(folder):
    Path("x.jsonl").write_text(jsonl(changed(reward=1.0)))
    code, _, err = rampion("tune", "x.jsonl", "--out", "run")
    assert code == 2
    assert err.endswith(
        "rampion: there are several columns to learn from: is_correct, reward; name one with --target\n"
    )
    assert (
        "weights learn from the lists' only column"
        in rampion("tune", "x.jsonl", "--columns", "target=is_correct", "--out", "run").err
    )


def test_partly_labelled_lists_are_scored_by_what_is_labelled(folder):
    Path("x.jsonl").write_text(jsonl(changed(is_correct=lambda i: None if i % 4 == 3 else i % 4 == 1)))
    Path("w").write_text("logprob= 1\n")
    code, out, err = rampion("rerank", "x.jsonl", "-w", "w", "--target", "is_correct", "--out", "y", "--json")
    assert (code, json.loads(out)["candidates"], json.loads(out)["oracle"]) == (0, 24, 1.0)
    assert "6 candidates have no is_correct; scores are of the others" in err
    told = good("inspect", "x.jsonl")
    assert "oracle      1.0000" in told


def test_inspect_goes_by_the_only_column_and_tells_of_lists_without_features(folder):
    Path("x.jsonl").write_text(jsonl({name: row[name] for name in row if name != "logprob"} for row in ROWS))
    told = good("inspect", "x.jsonl")
    assert "is_correct   score" in told
    assert "! no features: there are no features, so there is nothing to weigh" in told


def test_features_that_never_differ_are_told(folder):
    Path("x.jsonl").write_text(jsonl(changed(logprob=1.0)))
    code, _, err = rampion("tune", "x.jsonl", "--out", "run")
    assert (code, "no feature differs within a list, so there is nothing to choose by" in err) == (2, True)


@pytest.mark.parametrize("cell", [1, None])
def test_a_column_for_every_row_is_refused_before_all_columns_are_filled(tmp_path, cell):
    """4,000 rows with a column each would be 16 million values; whoever writes 50,000 could ask for 2.5 billion."""
    count = 4000
    rows = [{"id": str(i), "text": "a", f"x{i}": cell, f"y{i}": 2} for i in range(count)]
    (tmp_path / "x").write_text(jsonl(rows))
    with pytest.raises(InputError, match=r"x: \d,000 features, such as .0, have no number in most of 4,000 candidates"):
        read(tmp_path / "x")


def test_infinities_of_sparse_features_do_not_make_them_dense(tmp_path):
    (tmp_path / "x").write_text("".join(f"{i} ||| a ||| LM= {i} x{i}= -inf y= {-i}\n" for i in range(4)))
    lists, files = read(tmp_path / "x")
    assert list(lists.features.names)[: lists.features.width] == ["LM", "y"]
    assert [segment[0].features.get("LM") for segment in lists] == [0, 1, 2, 3]
    assert not any(segment[0].features.get(f"x{i}") for i, segment in enumerate(lists))
    assert sum("is -inf in 1 candidates; 0 takes its place" in told for told in files.notices) == 4


def test_references_of_rows_are_kept_once_in_their_order(tmp_path):
    rows = [{"id": "0", "text": "a", "lm": 1, "ref": one} for one in ("c", "a", "c", "b", "a")]
    (tmp_path / "x").write_text(jsonl([*rows, {"id": "1", "text": "a", "lm": 1, "ref": "c"}]))
    assert [files.found for files in read(tmp_path / "x")[1].records] == [{"0": ["c", "a", "b"], "1": ["c"]}]


LONG = "9" * 1_000_000  # a search that tries all ways to part the digits would take hours


@pytest.mark.parametrize(
    "content",
    [
        f"a\t{LONG}x\n",
        f"\t{LONG}x\n",
        f"0 ||| a ||| LM={LONG}x\n",
        f"0 ||| a ||| {LONG}x ||| b\n",
        f"0 ||| a ||| {'|||1' * 200_000}\n",
        f"id,text,lm\n0,a,{LONG}x\n0,b,1\n0,c,2\n0,d,3\n",
        jsonl([{"id": "0", "text": "a", "lm": f"{LONG}x"}, {"id": "0", "text": "b", "lm": "1"}]),
        f"utt-1 a\nutt-{LONG} b\n",
        f"S-{LONG}\ta\n",
        f"VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a a=-{LONG}x\n",
    ],
)
def test_long_numbers_that_are_none_take_no_time(tmp_path, content):
    (tmp_path / "x").write_text(content)
    code, _, err = rampion("inspect", tmp_path / "x")
    assert (code, f"{tmp_path / 'x'}:" in err) in ((0, True), (2, True))  # 0: a column that is not used, and told


@pytest.mark.parametrize("content", [f"x {LONG}x\n", f"# a\nx = 1\nLM {LONG}x\n", f"[weight]\nLM0= {LONG}x\n"])
def test_long_weights_that_are_none_take_no_time(tmp_path, content):
    (tmp_path / "x").write_text(content)
    with pytest.raises(InputError, match=r"/x:?\d?: "):
        load_weights(tmp_path / "x")
