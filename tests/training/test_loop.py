"""rampion tune with a decoder: what it learns, what it keeps, how it goes on, and what is said when a decoder fails."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import signal
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from command import ENVIRONMENT, good, rampion, start
from problems import toy
from rampion.decoder.system import Settings, System
from speeds import slow
from systems import segments as sentences
from systems import toy as block_toy

from rampion.errors import InputError, RecipeError
from rampion.formats import store, texts
from rampion.formats import weights as weight_files
from rampion.store.features import Weights
from rampion.store.text import Texts
from rampion.training.decoders import FixedLists
from rampion.training.inputs import judge
from rampion.training.loop import Judged, MemoryJournal, train
from rampion.training.policies import Merge, Replace, Window
from rampion.training.recipes import RECIPES, looped, recipe_named
from rampion.training.reranking import rerank

# Says w(v), w(v + 1) or w(v + 2) for a word v; has one true feature, one that misleads, and one of the first word.
# The file `trouble` says in which call it does what it should not.
PROGRAM = """
import itertools, json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
with open(folder / "calls", "a") as calls:
    print("called", file=calls)
call = (folder / "calls").read_text().count("called")
trouble = json.loads((folder / "trouble").read_text()).get(str(call))
time.sleep(float(os.environ.get("DELAY", "0")))
if trouble == "hang":
    time.sleep(60)
if trouble == "die":
    sys.exit("the disk is full")
weights = {}
for line in open(sys.argv[2]):
    name, value = line.split()
    weights[name.rstrip("=")] = float(value)
for s, line in enumerate(sys.stdin):
    if trouble == "forget" and s == 9:
        break
    if trouble == "skip" and s == 4:
        continue
    words, found = [int(word) for word in line.split()], []
    for shifts in itertools.product(range(3), repeat=len(words)):
        said = [word + shift for word, shift in zip(words, shifts)]
        before = [0, *words]
        right = sum(shift == last % 3 for shift, last in zip(shifts[::2], before[::2]))
        features = {"Right": right, "Odd": sum(word % 2 for word in said), f"first{said[0]}": 1}
        if trouble == "lose":
            del features["Odd"]
        if trouble == "gain":
            features["New"] = 1
        score = sum(weights.get(name, 0.0) * value for name, value in features.items())
        found.append((-score, said, features))
    for score, said, features in sorted(found, key=lambda one: one[:2])[: int(sys.argv[3])]:
        if trouble == "nan" and s == 5:
            features["Odd"] = float("nan")
        cells = " ".join(f"{name}= {value}" for name, value in features.items())
        print(s, "|||", " ".join(f"w{word}" for word in said), "|||", cells, "|||", -score)
