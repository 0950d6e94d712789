"""Relevant sets with a small decoder: what is learnt, what is kept, and that runs go on to the same bits."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from fake import FakeDecoder, text
from trained import bits

from rampion.errors import InputError, RecipeError, StoreError, TuningError
from rampion.formats import container
from rampion.metrics import metric as named
from rampion.runs.folder import RunFolder
from rampion.runs.lock import owned
from rampion.runs.sets_run import SetRun
from rampion.sets.files import TRUTHS, Sets
from rampion.sets.records import Keyed
from rampion.sets.selection import Packing, leading
from rampion.store.keys import Keys
from rampion.training.memory import Need, need
from rampion.training.mixing import Here
from rampion.training.recipes import RECIPES, Recipe, recipes_of
from rampion.training.relevant import Frozen, SetSteps, WeightsById, bleu, train

TEXT = text()
FIXED = {"Right": 0.1, "Odd": 0.0}
NOTHING = dict.fromkeys(FIXED, 0.0)
FREE = ("iterations",)
QUICK = RECIPES["costmargin"].set(iterations=4, epochs=5, rate=0.05, seed=3)
WARM = QUICK.set(restart=False, k=2)
SHARDED = QUICK.set(shards=3, window=4)
DENSE = RECIPES["costmargin-dense"].set(iterations=4, epochs=5, rate=0.02, text="train")


def run(folder: Path, recipe: Recipe = QUICK, resume: bool = False, decoder=None, lines=TEXT, **options) -> SetRun:
    decoder = decoder or FakeDecoder()
    asked = recipe.settings(), [], {"corpus": lines.fingerprint, "decoder": decoder.fingerprint}
    options = {"fixed": {} if recipe.policy.learn == "real" else FIXED} | options
    with owned(folder):
        one = SetRun.resume(folder, *asked, free=FREE) if resume else SetRun.begin(folder, *asked)
        train(recipe, decoder, lines, one, **options)
    return one


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A folder for every recipe."""
    folders = {}

    def made(recipe: Recipe) -> Path:
        if recipe not in folders:
            folders[recipe] = tmp_path_factory.mktemp("straight") / "run"
            run(folders[recipe], recipe)
        return folders[recipe]

    return made


def whole(folder: Path) -> SetRun:
    return SetRun.open(folder)


# What is learnt


def test_the_gain_rises_from_the_bag_and_beats_no_weights(straight):
    rows = whole(straight(QUICK.set(iterations=6))).rows
    decoder, judge = FakeDecoder(), named(QUICK.metric)
    said = decoder.best(TEXT.learn.source, Keyed(Sets.open(straight(QUICK) / "sets").table(), FIXED))
    statistics = judge.statistics(said, np.arange(len(said) + 1), TEXT.learn.references)
    assert rows[-1].gain > rows[0].gain > judge.segments(statistics).mean()


@pytest.mark.parametrize("name", recipes_of("sets"))
def test_every_recipe_learns_something(name, tmp_path):
    recipe = RECIPES[name].set(iterations=2, epochs=3, rate=0.01, text="train")
    rows = run(tmp_path / "run", recipe, fixed={} if recipe.policy.learn == "real" else NOTHING).rows
    assert [row.iteration for row in rows] == [1, 2]
    assert rows[-1].moved[0] > 0
    assert all(np.isfinite(row.objective).all() and len(row.objective) in (0, 3) for row in rows)


def test_a_perceptron_moves_only_where_another_scores_better(tmp_path):
    """The truth is among the alternatives, and the more of the set are right, the fewer visits move (S10.9)."""
    row = run(tmp_path / "run", RECIPES["set-perceptron"].set(iterations=1, epochs=60, rate=0.1), fixed=NOTHING).rows[0]
    assert row.moved[-1] < row.moved[0] / 4


def test_a_perceptron_without_truths_in_its_sets_moves_at_every_visit(tmp_path):
    recipe = RECIPES["set-perceptron-always"].set(iterations=1, epochs=60, rate=0.1)
    row = run(tmp_path / "run", recipe, fixed=NOTHING).rows[0]
    assert set(row.moved) == {row.sentences}


