"""Held-out lists: scored after every round, and the judge of which round to keep (S13, S14; S16, 37 and 43)."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from facts import built
from problems import toy
from typer.testing import CliRunner

from rampion.cli import app
from rampion.errors import InputError
from rampion.formats import save_nbest
from rampion.formats import weights as weight_files
from rampion.store.features import Weights
from rampion.training.estimator import Reranker
from rampion.training.inputs import judge
from rampion.training.loop import standing
from rampion.training.recipes import RECIPES
from rampion.training.reranking import pick
from rampion.training.tuning import tune

ROUNDS = 12


def halves():
    """Lists to tune on and held-out ones, each with references."""
    lists, references = toy(60, 20)
    places = np.arange(30), np.arange(30, 60)
    return [(lists[part], references.take(part)) for part in places]


def tuned(keep, metric=None, **more):
    (lists, refs), (dev, dev_refs) = halves()
    recipe = RECIPES["xbleu-rprop"].set(epochs=ROUNDS, first=0.1, keep=keep, base="none")
    start = Weights(lists.features, np.full(len(lists.features), 0.1))
    return tune(lists, refs, recipe=recipe, start=start, metric=metric, dev=dev, dev_references=dev_refs, **more)


@pytest.mark.parametrize("metric", [None, "ter"])
def test_the_first_of_the_best_rounds_is_kept(metric):
    weights = []
    kept = tuned("dev", metric, record=lambda row, reached: weights.append(reached), alpha=1.0)
    better = max if metric is None else min
    scores = [row.dev for row in kept.rounds]
    assert kept.round == 1 + scores.index(better(scores)) < ROUNDS
    np.testing.assert_array_equal(kept.weights.vector, weights[kept.round - 1].vector)
    np.testing.assert_array_equal(kept.last_weights.vector, weights[-1].vector)
    assert kept.dev.after.chosen == better(scores)
    assert kept.dev.last.chosen == scores[-1]
    assert kept.last.chosen == pytest.approx(kept.rounds[-1].score)


def test_the_last_round_is_kept_unless_the_recipe_asks_for_the_best():
    last = tuned("last")
    assert last.weights is last.last_weights
    assert (last.round, last.after, last.dev.after) == (None, last.last, last.dev.last)
    (lists, refs), _ = halves()
    alone = tune(lists, refs, recipe="xbleu-rprop", epochs=3)
    assert (alone.dev, alone.round, alone.rounds[0].dev) == (None, None, None)
    assert {name for name, recipe in RECIPES.items() if recipe.keep == "dev"} >= {"xbleu-rprop", "xbleu-sgd"}
    assert (RECIPES["rampion"].keep, RECIPES["risk"].keep) == ("last", "last")


def test_rounds_are_scored_as_if_reranked_with_their_weights():
    _, (dev, dev_refs) = halves()
    weights = []
    found = tuned("last", record=lambda row, reached: weights.append(reached))
    batch = judge(dev, dev_refs, "bleu:he-deng").batch(dev)
    for row, reached in zip(found.rounds, weights, strict=True):
        assert row.dev == standing(batch, reached.vector).chosen
    assert found.dev.before == standing(batch, np.full(len(dev.features), 0.1))


def test_held_out_lists_may_have_other_sparse_features_but_no_other_dense_ones():
    lists = built({"1": [("a", {"D": 1.0, "E": 1.0}), ("b", {"D": 2.0, "E": 0.0, "x": 1.0})]})
    other = built({"7": [("b", {"y": 9.0, "E": 0.0, "D": 2.0}), ("a", {"D": 1.0, "E": 1.0})]})
    found = tune(lists, [["a"]], recipe="soft-ramp3", metric="wer", dev=other, dev_references=[["a"]])
    assert (found.dev.before.chosen, found.dev.after.chosen) == (100.0, 0.0)
    several = tune(lists, [["a"]], recipe="soft-ramp3", metric="wer", dev=[other, lists], dev_references=[["a"], ["b"]])
    assert several.dev.after.oracle == 0.0
    dense = built({"1": [("a", {"D": 1.0, "F": 1.0})]})
    with pytest.raises(InputError, match="the lists have the dense feature 'F', for which there is no weight"):
        tune(lists, [["a"]], recipe="soft-ramp3", metric="wer", dev=dense, dev_references=[["a"]])
    tune(lists, [["a"]], recipe="soft-ramp3", metric="wer", dev=dense, dev_references=[["a"]], lenient=True)


def test_an_estimator_takes_held_out_lists_too():
    (lists, refs), (dev, dev_refs) = halves()
    model = Reranker("xbleu-rprop", epochs=ROUNDS, first=0.1).fit(lists, refs, dev, dev_refs)
    assert model.score(dev, dev_refs) == pytest.approx(model.tuned_.dev.after.chosen)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Lists of a decoder with totals, in files."""
    folder = tmp_path_factory.mktemp("held")
    for name, (lists, references) in zip(("tune", "dev"), halves(), strict=True):
        save_nbest(str(folder / f"{name}.nbest"), lists)
        for r in range(2):
            texts = [references[s][r] for s in range(len(references))]
            (folder / f"{name}.ref{r}").write_text("".join(f"{text}\n" for text in texts))
    return folder