"""


@pytest.fixture
def folder(tmp_path):
    """The program, a text of twelve sentences with references, another of six, and weights to begin with."""
    draws = np.random.default_rng(1)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "trouble").write_text("{}")
    for name, size in (("dev", 12), ("test", 6)):
        source = [draws.integers(0, 12, draws.integers(3, 5)).tolist() for _ in range(size)]
        said = [[word + before % 3 for before, word in zip([0, *words], words, strict=False)] for words in source]
        (tmp_path / f"{name}.src").write_text("".join(f"{' '.join(map(str, words))}\n" for words in source))
        (tmp_path / f"{name}.ref").write_text("".join(f"{' '.join(f'w{word}' for word in words)}\n" for words in said))
    (tmp_path / "first.weights").write_text("Right= 0.1\nOdd= 0.3\n")
    return tmp_path


def arguments(folder, *more, recipe=("rampion", "rate=0.01")):
    program = shlex.join([sys.executable, "-S", str(folder / "program.py"), str(folder)])
    inputs = [folder / "dev.src", "--refs", folder / "dev.ref", "--weights", folder / "first.weights"]
    name, *settings = recipe
    changes = [word for setting in ("k=8", "iterations=4", *settings) for word in ("--set", setting)]
    command = ["--decoder-command", f"{program} {{weights}} {{k}}"]
    return ["tune", *inputs, *command, "--recipe", name, *changes, *more]


def kept(run):
    """What must not depend on how often it was stopped."""
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in (*run.glob("lists/*"), *run.glob("weights/*"), *run.glob("weights*.txt"))
    }


def rows(run):
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == "iteration"]


def test_a_line_an_iteration_and_all_is_kept(folder):
    told = good(*arguments(folder, "--out", folder / "run"))
    head, *lines, signature, wrote = told.splitlines()
    assert head.split()[:5] == ["iter", "BLEU", "learnt", "moved", "candidates"]
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4"]
    assert "BLEU" not in signature
    assert wrote == f"wrote {folder}/run/weights.txt"
    found = rows(folder / "run")
    for line, row in zip(lines, found, strict=True):
        assert line.split()[1:3] == [f"{row[name]:.2f}" for name in ("decoded", "learnt")]
    assert found[-1]["decoded"] > found[0]["decoded"]
    names = {f"{room}/00{n}.{kind}" for n in range(1, 5) for room, kind in (("lists", "store"), ("weights", "bin"))}
    assert kept(folder / "run").keys() == names | {"weights.txt"}
    last = weight_files.read(folder / "run" / "weights" / "004.bin")
    assert dict(last) == dict(weight_files.read(folder / "run" / "weights.txt"))


def test_dev_is_told_and_chooses_if_asked_to(folder):
    more = ["--dev", folder / "test.src", "--dev-refs", folder / "test.ref"]
    good(*arguments(folder, *more, "--out", folder / "last"))
    told = good(*arguments(folder, *more, "--set", "keep=dev", "--out", folder / "run"))
    scores = [row["dev"] for row in rows(folder / "run")]
    best = 1 + scores.index(max(scores))
    assert f"iteration {best} is best on dev\n" in told
    chosen = weight_files.read(folder / "run" / "weights" / f"00{best}.bin")
    assert dict(chosen) == dict(weight_files.read(folder / "run" / "weights.txt"))
    assert [row["dev"] for row in rows(folder / "last")] == scores
    assert (folder / "run" / "weights.last.txt").exists() == (best < 4)
    _, _, err = rampion(*arguments(folder, "--set", "keep=dev", "--out", folder / "none"))
    assert "without --dev these are the last weights" in err


def test_json(folder):
    told = json.loads(good(*arguments(folder, "--out", folder / "run", "--json")))
    assert [row["iteration"] for row in told["iterations"]] == [1, 2, 3, 4]
    assert told["iterations"][0]["seconds"].keys() == {"decoding", "merging", "judging", "learning", "testing"}
    assert told["iteration"] == 4


TROUBLES = {
    "die": "rampion: iteration 2: the decoder command .* failed with exit code 1; stderr ended with: the disk is full",
    "hang": "rampion: iteration 2: the decoder command .* did not end within 0.5 seconds",
    "nan": "rampion: iteration 2: the lists of the decoder command .*: line 41, of segment 5: 'nan' is not a finite",
    "forget": "rampion: iteration 2: .* listed nothing for 3 of 12 segments, the first of them segment 9; every",
    "skip": "rampion: iteration 2: .* segment 5 follows segment 3, but numbers go up by one",
    "lose": "rampion: iteration 2: segments 0 to 11: no candidate has the feature Odd, which every one had in iter",
    "gain": "rampion: iteration 2: segments 0 to 11: every candidate has the feature New, which none had in iterat",
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_one_sentence_and_what_was_finished_is_kept(folder, trouble):
    more = ["--timeout", 0.5] if trouble == "hang" else []
    good(*arguments(folder, "--out", folder / "whole"))
    (folder / "calls").unlink()
    (folder / "trouble").write_text(json.dumps({2: trouble}))
    code, _, err = rampion(*arguments(folder, *more, "--out", folder / "run"))
    assert (code, err.count("\n")) == (2, 1)
    assert re.match(TROUBLES[trouble], err), err
    assert {"lists/001.store", "weights/001.bin"} <= kept(folder / "run").keys()
    assert "weights.txt" not in kept(folder / "run")
    good(*arguments(folder, "--out", folder / "run", "--resume"))
    assert kept(folder / "run") == kept(folder / "whole")


def test_what_failed_is_tried_again(folder):
    (folder / "trouble").write_text('{"2": "die"}')
    good(*arguments(folder, "--retries", 1, "--out", folder / "run"))
    assert len(rows(folder / "run")) == 4


STOPPED = [("rampion", "rate=0.01"), *slow(("rampion-merge", "rate=0.01"), ("mert",), ("pro",))]


@pytest.mark.parametrize("recipe", STOPPED)
def test_stopped_anywhere_it_ends_in_the_same_bits(folder, recipe):
    settings = arguments(folder, recipe=recipe)
    good(*settings, "--out", folder / "whole")
    done = len(rows(folder / "whole"))
    events = (folder / "whole" / "events.jsonl").read_text().splitlines(keepends=True)
    for lines in range(0, len(events), 1 + len(events) // 6):
        shutil.copytree(folder / "whole", folder / "run")
        (folder / "run" / "events.jsonl").write_text("".join(events[:lines]) + '{"event": "rou')
        (folder / "run" / "weights.txt").unlink()
        (folder / "run" / "lists" / ".001.store.0123456789ab.part").write_bytes(b"half a file")
        (folder / "calls").write_text("")
        good(*settings, "--out", folder / "run", "--resume")
        assert kept(folder / "run") == kept(folder / "whole")
        assert len(rows(folder / "run")) == done
        assert not (folder / "calls").read_text()  # all lists were known
        shutil.rmtree(folder / "run")


@pytest.mark.slow
def test_killed_and_interrupted(folder, monkeypatch):
    good(*arguments(folder, "--out", folder / "whole"))
    monkeypatch.setitem(ENVIRONMENT, "DELAY", "0.2")
    for n, how in ((2, signal.SIGKILL), (3, signal.SIGINT)):
        with start(*arguments(folder, "--out", folder / "run", "--resume")) as process:
            while not (folder / "run" / "weights" / f"00{n}.bin").exists():
                time.sleep(0.01)
            process.send_signal(how)
            _, err = process.communicate()
    taken, said = err.decode().splitlines()
    assert taken.endswith("which wrote here, has ended; its lock is taken over")
    assert (process.returncode, said) == (130, "rampion: interrupted; files that stood before are whole")
    good(*arguments(folder, "--out", folder / "run", "--resume"))
    assert kept(folder / "run") == kept(folder / "whole")


@pytest.mark.slow
def test_killed_again_and_again(folder, monkeypatch):
    draw = random.Random(1)
    good(*arguments(folder, "--out", folder / "whole"))
    monkeypatch.setitem(ENVIRONMENT, "DELAY", "0.1")
    for _ in range(6):
        with start(*arguments(folder, "--out", folder / "run", "--resume")) as process:
            time.sleep(draw.uniform(0.5, 1.2))
            process.kill()
    good(*arguments(folder, "--out", folder / "run", "--resume"))
    assert kept(folder / "run") == kept(folder / "whole")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--set", "k=9"], "was begun with k 8, not 9; take that again, or name another folder"),
        (["--set", "rate=0.1"], "was begun with rate 0.01, not 0.1; take that again"),
        (["--policy", "merge"], 'was begun with policy nothing, not "merge"; take that again'),
        (["--weights", "other.weights"], "was begun with another first weights; take that again"),
        (["--dev", "test.src", "--dev-refs", "test.ref"], "was begun with another text; take that again"),
        (["--refs", "dev.ref"], "was begun with another text; take that again"),
    ],
)
def test_a_run_goes_on_as_it_began(folder, monkeypatch, more, said):
    monkeypatch.chdir(folder)
    (folder / "other.weights").write_text("Right= 0.2\nOdd= 0.3\n")
    good(*arguments(folder, "--set", "iterations=1", "--out", "run"))
    before = kept(folder / "run")
    code, _, err = rampion(*arguments(folder, *more, "--out", "run", "--resume"))
    assert (code, err.count("\n")) == (2, 1)
    assert f"rampion: run: {said}" in err
    assert kept(folder / "run") == before


def test_a_run_is_not_overwritten_but_goes_on_with_more_iterations(folder):
    good(*arguments(folder, "--out", folder / "whole"))
    good(*arguments(folder, "--set", "iterations=2", "--out", folder / "run"))
    code, _, err = rampion(*arguments(folder, "--out", folder / "run"))
    assert (code, err) == (
        2,
        f"rampion: {folder}/run: holds a run already; continue it (--resume), "
        "overwrite it (--force), or name another folder\n",
    )
    good(*arguments(folder, "--out", folder / "run", "--resume"))
    assert kept(folder / "run") == kept(folder / "whole")


def test_a_run_that_has_nothing_yet_may_begin_otherwise(folder):
    (folder / "trouble").write_text('{"1": "die"}')
    assert rampion(*arguments(folder, "--out", folder / "run")).code == 2
    good(*arguments(folder, "--set", "k=5", "--out", folder / "run"))
    (folder / "run" / "events.jsonl").write_text('{"event": "iteration", "iteration": 1}\n')
    code, _, err = rampion(*arguments(folder, "--set", "k=5", "--out", folder / "run", "--resume"))
    assert code == 2
    assert "events.jsonl:1: candidates is missing; put back what Rampion wrote, or name another folder" in err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--blocks", "b"], "--decoder-command and --blocks: one decoder at a time; leave one out"),
        (["--beam", 5], "--beam belongs to a decoder; name one: --system or --blocks"),
        (["--recipe", "mert,pro"], "with a decoder tune one recipe at a time"),
        (["--seeds", "1,2"], "with a decoder tune one recipe at a time, and draw with one seed: --set seed=1"),
        (["--keep-rounds"], "with a decoder the weights of every iteration are kept"),
        (["--folder", "d"], "--folder d: is for lists larger than memory; a decoder's are in the run: leave it out"),
        (["dev.src"], "the text to tune on is 2 files; a decoder translates one, a sentence a line"),
        (["--set", "base=listed"], "with a decoder choose base='start' or 'none'"),
        (["--refs", "test.ref"], "has 6 lines, and"),
        (["--dev", "test.src"], "the metric bleu:lin-och needs references of --dev: --dev-refs"),
        (["--set", "still=-1"], "--set still=-1: expected a number of 0 or more"),
    ],
)
def test_options_that_do_not_fit(folder, monkeypatch, more, said):
    monkeypatch.chdir(folder)
    code, _, err = rampion(*arguments(folder, *more, "--out", "run"))
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--timeout", 1], "--timeout belongs to a decoder; name one: --decoder-command"),
        (["--system", "s", "--lm", "x"], "--lm x: s holds a language model already; leave it out"),
        (["--blocks", "b", "--reordering", "odd"], "--reordering odd: expected mon, swap, distortion"),
        (["--resume"], "--resume continues a run with a decoder; tuning on lists begins again"),
        (["--decoder-command", "true"], "a decoder command needs weights to begin with"),
        (["--decoder-command", "", "--weights", "first.weights"], "--decoder-command: is empty; give it a value"),
        (["--system", "nowhere"], "nowhere: has no settings.json; put it back, or prepare the system again"),
    ],
)
def test_decoders_that_do_not_fit(folder, monkeypatch, more, said):
    monkeypatch.chdir(folder)
    code, _, err = rampion("tune", "dev.src", "--refs", "dev.ref", "--out", "run", *more)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


# The bundled decoder


RECIPES_ASKED = ["rampion", "mert", *slow("pro", "mira", "perceptron", "risk", "soft-ramp3", "xbleu-sgd")]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A corpus, its system, and references that the decoder can reach: what it says with other weights."""
    folder = tmp_path_factory.mktemp("bundled")
    corpus = block_toy()[0]
    corpus.write(folder / "corpus")
    system = System.prepare(folder / "corpus", folder / "system", Settings())
    made = system.decoder("fourteen", beam=20, pops=200)
    texts.write(folder / "dev.src", corpus.dev.source)
    other = Weights.from_dict(dict(made.initial) | {"LM": 1.0, "LexST": 0.6, "Jump": 0.0})
    texts.write(folder / "reached", made.best(corpus.dev.source, other))
    return folder


