"""The page of a run: what stands in it, what cannot break out of it, how large it is, whether its numbers are right."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from command import good, rampion, write_task
from hypothesis import given
from hypothesis import strategies as st
from pages import Reader, Shown
from rampion.decoder.text.language import Language

from rampion import Candidates, Weights, load_references, load_weights, save_weights
from rampion.formats import read_lists, store
from rampion.losses.contrast import FEAR, HOPE, MODEL, ORACLE
from rampion.report import charts, markup
from rampion.report.explorer import Judged, Looks, bends, levels, packed, rounds, unpacked, worst
from rampion.report.markup import tag
from rampion.report.page import Figure, Page, gained
from rampion.report.tuned import standings
from rampion.runs.folder import RunFolder
from rampion.runs.sets_run import SetRun
from rampion.store.text import References, Texts
from rampion.training.inputs import judge

HOSTILE = "</script><script>alert(1)</script><!-- \"'& \u2028 <b onclick=x> \x00 שלום"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_task(folder)
    good("tune", folder / "dev.jsonl", "-w", folder / "start.weights", "--dev", folder / "test.jsonl", "--lenient",
         "--out", folder / "run", "--keep-rounds", "--set", "rounds=14")  # fmt: skip
    return folder / "run"


@pytest.fixture(scope="module")
def shown(run):
    assert good("report", run) == f"wrote {run / 'report.html'}\n"
    return Shown.of(run / "report.html")


def test_the_first_screen_says_what_was_gained_over_what_and_how_sure_that_is():
    note = gained({"score": 3.69, "low": -0.001, "high": 4.81}, 0.0123, "MERT")
    html = Page("", "", [Figure("tuned", "63.1", note)], [])
    assert "<dd>63.1</dd><dd>+3.69 [+0.00, +4.81] over MERT, p = 0.0123</dd>" in html.html().replace(
        "\N{NO-BREAK SPACE}", " "
    )


def judged_of(run: Path, weights: dict[str, np.ndarray] | None = None) -> Judged:
    path = run.parent / "dev.jsonl"
    files = read_lists([path])
    lists = Candidates.from_rows(files.names, files.runs)[0]
    references = load_references(path, lists)
    if weights is None:
        first = load_weights(run.parent / "start.weights").onto(lists.features, lenient=True)
        weights = {"start": first, "chosen": load_weights(run / "weights.txt").onto(lists.features)}
    arbiter = judge(lists, references, "bleu:lin-och")
    return Judged(arbiter.batch(lists), references, weights, list(weights)[-1], 10.0)


def test_a_run_of_tune_is_one_whole_page(run, shown):
    html, read, _ = shown
    assert html.startswith("<!DOCTYPE html>")
    ids = ["held", "standing", "curves", "explorer", "worst", "weights", "spent", "made"]
    assert [id_ for id_ in read.ids if id_ in ids] == ids
    assert len(set(read.ids)) == len(read.ids)
    assert {link for link in read.links if link.startswith("#")} == {"#main", *(f"#{id_}" for id_ in ids)}
    done = json.loads((run / "events.jsonl").read_text().splitlines()[-1])
    for score in (done["after"]["chosen"], done["after"]["oracle"], done["dev"]["after"]["chosen"]):
        assert f">{score:.2f}<" in html
    assert done["signature"] in html
    assert json.loads((run / "manifest.json").read_text())["spent"]["memory"] > 0


def test_the_page_asks_nobody_for_anything(shown):
    html, read, held = shown
    for told in (*(one["data"] for one in held.values() if isinstance(one, dict)), "http://www.w3.org/2000/svg"):
        html = html.replace(told, "")
    assert not re.search(r"(?i)(?<! )//[a-z]|@import|(?<!object)url\((?!#)|fetch\(|XMLHttp|WebSocket|import\(", html)
    assert not [value for name, value in read.attributes if name in ("src", "srcset", "action", "data") and value]
    assert not {"link", "iframe", "object", "embed", "img", "base"} & set(read.names)
    assert re.search(r"Content-Security-Policy\" content=\"default-src &#x27;none&#x27;;", html)
    assert not [name for name, _ in read.attributes if name.startswith("on")]


def test_what_the_script_shows_is_what_the_library_computes(run, shown):
    held = shown.held
    found = {name: unpacked(value) for name, value in held.items() if isinstance(value, dict)}
    names, bounds = held["rounds"], found["bounds"].astype(int)
    assert (len(names), names[0], names[-1], names[held["chosen"]]) == (10, "start", "chosen: round 14", names[-1])
    numbers = [int(name.split()[-1]) for name in names[1:]]
    judged = judged_of(run)
    lists, stakes = judged.batch.candidates, judged.batch.stakes
    assert held["candidates"] == lists.size
    assert found["segments"] == list(lists.segments)
    assert found["texts"] == list(lists.texts)
    assert found["references"] == [judged.references[s] for s in range(len(lists.segments))]
    np.testing.assert_array_equal(found["bounds"], lists.bounds)
    np.testing.assert_array_equal(found["costs"], stakes.costs.astype(np.float32))
    share = levels(found["scores"].reshape(len(names), -1)) / 65535
    lows, spread = (found[name].reshape(len(names), -1) for name in ("lows", "spread"))
    sizes = np.diff(bounds)
    seen = np.repeat(lows, sizes, axis=1) + share * np.repeat(spread, sizes, axis=1)
    picks = found["picks"].reshape(len(names), 4, -1) + bounds[:-1]
    first = load_weights(run.parent / "start.weights")
    kept = [load_weights(run / "weights" / f"{number:03}.bin") for number in numbers]
    for r, weights in enumerate([first, *kept]):
        vector = weights.onto(lists.features, lenient=True)
        scores = lists.score(vector)
        assert np.abs(seen[r] - scores).max() <= spread[r].max() / 131070 + 1e-9
        for role, side in enumerate((MODEL, HOPE, FEAR, ORACLE)):
            np.testing.assert_array_equal(picks[r, role], side.picks(stakes, scores))
    regrets = stakes.costs[picks[:, 0]] - stakes.costs[picks[:, 3]]
    np.testing.assert_array_equal(found["regrets"], regrets.astype(np.float32).ravel())


def test_features_that_moved_a_candidate_explain_its_score(run, shown):
    found = {name: unpacked(value) for name, value in shown.held.items() if isinstance(value, dict)}
    judged = judged_of(run)
    weights = found["weights"].reshape(len(shown.held["rounds"]), -1)
    rise = weights[-1] - weights[0]
    owners = np.repeat(np.arange(shown.held["candidates"]), np.diff(found["entryBounds"]))
    told = np.bincount(owners, rise[found["entries"]] * found["values"], shown.held["candidates"])
    scores = [judged.batch.scores(vector) for vector in judged.weights.values()]
    few = np.diff(found["entryBounds"]) < 12  # nothing was left out
    assert few.sum() > 20
    np.testing.assert_allclose(told[few], (scores[1] - scores[0])[few], atol=1e-5)


def test_hostile_texts_stay_texts(tmp_path):
    record = {
        "id": HOSTILE.replace("\x00", ""), "refs": [HOSTILE],
        "hyps": [{"text": HOSTILE, "feats": {"a<b>&": 1.0}}, {"text": "plain\nlines", "feats": {"a<b>&": 2.0}}],
    }  # fmt: skip
    path = tmp_path / "a <b>&\"'.jsonl"
    path.write_text("".join(json.dumps(record | {"id": f"{record['id']}{n}"}) + "\n" for n in range(3)))
    run = tmp_path / "<script>"
    good("tune", path, "--out", run, "--keep-rounds", "--set", "rounds=2")
    good("report", run)
    html, read, held = Shown.of(run / "report.html")
    assert read.names.count("script") == 3  # data, the explorer, and the downloads
    assert "alert(1)</script>" not in html
    assert not {"b", "title"} & set(read.names) - {"title"}
    assert unpacked(held["texts"])[:2] == [HOSTILE, "plain\nlines"]
    assert unpacked(held["references"])[0] == [HOSTILE]
    assert any("<script>" in text for text in read.texts)


@given(st.text(), st.text())
def test_any_text_is_escaped(text, value):
    class Found(HTMLParser):
        def __init__(self):
            super().__init__()
            self.names, self.value, self.text = [], None, ""

        def handle_starttag(self, name, attributes):
            self.names.append(name)
            self.value = dict(attributes)["title"]

        def handle_data(self, data):
            self.text += data

    found = Found()
    found.feed(tag("p", text, title=value))
    found.close()
    assert (found.names, found.value, found.text) == (["p"], value, text)
    inside = markup.data({"text": text}, "data")
    assert inside.count("<") == 2
    assert json.loads(inside[inside.index(">") + 1 : inside.rindex("<")]) == {"text": text}


def synthetic(segments: int, size: int, rounds: int) -> Judged:
    """Long random texts and random features: worse to pack than what a decoder says."""
    rng = np.random.default_rng(1)
    words = np.array([f"word{n}" for n in range(3000)])
    texts = Texts.from_strings(" ".join(words[row]) for row in rng.integers(0, 3000, (segments * size, 12)))
    from_names = 14
    records = [
        {"id": str(s), "hyps": [
            {"text": texts[s * size + i], "feats": dict(zip(map(str, range(from_names)), row.tolist(), strict=True))}
            for i, row in enumerate(rng.normal(size=(size, from_names)).round(4))
        ]}
        for s in range(segments)
    ]  # fmt: skip
    lists = Candidates.from_records(records)
    references = References(texts.take(np.arange(segments) * size), np.arange(segments + 1))
    weights = {f"round {n}": rng.normal(size=from_names) for n in range(rounds)}
    return Judged(judge(lists, references, "bleu").batch(lists), references, weights, "round 0", 10.0)


@pytest.mark.slow
def test_a_thousand_lists_of_a_hundred_are_under_3_mb():
    held = packed(synthetic(1000, 100, 10))
    assert len(json.dumps(held)) < 2_800_000
    assert held["candidates"] < 100_000
    assert f"{held['candidates']:,} of 100,000 candidates" in held["note"]
    assert len(unpacked(held["segments"])) == 1000


def test_where_room_is_short_candidates_go_first_and_then_segments():
    judged = synthetic(40, 30, 3)
    whole = packed(judged)
    assert (whole["candidates"], whole["note"]) == (1200, "")
    fewer = packed(judged, budget=len(json.dumps(whole)) // 2)
    assert len(unpacked(fewer["segments"])) == 40
    marked = np.unique(Looks.at(judged).picks)
    kept = {unpacked(fewer["texts"])[i] for i in range(fewer["candidates"])}
    assert {judged.batch.candidates.texts[i] for i in marked.tolist()} <= kept
    least = packed(judged, budget=9000)
    regrets = Looks.at(judged).regrets[0]
    chosen = [int(name) for name in unpacked(least["segments"])]
    assert 0 < len(chosen) < 40
    assert f"the {len(chosen)} of 40 segments with the greatest regret" in least["note"]
    assert regrets[chosen].min() >= np.delete(regrets, chosen).max()


@given(st.integers(1, 60), st.data())
def test_rounds_that_are_shown(count, data):
    chosen = data.draw(st.integers(0, count - 1))
    found = rounds(count, chosen)
    assert len(found) == min(count, 10)
    assert {0, chosen, count - 1} <= set(found) <= set(range(count))
    assert found == sorted(found)


@given(st.lists(st.lists(st.integers(0, 65535), min_size=3, max_size=3), min_size=1, max_size=12))
def test_bends_can_be_undone(rows):
    whole = np.array(rows, np.float64)
    np.testing.assert_array_equal(levels(bends(whole)), whole)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_round_and_inside(low, length):
    found = charts.ticks(low, low + length)
    assert 0 < len(found) <= 7
    assert all(low - 1e-3 * length <= at <= low + 1.001 * length for at in found)


def test_labels_of_a_chart_stand_apart():
    placed = charts.spread([(100.0, 0), (101.0, 1), (250.0, 2), (252.0, 3), (40.0, 4)])
    heights = sorted(placed.values())
    assert min(np.diff(heights)) >= charts.LEADING - 1e-9
    assert placed[4] == 40.0
    assert heights[-1] <= charts.HEIGHT


def test_a_chart_leaves_out_what_cannot_be_drawn():
    assert charts.chart("none", [charts.Line("empty", [])], "x", "y") == ""
    one = charts.chart("one", [charts.Line("a", [(1, 2.0)]), charts.Line("b", [(1, 5000.0)])], "x", "y")
    assert Reader(one).names.count("svg") == 1
    assert "nan" not in one


def test_the_page_without_the_lists_says_why(run, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("config.toml", "manifest.json", "events.jsonl", "weights.txt"):
        (other / name).write_bytes((run / name).read_bytes())
    path = run.parent / "dev.jsonl"
    for text, why in (
        (path.read_text() + " ", f"{path} has changed since the run read it"),
        (None, f"{path} cannot be read again"),
    ):
        before = path.read_bytes()
        try:
            path.write_text(text) if text else path.unlink()
            code, _, err = rampion("report", other)
        finally:
            path.write_bytes(before)
        html, read, held = Shown.of(other / "report.html")
        assert code == 0
        assert why in err
        assert why in html.replace("&#x27;", "'")
        assert not held
        assert read.names.count("script") == 1  # the downloads


def test_one_round_is_enough(run):
    judged = judged_of(run)
    held = packed(replace(judged, weights={"chosen": judged.weights["chosen"]}))
    assert held["rounds"] == ["chosen"]
    assert len(unpacked(held["entries"])) > 0


def test_a_sweep_shows_how_far_seeds_scatter(run, tmp_path):
    good("tune", run.parent / "dev.jsonl", "--recipe", "rampion,pro,latent-log,hinge", "--seeds", "1,2", "-o", tmp_path,
         "--dev", run.parent / "test.jsonl", "--lenient")  # fmt: skip
    good("report", tmp_path)
    html, read, _ = Shown.of(tmp_path / "report.html")
    trials = json.loads((tmp_path / "table.json").read_text())
    assert {"ranked", "curves", "weights", "made"} <= set(read.ids)
    for trial in trials:
        assert trial["recipe"] in read.texts if trial["runs"] else trial["trouble"] in " ".join(read.texts)
    assert "Weights over 2 runs (1, 2)" in html


def test_a_sweep_shows_choices_that_need_no_learning(run, tmp_path):
    """The page has the rows, intervals and digits of the terminal's table."""
    options = ["--recipe", "risk,mira", "--folds", "3", "-o", tmp_path, "--lenient"]
    told = good("tune", run.parent / "dev.jsonl", *options)
    good("report", tmp_path)
    html, read, _ = Shown.of(tmp_path / "report.html")
    figures = json.loads((tmp_path / "table.json").read_text())[0]["figures"]
    said = " ".join(read.texts)
    for line in figures["lines"]:
        ends = f"[{line['low']:.2f}, {line['high']:.2f}]"
        assert ends in told
        assert ends in said
    assert f"of lists held out: {figures['how']} (p against the stroke: {figures['best']})" in said
    assert html.count('class="interval"') == len(figures["lines"]) + 1  # two recipes, and what is tuned is no baseline