def run(files, out, *arguments):
    command = ["tune", f"{files}/tune.nbest", "--refs", f"{files}/tune.ref0", "--refs", f"{files}/tune.ref1"]
    held = ["--dev", f"{files}/dev.nbest", "--dev-refs", f"{files}/dev.ref0", "--dev-refs", f"{files}/dev.ref1"]
    result = CliRunner().invoke(app, [*command, *held, "--out", str(out), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


QUICK = ("--recipe", "xbleu-rprop", "--set", f"epochs={ROUNDS}", "--set", "first=0.1")


def test_the_command_keeps_both_and_shows_both(files, tmp_path):
    shown = run(files, tmp_path, *QUICK, "--keep-rounds", "--lenient").output
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    rounds_told = [event for event in events if event["event"] == "round"]
    scores = [event["dev"] for event in rounds_told]
    best = 1 + scores.index(max(scores))
    assert (len(scores), events[-1]["round"]) == (ROUNDS, best)
    assert best < ROUNDS
    assert events[-1]["dev"]["after"]["chosen"] == max(scores)
    for label in (f"tuned, round {best}", "tuned, last round"):
        assert label in shown
    assert all(1 <= event["effective"] <= 20 for event in rounds_told)
    rounds = sorted(path.name for path in (tmp_path / "weights").iterdir())
    assert rounds == [f"{n:03}.bin" for n in range(1, ROUNDS + 1)]
    for name, n in (("weights.txt", best), ("weights.last.txt", ROUNDS)):
        kept, text = weight_files.read(tmp_path / "weights" / f"{n:03}.bin"), weight_files.read(tmp_path / name)
        assert dict(kept) == pytest.approx({feature: text.get(feature, 0.0) for feature in kept})


def test_one_answer_leaves_one_file(files, tmp_path):
    (tmp_path / "weights.last.txt").write_text("of an earlier run 1")
    shown = run(files, tmp_path, *QUICK, "--set", "keep=last", "--lenient", "--json", "--force").stdout
    facts = json.loads(shown[shown.index("{") :])
    assert not (tmp_path / "weights.last.txt").exists()
    assert not (tmp_path / "weights").exists()
    assert facts["after"] == facts["last"]
    assert facts["dev"]["after"] == facts["dev"]["last"]


def test_a_recipe_that_would_choose_says_that_it_could_not(files, tmp_path):
    command = ["tune", f"{files}/tune.nbest", "--refs", f"{files}/tune.ref0", "--out", str(tmp_path), *QUICK]
    found = CliRunner().invoke(app, command, catch_exceptions=False)
    assert "without --dev these are the last round's" in found.output


def test_weights_of_listed_totals_are_added_to_them(files, tmp_path):
    (lists, _), (dev, _) = halves()
    scored = [tmp_path / "tune.nbest", tmp_path / "dev.nbest"]
    for path, part in zip(scored, (lists, dev), strict=True):
        save_nbest(path, replace(part, scores=part.score(np.full(len(part.features), 0.1))))
    out = tmp_path / "run"
    command = ["tune", scored[0], "--refs", files / "tune.ref0", "--refs", files / "tune.ref1", "--out", out, *QUICK]
    tuning = CliRunner().invoke(app, [*map(str, command), "--set", "base=listed"], catch_exceptions=False)
    assert "are to be added to the decoder's own totals: rampion rerank --listed" in tuning.output
    best = tmp_path / "best"
    command = ["rerank", scored[1], "--weights", out, "--listed", "--out", best, "--lenient"]
    assert CliRunner().invoke(app, list(map(str, command)), catch_exceptions=False).exit_code == 0
    weights = weight_files.read(out / "weights.txt").onto(dev.features, lenient=True) + 0.1
    chosen = pick(dev, Weights(dev.features, weights))
    assert best.read_text().splitlines() == list(dev.texts.take(chosen))