def bundled(folder, out, *more):
    inputs = ["tune", folder / "dev.src", "--refs", folder / "reached", "--system", folder / "system"]
    return good(*inputs, "--beam", 20, "--set", "k=15", "--set", "iterations=3", "--out", out, *more)


@pytest.mark.parametrize("recipe", RECIPES_ASKED)
def test_every_kind_of_recipe_tunes_the_bundled_decoder(prepared, tmp_path, recipe):
    more = ["--recipe", recipe, *(["--set", "rate=0.01"] if "rate" in RECIPES[recipe].settings() else [])]
    bundled(prepared, tmp_path / "run", *more, "--threads", 2)
    found = rows(tmp_path / "run")
    assert found[-1]["learnt"] > found[0]["decoded"]
    assert found[-1]["decoded"] >= found[0]["decoded"]
    shutil.copytree(tmp_path / "run", tmp_path / "again")
    shutil.rmtree(tmp_path / "again" / "lists")
    events = (tmp_path / "run" / "events.jsonl").read_text().splitlines(keepends=True)
    first = next(n for n, event in enumerate(events) if '"event": "iteration"' in event)
    (tmp_path / "again" / "events.jsonl").write_text("".join(events[:first]))
    bundled(prepared, tmp_path / "again", *more, "--threads", 1, "--resume")
    assert kept(tmp_path / "again") == kept(tmp_path / "run")


