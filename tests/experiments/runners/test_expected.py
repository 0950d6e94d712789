"""Rows that learn expected BLEU: lists, steps, blocks that have what was learnt, and MERT of each."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from command import rampion
from scales import TINY

from rampion.experiments.papers import wuebker
from rampion.experiments.papers.wuebker import ADAGRAD, BASELINE, GT, METHODS, RPROP, SGD, Learning, Tuned
from rampion.experiments.runners import Workshop, expected
from rampion.experiments.runners.expected import Course
from rampion.experiments.scales import SCALES
from rampion.metrics import Bleu
from rampion.metrics import metric as named
from rampion.metrics.costs import costs
from rampion.store.features import Weights
from rampion.store.text import Texts

pytestmark = pytest.mark.slow

NAMES = ("table-2", "figure-2", "efficiency", "sensitivity")
STEPS = 10
SMALL = TINY._replace(pairs=200, held_out=8, listed=24, width=6)


def minute(patch):
    """Little of everything."""
    patch.setitem(SCALES, "small", SMALL)
    patch.setattr(expected, "STEPS", STEPS)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder in which minute tables have been made, and what was told of each."""
    out = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch:
        minute(patch)
        told = {name: rampion("reproduce", f"wuebker/{name}", "--out", out) for name in NAMES}
    return out, told


@pytest.fixture
def stock(made, monkeypatch):
    minute(monkeypatch)
    return Workshop.open(made[0], "small", None, None, 1).stock


def rows_of(out, name):
    return {row["row"]: row for row in json.loads((out / f"wuebker-{name}.json").read_text())["rows"]}


def test_tables_are_made_and_judged(made):
    out, told = made
    for name, ids in zip(NAMES, ("X20a X20b X20c X20d X20e X21f X20f", "X21a X21b X21c X21d X21e X21g",
                                 "X22a X22b X22c", "X24a X24b"), strict=True):  # fmt: skip
        code, text, err = told[name]
        assert code == 0, err
        assert [line.split()[0] for line in text.splitlines() if re.match("X2", line)] == ids.split()
    rows = rows_of(out, "table-2")
    assert "chosen" not in rows.pop(BASELINE)["measured"]
    for row in rows.values():
        (run,) = row["runs"]
        assert run["chosen"] == row["measured"]["chosen"]["score"]
        assert max(map(int, run["dev"])) == run["steps"] <= STEPS
        assert row["measured"]["tune"]["score"] == pytest.approx(max(run["dev"].values()))
        assert run["dev"][str(run["chosen"])] == max(run["dev"].values())


def test_mert_answers_with_the_best_that_it_has_come_to(made, stock):
    out, _ = made
    row = rows_of(out, "table-2")[BASELINE]
    events = (expected.home(stock) / "base/seed-1/run/events.jsonl").read_text().splitlines()
    decoded = [event["decoded"] for event in map(json.loads, events) if event["event"] == "iteration"]
    assert row["measured"]["tune"]["score"] >= max(decoded) - 1e-9
    assert len(decoded) == 2


def test_blocks_say_what_sparse_features_say(made, stock):
    """The last step at weight 1, in columns of the blocks: as if the decoder had the features themselves."""
    out, _ = made
    learning = Learning(RPROP, tau=1e-6)
    course = Course.of(stock, learning)
    features = expected.listed(stock, learning).features
    weights = Weights(features, course.learnt[STEPS]["weights"])
    assert np.count_nonzero(weights.vector)
    both = Weights.from_dict({**expected.loud(stock), **{name: w for name, w in weights.items() if "/" in name}})
    dev = stock.whole.corpus.dev
    said = expected.decoder(stock, stock.whole, "fourteen,pairs").best(dev.source, both)
    score = Bleu().total_score(Bleu().statistics(said, np.arange(len(said) + 1), dev.references).sum(axis=0))
    assert rows_of(out, "sensitivity")["RPROP, tau 1e-06"]["measured"]["tune"]["score"] == pytest.approx(score)


