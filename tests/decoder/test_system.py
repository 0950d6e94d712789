"""A system from a corpus folder: made once, found again, and never of another corpus or other settings."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from rampion.decoder.alignment.links import Alignment
from rampion.decoder.models import extract, kneser
from rampion.decoder.models.extract import build
from rampion.decoder.search.states import MON
from rampion.decoder.system import BLOCKS, LINKS, MODEL, SETTINGS, Settings, System
from rampion.decoder.text.corpus import Corpus, Parallel
from rampion.decoder.text.coverage import covering
from rampion.decoder.text.language import Language

from rampion.errors import InputError, RecipeError, StoreError
from rampion.formats.files import replacing
from rampion.sets.records import Keyed
from rampion.store.keys import Keys
from rampion.store.names import Names
from rampion.store.text import Texts

FILES = {SETTINGS, LINKS, BLOCKS, MODEL}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A tiny one, without its links."""
    folder = tmp_path_factory.mktemp("corpora") / "toy"
    Language.invent(3).corpus(300, 30, 2).write(folder)
    for path in folder.glob("*.align"):
        path.unlink()
    return folder


@pytest.fixture(scope="module")
def made(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("systems") / "one"
    System.prepare(corpus, folder)
    return folder


def copied(folder, place):
    return shutil.copytree(folder, place / "copy")


def test_a_tiny_system_is_made_stage_by_stage_and_translates(corpus, tmp_path):
    stages = list[str]()
    system = System.prepare(corpus, tmp_path / "new", progress=lambda stage, done, total: stages.append(stage))
    assert list(dict.fromkeys(stages)) == ["language model", "aligning", "counting blocks", "weighing blocks"]
    assert {path.name for path in (tmp_path / "new").iterdir()} == FILES
    decoder = system.decoder(reordering=MON, beam=10, pops=50)
    said = decoder.best(system.corpus.test.source, Keyed(Keys(), {"LM": 1.0}))
    assert len(said) == 30
    assert len(system.corpus.train) == 300


def test_each_side_is_cut_into_words_once_and_not_again(corpus, tmp_path, monkeypatch):
    asked, tokens = [], Names.tokens
    monkeypatch.setattr(Names, "tokens", lambda self, texts: asked.append(len(texts)) or tokens(self, texts))
    System.prepare(corpus, tmp_path / "new")
    assert asked == [300, 300]
    System.prepare(corpus, tmp_path / "new")
    assert asked == [300, 300], "nothing is left to make"


def test_what_is_found_again_is_what_was_made(corpus, made):
    before = {path.name: path.stat().st_mtime_ns for path in made.iterdir()}
    first, again = (System.prepare(corpus, made, threads=threads) for threads in (1, 2))
    assert {path.name: path.stat().st_mtime_ns for path in made.iterdir()} == before
    assert first.decoder().fingerprint == again.decoder(threads=2).fingerprint
    text = Corpus.load(corpus)
    assert (
        first.lm.score(text.dev.target).tolist()
        == kneser.estimate(text.train.target, 3).lm.score(text.dev.target).tolist()
    )


@pytest.mark.parametrize("kept", [(), (MODEL,), (MODEL, LINKS)])
def test_who_was_interrupted_goes_on_to_the_same_bytes(corpus, made, tmp_path, kept):
    folder = copied(made, tmp_path)
    for name in FILES - {SETTINGS, *kept}:
        (folder / name).unlink()
    (folder / f".{BLOCKS}.0123456789ab.part").write_bytes(b"half a file")
    System.prepare(corpus, folder, threads=2)
    assert all((folder / name).read_bytes() == (made / name).read_bytes() for name in FILES)


@pytest.mark.parametrize("stage", ["language model", "aligning", "weighing blocks"])
def test_an_interruption_leaves_whole_files_only(corpus, made, tmp_path, stage):
    def stop(now, done, total):
        if now == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        System.prepare(corpus, tmp_path / "stopped", progress=stop)
    left = {path.name for path in (tmp_path / "stopped").iterdir()}
    assert (
        left
        == {"language model": {SETTINGS}, "aligning": {SETTINGS, MODEL}, "weighing blocks": FILES - {BLOCKS}}[stage]
    )
    System.prepare(corpus, tmp_path / "stopped")
    assert all((tmp_path / "stopped" / name).read_bytes() == (made / name).read_bytes() for name in FILES)


def test_model_1_is_trained_once(corpus, made, tmp_path, monkeypatch):
    monkeypatch.setattr(extract, "model1", lambda *_, **__: pytest.fail("the aligner has trained it already"))
    System.prepare(corpus, tmp_path / "system")
    assert (tmp_path / "system" / BLOCKS).read_bytes() == (made / BLOCKS).read_bytes()


def test_the_alignment_of_a_corpus_is_used(tmp_path):
    toy = Language.invent(3).corpus(40, 5, 1)
    toy.write(tmp_path / "corpus")
    system = System.prepare(tmp_path / "corpus", tmp_path / "system")
    assert not (tmp_path / "system" / LINKS).exists()
    points = [[tuple(map(int, point.split("-"))) for point in line.split()] for line in toy.train.links]
    expected = build(toy.train.source, toy.train.target, Alignment.of(points))
    np.testing.assert_array_equal(system.blocks.blocks.counts, expected.blocks.counts)
    rows, _ = covering(toy.train.source, toy.test.source)
    last = int(rows[-1])
    wrong = [*[" 0-0 "] * last, "0-99", *[""] * (39 - last)]
    (tmp_path / "corpus" / "train.src-tgt.align").write_text("\n".join(wrong) + "\n", "utf-8")
    for settings in (Settings(), Settings(covering=True)):
        with pytest.raises(InputError, match=rf"the alignment in .*corpus:{last + 1}: point 0-99 is outside the sent"):
            System.prepare(tmp_path / "corpus", tmp_path / f"other{settings.covering}", settings)


def test_only_the_pairs_that_the_test_needs(corpus, tmp_path):
    system = System.prepare(corpus, tmp_path / "system", Settings(covering=True))
    text = Corpus.load(corpus)
    rows, _ = covering(text.train.source, text.test.source)
    assert system.corpus.train.source == text.train.source.take(rows)
    assert 0 < len(rows) < 300
    assert len(system.lm.vocabulary) == len(kneser.estimate(text.train.target, 3).lm.vocabulary)


def test_a_test_of_other_words_needs_no_pairs(tmp_path):
    train, dev, test = (
        Parallel(Texts.from_strings([text]), (Texts.from_strings([text]),)) for text in ("a b", "a", "c")
    )
    Corpus(("src", "tgt"), train, dev, test).write(tmp_path / "corpus")
    with pytest.raises(InputError, match="no pair to train on shares a word with the test; is it of this language"):
        System.prepare(tmp_path / "corpus", tmp_path / "system", Settings(covering=True))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(order=2), "was made with order 3, not 2; take that again, or name a new folder"),
        (Settings(longest=5, top=9), "was made with longest 7, not 5 and top 100, not 9; take"),
        (Settings(covering=True), "was made with covering False, not True and another corpus; take"),
    ],
)
def test_other_settings_are_refused(corpus, made, settings, said):
    with pytest.raises(InputError, match=said):
        System.prepare(corpus, made, settings)