def test_blocks_and_a_language_model_are_a_decoder_too(prepared, tmp_path):
    bundled(prepared, tmp_path / "system")
    parts = ["--blocks", prepared / "system" / "system.blocks", "--lm", prepared / "system" / "system.lm"]
    inputs = ["tune", prepared / "dev.src", "--refs", prepared / "reached", *parts]
    good(*inputs, "--beam", 20, "--set", "k=15", "--set", "iterations=3", "--out", tmp_path / "parts")
    assert rows(tmp_path / "parts")[-1]["candidates"] == rows(tmp_path / "system")[-1]["candidates"]
    told = good("decode", prepared / "dev.src", *parts, "--beam", 20, "--weights", tmp_path / "parts")
    assert told.count("\n") == len(sentences())


def test_templates_learn_too_and_are_not_forgotten(prepared, tmp_path):
    """A policy that replaces lists keeps the weights of features that the new lists lack."""
    bundled(prepared, tmp_path, "--features", "fourteen,word", "--set", "rate=0.01")
    first, last = (weight_files.read(tmp_path / "weights" / f"00{n}.bin") for n in (1, 3))
    assert set(first) <= set(last)
    lists = store.read(tmp_path / "lists" / "003.store")
    assert any(name not in lists.features.ids and last[name] for name in first)