def test_the_row_tells_what_the_weights_do(straight):
    one = whole(straight(QUICK))
    decoder, row = FakeDecoder(), one.rows[-1]
    weights = one.keyed(row.iteration)
    for lines, told in ((TEXT.dev, row.dev), (TEXT.test, row.test)):
        said = decoder.best(lines.source, weights)
        bleu = named("bleu")
        total = bleu.statistics(said, np.arange(len(said) + 1), lines.references).sum(axis=0)
        assert bleu.total_score(total) == told
    said = decoder.best(TEXT.learn.source, weights)
    for metric, told in ((QUICK.metric, row.gain), ("bleu:raw,nobp", row.train / 100)):
        judge = named(metric)
        values = judge.segments(judge.statistics(said, np.arange(len(said) + 1), TEXT.learn.references))
        assert values.mean() == pytest.approx(told, rel=1e-12)
    assert row.candidates == sum(
        len(leading(part.records).gains if name == TRUTHS else part.records.gains)
        for name, part in one.sets.parts.items()
        if name != "004"
    )


def test_dev_chooses_the_first_of_the_best(straight):
    one = whole(straight(QUICK))
    best = max(row.dev for row in one.rows)
    assert one.chosen == next(row for row in one.rows if row.dev == best)


def test_singletons_weigh_nothing(straight):
    one = whole(straight(QUICK))
    before = Sets(one.sets.folder, one.sets.corpus, {name: one.sets.parts[name] for name in (TRUTHS, "000")})
    weights, table = one.weights(1).keyed, before.table()
    assert len(weights) == len(table)
    assert not weights[table.counts[: len(table)] < QUICK.policy.least].any()
    assert weights.any()


def test_fixed_weights_stay_and_first_weights_are_flat(straight):
    assert whole(straight(QUICK)).weights(4).own == FIXED
    one = whole(straight(DENSE))
    noise = np.array(list(one.weights(1).own.values())) - 0.1
    assert noise.any()
    assert (abs(noise) <= 0.01).all()
    assert one.rows[0].objective == []
    assert one.weights(2).own != one.weights(1).own


def test_an_error_metric_gains_what_it_does_not_err(tmp_path):
    one = run(tmp_path / "run", QUICK.set(metric="wer:reverse", iterations=1))
    records = one.sets.parts[TRUTHS].records
    assert 0 <= records.gains.min() < records.gains.max() == 1


# What is kept


def test_no_segment_holds_a_candidate_twice(straight):
    one = whole(straight(WARM))
    for segment in range(len(TEXT.learn.source)):
        prints = []
        for name, part in one.sets.parts.items():
            records = leading(part.records) if name == TRUTHS else part.records
            prints += records.prints[records.bounds[segment] : records.bounds[segment + 1]].tolist()
        assert len(prints) == len(set(prints))


def test_the_leading_truth_is_the_first_of_the_best(straight):
    records = whole(straight(QUICK)).sets.parts[TRUTHS].records
    records = records._replace(gains=np.round(records.gains, 1))  # with equals
    found = leading(records)
    for s, (first, last) in enumerate(zip(records.bounds[:-1], records.bounds[1:], strict=True)):
        i = max(range(first, last), key=lambda i: (records.gains[i], -i))
        assert (found.bounds[s], found.gains[s], found.prints[s]) == (s, records.gains[i], records.prints[i])
        assert found.ids[found.id_bounds[s] : found.id_bounds[s + 1]].tolist() == (
            records.ids[records.id_bounds[i] : records.id_bounds[i + 1]].tolist()
        )


def test_frozen_weights_are_offsets(straight, tmp_path):
    """Of both kinds (S10.12): a binary base, on which real-valued features learn; and real-valued ones that stay."""
    binary = whole(straight(QUICK)).keyed()
    base = Keyed(binary.table, {"Odd": binary.own["Odd"]})
    recipe, decoder = DENSE.set(start="bag", truths=2), FakeDecoder()
    one = run(tmp_path / "run", recipe, base=base)
    frozen = Frozen.of(recipe.policy, decoder.names, {}, base)
    packing = Packing(recipe.loss.packed, decoder.names, frozen.own, recipe.policy.learn != "real")
    learner = Here(packing, len(TEXT.learn.source))
    SetSteps(recipe, frozen, packing, learner, decoder, TEXT, one).pack()
    slabs = learner.packed.slabs
    place = 0
    for segment, line in enumerate(TEXT.learn.source):
        candidates = decoder._said(line)
        scores = decoder.scores(line, base)
        truth = next(
            decoder.truths(
                TEXT.learn.source.take(np.array([segment])), TEXT.learn.references.take(np.array([segment])), 2
            )
        )
        i = int(np.argmax([" ".join(said) == truth.texts[0] for said in candidates]))
        place = slabs.bounds[segment]
        assert slabs.offsets[place] == pytest.approx(scores[i], abs=1e-6)
    assert one.weights(2).own["Odd"] == base.own["Odd"]
    assert one.weights(2).own["Right"] != 0.1
    assert len(one.weights(2).keyed) == 0