def test_expected_bleu_is_a_mean_under_the_model(made, stock):
    """By its definition: softmax of what the base system and the step say, list by list."""
    out, _ = made
    learning = Learning(RPROP)
    lists, course = expected.listed(stock, learning), Course.of(stock, learning)
    references = stock.whole.corpus.train.take(np.arange(len(lists.segments))).references
    metric = named("bleu:he-deng")
    gains = 1 - costs(metric, metric.statistics(lists.texts, lists.bounds, references), 1.0)
    scores = lists.score(Weights.from_dict(expected.loud(stock)).onto(lists.features, lenient=True))
    for step in (0, STEPS):
        total = scores + (lists.score(course.learnt[step]["weights"]) if step else 0)
        means = []
        for first, last in zip(lists.bounds[:-1], lists.bounds[1:], strict=True):
            p = np.exp(total[first:last] - total[first:last].max())
            means.append(100 * float(gains[first:last] @ p / p.sum()))
        assert course.expected[step] == pytest.approx(means)
    assert rows_of(out, "figure-2")["RPROP, curve"]["curves"][0]["expected"][-1] == pytest.approx(np.mean(means))


def test_weights_are_as_great_as_lists_need(stock):
    """MERT's weights, all of them times one number; lists of few candidates cannot be spread over SPREAD."""
    base, loud = (np.array(list(one.values())) for one in (expected.base(stock).weights, expected.loud(stock)))
    assert np.ptp(loud[base != 0] / base[base != 0]) < 1e-9 * loud.max()
    assert (loud / base)[0] > 0
    lists = expected.listed(stock, Learning(RPROP))
    batch = expected.judged(stock, lists)
    ways = np.diff(lists.bounds)
    most = np.exp(np.log(ways).mean())
    assert expected.LOSS.effective(batch.stakes, batch.offset) == pytest.approx(min(expected.SPREAD, most), rel=0.01)


def test_every_method_learns(made):
    out, _ = made
    for name, row in rows_of(out, "figure-2").items():
        curve = row["curves"][0]["expected"]
        assert len(curve) == STEPS
        assert curve[-1] > curve[0], name
    growing = rows_of(out, "figure-2")["GT, curve"]["curves"][0]["expected"]
    assert np.diff(growing).min() >= -1e-3  # but for the regulariser


def test_the_rate_is_the_best_of_those_tried(made):
    out, told = made
    _, _, err = told["table-2"]
    tried = [dict(re.findall(r"eta (\S+): ([\d.]+)", line)) for line in err.splitlines() if " eta " in line]
    assert [len(one) for one in tried] == [5, 5]
    for method, scores in zip((SGD, ADAGRAD), tried, strict=True):
        (run,) = rows_of(out, "table-2")[method]["runs"]
        assert float(scores[f"{run['rate']:g}"]) == max(map(float, scores.values()))
        assert run["rate"] in wuebker.RATES[method]


def test_the_regulariser_is_the_best_of_those_tried(made):
    """GT and seven rows with RPROP choose tau, each on lists of its own."""
    out, told = made
    _, _, err = told["table-2"]
    tried = [dict(re.findall(r"tau (\S+): ([\d.]+)", line)) for line in err.splitlines() if " tau " in line]
    rows = [row for row in rows_of(out, "table-2").values() if row["row"] not in (BASELINE, SGD, ADAGRAD)]
    assert len(tried) == len(rows) == 8
    for row, scores in zip(rows, tried, strict=True):
        (run,) = row["runs"]
        assert float(scores[f"{run['tau']:g}"]) == max(map(float, scores.values()))
        assert run["tau"] in wuebker.STRENGTHS["GT" if row["row"] == GT else "RPROP"]


def test_more_of_the_first_steps_are_tried():
    assert expected.steps_tried(4) == [2, 10, 22, 40]
    assert expected.steps_tried(40) == list(range(1, 41)) == expected.steps_tried(50)


