"""The bundled decoder by shards: who decodes, in what portions and after what faults, changes no bit."""

from __future__ import annotations

import shutil
import signal
from contextlib import contextmanager
from dataclasses import replace
from subprocess import TimeoutExpired

import errands
import numpy as np
import pytest
import rampion.decoder.remote as rooms
from command import good, rampion, start
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.models.leave_one_out import LENGTH
from rampion.decoder.models.lm import read as read_lm
from rampion.decoder.remote import Spread
from systems import START, decoder, keyed, large, same, segments, toy, weighed, weights, whole
from systems import own as left
from trained import SETTINGS, files, train

from rampion.errors import RecipeError, StoreError
from rampion.executors import Coordinator, Job, Patience, Workspace
from rampion.executors.local import Local
from rampion.formats import container
from rampion.store.features import Weights
from rampion.store.text import References, Texts

lined = Texts.from_strings

FEATURES = ["LM,all", "fourteen,word"]


@contextmanager
def spread(room, system, size=7, threads=2, **patience):
    with Coordinator(Local(threads), Workspace(room), Patience(**patience)) as coordinator:
        yield Spread(system, coordinator, size)


def lines():
    return Texts.from_strings(segments())


def references():
    return References.from_lists([[toy()[0].dev.target[n] for n in (0,)] for _ in segments()])


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("features", FEATURES)
def test_candidates_are_those_of_one_process(tmp_path, features, size):
    system, given = keyed(features), weights(features)
    with spread(tmp_path, system, size) as shards:
        assert shards.names == system.names
        assert shards.fingerprint == system.fingerprint
        assert same(whole(shards.listed(lines(), given, 3)), whole(system.listed(lines(), given, 3)))
        assert shards.best(lines(), given) == system.best(lines(), given)
        assert same(whole(shards.bags(lines(), 4)), whole(system.bags(lines(), 4)))
        wanted = references()
        assert same(whole(shards.truths(lines(), wanted, 3)), whole(system.truths(lines(), wanted, 3)))


def test_lists_are_those_of_one_process(tmp_path):
    for number, system in enumerate((decoder("fourteen,all"), large())):
        given = START if number == 0 else weighed()
        with spread(tmp_path / str(number), system) as shards:
            found, wanted = shards.decode(lined(segments()), given, 4), system.decode(lined(segments()), given, 4)
        assert found.texts == wanted.texts
        assert found.features.names == wanted.features.names
        for name, array in wanted.lists._asdict().items():
            assert np.array_equal(getattr(found.lists, name), array), name
        assert np.array_equal(found.scores, wanted.scores)


def test_what_is_left_out_is_left_out_by_shards(tmp_path):
    *text, blocks = left()
    system = decoder_of(blocks).leaving_out(*text, LENGTH)
    given = Weights.from_dict(dict.fromkeys(system.names, 0.3))
    with spread(tmp_path, system, 5) as shards:
        found = shards.decode(text[0], given, 3)
    assert np.array_equal(found.scores, system.decode(text[0], given, 3).scores)


def decoder_of(blocks):
    from rampion.decoder.block_decoder import BlockDecoder

    return BlockDecoder(blocks)


def test_of_skipped_shards_there_is_nothing(tmp_path):
    system, given = keyed(), weights()
    count = len(segments())
    with spread(tmp_path, system, 10, deaths=1, poison="skip") as shards:
        shards.coordinator.answers = lambda job, tasks, read: (None for _ in tasks)
        assert shards.best(lines(), given) == Texts.from_strings([""] * count)
        fired = whole(shards.listed(lines(), given, 3))
        assert (len(fired.bounds), len(fired.texts), len(fired.keys)) == (count + 1, 0, 0)
        assert shards.decode(lined(segments()), given.own, 2).size == 0


def test_templates_of_ones_own_stay_at_home(tmp_path):
    system = decoder()
    system.templates.add("Mine", lambda source, target: [source[:1]])
    with spread(tmp_path, system) as shards, pytest.raises(RecipeError, match="Mine is a function of this process"):
        shards.best(lines(), START)


def test_one_job_after_another(tmp_path):
    """What earlier jobs have left is no part of later ones."""
    system, given = keyed(), weights()
    with spread(tmp_path, system) as shards:
        for k in (2, 3, 2):
            assert same(whole(shards.listed(lines(), given, k)), whole(system.listed(lines(), given, k)))
        squares = shards.coordinator.answers(Job("squares"), errands.tasks(3), errands.read)
        assert len(list(squares)) == 3