@pytest.mark.parametrize("rate", [0.001, 0.05, 20.0])
def test_binary_weights_on_a_base_begin_with_its_decodings_and_never_fall_below_it(rate, tmp_path):
    base, decoder = Keyed(Keys(), {"Right": 0.01, "Odd": 0.0}), FakeDecoder()
    one = run(tmp_path / "run", QUICK.set(rate=rate, k=2), base=base, fixed={})
    first, told = one.sets.parts["000"].records, list(decoder.listed(TEXT.learn.source, base, 2))
    lists = [rows.tolist() for part in told for rows in np.split(part.values, part.bounds[1:-1])]
    for rows, listed in zip(np.split(first.values, first.bounds[1:-1]), lists, strict=True):
        assert all(row in listed for row in rows.tolist())  # a truth among them is known already
    assert first.gains.any()
    alone = bleu(decoder, TEXT.dev, base)
    assert all(row.dev >= alone and row.share <= 1 for row in one.rows)
    assert rate < 20 or min(row.share for row in one.rows) < 1
    for row in one.rows:
        assert bleu(decoder, TEXT.dev, one.keyed(row.iteration)) == row.dev


@pytest.mark.parametrize("rate", [0.001, 0.05, 20.0])
def test_real_valued_weights_on_a_binary_base_begin_with_it_and_never_fall_below_it(rate, straight, tmp_path):
    binary, decoder = whole(straight(QUICK)).keyed(), FakeDecoder()
    base = Keyed(binary.table, {})
    one = run(tmp_path / "run", DENSE.set(rate=rate), base=base, fixed={})
    first, told = one.sets.parts["000"].records, list(decoder.listed(TEXT.learn.source, base, DENSE.k))
    assert first.values.tolist() == np.concatenate([part.values for part in told]).tolist()
    alone = bleu(decoder, TEXT.dev, base)
    assert all(row.dev >= alone and row.share <= 1 for row in one.rows)
    for row in one.rows:
        assert bleu(decoder, TEXT.dev, Keyed(base.table, one.weights(row.iteration).own)) == row.dev


# The same bits


@pytest.mark.parametrize("recipe", [QUICK, SHARDED], ids=["sequential", "sharded"])
def test_threads_change_nothing(recipe, straight, tmp_path):
    run(tmp_path / "run", recipe, threads=1)
    assert bits(tmp_path / "run") == bits(straight(recipe))


@pytest.mark.parametrize("setting", [{"shards": 2}, {"window": 5}, {"seed": 4}, {"restart": False}, {"k": 2}])
def test_settings_of_the_run_change_weights(setting, straight):
    last = [whole(straight(recipe)).weights(4).keyed for recipe in (QUICK, QUICK.set(**setting))]
    assert last[0].tolist() != last[1].tolist()


def test_sets_that_memory_cannot_hold_give_the_same_bits(straight, tmp_path):
    run(tmp_path / "run", QUICK, spill=tmp_path)
    assert bits(tmp_path / "run") == bits(straight(QUICK))


class StoppedError(Exception):
    """Somewhere."""


@pytest.mark.parametrize("recipe", [QUICK, WARM, DENSE], ids=["restart", "warm", "dense"])
def test_stopped_before_any_file_it_goes_on_to_the_same_bits(recipe, straight, tmp_path, monkeypatch):
    """Again and again: before the first file that it would write, the second, the third, the first, …"""
    wanted, write, allowed = bits(straight(recipe)), container.write, 0

    def stopping(*arguments):
        nonlocal allowed
        if not allowed:
            raise StoppedError
        write(*arguments)
        allowed -= 1

    monkeypatch.setattr(container, "write", stopping)
    for attempt in range(30):
        allowed = attempt % 3
        with suppress(StoppedError):
            run(tmp_path / "run", recipe, resume=True)
            break
    assert bits(tmp_path / "run") == wanted


