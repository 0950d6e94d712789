"""Looking into a run of rampion train: its weights by name, and its decoder with the weights of any iteration."""

from __future__ import annotations

import json
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from command import good, rampion
from rampion.decoder.explain import built
from rampion.decoder.features.templates import GROUPS
from rampion.decoder.system import BLOCKS, MODEL, SETTINGS
from rampion.decoder.text.language import Language

from rampion.apps.runs import decoder_of, largest, weights_of
from rampion.formats import load_nbest
from rampion.formats import weights as weight_files
from rampion.runs.sets_run import SetRun
from rampion.store.text import Texts

lined = Texts.from_strings


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A corpus, a run, and one on top of it."""
    folder = tmp_path_factory.mktemp("inside")
    Language.invent(1).corpus(150, 12, 1).write(folder / "corpus")
    common = ["--beam", 5, "--iterations", 2, "--set", "epochs=3", "--set", "rate=0.01", "--threads", 1]
    good("train", folder / "corpus", "--out", folder / "run", "--fixed", "LM=0.1", *common)
    above = ["--features", "LM,Words,all", "--recipe", "costmargin-dense", "--base", folder / "run"]
    good("train", folder / "corpus", "--out", folder / "above", "--system", folder / "run" / "system", *above, *common)
    return folder


def decode(home, *more, run="run", command="decode"):
    return rampion(command, home / "corpus" / "test.src", "--weights", home / run, *more)


def looked(home, *more, run="run"):
    return json.loads(good("weights", home / run, "--json", *more))


def lines(path):
    return path.read_text().splitlines()


# Weights


@pytest.mark.parametrize("iteration", [None, 1, 2])
@pytest.mark.parametrize("group", [None, "word", "P1", "W3,phrase"])
def test_the_largest_weights_are_those_of_all_that_are_written(home, tmp_path, group, iteration):
    asked = [*(["--group", group] if group else []), *(["--iteration", iteration] if iteration else [])]
    facts = looked(home, "--top", 30, "--out", tmp_path / "all.bin", *asked)
    written = weight_files.read(tmp_path / "all.bin")
    sparse = sorted(list(written.items())[written.features.width :], key=lambda item: -abs(item[1]))
    shown = {name: row["weight"] for name, row in facts["weights"].items()}
    assert shown.pop("LM", None) == (None if group else 0.1)
    assert list(shown.values()) == [weight for _, weight in sparse[:30]]
    assert shown.items() <= dict(sparse).items()
    for template, row in facts["templates"].items():
        own = np.array([weight for name, weight in sparse if name.startswith(f"{template}/")])
        assert row["nonzero"] == len(own) <= row["features"]
        assert row["norm"] == pytest.approx(np.linalg.norm(own))
    chosen = SetRun.open(home / "run").chosen.iteration
    assert facts["iteration"] == (iteration or chosen)
    expected = {name for part in (group or "all").split(",") for name in GROUPS.get(part, (part,))}
    assert facts["templates"].keys() == expected


def test_features_and_counts_are_those_of_the_records(home):
    run = SetRun.open(home / "run")
    facts = looked(home, "--iteration", 2, "--top", 5)
    ids = np.concatenate([part.records.ids for part in run.sets.parts.values()])
    keys = np.concatenate([part.keys for part in run.sets.parts.values()])
    names = list(decoder_of(run).spelt(keys))
    for name, row in facts["weights"].items():
        assert name == "LM" or row["count"] == np.count_nonzero(ids == names.index(name))
    assert sum(row["features"] for row in facts["templates"].values()) == len(run.weights(2).keyed)


def test_of_equal_weights_the_first_is_shown_first():
    weights = np.random.default_rng(0).integers(-9, 10, 2000).astype(np.float32)
    for top in (1, 7, 400, 5000):
        expected = [place for place in np.argsort(-np.abs(weights), kind="stable") if weights[place]][:top]
        assert largest(weights, top).tolist() == expected


def test_the_tables_say_what_the_json_says(home):
    facts, told = looked(home, "--top", 4), good("weights", home / "run", "--top", 4)
    templates, features = (table.splitlines()[1:] for table in told.split("\n\n"))
    assert [line.split()[0] for line in templates] == list(facts["templates"])
    assert [line.split()[0] for line in features[:-1]] == list(facts["weights"])
    assert features[-1] == f"iteration {facts['iteration']}"


def test_a_run_without_templates_has_no_table_of_them(home, tmp_path):
    asked = ["--features", "LM,Words", "--recipe", "costmargin-dense", "--system", home / "run" / "system"]
    good("train", home / "corpus", "--out", tmp_path / "dense", *asked, "--iterations", 1, "--beam", 5)
    head, *rows, last = good("weights", tmp_path / "dense").splitlines()
    assert head.split() == ["feature", "weight", "count"]
    assert [row.split()[0] for row in rows] == ["LM", "Words"]
    assert last == "iteration 1"
    assert not decode(home, "--out", tmp_path / "out", run=tmp_path / "dense").code


def test_a_run_on_top_of_another_shows_the_weights_of_both(home):
    below, above = looked(home, "--top", 5), looked(home, "--top", 5, run="above")
    assert below["templates"] == above["templates"]
    assert above["weights"].keys() == below["weights"].keys() | {"Words"}
    assert above["weights"]["LM"] == below["weights"]["LM"]


# Decoding


@pytest.mark.parametrize("iteration", [1, 2])
@pytest.mark.parametrize("run", ["run", "above"])
def test_a_run_brings_what_it_was_trained_with(home, tmp_path, run, iteration):
    assert decode(home, "--iteration", iteration, "--out", tmp_path / "out", run=run).code == 0
    told = good("score", tmp_path / "out", "--refs", home / "corpus" / "test.tgt", "--metric", "bleu")
    assert told.split()[3] == f"{SetRun.open(home / run).rows[iteration - 1].test:.2f}"


def test_weights_by_name_say_the_same(home, tmp_path):
    good("weights", home / "run", "--out", tmp_path / "all.bin")
    system = home / "run" / "system"
    parts = ["--blocks", system / BLOCKS, "--lm", system / MODEL, "--features", "LM,all", "--beam", 5, "--longest", 7]
    source = home / "corpus" / "test.src"
    assert rampion("decode", source, "--weights", tmp_path / "all.bin", *parts, "--out", tmp_path / "1").code == 0
    assert decode(home, "--out", tmp_path / "2", "--threads", 1).code == 0
    assert lines(tmp_path / "1") == lines(tmp_path / "2")


def test_lists_derivations_and_graphs(home, tmp_path):
    assert decode(home, "--nbest", tmp_path / "nbest", "-k", 3).code == 0
    assert decode(home, "--derivations", tmp_path / "jsonl", command="explain").code == 0
    assert decode(home, "--out", tmp_path / "lattice", command="lattice").code == 0
    assert decode(home, "--out", tmp_path / "best").code == 0
    lists = load_nbest(tmp_path / "nbest")
    assert [lists.texts[first] for first in lists.bounds[:-1]] == lines(tmp_path / "best")
    records = [json.loads(line) for line in lines(tmp_path / "jsonl")]
    assert [record["text"] for record in records] == lines(tmp_path / "best")


def test_an_explanation_looks_up_what_fires_and_adds_up(home):
    run = SetRun.open(home / "run")
    _, weights = weights_of(run, 2)
    system = decoder_of(run)
    source = (home / "corpus" / "test.src").read_text().splitlines()[4]
    steps, last, known = built(system, source, weights)
    facts = json.loads(decode(home, "--iteration", 2, "--line", 5, "--json", command="explain").out)
    assert facts["weights"] == known
    assert len(known) < len(weights.table) / 10
    total = sum(
        value * known[name] for fired in [*(step.fired for step in steps), last] for name, value in fired.items()
    )
    lists = system.decode(lined([source]), weights, 1)
    assert total == pytest.approx(lists.scores[0], abs=1e-6)


def test_features_that_are_left_out_say_nothing(home):
    facts = json.loads(decode(home, "--features", "LM,word", "--line", 5, "--json", run="above", command="explain").out)
    assert {name.split("/")[0] for name in facts["weights"]} == {"LM", "W1", "W2", "W3", "W4"}


def test_the_picture_and_the_features_that_decide(home, tmp_path):
    told = decode(home, "--line", 2, "--top", 3, "--svg", tmp_path / "2.svg", command="explain").out
    assert ElementTree.parse(tmp_path / "2.svg").getroot().tag.endswith("svg")  # noqa: S314
    assert "  LM\n" in told
    assert "/" in told
    assert all("+0.0000 x" not in line for line in told.splitlines())


@pytest.mark.parametrize(
    "other",
    ["--reordering mon", "--features LM", "--beam 1", "--options 1", "--longest 1", "--adjacent-swaps"],
)
def test_options_come_before_what_the_run_brings(home, other):
    plain, changed = (decode(home, "--nbest", "-", "-k", 20, *more).out for more in ([], other.split()))
    assert changed
    assert plain != changed


# What is refused


@pytest.fixture
def copy(home, tmp_path):
    """The run, to be spoilt."""
    return shutil.copytree(home / "run", tmp_path / "run")


def commands(home, run):
    return [("weights", run), ("decode", home / "corpus" / "test.src", "--weights", run)]


def refused(*arguments):
    code, _, err = rampion(*arguments)
    assert code == 2
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("n", [0, 1])
def test_a_run_without_an_iteration(home, copy, n):
    for name in ("001", "002"):
        (copy / "sets" / f"{name}.records").unlink()
    command = commands(home, copy)[n]
    assert f"{copy}: has no weights yet; let it finish an iteration (--resume)" in refused(*command)
    assert f"{copy}: has 0 iterations, so none is number 1" in refused(*command, "--iteration", 1)


@pytest.mark.parametrize("n", [0, 1])
def test_an_iteration_that_is_not_there(home, n):
    told = refused(*commands(home, home / "run")[n], "--iteration", 3)
    assert f"{home}/run: has 2 iterations, so none is number 3" in told


@pytest.mark.parametrize("n", [0, 1])
def test_other_blocks_than_those_of_the_weights(home, copy, n):
    Language.invent(2).corpus(150, 12, 1).write(copy / "corpus")
    good("blocks", copy / "corpus", "--out", copy / "system" / BLOCKS)
    told = refused(*commands(home, copy)[n])
    assert f"{copy}: its weights are not of the blocks in {copy}/system; put back those it was trained with" in told


@pytest.mark.parametrize("name", [SETTINGS, BLOCKS, MODEL])
def test_a_part_that_is_missing(home, copy, name):
    (copy / "system" / name).unlink()
    assert f"{copy}/system: has no {name}; put it back, or prepare the system again" in refused("weights", copy)


def test_settings_of_another_version(copy):
    (copy / "system" / SETTINGS).write_text('{"speed": 3}')
    assert f"{copy}/system: was made with settings of another version" in refused("weights", copy)


def test_a_run_of_another_decoder(copy):
    config = copy / "config.toml"
    config.write_text("".join(f"{line}\n" for line in lines(config) if not line.startswith("beam")))
    assert f"{config}: lacks beam; name another run" in refused("weights", copy)


def test_lists_want_weights_by_name(home, tmp_path):
    (tmp_path / "nbest").write_text("0 ||| a ||| LM= 1 ||| 1\n")
    told = refused("rerank", tmp_path / "nbest", "--weights", home / "run")
    assert "run: is a run of rampion train; write its weights by name: rampion weights --out FILE" in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--blocks", "x.blocks"], "--blocks x.blocks: {run} brings the blocks that its weights are of; leave it out"),
        (["--save-weights", "x"], "--save-weights: rampion weights {run} --out x writes those of a run"),
        (["--features", "Words"], "no weight is for the features Words; give weights that name some of them"),
    ],
)
def test_options_that_do_not_go_with_a_run(home, options, message):
    assert message.format(run=home / "run") in refused(*commands(home, home / "run")[1], *options)


def test_a_line_that_is_not_there(home):
    asked = "explain", home / "corpus" / "test.src", "--weights", home / "run", "--line", 99
    assert "--line 99: there are 12 lines" in refused(*asked)


def test_options_that_need_a_run(home, tmp_path):
    (tmp_path / "own.weights").write_text("LM= 1\n")
    weights, source = tmp_path / "own.weights", home / "corpus" / "test.src"
    blocks = home / "run" / "system" / BLOCKS
    assert "--iteration 1: is for a run of rampion train; name one with --weights" in refused(
        "decode", source, "--blocks", blocks, "--weights", weights, "--iteration", 1
    )
    assert "--group word: is for runs of rampion train" in refused("weights", weights, "--group", "word")
    assert "--iteration 2: is for runs of rampion train" in refused("weights", weights, "--iteration", 2)
    assert "there are no blocks; give some (--blocks), or a run of rampion train" in refused("decode", source)


def test_weights_by_key_are_not_compared(home):
    told = refused("weights", home / "run", "--compare", home / "run")
    assert "is a run of rampion train; write its weights by name (--out) and compare those" in told


def test_a_group_that_is_none(home):
    assert "no feature template or group is called 'words'" in refused("weights", home / "run", "--group", "words")