def test_only_what_there_was_and_what_there_is_to_gain_is_shown(run):
    """Initial weights are those of the user; a segment whose prediction is its oracle has nothing to gain."""
    side = {"listed": 1.0, "chosen": 2.0, "oracle": 3.0, "worst": 0.0}
    done = {"metric": "BLEU", "before": side, "after": side, "last": side, "round": None, "dev": None}
    assert ["initial weights" in standings(done, initial).html for initial in (True, False)] == [True, False]
    judged = judged_of(run)
    looks = Looks.at(judged)
    least = np.flatnonzero(looks.regrets[looks.chosen] <= 0)
    assert len(least)
    shown = worst(judged)
    for s in looks.segments[least].tolist():
        assert f'data-segment="{judged.batch.candidates.segments[s]}"' not in shown


def test_a_loop_with_a_decoder_shows_all_that_was_listed(run, tmp_path):
    """A folder as such a run leaves it: lists, weights and an event of every iteration."""
    judged = judged_of(run)
    lists = judged.batch.candidates
    parts = [lists.keep(lists.rank() < 5), lists.keep(lists.rank() > 2)]
    config = {"recipe": "rampion", "source": "dev.src", "metric": "bleu", "alpha": 10.0, "base": "none",
              "lenient": False, "refs": [str(run.parent / f"dev.ref.{n}") for n in range(2)]}  # fmt: skip
    folder = RunFolder.begin(tmp_path / "loop", config, config["refs"])
    for name in ("lists", "weights"):
        (folder.path / name).mkdir()
    for n, (part, vector) in enumerate(zip(parts, judged.weights.values(), strict=True), 1):
        store.write(folder.path / "lists" / f"{n:03}.store", part)
        save_weights(folder.path / "weights" / f"{n:03}.bin", Weights(lists.features, vector))
        folder.event("iteration", {"iteration": n, "decoded": 10.0 + n, "learnt": 11.0 + n, "dev": 12.5 - n,
                                   "moved": 0.5, "listed": len(part), "candidates": 100 * n,
                                   "seconds": {"decoding": 3.0, "learning": 1.0}})  # fmt: skip
    chosen = Weights(lists.features, judged.weights["start"])
    folder.finish(chosen, chosen, {"metric": "BLEU", "signature": "tok:none", "iteration": 1})
    good("report", folder.path)
    html, read, held = Shown.of(folder.path / "report.html")
    assert held["rounds"] == ["chosen: iteration 1", "iteration 2"]
    assert held["chosen"] == 0
    assert sorted(unpacked(held["texts"])) == sorted(lists.texts)
    assert {"11.00", "12.00", "11.50", "dev.src", "6 s, 75%"} <= set(" ".join(read.texts).split()) | set(read.texts)
    assert "BLEU of every decoding" in html


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    Language.invent(1).corpus(120, 10, 1).write(folder / "corpus")
    good("train", folder / "corpus", "--out", folder / "run", "--fixed", "LM=0.1", "--iterations", 2, "--beam", 5,
         "--set", "epochs=3", "--threads", 1)  # fmt: skip
    return folder / "run"