def test_more_iterations_go_on(straight, tmp_path):
    run(tmp_path / "run", QUICK.set(iterations=2))
    run(tmp_path / "run", QUICK, resume=True)
    assert bits(tmp_path / "run") == bits(straight(QUICK))


def child(work) -> int:
    """The work in a process of its own."""
    pid = os.fork()
    if not pid:
        try:
            work()
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
        os._exit(0)
    return pid


@pytest.mark.slow
def test_killed_twenty_times_it_ends_in_the_same_bits(straight, tmp_path):
    recipe = QUICK.set(iterations=6)
    wanted, folder = bits(straight(recipe)), tmp_path / "run"
    begun = time.monotonic()
    run(tmp_path / "timed", recipe)
    draw, usual = random.Random(5), time.monotonic() - begun
    kills = 0
    while kills < 20:
        pid = child(lambda: run(folder, recipe, resume=True))
        time.sleep(draw.uniform(0, usual / 2))
        os.kill(pid, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        if (folder / "events.jsonl").exists() and '"iteration": 6' in (folder / "events.jsonl").read_text():
            with owned(folder):  # removes what the kill has left half-written
                SetRun.resume(folder, recipe.settings(), [], {}, free=FREE)
            assert bits(folder) == wanted
            shutil.rmtree(folder)
    run(folder, recipe, resume=True)
    assert bits(folder) == wanted


@pytest.mark.parametrize("share", [0.02, 0.2, 0.8])
def test_a_full_disk_is_one_sentence_and_the_run_goes_on(share, straight, tmp_path):
    folder, wanted = tmp_path / "run", bits(straight(QUICK))
    most = int(share * max(map(len, wanted.values())))

    def cramped():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        with pytest.raises(InputError, match="cannot be written: File too large"):
            run(folder)

    assert os.waitpid(child(cramped), 0)[1] == 0
    if share > 0.1:
        SetRun.open(folder)
    run(folder, resume=True)
    assert bits(folder) == wanted


# What is refused


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"recipe": QUICK.set(rate=0.25)},
            r"run: was begun with rate 0.05, not 0.25; take that again, or name another",
        ),
        ({"recipe": QUICK.set(k=3)}, r"was begun with k 1, not 3"),
        ({"lines": text(seed=1)}, r"run: was begun with another corpus; take that again, or name another folder"),
        ({"decoder": FakeDecoder(binary=False)}, r"run: was begun with another decoder"),
    ],
)
def test_a_run_goes_on_as_it_began(changes, sentence, straight, tmp_path):
    shutil.copytree(straight(QUICK), tmp_path / "run")
    with pytest.raises(InputError, match=sentence):
        run(tmp_path / "run", **({"recipe": QUICK} | changes), resume=True)