# Laws of the loop


def loop(recipe, decoder, lists, references, **options):
    """The weights, and the rows of the iterations."""
    memory = MemoryJournal()
    start = options.pop("start", Weights(lists.features, np.full(len(lists.features), 0.1)))
    arbiter = judge(lists, references, recipe.metric, recipe.alpha)
    weights = train(recipe, decoder, list(lists.segments), arbiter, start, journal=memory, **options)
    return weights, memory


class Ranked:
    """Lists what its weights rank among the first k of long lists."""

    def __init__(self, space):
        self.space, self.asked = space, []

    def decode(self, segments, weights, k):
        self.asked.append(weights)
        ranked = rerank(self.space, weights, lenient=True)
        return ranked.keep(ranked.rank() < k)


@pytest.mark.parametrize("name", ["mert", "mira"])
def test_it_ends_when_nothing_is_new(name):
    """S5.3, S7.2."""
    lists, references = toy()
    recipe = recipe_named(name)
    assert len(loop(recipe, FixedLists(lists), lists, references)[1].rows) == 2
    assert len(loop(recipe.set(still=0.0, iterations=3), FixedLists(lists), lists, references)[1].rows) == 3
    assert len(loop(replace(recipe, policy=Replace()).set(still=1e9), Ranked(lists), lists, references)[1].rows) == 1


