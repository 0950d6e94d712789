"""Every command from end to end, on small lists: what it writes, what it says, and how it ends."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import tomllib

import numpy as np
import pytest
import sacrebleu
from command import ENVIRONMENT, good, lists_of, rampion, start, write_task

import rampion as library
from rampion import _kernels
from rampion.apps.inputs import OF_DECODERS, changed
from rampion.citations import BIBTEX
from rampion.cli import COMMANDS
from rampion.formats import references, save_nbest
from rampion.formats import weights as weight_files
from rampion.training.recipes import RECIPES, recipes_of

WIDTH = 80


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    write_task(folder)
    good("tune", folder / "dev.nbest", *refs(folder, "dev"), "--out", folder / "run")
    return folder


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def refs(folder, name):
    return [argument for n in (0, 1) for argument in ("--refs", folder / f"{name}.ref.{n}")]


def tuned(folder, out, *arguments):
    """The weights file of a run on the development lists."""
    good("tune", *arguments, *refs(folder, "dev"), "--out", out)
    return (out / "weights.txt").read_bytes()


def listed(path):
    """Segment and text of every candidate, in the order of the file."""
    found = lists_of(path)
    return [
        (segment, found.texts[i])
        for segment, first, last in zip(found.segments, found.bounds[:-1], found.bounds[1:], strict=True)
        for i in range(first, last)
    ]


def rows(text):
    """Label and numbers of the lines of a table."""
    cut = [line.rsplit(maxsplit=2) for line in text.splitlines()]
    return {cells[0].strip(): cells[1:] for cells in cut if len(cells) == 3}


def scores(text):
    """Label and scores of the lines of the table of the lists that were learnt from."""
    lines = text.partition("of the lists that the weights have learnt from\n")[2].splitlines()
    cut = [re.split(r"\s{2,}", line) for line in lines]
    return {cells[0]: cells[1:] for cells in cut if len(cells) > 1}


# Help and mistakes in the command itself


GROUPS = {
    "store": ("pack", "verify"),
    "lm": ("estimate", "score", "convert"),
    "plot": ("curves", "line", "surface", "plane", "ablation"),
}


@pytest.mark.parametrize(
    "command", [*([name] for name in COMMANDS), *([group, name] for group in GROUPS for name in GROUPS[group])]
)
def test_help_shows_an_example_on_a_narrow_screen(command):
    for option in ("--help", "-h"):
        text = good(*command, option)
        assert max(map(len, text.splitlines())) <= WIDTH
        assert "Example" in text or command[0] in GROUPS


def test_alone_it_shows_the_commands():
    text = rampion().out
    assert all(f" {name} " in text for name in COMMANDS)


def test_version():
    assert good("--version") == f"rampion {library.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tunes"], "No such command"),
        (["tune", "--bogus"], "No such option: --bogus"),
        (["tune"], "Missing argument 'NBEST'"),
        (["rerank", "x"], "Missing option '--weights'"),
        (["weights", "x", "--top", "many"], "'--top'"),
        (["weights", "x", "--top", "0"], "'--top'"),
        (["store", "peck"], "No such command"),
    ],
)
def test_a_mistaken_command_is_refused(arguments, sentence):
    code, out, err = rampion(*arguments)
    assert (code, out) == (2, "")
    assert sentence in err


# tune


def test_tune_prints_rounds_and_gains(task, tmp_path):
    text = good("tune", task / "dev.nbest", *refs(task, "dev"), "-w", task / "start.weights", "-o", tmp_path / "run")
    head, *lines = text.splitlines()
    assert head.split() == ["round", "loss", "BLEU", "moved"]
    lists = lists_of(task / "dev.nbest")
    truth = references.read([task / "dev.ref.0", task / "dev.ref.1"], lists.segments)
    found = library.tune(lists, truth, start=weight_files.read(task / "start.weights"), lenient=True)
    assert [line.split()[0] for line in lines[: len(found.rounds)]] == [str(row.round) for row in found.rounds]
    assert {len(line) for line in [head, *lines[: len(found.rounds)]]} == {len(head)}
    expected = {
        "as listed": found.before.listed,
        "initial weights": found.before.chosen,
        "tuned": found.after.chosen,
        "oracle": found.after.oracle,
    }
    for who, score in expected.items():
        assert scores(text)[who] == [f"{score:.2f}"]
    assert lines[-2:] == [found.signature, f"wrote {tmp_path / 'run' / 'weights.txt'}"]


def test_a_run_is_a_folder(task, tmp_path):
    run = tmp_path / "deep" / "run"
    arguments = [task / "dev.jsonl", "--recipe", "rampion-mira", "--set", "cap=0.5", "--set", "rounds=3", "--out", run]
    facts = json.loads(good("tune", *arguments, "--metric", "bleu:moses", "--json"))
    config = tomllib.loads((run / "config.toml").read_text())
    settings = RECIPES["rampion-mira"].set(cap=0.5, rounds=3, metric="bleu:moses").settings()
    expected = {name: value for name, value in settings.items() if value is not None and name not in OF_DECODERS}
    asked = {"recipe": "rampion-mira", "lists": [str(task / "dev.jsonl")], "refs": [], "policy": "merge"} | {
        "dev": [],
        "dev_refs": [],
    }
    assert config == expected | asked | {"lenient": False, "columns": [], "folds": 5, "bends": False}

    manifest = json.loads((run / "manifest.json").read_text())
    content = (task / "dev.jsonl").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert manifest["inputs"] == [{"path": str(task / "dev.jsonl"), "bytes": len(content), "sha256": digest}]
    assert (manifest["rampion"], manifest["kernels"]) == (library.__version__, _kernels.NAME)

    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["round", "round", "round", "held", "done"]
    assert [event["round"] for event in events[:3]] == [1, 2, 3]
    assert events[-1] == {"event": "done", **facts}
    assert facts["weights"] == str(run / "weights.txt")
    assert np.isfinite(weight_files.read(run / "weights.txt").vector).all()
    assert sorted(path.name for path in run.iterdir()) == [
        "config.toml",
        "events.jsonl",
        "manifest.json",
        "weights.txt",
    ]


def test_held_out_lists_choose_the_round(task, tmp_path):
    run = tmp_path / "run"
    inputs = [
        task / "dev.jsonl",
        "--dev",
        task / "test.jsonl",
        "--recipe",
        "xbleu-rprop",
        "--out",
        run,
        "--keep-rounds",
    ]
    text = good("tune", *inputs, "--set", "epochs=4")
    assert text.split()[:5] == ["round", "loss", "BLEU", "moved", "dev"]
    assert len(scores(text)["oracle"]) == 2
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    best = max((event for event in events if event["event"] == "round"), key=lambda event: event["dev"])["round"]
    assert events[-1]["round"] == best
    kept = weight_files.read(run / "weights" / f"{best:03}.bin")
    assert dict(kept) == dict(weight_files.read(run / "weights.txt"))


def test_a_folder_for_the_working_form_changes_no_weight(tmp_path):
    """The store stays in its file, and nothing stays in the folder."""
    said = {"a b c d e f": "x=", "a b c d g h": "y=", "a b c d i j": "x="}
    (tmp_path / "few.nbest").write_text("".join(f"0 ||| {text} ||| {name} 1 ||| 0\n" for text, name in said.items()))
    save_nbest(tmp_path / "few.store", lists_of(tmp_path / "few.nbest"))
    (tmp_path / "few.ref").write_text("a b c d g h\n")
    (tmp_path / "folder").mkdir()
    command = ["tune", tmp_path / "few.store", "--refs", tmp_path / "few.ref", "--recipe", "xbleu-rprop"]
    runs = [tmp_path / "plain", tmp_path / "filed"]
    for run, more in zip(runs, ([], ["--folder", tmp_path / "folder"]), strict=True):
        good(*command, "--out", run, *more)
    assert (runs[0] / "weights.txt").read_bytes() == (runs[1] / "weights.txt").read_bytes()
    assert not list((tmp_path / "folder").iterdir())
    code, _, err = rampion(*command, "--out", tmp_path / "none", "--folder", tmp_path / "missing")
    assert (code, err.count("\n"), (tmp_path / "none").exists()) == (2, 1, False)
    assert "missing: cannot hold the working form: No such file or directory" in err


def test_the_weights_of_a_run_begin_the_next(task, tmp_path):
    inputs = ["tune", task / "dev.jsonl", "--weights", task / "run", "--out", tmp_path / "next"]
    assert "initial weights" in scores(good(*inputs))
    paths = [entry["path"] for entry in json.loads((tmp_path / "next" / "manifest.json").read_text())["inputs"]]
    assert paths == [str(task / "dev.jsonl"), str(task / "run" / "weights.txt")]


@pytest.mark.parametrize("name", ["dev.nbest", "dev.nbest.gz", "dev.jsonl", "dev.store"])
def test_every_format_and_every_run_gives_the_same_weights(task, tmp_path, name):
    assert tuned(task, tmp_path, task / name) == (task / "run" / "weights.txt").read_bytes()


@pytest.mark.parametrize("name", ["dev.nbest", "dev.nbest.gz", "dev.jsonl"])
def test_lists_come_from_stdin(task, tmp_path, name):
    good("tune", "-", *refs(task, "dev"), "--out", tmp_path, stdin=(task / name).read_bytes())
    assert (tmp_path / "weights.txt").read_bytes() == (task / "run" / "weights.txt").read_bytes()


def test_references_come_from_the_lists_or_from_files(task, tmp_path):
    good("tune", task / "dev.jsonl", "--out", tmp_path / "run")
    assert (tmp_path / "run" / "weights.txt").read_bytes() == (task / "run" / "weights.txt").read_bytes()
    lines = [
        f"{segment} ||| {line}"
        for n in (0, 1)
        for segment, line in enumerate((task / f"dev.ref.{n}").read_text().splitlines())
    ]
    (tmp_path / "refs").write_text("\n".join(lines))
    good("tune", task / "dev.nbest", "--refs", tmp_path / "refs", "--out", tmp_path / "other")
    assert (tmp_path / "other" / "weights.txt").read_bytes() == (task / "run" / "weights.txt").read_bytes()


@pytest.mark.slow
def test_policies_keep_what_they_promise(task, tmp_path):
    lines = [line.split(" ||| ") for line in (task / "dev.nbest").read_text().splitlines()]
    kept = {"early": range(5), "late": range(3, 8)}  # candidates 3 and 4 stand in both
    for name, places in kept.items():
        ranked = [sum(a[0] == b[0] for b in lines[:n]) for n, a in enumerate(lines)]
        chosen = [" ||| ".join(line) + "\n" for line, rank in zip(lines, ranked, strict=True) if rank in places]
        (tmp_path / name).write_text("".join(chosen))
    early, late, whole = tmp_path / "early", tmp_path / "late", task / "dev.nbest"
    for policy, inputs, same in [
        ("merge", [early, late], whole),
        ("replace", [early, late], late),
        ("fixed", [early, late], early),
        ("window:1", [early, late], late),
        ("window:2", [early, late], whole),
    ]:
        tuned(task, tmp_path / "one", *inputs, "--policy", policy, "--force")
        tuned(task, tmp_path / "other", same, "--force")
        one, other = (weight_files.read(tmp_path / run / "weights.txt") for run in ("one", "other"))
        for name in {*one, *other}:
            assert one.get(name, 0.0) == pytest.approx(other.get(name, 0.0), abs=1e-12)


@pytest.mark.parametrize("recipe", recipes_of("lists"))
def test_every_recipe_tunes(task, tmp_path, recipe):
    short = [f"{name}={value}" for name, value in (("rounds", 2), ("steps", 4)) if name in RECIPES[recipe].settings()]
    settings = [argument for setting in short for argument in ("--set", setting)]
    good("tune", task / "dev.nbest", "--refs", task / "dev.own", "--recipe", recipe, *settings, "--out", tmp_path)
    assert weight_files.read(tmp_path / "weights.txt").vector.any()
    assert tomllib.loads((tmp_path / "config.toml").read_text())["recipe"] == recipe


def test_less_is_better_for_an_error_metric(task, tmp_path):
    code, out, err = rampion("tune", task / "dev.nbest", *refs(task, "dev"), "--metric", "ter", "--out", tmp_path)
    assert (code, err) == (0, "")
    assert "TER (less is better) of lists held out" in out
    assert float(scores(out)["tuned"][0]) < float(scores(out)["as listed"][0])


def test_scores_between_0_and_1_show_four_decimals(task, tmp_path):
    records = [json.loads(line) for line in (task / "dev.jsonl").read_text().splitlines()]
    for record in records:
        for rank, hypothesis in enumerate(record["hyps"]):
            hypothesis["metrics"] = {"comet": 1 / (2 + rank)}
    (tmp_path / "lists.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    arguments = ["--metric", "metric:comet", "--recipe", "soft-ramp3", "--out", tmp_path / "run"]
    text = good("tune", tmp_path / "lists.jsonl", *arguments)
    assert text.split()[:4] == ["round", "loss", "comet", "moved"]
    assert scores(text)["as listed"] == ["0.5000"]


def test_tune_says_when_weights_are_worth_little(task, tmp_path):
    inputs = ["tune", task / "dev.nbest", *refs(task, "dev"), "--weights", task / "run", "--out", tmp_path]
    assert "rampion: the tuned weights choose worse on these lists than the initial ones" in (
        rampion(*inputs, "--recipe", "ramp1", "--set", "rate=0.1", "--set", "scale=none").err
    )
    assert (
        "rampion: the weights have shrunk to"
        in rampion(*inputs, "--force", "--recipe", "rampion-merge", "--set", "l2=1e5").err
    )


def test_lenient_skips_with_a_count(task, tmp_path):
    lines = (task / "dev.nbest").read_text().splitlines(keepends=True)
    lines[4] = "0 ||| x ||| LM= many\n"
    lines[9] = "no list\n"
    path = tmp_path / "dev.nbest"
    path.write_text("".join(lines))
    inputs = [path, *refs(task, "dev")]
    code, out, err = rampion("tune", *inputs, "--lenient", "--out", tmp_path / "run", "--json")
    assert (code, json.loads(out)["metric"]) == (0, "BLEU")
    assert f"rampion: {path}: skipped 2 lines; the first: {path}:5: 'many' is not a finite number" in err
    assert tomllib.loads((tmp_path / "run" / "config.toml").read_text())["lenient"] is True
    assert rampion("tune", *inputs, "--out", tmp_path / "strict").code == 2


def test_a_file_name_need_not_be_unicode(task, tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.nbest")
    path.write_bytes((task / "dev.nbest").read_bytes())
    out = good("tune", path, *refs(task, "dev"), "--out", tmp_path / os.fsdecode(b"\xff"))
    assert out.endswith("\\udcff/weights.txt\n")
    assert tomllib.loads((tmp_path / os.fsdecode(b"\xff/config.toml")).read_text())["lists"] == [f"{tmp_path}/?.nbest"]


# rerank


def test_rerank_writes_the_best_of_every_list_and_nothing_else(task):
    code, out, err = rampion("rerank", task / "test.nbest", "--weights", task / "run")
    lists, learnt = lists_of(task / "test.nbest"), weight_files.read(task / "run" / "weights.txt")
    assert (code, err) == (0, "")
    assert out.splitlines() == list(lists.texts.take(library.pick(lists, learnt)))
    piped = good("rerank", "-", "--weights", task / "run" / "weights.txt", stdin=(task / "test.nbest.gz").read_bytes())
    assert piped == out


def test_rerank_tells_what_was_gained(task, tmp_path):
    inputs = ["rerank", task / "test.nbest", "-w", task / "run", *refs(task, "test")]
    code, texts, err = rampion(*inputs)
    out = good(*inputs, "--out", tmp_path / "best")
    assert (code, texts, err) == (0, (tmp_path / "best").read_text(), out)  # the table is where the texts are not
    system = [path.read_text().splitlines() for path in (tmp_path / "best", task / "test.ref.0", task / "test.ref.1")]
    expected = sacrebleu.corpus_bleu(system[0], system[1:], tokenize="none").score
    assert rows(out)["reranked"][0] == f"{expected:.2f}"
    assert list(rows(out))[-3:] == ["as listed", "reranked", "oracle"]
    facts = json.loads(good(*inputs, "--out", tmp_path / "best", "--json"))
    assert facts["chosen"] == pytest.approx(expected, abs=1e-9)
    assert facts["worst"] <= facts["listed"] <= facts["oracle"]


@pytest.mark.parametrize("name", ["x.nbest", "x.nbest.gz", "x.jsonl", "x.jsonl.gz", "x.store"])
def test_rerank_writes_lists_best_first(task, tmp_path, name):
    path = tmp_path / name
    best = good("rerank", task / "test.nbest", "--weights", task / "run", "--lists", path)
    assert sorted(listed(path)) == sorted(listed(task / "test.nbest"))
    scores = lists_of(path).scores.reshape(-1, 8)
    assert (np.diff(scores, axis=1) <= 0).all()
    assert best.splitlines() == [text for _, text in listed(path)[::8]]
    assert good("rerank", path, "--weights", task / "run") == best


def test_rerank_to_stdout_twice_is_refused(task):
    code, out, err = rampion("rerank", task / "test.nbest", "--weights", task / "run", "--lists", "-")
    assert (code, out) == (2, "")
    assert "cannot both go to stdout; name a file with --out" in err


# score


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("bleu", sacrebleu.BLEU(tokenize="none")),
        ("bleu:13a", sacrebleu.BLEU()),
        ("bleu:lc", sacrebleu.BLEU(tokenize="none", lowercase=True)),
        ("chrf", sacrebleu.CHRF()),
        ("chrf++", sacrebleu.CHRF(word_order=2)),
        ("ter", sacrebleu.TER()),
    ],
)
def test_score_is_sacrebleus(task, name, metric):
    system, *truth = ((task / f).read_text().splitlines() for f in ("test.own", "test.ref.0", "test.ref.1"))
    expected = metric.corpus_score(system, truth).score
    signature = metric.get_signature().format()
    arguments = ["score", task / "test.own", *refs(task, "test"), "--metric", name]
    (facts,) = json.loads(good(*arguments, "--json"))
    (value,), (how,) = facts["scores"].values(), facts["signatures"].values()
    assert (value, how) == (pytest.approx(expected, abs=1e-9), signature)
    head, row, last = good(*arguments).splitlines()
    assert row.split()[1] == f"{expected:.2f}"
    assert last == f"{head.split()[1]}: {signature}"


def test_score_of_several_systems_and_stdin(task):
    outputs = [task / "test.own", task / "test.ref.0", "-"]
    text = good("score", *outputs, "--refs", task / "test.ref.0", stdin=(task / "test.own").read_bytes())
    head, *lines = text.splitlines()
    assert head.split() == ["output", "BLEU", "chrF2"]
    values = [line.split()[1:] for line in lines[:3]]
    assert values[0] == values[2]
    assert values[1] == ["100.00", "100.00"]


def test_metrics_of_one_name_are_all_shown(task):
    metrics = ["bleu", "meteor", "bleu:char", "bleu"]
    options = [word for metric in metrics for word in ("--metric", metric)]
    for where in (["--refs", task / "test.ref.0"], [*refs(task, "test"), "--from", task / "test.nbest.gz"]):
        system = task / "test.own"
        (facts,) = json.loads(good("score", system, *where, *options, "--json"))
        assert list(facts["scores"]) == list(facts["signatures"]) == ["bleu", "METEOR", "bleu:char"]
        assert len(set(facts["scores"].values())) == 3


# weights


def test_weights_shows_all_dense_and_the_largest_sparse_ones(task):
    learnt = weight_files.read(task / "run" / "weights.txt")
    text = good("weights", task / "run", "--top", 3)
    shown = [line.split()[0] for line in text.splitlines()[1:-1]]
    dense, sparse = list(learnt)[: learnt.features.width], list(learnt)[learnt.features.width :]
    assert shown[: len(dense)] == dense
    assert [abs(learnt[name]) for name in shown[len(dense) :]] == sorted(
        (abs(learnt[n]) for n in sparse), reverse=True
    )[:3]
    assert text.splitlines()[-1].startswith(f"features {len(learnt)}, dense {len(dense)}, nonzero ")


def test_weights_are_compared(task, tmp_path):
    itself = json.loads(good("weights", task / "run", "--compare", task / "run" / "weights.txt", "--json"))
    assert (itself["cosine"], itself["distance"]) == (pytest.approx(1), 0)
    (tmp_path / "twice").write_text("LM= 3\nx 4\n")
    (tmp_path / "else").write_text("LM= -6\ny 8\n")
    text = good("weights", tmp_path / "twice", "--compare", tmp_path / "else")
    assert text.splitlines()[0].split() == ["feature", "weight", "other"]
    counts, likeness = text.splitlines()[-2:]
    assert counts.split(", ") == ["features 2", "dense 1", "nonzero 2", "norm 5"]
    assert likeness == "cosine -0.36, distance 12.6886"  # -18/50; |(9, 4, -8)|


def test_weights_go_to_binary_and_back(task, tmp_path):
    good("weights", task / "run", "--out", tmp_path / "w.bin")
    code, out, _ = rampion("weights", tmp_path / "w.bin", "--out", "-")
    assert (code, out.encode()) == (0, (task / "run" / "weights.txt").read_bytes())
    assert good("rerank", task / "test.nbest", "-w", tmp_path / "w.bin") == good(
        "rerank", task / "test.nbest", "-w", task / "run"
    )


def test_a_terminal_that_cannot_show_a_name_shows_its_number(tmp_path):
    (tmp_path / "w").write_text("é_و 1\n")
    code, out, err = rampion("weights", tmp_path / "w", encoding="latin-1")
    assert (code, err) == (0, "")
    assert "é_\\u0648" in out


# store, recipes, cite


def test_a_store_is_packed_and_verified(task, tmp_path):
    path = tmp_path / "dev.store"
    assert good("store", "pack", task / "dev.nbest", task / "dev.jsonl", "--out", path) == (
        f"wrote {path}: 24 segments, 192 candidates, {len(lists_of(path).features)} features\n"
    )
    head, row, last = good("store", "verify", path).splitlines()
    assert (head.split()[1:], row.split()[1:3], last) == (
        ["segments", "candidates", "features", "dense", "bytes", "kind"], ["24", "192"], "whole",
    )  # fmt: skip
    (facts,) = json.loads(good("store", "verify", path, "--json"))
    assert (facts["store"], facts["candidates"], facts["dense"]) == (str(path), 192, 5)
    assert facts["bytes"] == path.stat().st_size


def test_recipes_are_the_table():
    text = good("recipes")
    assert [line.split()[0] for line in text.splitlines()[2:]] == list(RECIPES)
    assert max(map(len, text.splitlines())) <= WIDTH
    facts = json.loads(good("recipes", "--json"))
    for name, recipe in RECIPES.items():
        assert json.loads(good("recipes", name, "--json")) == facts[name]
        assert recipe.settings().items() <= facts[name].items()
        skipped = (*OF_DECODERS, "sense")  # --set takes no negative numbers
        shown = dict(line.split(maxsplit=1) for line in good("recipes", name).splitlines()[1:] if len(line.split()) > 1)
        kept = [f"{setting}={shown[setting]}" for setting in recipe.settings() if setting not in skipped]
        assert changed(recipe, kept) == recipe


def test_cite_prints_bibtex():
    assert good("cite").count("\n@") + 1 == len(BIBTEX)
    text = good("cite", "rampion")
    assert BIBTEX[RECIPES["rampion"].cite] in text
    assert BIBTEX["liang2006"] not in text


@pytest.mark.parametrize(
    "command",
    [
        ["tune", "dev.nbest", "--refs", "dev.ref.0", "--out", "narrow"],
        ["rerank", "test.nbest", "--weights", "run", "--refs", "test.ref.0", "--out", "narrow.out"],
        ["score", "test.own", "--refs", "test.ref.0", "--metric", "bleu", "--metric", "chrf++", "--metric", "ter"],
        ["weights", "run", "--compare", "start.weights"],
        ["store", "verify", "dev.store"],
        ["recipes", "risk"],
    ],
)
def test_tables_fit_a_narrow_screen(task, monkeypatch, command):
    monkeypatch.chdir(task)
    lines = good(*command).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert not any(line != line.rstrip() for line in lines)


# Processes


def test_writing_to_the_device_that_is_stdout(task):
    with start("rerank", task / "test.nbest", "-w", task / "run", "--out", "/dev/stdout") as process:
        out, _ = process.communicate()
    assert (process.returncode, out.decode()) == (0, good("rerank", task / "test.nbest", "-w", task / "run"))


def test_reference_kernels_give_the_same_bits(task, tmp_path):
    inputs = ["tune", task / "dev.nbest.gz", *refs(task, "dev"), "--set", "rounds=2", "--out"]
    for run, kernels in (("slow", "reference"), ("quick", "compiled")):
        with start(*inputs, tmp_path / run, env=ENVIRONMENT | {"RAMPION_KERNELS": kernels}) as process:
            process.communicate()
    kernels = [json.loads((tmp_path / run / "manifest.json").read_text())["kernels"] for run in ("slow", "quick")]
    assert (process.returncode, kernels) == (0, ["reference", "compiled"])
    for name in ("weights.txt", "events.jsonl"):
        slow, quick = (
            (tmp_path / run / name).read_text().replace(str(tmp_path / run), "") for run in ("slow", "quick")
        )
        assert slow == quick


@pytest.mark.parametrize("command", [["rerank", "test.nbest", "-w", "run"], ["recipes", "--json"]])
def test_a_reader_that_leaves_is_no_traceback(task, command):
    with start(*command, cwd=task) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_ctrl_c_is_one_line_and_leaves_the_old_weights(task, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "weights.txt").write_bytes(b"old 1\n")
    inputs = [task / "dev.nbest", *refs(task, "dev"), "--set", "rounds=1000000", "--out", run, "--force"]
    with start("tune", *inputs, env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"}) as process:
        assert process.stdout.readline().startswith(b"round")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, b"rampion: interrupted; files that stood before are whole\n")
    assert (run / "weights.txt").read_bytes() == b"old 1\n"
    assert sorted(path.name for path in run.iterdir()) == [
        "config.toml",
        "events.jsonl",
        "manifest.json",
        "weights.txt",
    ]