@pytest.mark.slow
def test_a_run_of_train_shows_weights_time_and_memory(trained):
    good("report", trained)
    _, read, held = Shown.of(trained / "report.html")
    assert not held
    assert [id_ for id_ in read.ids if not id_.endswith("-title")] == [
        "main", "curves", "iterations", "weights", "spent", "made",
    ]  # fmt: skip
    best = SetRun.open(trained).chosen
    assert {f"{best.dev:.2f}", f"{best.test:.2f}", f"{best.features:,}"} <= set(read.texts)
    told = json.loads(good("weights", trained, "--json"))
    for name, row in list(told["weights"].items())[:5]:
        assert name in read.texts
        assert markup.number(row["weight"], 4) in read.texts
    assert {"decoding", "learning", "peak memory"} <= set(read.texts)


@pytest.mark.slow
def test_without_the_decoder_that_names_them_there_are_no_weights(trained, tmp_path):
    for name in ("config.toml", "manifest.json", "events.jsonl"):
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    for part in ("sets", "weights"):
        shutil.copytree(trained / part, tmp_path / part)
    code, _, err = rampion("report", tmp_path)
    assert code == 0
    assert "the page has no weights, because their names cannot be made: " in err
    assert "weights" not in Shown.of(tmp_path / "report.html").read.ids