@pytest.mark.parametrize("policy", [Replace(), Merge(), Window(2)])
def test_every_decoding_asks_with_the_weights_learnt_before(policy):
    lists, references = toy()
    decoder = Ranked(lists)
    recipe = replace(recipe_named("rampion", k=5, rounds=2, rate=0.01), policy=policy, iterations=4)
    weights, memory = loop(recipe, decoder, lists, references)
    assert [dict(asked) for asked in decoder.asked[1:]] == [dict(end) for end in memory.ends[:-1]]
    assert dict(weights) == dict(memory.ends[-1])
    assert [row.listed for row in memory.rows] == [5 * 60] * 4
    sizes = [row.candidates for row in memory.rows]
    assert (max(sizes) > 300) == (policy != Replace())
    for row, asked in zip(memory.rows, decoder.asked, strict=True):
        best = Ranked(lists).decode(Texts.from_strings([]), asked, 1)
        assert row.decoded == judge(lists, references, recipe.metric).batch(best).corpus_score(np.arange(60))


def test_dev_chooses_the_first_of_the_best():
    lists, references = toy()
    recipe = replace(recipe_named("rampion", k=5, rounds=2, rate=0.3, keep="dev"), iterations=5)
    odd = lists[1::2]
    held = Judged(list(odd.segments), judge(odd, references.take(np.arange(1, 60, 2)), recipe.metric))

    class Both(Ranked):
        def decode(self, segments, weights, k):
            found = super().decode(segments, weights, k)
            return found if len(segments) == 60 else found[1::2]

    weights, memory = loop(recipe, Both(lists), lists, references, dev=held)
    scores = [row.dev for row in memory.rows]
    assert weights is memory.ends[scores.index(max(scores))]
    assert loop(recipe.set(keep="last"), Both(lists), lists, references, dev=held)[0] is not weights


def test_mert_may_start_where_earlier_iterations_ended():
    """S5.2: more walks can only find a better point of the same lists."""
    lists, references = toy()
    recipe = recipe_named("mert", k=3, restarts=0, iterations=3, still=0.0)
    plain, historic = (
        loop(recipe.set(historic=historic), Ranked(lists), lists, references)[1].rows for historic in (False, True)
    )
    assert plain[:2] == [replace(row, seconds=was.seconds) for row, was in zip(historic[:2], plain[:2], strict=True)]
    assert historic[2].learnt >= plain[2].learnt


def test_what_repeats_on_fixed_lists_is_done_once_in_a_loop():
    assert looped(RECIPES["pro"]) == RECIPES["pro"].set(rounds=1)
    assert looped(RECIPES["xbleu-rprop"]) == RECIPES["xbleu-rprop"].set(iterations=1)
    assert looped(RECIPES["rampion"]) == RECIPES["rampion"]


def test_weights_of_features_that_were_left_out_stay():
    old, new = Weights.from_dict({"a": 1.0, "b": 2.0}), Weights.from_dict({"b": 3.0})
    assert dict(new.over(old)) == {"b": 3.0, "a": 1.0}
    assert new.over(old).features.width == 1
    assert old.over(new) is old


def test_totals_of_fixed_lists_are_no_base_of_a_loop():
    lists, references = toy()
    with pytest.raises(RecipeError, match="with a decoder choose base='start' or 'none'"):
        loop(recipe_named("rampion", base="listed"), FixedLists(lists), lists, references)
    with pytest.raises(RecipeError, match=r"still is -1; expected 0 or more"):
        recipe_named("mert", still=-1)


def test_a_dense_feature_without_a_weight_is_told_unless_lenient():
    lists, references = toy()
    recipe, start = recipe_named("rampion", iterations=1), Weights.from_dict({"LM": 1.0})
    with pytest.raises(
        InputError, match=r"iteration 1: the lists have the dense feature .*, for which there is no weigh"
    ):
        loop(recipe, FixedLists(lists), lists, references, start=start)
    assert set(loop(recipe, FixedLists(lists), lists, references, start=start, lenient=True)[0]) == set(
        lists.features.names
    )