def test_a_run_goes_on_with_its_version(straight, tmp_path):
    shutil.copytree(straight(QUICK), tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"rampion": "', '"rampion": "9.'))
    with pytest.raises(InputError, match=r"was begun by Rampion 9\.\S+, and this is \S+; take that again"):
        run(tmp_path / "run", resume=True)


@pytest.mark.parametrize("name", ["config.toml", "events.jsonl"])
def test_a_run_that_lacks_a_part(name, straight, tmp_path):
    shutil.copytree(straight(QUICK), tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    with pytest.raises(InputError, match=f"run/{name}: cannot be read: No such file or directory"):
        run(tmp_path / "run", resume=True)


@pytest.mark.parametrize("name", ["config.toml", "manifest.json", "events.jsonl"])
def test_a_run_with_a_damaged_part(name, straight, tmp_path):
    shutil.copytree(straight(QUICK), tmp_path / "run")
    (tmp_path / "run" / name).write_text("{{\n")
    with pytest.raises(StoreError, match=rf"run/{name}(:1)?: is damaged \(.*\); put it back, or name another folder"):
        run(tmp_path / "run", resume=True)


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file/run: cannot be made: Not a directory"):
        run(tmp_path / "file" / "run")


def test_a_run_is_not_begun_twice(straight, tmp_path):
    with pytest.raises(
        InputError,
        match=r"holds a run already; continue it \(--resume\), overwrite it \(--force\), or name another folder",
    ):
        run(straight(QUICK))
    with pytest.raises(InputError, match="holds no run; name a folder that rampion train has written"):
        SetRun.open(tmp_path)


def test_who_looks_at_a_run_changes_nothing(tmp_path):
    RunFolder.begin(tmp_path / "tuned", {}, [])
    before = sorted((tmp_path / "tuned").rglob("*"))
    with pytest.raises(InputError, match=r"holds no .records files; name the folder of a run, or its sets"):
        SetRun.open(tmp_path / "tuned")
    assert sorted((tmp_path / "tuned").rglob("*")) == before


def test_a_run_without_an_iteration_has_no_weights(tmp_path):
    one = SetRun.begin(tmp_path / "run", {}, [], {"corpus": "", "decoder": ""})
    with pytest.raises(InputError, match=r"has no weights yet; let it finish an iteration"):
        one.keyed()


@pytest.mark.parametrize(
    ("recipe", "fixed", "base", "sentence"),
    [
        (QUICK, {"LM": 0.1}, None, "LM has a fixed weight, but the real-valued features are: Right, Odd"),
        (QUICK, {"Odd": 0.1}, None, r"Right is real-valued and has no weight; fix it \(--fixed Right=0.1\)"),
        (DENSE, FIXED, None, "all real-valued features are fixed, so none can learn"),
        (QUICK, FIXED, "binary", "the base has weights of binary features, which stay as they are; set learn=real"),
    ],
)
def test_weights_must_fit(recipe, fixed, base, sentence, straight):
    with pytest.raises(RecipeError, match=sentence):
        Frozen.of(recipe.policy, ("Right", "Odd"), fixed, whole(straight(QUICK)).keyed() if base else None)


def test_seeds_need_real_valued_features():
    with pytest.raises(RecipeError, match="decodes with weights of real-valued features, of which there are none"):
        Frozen.of(QUICK.set(start="seeds").policy, (), {}, None)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"k": 0}, "k is 0; expected a positive number"),
        ({"start": "seed"}, "start is 'seed'; expected 'bag' or 'seeds'"),
        ({"truths": -1}, "truths is -1; expected 0 or more"),
    ],
)
def test_settings_out_of_range(settings, sentence):
    with pytest.raises(RecipeError, match=sentence):
        QUICK.set(**settings)


def test_weights_beyond_all_bounds(tmp_path):
    with pytest.raises(TuningError, match="the weights grew beyond all bounds in epoch"):
        run(tmp_path / "run", RECIPES["regression"].set(iterations=1, epochs=40, rate=1e30))


@pytest.mark.parametrize(
    ("arrays", "names", "sentence"),
    [
        ({"keyed": np.zeros(2, np.float32)}, [], "its array own is missing; train again"),
        ({"keyed": np.zeros(2, np.float32), "own": np.zeros(1)}, [], "weights and names do not fit together"),
        ({"keyed": np.full(2, np.inf, np.float32), "own": np.zeros(0)}, [], "is not finite; train again"),
        ({"keyed": np.zeros(9999, np.float32), "own": np.zeros(0)}, [], "has more weights than features"),
    ],
)
def test_strange_weights(arrays, names, sentence, straight, tmp_path):
    shutil.copytree(straight(QUICK), tmp_path / "run")
    one = SetRun.open(tmp_path / "run")
    container.write(one.file(1), "keyed weights", arrays, {"names": names})
    with pytest.raises(StoreError, match=sentence):
        one.keyed(1)


def test_memory_that_cannot_do():
    asked = need(RECIPES["costmargin"], 230_000)
    assert 35e6 < asked.features < 50e6
    assert sum(asked) < 16 << 30
    assert Need.fits(asked, None)
    assert Need.fits(asked, 16 << 30)
    assert not asked.fits(sum(asked[1:-1]))  # the sets go to a file
    with pytest.raises(InputError, match=r"--memory 0.098G: about 45.1 million features need 1G for their table"):
        asked.fits(100 << 20)
    assert need(RECIPES["perceptron-dense"], 1000).table == 0


def test_learnt_weights_come_back(straight):
    one = whole(straight(QUICK))
    learnt = one.weights(4)
    assert isinstance(learnt, WeightsById)
    weights = one.keyed(4)
    assert weights.table.weigh(weights.table.listed()).tolist() == learnt.keyed.tolist()
    assert one.fingerprint == whole(straight(QUICK)).fingerprint
