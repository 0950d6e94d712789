"""What other programs write, by an example of each as their documentation shows it; damage is told in a sentence."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples

from rampion.errors import InputError
from rampion.formats import read_lists, references, weights
from rampion.store.candidates import Candidates
from rampion.store.columns import Columns
from rampion.store.text import Texts

CHOICE = {"index": 0, "message": {"role": "assistant", "content": "5"}, "finish_reason": "stop"}
LOGPROBS = {"content": [{"token": "5", "logprob": -0.5}, {"token": ".", "logprob": -0.25}]}
OPENAI = {
    "id": "cmpl-1", "object": "chat.completion", "model": "m", "usage": {"total_tokens": 9},
    "choices": [CHOICE | {"logprobs": LOGPROBS}, CHOICE | {"message": {"content": "6\n7"}, "logprobs": None}],
}  # fmt: skip
SLF = """VERSION=1.0
UTTERANCE=utt-9
lmscale=2.0 wdpenalty=-1.0
N=4 L=5
I=0 t=0.00
I=1 t=0.30
I=2 t=0.60
I=3 t=0.90
J=0 S=0 E=1 W=the a=-10.0 l=-1.0
J=1 S=0 E=1 W=a a=-11.0 l=-0.1
J=2 S=1 E=2 W=cat a=-5.0 l=-2.0
J=3 S=1 E=2 W=hat a=-4.5 l=-3.0
J=4 S=2 E=3 W=!NULL a=0.0 l=0.0
"""
# Name: (content, segment, texts, features of the first candidate, source, references)
EXAMPLES = {
    "openai": (json.dumps(OPENAI), "cmpl-1", ["5", "6\n7"], {"logprob": -0.75, "tokens": 2}, "", None),
    "openai, pretty": (
        json.dumps(OPENAI, indent=2), "cmpl-1", ["5", "6\n7"], {"logprob": -0.75, "tokens": 2}, "", None,
    ),
    "openai, completion": (
        json.dumps({"id": "c", "choices": [{"text": "x", "logprobs": {"token_logprobs": [None, -1.5], "tokens": []}}]}),
        "c", ["x"], {"logprob": -1.5, "tokens": 2}, "", None,
    ),
    "openai, batch": (
        json.dumps({"id": "b", "custom_id": "q1", "response": {"status_code": 200, "body": OPENAI}, "error": None}),
        "q1", ["5", "6\n7"], {"logprob": -0.75, "tokens": 2}, "", None,
    ),
    "vllm": (
        json.dumps({"request_id": "0", "prompt": "2+3", "prompt_token_ids": [1], "finished": True, "outputs": [
            {"index": 0, "text": "5", "token_ids": [7, 8], "cumulative_logprob": -1.25, "finish_reason": "stop"}]}),
        "0", ["5"], {"logprob": -1.25, "tokens": 2}, "2+3", None,
    ),
    "lm-eval": (
        json.dumps({"doc_id": 3, "doc": {"q": "?"}, "target": "5", "arguments": [["p", {}]], "resps": [["a", "b"]],
                    "filtered_resps": ["a"], "exact_match": 0.0}),
        "3", ["a", "b"], {}, "p", ["5"],
    ),
    "lm-eval, choices": (
        json.dumps({"doc_id": 3, "doc": {}, "target": "1", "arguments": {"g0": {"arg_0": "p", "arg_1": " yes"},
                    "g1": {"arg_0": "p", "arg_1": " no"}}, "resps": [[["-1.5", "False"]], [["-0.5", "True"]]]}),
        "3", ["yes", "no"], {"loglikelihood": -1.5}, "p", None,
    ),
    "fairseq": (
        "2020 | INFO | loading\nS-4\tein haus\nT-4\ta house\nH-4\t-0.5\ta house\nD-4\t-0.5\ta house .\n"
        "P-4\t-0.25 -0.5\nH-4\t-0.75\tone house\nP-4\t-1 -0.5\nGenerate test with beam=5\n",
        "4", ["a house .", "one house"], {"score": -0.5, "logprob": -0.75, "tokens": 2}, "ein haus", ["a house"],
    ),
    "marian": ("0 ||| a house ||| F0= -3.2 ||| -1.6\n0 ||| one house ||| F0= -4 ||| -2\n", "0",
               ["a house", "one house"], {"F0": -3.2}, "", None),
    "sockeye": (
        json.dumps({"sentence_id": 1, "translation": "a b", "score": 0.5, "translations": ["a b", "a c"],
                    "scores": [[0.5], [0.75]]}),
        "1", ["a b", "a c"], {"score": 0.5}, "", None,
    ),
    "ctranslate2": (json.dumps({"hypotheses": [["a", "b"], ["c"]], "scores": [-0.5, -1.0], "attention": []}), "0",
                    ["a b", "c"], {"score": -0.5}, "", None),
    "espnet": (
        json.dumps({"utts": {"u1": {"output": [
            {"name": "target1[1]", "text": "HI THERE", "rec_text": "▁HI▁THERE<eos>", "score": -1.5},
            {"name": "target1[2]", "text": "HI THERE", "rec_text": "HI", "score": -2.5}]}}}, indent=1),
        "u1", ["HI THERE", "HI"], {"score": -1.5}, "", ["HI THERE"],
    ),
    "espnet, numbers as strings": (
        json.dumps({"utts": {"u1": {"output": [{"text": "HI", "rec_text": "HI", "score": "-1.5"}]}}}),
        "u1", ["HI"], {"score": -1.5}, "", ["HI"],
    ),
    "lm-eval, several answers": (
        json.dumps({"doc_id": 3, "doc": {}, "target": ["5", "five"], "arguments": [["p", {}]], "resps": [["a"]]}),
        "3", ["a"], {}, "p", ["5", "five"],
    ),
    "wenet": ("wav u1\ncandidate -1.5 你 好\ncandidate -2 \n", "u1", ["你 好", ""], {"score": -1.5}, "", None),
    "kaldi": ("u1-1 hi there\nu1-2\nu1-3 hi\n", "u1", ["hi there", "", "hi"], {}, "", None),
    "htk": (
        SLF, "utt-9", ["a cat", "the cat", "a hat", "the hat"], {"acoustic": -16.0, "lm": -2.1, "words": 2}, "", None,
    ),
    "responses": (
        json.dumps({"prompt_id": "p", "prompt": "2+3", "responses": ["5", "6"], "rewards": [1.0, 0.0], "lp": [-1, -2]}),
        "p", ["5", "6"], {"lp": -1.0}, "2+3", None,
    ),
    "candidates": (
        json.dumps({"id": "p", "candidates": [{"translation": "a", "qe": 0.5}, {"translation": "b", "qe": 0.25}]}),
        "p", ["a", "b"], {"qe": 0.5}, "", None,
    ),
}  # fmt: skip


def read(path, columns=None, lenient=False):
    files = read_lists([path], lenient=lenient, columns=Columns.parse(columns))
    return Candidates.from_rows(files.names, files.runs)[0], files


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_programs_write_is_read(tmp_path, name):
    content, identity, texts, features, source, refs = EXAMPLES[name]
    (tmp_path / "x").write_text(content + ("" if content.endswith("\n") else "\n"))
    lists, files = read(tmp_path / "x")
    segment = lists[0]
    assert (list(lists.segments), segment.texts, lists.of_segments("source")) == ([identity], texts, [source])
    assert segment[0].features == pytest.approx(features)
    if refs is not None:
        assert list(files.records[0].references(lists.segments)) == [refs]


def test_labels_of_programs_are_metrics(tmp_path):
    (tmp_path / "x").write_text(EXAMPLES["lm-eval, choices"][0])
    assert read(tmp_path / "x")[0].metrics["correct"].tolist() == [0.0, 1.0]
    (tmp_path / "x").write_text(EXAMPLES["responses"][0])
    assert read(tmp_path / "x")[0].metrics["reward"].tolist() == [1.0, 0.0]
    one = json.loads(EXAMPLES["lm-eval"][0]) | {"resps": [["a"]]}
    (tmp_path / "x").write_text(json.dumps(one))
    assert read(tmp_path / "x")[0].metrics["exact_match"].tolist() == [0.0]


def test_folders(tmp_path):
    kaldi, espnet, htk = tmp_path / "kaldi", tmp_path / "espnet", tmp_path / "htk"
    for folder in (kaldi, espnet / "1best_recog", espnet / "2best_recog", htk, tmp_path / "none"):
        folder.mkdir(parents=True)
    (kaldi / "text").write_text("u1-1 hi\nu1-2 ho\nu2-1 x\n")
    (kaldi / "ac_cost").write_text("u1-1 1.5\nu1-2 2\nu2-1 3\n")
    (kaldi / "lm.cost").write_text("u1-1 4\nu1-2 5\nu2-1 6\n")
    lists, _ = read(kaldi)
    assert [list(lists.segments), lists[0].features] == [
        ["u1", "u2"], [{"ac_cost": 1.5, "lm.cost": 4.0}, {"ac_cost": 2.0, "lm.cost": 5.0}],
    ]  # fmt: skip
    for n in (1, 2):
        (espnet / f"{n}best_recog" / "text").write_text(f"u1 hi {n}\nu2\n")
        (espnet / f"{n}best_recog" / "score").write_text(f"u1 tensor(-{n}.5)\nu2 -{n}\n")
    lists, files = read(espnet)
    assert [segment.texts for segment in lists] == [["hi 1", "hi 2"], ["", ""]]
    assert [one["score"] for one in lists[0].features] == [-1.5, -2.5]
    assert files.notices == [f"{espnet}: 2 of 4 hypotheses are empty"]
    (htk / "b.lat").write_text(SLF.replace("UTTERANCE=utt-9\n", ""))
    (htk / "a.slf").write_text(SLF)
    assert list(read(htk)[0].segments) == ["utt-9", "b"]
    with pytest.raises(InputError, match="none: is a directory; name a file"):
        read(tmp_path / "none")


@examples(40)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(-9, 0), st.integers(-9, 0)), min_size=1, max_size=3), min_size=1, max_size=4
    )
)
def test_paths_of_a_lattice_are_all_paths_the_best_first(tmp_path_factory, steps):
    """Independent: every path of a lattice of slots, by itertools."""
    links = [
        f"J={j} S={s} E={s + 1} W=w{s}.{k} a={sound} l={lm}"
        for j, (s, k, (sound, lm)) in enumerate(
            (s, k, pair) for s, slot in enumerate(steps) for k, pair in enumerate(slot)
        )
    ]
    nodes = [f"I={s}" for s in range(len(steps) + 1)]
    path = tmp_path_factory.mktemp("lattice") / "x.lat"
    path.write_text("\n".join(["VERSION=1.0", f"N={len(nodes)} L={len(links)}", *nodes, *links, ""]))
    segment = read(path)[0][0]
    expected = {
        " ".join(f"w{s}.{k}" for s, (k, _) in enumerate(way)): (
            sum(a for _, (a, _) in way),
            sum(lm for _, (_, lm) in way),
        )
        for way in product(*(list(enumerate(slot)) for slot in steps))
    }
    found = {one.text: (one.features["acoustic"], one.features["lm"]) for one in segment}
    assert found == expected
    totals = [one.features["acoustic"] + one.features["lm"] for one in segment]
    assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"id": "a", "choices": []}', "x:1: choices is not a list of at least one object"),
        ('{"id": "a", "choices": [{"message": {"content": null}}]}', r"x:1: choices\[0\] has no text"),
        ('{"custom_id": "q", "response": null}', "x:1: request q has no choices"),
        ('{"request_id": "a", "outputs": [{"index": 0}]}', r"x:1: hyps\[0\].text is missing"),
        ('{"resps": [], "doc": {}}', "x:1: resps is not a list of lists"),
        ('{"resps": [[[1]]], "doc": {}}', "x:1: arguments does not hold the text of choice 0"),
        ('{"sentence_id": 1, "translations": ["a"], "scores": [1, 2]}', "x:1: score has 2 values for 1 candidates"),
        ('{"hypotheses": 3, "scores": []}', "x:1: hypotheses is not a list"),
        ('{"utts": {}}', "x:1: utts is not an object of at least one entry"),
        ('{"utts": {"u": {"output": [{}]}}}', "x:1: an output of the utterance u has no rec_text"),
        ("S-1\ta\nH-1\tx\ty\n", "x:2: 'x.ty' is no hypothesis; expected a score"),
        ("S-1\ta\nP-1\t-1\n", "x:2: a P- line stands before any hypothesis"),
        ("wav u\ncandidate x y\n", "x:2: 'x' is no score"),
        ("wav u\ncandidate 1 y\nz\n", "x:3: 'z' is neither 'wav name' nor"),
        ("u-1 a\nb c\n", "x:1: found 1 fields"),
        ("u-1 a\nu-2 a\nb c\n", "x:3: 'b' is no name of a candidate"),
        (SLF.replace("E=3", "E=9"), "x:13: node 9 is not there"),
        (SLF.replace("E=3", "E=0"), "x: no link leads from node 3 or to it"),
        (SLF.replace("a=-5.0", "a=nan"), "x:11: a=nan; a finite number is expected"),
        (SLF.replace("N=4", "N=5"), "x: has 4 of the 5 lines that N= announces"),
        (SLF + SLF, "x:14: a second lattice begins here"),
        ("VERSION=1.0\nI=0\n", "x: has no links"),
    ],
)
def test_a_sentence_for_every_damage(tmp_path, content, sentence):
    (tmp_path / "x").write_text(content)
    with pytest.raises(InputError, match=sentence):
        read(tmp_path / "x")


@examples(200)
@given(st.sampled_from(list(EXAMPLES)), st.data())
def test_damaged_files_are_read_or_refused_in_a_sentence(tmp_path_factory, name, data):
    content = EXAMPLES[name][0].encode()
    place = data.draw(st.integers(0, len(content)))
    size = data.draw(st.integers(0, 12))
    noise = data.draw(
        st.binary(max_size=3) | st.sampled_from([b"null", b"[]", b"{}", b"-1", b'"x"', b"\n", b"\t", b"1e999"])
    )
    path = tmp_path_factory.mktemp("fuzz") / "x"
    path.write_bytes(content[:place] + noise + content[place + size :])
    for lenient in (False, True):
        with suppress(InputError):
            lists, _ = read(path, lenient=lenient)
            assert all(math.isfinite(value) for one in lists for feats in one.features for value in feats.values())


def test_weights_in_configurations_of_decoders(tmp_path):
    (tmp_path / "moses.ini").write_text(
        "# made by moses\n[input-factors]\n0\n\n[feature]\nDistortion\nKENLM name=LM0 path=x order=3\n\n[weight]\n"
        "LM0= 0.5\nTranslationModel0= 0.2 0.3\n\n[distortion-limit]\n6\n"
    )
    (tmp_path / "joshua.config").write_text(
        "tm = thrax pt 12 grammar.gz\nmark-oovs = true\nfeature-function = WordPenalty\n\n"
        "# weights\nlm_0 1.2\ntm_pt_0 -0.5\n"
    )
    assert dict(weights.read(tmp_path / "moses.ini")) == {
        "LM0": 0.5, "TranslationModel0[0]": 0.2, "TranslationModel0[1]": 0.3,
    }  # fmt: skip
    assert dict(weights.read(tmp_path / "joshua.config")) == {"lm_0": 1.2, "tm_pt_0": -0.5}
    (tmp_path / "moses.ini").write_text("[weight]\nLM0= x\n")
    with pytest.raises(InputError, match=r"moses\.ini:2: "):
        weights.read(tmp_path / "moses.ini")


@pytest.mark.parametrize("text", ["utt-b so it is\nutt-a hi there\n", "utt-a\thi there\nutt-b\tso it is\nutt-c x\n"])
def test_references_of_kaldi_are_known_by_their_names(tmp_path, text):
    (tmp_path / "text").write_text(text)
    segments = Texts.from_strings(["utt-a", "utt-b"])
    assert list(references.read([tmp_path / "text"], segments)) == [["hi there"], ["so it is"]]
    with pytest.raises(InputError, match="text: has no reference of segment utt-z"):
        references.read([tmp_path / "text"], Texts.from_strings(["utt-a", "utt-b", "utt-z"]))


def test_strange_lists_of_other_programs_end_in_a_sentence_soon(tmp_path):
    """Found by fuzzing: words of 70,000 letters took HTK's reader half a minute; the others ended in tracebacks."""
    for content in (
        "VERSION=1.0\nUTTERANCE=u\nN=1 L=1\nJ=0 " + "a" * 200_000 + "\n",
        "id,text\rmore,lm\n0,a,1\n",
        "utt-1 a\nutt-" + "9" * 5000 + " b\n",
    ):
        (tmp_path / "x").write_text(content, newline="")
        with pytest.raises(InputError, match="x:") as told:
            read_lists([tmp_path / "x"])
        assert "\n" not in str(told.value)