def test_numbers_as_people_write_them():
    assert [markup.number(x) for x in (38.466, 0.83419, -3.5, None, float("nan"), 12345)] == [
        "38.47", "0.8342", "−3.50", "", "–", "12,345",
    ]  # fmt: skip
    assert [markup.size(x) for x in (10, 2048, 3 << 20, 5 << 30)] == ["10 B", "2 KB", "3 MB", "5 GB"]
    assert [markup.duration(x) for x in (0.25, 3.14159, 600, 7500)] == ["250 ms", "3.14 s", "10 min", "2 h 5 min"]
    assert [charts.brief(x) for x in (0.1, 15_000, 250_000, 1_500_000)] == ["0.1", "15,000", "250k", "1.5M"]


RESULTS = {
    "experiment": "someone/table-1", "title": "A <table>", "note": "", "scale": "small", "corpus": "toy", "python": "3",
    "columns": {"test": "test BLEU"},
    "rows": [
        {"row": name, "settings": {"k": 1}, "paper": {"test": 30.0},
         "measured": {"test": {"score": score, "low": score - 1, "high": score + 1}},
         "curves": [{"dev": [1.0, 2.0, None]}, {"dev": [3.0, 4.0, 5.0]}], "runs": [{"seed": 1}]}
        for name, score in (("one", 31.5), ("two", 28.25))
    ],
    "relations": [
        {"id": "X1", "kind": "must", "sentence": "one is better & so", "verdict": "holds",
         "claims": [{"text": "one − two", "value": 3.25, "low": 2.0, "high": 4.5, "verdict": "holds"}]},
    ],
}  # fmt: skip