def test_another_corpus_is_refused_and_another_dev_is_none(corpus, made, tmp_path):
    other = copied(corpus, tmp_path)
    for side in ("src", "tgt.0", "tgt.1"):
        lines = (other / f"dev.{side}").read_text("utf-8").splitlines(keepends=True)
        (other / f"dev.{side}").write_text("".join(lines[:20]), "utf-8")
    assert len(System.prepare(other, made).corpus.dev) == 20
    lines = (other / "train.tgt").read_text("utf-8").splitlines(keepends=True)
    (other / "train.tgt").write_text("".join([*lines[:-1], "x\n"]), "utf-8")
    with pytest.raises(InputError, match="was made with another corpus; take that again"):
        System.prepare(other, made)


@pytest.mark.parametrize("part", ["dev", "test", "train"])
def test_missing_parts_are_told(corpus, tmp_path, part):
    other = copied(corpus, tmp_path)
    (other / f"{part}.src").write_text("", "utf-8")
    for path in other.glob(f"{part}.tgt*"):
        path.write_text("", "utf-8")
    with pytest.raises(InputError, match=rf"has no {part} text; expected sentences in {part}\.src and {part}\.tgt"):
        System.prepare(other, tmp_path / "system")
    if part != "train":
        (other / f"{part}.src").unlink()
        with pytest.raises(InputError, match=rf"has no {part} text"):
            System.prepare(other, tmp_path / "system")
    assert not (tmp_path / "system").exists()


@pytest.mark.parametrize("name", ["train.tgt", "dev.tgt.1"])
def test_sides_of_different_lengths_are_told(corpus, tmp_path, name):
    other = copied(corpus, tmp_path)
    with (other / name).open("a", encoding="utf-8") as file:
        file.write("one more\n")
    with pytest.raises(InputError, match=rf"has \d+ lines and .*{name} has \d+; expected as many"):
        System.prepare(other, tmp_path / "system")


def test_strange_folders_are_refused(corpus, made, tmp_path):
    folder = copied(made, tmp_path)
    (folder / SETTINGS).write_text("{", "utf-8")
    with pytest.raises(StoreError, match=r"settings\.json: is damaged; name a new folder"):
        System.prepare(corpus, folder)
    (folder / SETTINGS).write_text("[]", "utf-8")
    with pytest.raises(InputError, match="was made with settings of another version"):
        System.prepare(corpus, folder)
    (folder / SETTINGS).unlink()
    with pytest.raises(StoreError, match=r"holds links\.gz, but no settings\.json"):
        System.prepare(corpus, folder)
    with replacing(tmp_path / "file") as file:
        file.write(b"no folder")
    with pytest.raises(InputError, match="file: cannot be a folder to work in: File exists; name another"):
        System.prepare(corpus, tmp_path / "file")


@pytest.mark.parametrize(
    ("settings", "said"), [({"order": 9}, "order 9: a language model has 1 to 6"), ({"longest": 0}, "1 to 20 words")]
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    with pytest.raises(RecipeError, match=said):
        Settings(**settings)
