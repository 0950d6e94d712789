"""Rows on other text: filtered to the test, or with language models of longer histories."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable

import pytest
from command import rampion
from rampion.decoder.text.corpus import Corpus, Parallel
from rampion.decoder.text.language import Language
from scales import TINY

from rampion.errors import InputError, RecipeError
from rampion.experiments.papers.tillmann_zhang.texts import CHANCE, COVERED, COVERING, FILTERED, MATCHING, ORDERS, TEXTS
from rampion.experiments.runners import Workshop, texts
from rampion.experiments.runners.inputs import Stock
from rampion.experiments.scales import SCALES, SENTENCES
from rampion.store.text import Texts
from rampion.training.recipes import RECIPES

MINUTE = TINY._replace(pairs=240, held_out=12)
FILTER, ORDER = (experiment.name for experiment in TEXTS)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder in which both have been made, the rows of each, and what was told."""
    out = tmp_path_factory.mktemp("texts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCALES, "small", MINUTE)
        told = {name: rampion("reproduce", name, "--out", out, "--threads", 1) for name in (FILTER, ORDER)}
    return out, told


def rows_of(made, experiment):
    out, told = made
    code, _, err = told[experiment]
    assert code == 0, err
    facts = json.loads((out / f"{experiment.replace('/', '-')}.json").read_text())
    return {row["row"]: row for row in facts["rows"]}


def phrases(lines: Iterable[str], longest: int = 12) -> set[str]:
    """All runs of at most so many words."""
    found = set()
    for words in map(str.split, lines):
        ends = range(1, len(words) + 1)
        found |= {" ".join(words[start:end]) for end in ends for start in range(max(0, end - longest), end)}
    return found


def test_pairs_and_blocks_are_those_of_the_row(made):
    rows = rows_of(made, FILTER)
    (sentences,) = {row["runs"][0]["sentences"] for row in rows.values()}
    assert 0 < sentences < MINUTE.pairs // 2
    blocks = {name: row["runs"][0]["blocks"] for name, row in rows.items()}
    assert blocks[CHANCE] == blocks[COVERING] > blocks[COVERED] > blocks[MATCHING] > 2
    assert len({tuple(row["curves"][0]["train"]) for row in rows.values()}) == len(FILTERED)


def test_steps_are_longer_for_fewer_sentences(made):
    rows = rows_of(made, FILTER)
    asked = tomllib.loads((made[0] / "rows" / "covering-pairs" / "seed-1" / "run" / "config.toml").read_text())
    rate = RECIPES["costmargin"].settings()["rate"] * SENTENCES / rows[COVERING]["runs"][0]["sentences"]
    assert asked["rate"] == pytest.approx(rate)


@pytest.fixture(scope="module")
def pool(made):
    out, _ = made
    return Stock(out, MINUTE, None, None, 1).pool


def test_half_of_the_pairs_are_to_choose_from(pool):
    corpus, lessons = map(Corpus.load, pool.texts)
    assert (len(corpus.train), len(lessons.train)) == (120, 120)
    whole = Corpus.load(pool.text)
    assert sorted([*corpus.train.source, *lessons.train.source]) == sorted(whole.train.source)


def test_pairs_that_cover_the_test_show_of_it_what_the_pool_does(pool):
    wanted = phrases(pool.system.corpus.test.source)
    chosen = texts.pairs(pool, "covering", 1).source
    assert phrases(chosen) & wanted == phrases(pool.lessons.source) & wanted


def test_chance_draws_as_many_pairs_anew_for_every_seed(pool):
    one, again, two = (list(texts.pairs(pool, "chance", seed).source) for seed in (1, 1, 2))
    assert len(one) == len(two) == len(texts.pairs(pool, "covering", 1))
    assert one == again != two
    assert set(one) | set(two) <= set(pool.lessons.source)


def test_blocks_of_the_test_are_all_that_it_can_be_said_with(pool):
    every, filtered = (texts.blocks(pool, which) for which in ("all", "test"))
    wanted = phrases(every.corpus.test.source)
    found, kept = ({one.blocks.text(b) for b in range(2, len(one.blocks.blocks.counts))} for one in (every, filtered))
    assert kept == {(source, target) for source, target in found if source in wanted}
    assert filtered.lm is every.lm


def test_a_test_of_another_language_is_refused(tmp_path):
    corpus = Language.invent(1).corpus(40, 4)
    strange = Parallel(Texts.from_strings(["?"] * 4), corpus.test.targets)
    Corpus(corpus.languages, corpus.train, corpus.dev, strange).write(tmp_path / "text")
    stock = Stock(tmp_path / "out", MINUTE, str(tmp_path / "text"), None, 1)
    with pytest.raises(InputError, match="text: no pair to train on shares a word with the test; is it of this lang"):
        texts.pairs(stock.pool, "covering", 1)


def test_only_the_language_model_is_another(made, monkeypatch):
    rows = rows_of(made, ORDER)
    assert list(rows) == list(ORDERS)
    assert len({row["measured"]["test"]["score"] for row in rows.values()}) > 1
    for row in rows.values():
        assert set(row["measured"]) == {"tune", "test", "decoding"}
        assert len(row["runs"]) == 1
    monkeypatch.setitem(SCALES, "small", MINUTE)
    stock = Workshop.open(made[0], "small", None, None, 1).stock
    spoken = {words: stock.spoken(words) for words, _ in ORDERS.values()}
    assert [(words, system.lm.order, system.settings.order) for words, system in spoken.items()] == [
        (3, 3, 3), (4, 4, 4), (5, 5, 5),
    ]  # fmt: skip
    assert all(system.blocks is stock.whole.blocks for system in spoken.values())


def test_the_papers_own_numbers_fulfil_what_is_asked_of_ours():
    papers = {label: paper for label, (_, paper) in ORDERS.items()}
    (claim,) = TEXTS[1].relations[0].claims
    assert papers[claim.first.row]["test"] - papers[claim.second.row]["test"] == pytest.approx(2.5)


def test_a_corpus_is_cut_once_and_named_by_its_cut(tmp_path):
    Language.invent(1).corpus(60, 5).write(tmp_path / "given")
    stock = Stock(tmp_path / "out", MINUTE, str(tmp_path / "given"), None, 1, held_out=9)
    found = Corpus.load(stock.text)
    assert stock.text == tmp_path / "out" / "text-9"
    assert [len(part) for _, part in found.parts] == [42, 9, 9]
    again = Stock(tmp_path / "out", MINUTE, str(tmp_path / "given"), None, 1, held_out=9)
    assert again.text == stock.text
    assert stock.name == f"{tmp_path / 'given'}, 9 held out"
    plain = Stock(tmp_path / "out", MINUTE, str(tmp_path / "given"), None, 1)
    assert (plain.text, plain.name) == (tmp_path / "given", str(tmp_path / "given"))


def test_only_a_corpus_can_be_cut(tmp_path):
    with pytest.raises(RecipeError, match="--held-out and --versions cut a corpus"):
        Workshop.open(tmp_path, "small", None, None, 1, held_out=5)