def test_experiments_stand_beside_the_paper(tmp_path):
    (tmp_path / "table-1.json").write_text(json.dumps(RESULTS))
    for asked in (tmp_path, tmp_path / "table-1.json"):
        good("report", asked)
        html, read, _ = Shown.of(tmp_path / "report.html")
        assert {"31.50", "28.25", "30.0", "one is better & so", "✓ holds", "A <table>", "test BLEU"} <= set(read.texts)
        assert "one − two: 3.25 [2, 4.5]" in html
        assert html.count(">paper</th>") == 1


def test_what_the_paper_has_no_numbers_of_has_no_column_of_them(tmp_path):
    rows = [row | {"paper": {}} for row in RESULTS["rows"]]
    (tmp_path / "table-1.json").write_text(json.dumps(RESULTS | {"rows": rows}))
    good("report", tmp_path)
    html = Shown.of(tmp_path / "report.html").html
    assert "31.50" in html
    assert ">paper</th>" not in html


def test_what_it_refuses(tmp_path):
    def refused(path):
        code, _, err = rampion("report", path)
        assert code == 2
        return err

    assert "holds no run; name a folder that rampion tune, train or reproduce has written" in refused(tmp_path)
    (tmp_path / "other.json").write_text("[]")
    assert "holds no results of rampion reproduce" in refused(tmp_path / "other.json")
    (tmp_path / "other.json").write_text("{")
    assert "other.json: is damaged (" in refused(tmp_path)
    (tmp_path / "table.json").write_text('[{"name": 1}]')
    assert "table.json: it[0].dev is missing; put back what Rampion wrote" in refused(tmp_path)
    (tmp_path / "none").mkdir()
    assert "holds no run" in refused(tmp_path / "none")