@pytest.mark.parametrize("executor", ["local,threads=3", pytest.param("dask,workers=2", marks=pytest.mark.slow)])
def test_training_ends_in_the_same_bits(corpus, done, tmp_path, executor):
    if executor.startswith("dask"):
        pytest.importorskip("distributed")
    code, _, err = train(corpus, tmp_path / "run", "--executor", f"{executor},size=20")
    assert code == 0, err
    assert files(tmp_path / "run") == files(done[0])
    assert not list((tmp_path / "run" / "shards" / "results").iterdir())
    told = good("status", tmp_path / "run")
    assert "ended" in told
    assert "candidates: 150 of 150 segments (100 %)" in told


@pytest.mark.slow
def test_killed_again_and_again_it_ends_in_the_same_bits(corpus, done, tmp_path):
    system = corpus.parent / "done" / "system"
    command = ["train", corpus, "--out", tmp_path / "run", "--system", system, *SETTINGS]
    command += ["--executor", "local,size=10", "--resume"]
    for seconds in (1.0, 1.3, 1.6, 2.0, 2.5):
        process = start(*command)
        try:
            process.wait(seconds)
        except TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
    code, _, err = rampion(*command)
    assert code == 0, err
    assert files(tmp_path / "run") == files(done[0])


def test_the_command_decodes_as_without(corpus, done, tmp_path):
    blocks, lm = (done[0] / "system" / name for name in ("system.blocks", "system.lm"))
    blocks_only = [corpus / "dev.src", "--blocks", blocks]
    commands = {
        "best": ["decode", *blocks_only, "--lm", lm, "--out"],
        "lists": ["decode", *blocks_only, "--lm", lm, "--nbest"],
        "oracle": ["oracle", *blocks_only, "--refs", corpus / "dev.tgt.0", "--out"],
    }
    for name, command in commands.items():
        made = [tmp_path / f"{name}.{n}" for n in (1, 2)]
        for path, executor in zip(made, ([], ["--executor", "local,size=9", "--run", tmp_path / "run"]), strict=True):
            good(*command, path, *executor)
        assert made[0].read_bytes() == made[1].read_bytes()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--executor", "local"], "--executor needs --run DIR"),
        (["--run", "x"], "--executor needs --run DIR"),
        (["--executor", "none", "--run", "x"], "the executor 'none' is none of local, dask and an address"),
    ],
)
def test_bad_input(corpus, done, tmp_path, monkeypatch, more, sentence):
    monkeypatch.chdir(tmp_path)
    code, _, err = rampion("decode", corpus / "dev.src", "--blocks", done[0] / "system" / "system.blocks", *more)
    assert code == 2
    assert sentence in err
    assert len(err.splitlines()) <= 2  # the other is a note on the language model


def test_status_of_what_is_no_run(tmp_path):
    code, _, err = rampion("status", tmp_path)
    assert code == 2
    assert "holds no run with an executor; name the folder given with --out, or --run" in err
    shutil.rmtree(tmp_path)


def test_what_was_asked_before_a_decoder_that_cannot_be_opened_is_opened_again(monkeypatch, tmp_path):
    def opened(files, settings):
        if settings["options"] == 0:
            raise StoreError("damaged")
        return settings

    monkeypatch.setattr(rooms, "_Opened", opened)
    out = tmp_path / "results" / "1"
    first = rooms._opened({}, {"options": 1}, out)
    assert rooms._opened({}, {"options": 1, "k": 7}, out) is first
    with pytest.raises(StoreError):
        rooms._opened({}, {"options": 0}, out)
    assert rooms._opened({}, {"options": 1}, out) == {"options": 1}


def test_blocks_and_model_that_were_read_from_files_are_not_written_again(tmp_path, monkeypatch):
    system, given = keyed("LM,all"), weights("LM,all")
    wanted = whole(system.listed(lines(), given, 3))
    plain, places = system, (tmp_path / "blocks", tmp_path / "lm")
    for part, file in zip((plain.blocks, plain.lm), places, strict=True):
        part.write(file)
    mapped = replace(plain, blocks=BlockSet.read(places[0]), lm=read_lm(places[1]))
    written, write = [], container.write

    def told(path, kind, *rest, **more):
        written.append(kind)
        write(path, kind, *rest, **more)

    monkeypatch.setattr(container, "write", told)
    for gone, room in ((False, "one"), (True, "two")):
        with spread(tmp_path / room, mapped) as shards:
            assert same(whole(shards.listed(lines(), given, 3)), wanted)
        assert ({"blocks", "lm"} <= set(written)) is gone, "a file that is there no more is written"
        for file in places:
            file.unlink(missing_ok=True)