def test_growing_changes_whole_rows(made):
    out, _ = made
    rows = rows_of(out, "efficiency")
    one, other = (rows[f"{name}, effort"]["measured"] for name in (GT, RPROP))
    assert one["updated"]["score"] > other["updated"]["score"] > 0
    assert min(each[name]["score"] for each in (one, other) for name in ("step", "memory")) > 0


def test_whoever_was_interrupted_ends_with_the_same(made, tmp_path, monkeypatch):
    """A row that lost its outcome, what it learnt, and a run of MERT but for its first iteration."""
    out, told = made
    minute(monkeypatch)
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    home = expected.home(Workshop.open(copy, "small", None, None, 1).stock)
    (copy / "rows/rprop/seed-1/outcome").unlink()
    name = expected.named_(Learning(RPROP))
    (home / "steps" / name).unlink()
    run = home / "tuned" / name / "step-10/seed-1"
    (run / "found.json").unlink()
    events = (run / "run/events.jsonl").read_text().splitlines(True)
    (run / "run/events.jsonl").write_text("".join(line for line in events if '"iteration": 1' in line))
    code, again, err = rampion("reproduce", "wuebker/table-2", "--out", copy)
    assert code == 0, err
    assert "MERT with step 10, seed 1" in err
    assert "MERT with step 2" not in err
    assert again.replace(str(copy), str(out)) == told["table-2"][1]


def test_another_seed_has_the_same_step(made, stock):
    found = expected.make(stock, Tuned(Learning(RPROP)), 2)
    (first,) = rows_of(made[0], "table-2")[RPROP]["runs"]
    assert found.facts["chosen"] == first["chosen"]
    assert found.facts["seed"] == 2
    assert set(found.weights) == {*expected.base(stock).weights, "LearntPairs"}


def test_all_of_the_text_at_most_is_listed(stock):
    assert expected.sentences(stock, Learning(RPROP)) == 24
    assert expected.sentences(stock, Learning(RPROP, larger=True)) == 72
    stock = replace(stock, scale=SMALL._replace(listed=90))
    assert expected.sentences(stock, Learning(RPROP, larger=True)) == SMALL.pairs


def test_no_language_model_has_seen_what_is_listed(stock):
    """Each stretch has the decoder that the others make. What one model has seen, the next one has not."""
    train = stock.whole.corpus.train
    for lists, count, stretches in (("left", 24, 1), ("left", 120, 2), ("whole", 120, 2), ("crossed", 120, 5)):
        seen = list(expected.listers(stock, Learning(RPROP, lists=lists), count))
        assert len(seen) == stretches
        assert np.concatenate([rows for rows, _ in seen]).tolist() == list(range(count))
        for rows, lister in seen:
            words = {
                word for text in train.target.take(np.setdiff1d(np.arange(len(train)), rows)) for word in text.split()
            }
            assert set(lister.lm.vocabulary.texts()) - words == {"<s>", "</s>", "<unk>"}


def test_lists_of_several_decoders_are_those_of_each(stock):
    """By name: every candidate keeps its text and the values of its features."""
    learning = Learning(RPROP, lists="crossed")
    weights = Weights.from_dict(expected.base(stock).weights)
    train, parts = stock.whole.corpus.train, []
    for rows, lister in expected.listers(stock, learning, 24):
        part = lister.decode(train.source.take(rows), weights, stock.scale.width)
        parts.append(replace(part, segments=Texts.from_strings(map(str, rows))))
    alone = [record for part in parts for record in part.to_records()]
    together = expected.united(parts)
    assert together.to_records() == alone
    assert expected.listed(stock, learning).to_records() == alone


def test_what_a_row_depends_on(stock):
    shop = Workshop("small", stock)
    rows = {row.label: row for one in wuebker.EXPERIMENTS for row in one.rows}
    assert {"listed", "tried"} & shop.asked(rows[BASELINE]).keys() == set()
    assert {"listed", "tried"} <= shop.asked(rows[RPROP]).keys()
    assert "listed" in shop.asked(rows[f"{METHODS[0]}, curve"])
