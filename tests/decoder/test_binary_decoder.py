"""The bundled decoder as relevant sets ask for it: its keys, values and weights agree with its scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.search.oracle import BAG, Oracle
from rampion.decoder.search.search import Search
from rampion.decoder.search.states import MON
from systems import ORACLE, keyed, lines, same, segments, toy, weights, whole

from rampion.protocols import KeyedDecoder
from rampion.sets.records import Keyed
from rampion.store.keys import Keys
from rampion.store.text import Texts

EVERY = "LM,all,triplets,reordering"
MONOTONE = Search(beam=20, pops=100, reordering=MON)


@pytest.mark.parametrize("features", ["all", "LM,all", "phrase", "fourteen,word", EVERY])
def test_keys_and_values_under_the_weights_are_the_scores_of_the_search(features):
    system, given = keyed(features), weights(features)
    told = whole(system.listed(lines(), given, 3))
    binary = given.table.weigh(told.keys).astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(binary)])[told.key_bounds]
    own = told.values @ np.array([given.own[name] for name in system.names])
    inner = system
    found = inner.search(lines(), system.model(given), lambda batch, graph: inner.kbest(batch, graph, 3).scores)
    np.testing.assert_allclose(np.diff(sums) + own, np.concatenate(list(found)), rtol=1e-4, atol=1e-4)
    assert np.diff(told.bounds).min() >= 1
    assert (given.table.weigh(told.keys) == 0).any(), "some keys are unknown to the table, and weigh nothing"


@pytest.mark.parametrize("settings", [{}, {"settings": MONOTONE}, {"distinct": True}])
@pytest.mark.parametrize("threads", [2, 4])
def test_any_number_of_threads_answers_the_same(threads, settings):
    one, many = keyed(**settings), keyed(threads=threads, **settings)
    text, references, given = Texts.join([lines()] * 5), toy()[0].dev.references, weights()
    assert same(whole(one.listed(text, given, 2)), whole(many.listed(text, given, 2)))
    assert same(whole(one.bags(text, 3)), whole(many.bags(text, 3)))
    assert same(whole(one.truths(lines(), references, 2)), whole(many.truths(lines(), references, 2)))
    assert one.best(text, given) == many.best(text, given)
    assert one.fingerprint == many.fingerprint


def test_the_first_of_a_list_is_the_best():
    system, given = keyed(), weights()
    told = whole(system.listed(lines(), given, 3))
    assert told.texts.take(told.bounds[:-1]) == system.best(lines(), given)
    assert same(whole(system.listed(lines(), given, 1)), whole(keyed().listed(lines(), given, 1)))


def test_truths_lie_in_the_search_space_and_fire_what_the_templates_say():
    system, references = keyed(EVERY, settings=MONOTONE), toy()[0].dev.references
    told = whole(system.truths(lines(), references, 3))
    assert np.diff(told.bounds).max() == 3
    inner = system
    criterion = Oracle(beam=10, best=3, reordering=MON)
    batch, found = next(inner.oracle(lines(), references, criterion, lambda *both: both))
    keys, bounds = inner.templates.emit(batch.sentences, batch.options, found)
    np.testing.assert_array_equal(told.keys, keys)
    np.testing.assert_array_equal(told.key_bounds, bounds)
    assert told.texts == inner.texts(batch, found)
    np.testing.assert_array_equal(told.values, inner.values(batch, found, inner.logs(batch, found)))
    orientations = {name.rsplit("/", 1)[1] for name in system.spelt(told.keys) if name.startswith("P2/")}
    assert orientations == {"R"}
    swapped = whole(keyed("P2").truths(lines(), references, 3))
    assert {name.rsplit("/", 1)[1] for name in keyed("P2").spelt(swapped.keys)} >= {"R", "L", "N"}


@pytest.mark.parametrize(("features", "fired"), [("LM,all", set(BAG)), ("phrase", {"P1"}), ("LM,W4", set())])
def test_bags_fire_blocks_and_words_and_nothing_else(features, fired):
    system = keyed(features)
    told, again, other = (whole(system.bags(lines(), seed)) for seed in (1, 1, 2))
    assert same(told, again)
    assert not fired or not same(told, other)
    assert {name.split("/")[0] for name in system.spelt(told.keys)} == fired
    np.testing.assert_array_equal(told.bounds, np.arange(len(lines()) + 1))
    assert set(told.texts) == {""}
    assert told.values.shape == (len(lines()), len(system.names))
    assert not told.values.any()


def test_no_segments_and_empty_ones():
    system = keyed()
    assert list(system.listed(Texts.from_strings([]), weights(), 1)) == []
    assert len(system.best(Texts.from_strings([]), weights())) == 0
    told = whole(system.listed(Texts.from_strings(["", segments()[0]]), weights(), 1))
    assert len(told.bounds) == 3


def test_the_model_is_kept_until_the_weights_change():
    system, given = keyed(), weights()
    table = Keys()
    table.enter(given.table.listed())
    table.set_weights(np.zeros(len(table)))
    model = system.model(Keyed(table, {"LM": 1.0}))
    before = system.best(lines(), Keyed(table, {"LM": 1.0}))
    table.enter(np.arange(1, 100_000, dtype=np.uint64))
    assert system.model(Keyed(table, {"LM": 1.0})) is model, "new features weigh nothing"
    assert system.model(Keyed(table, {"LM": 0.5})) is not model
    table.set_weights(np.r_[given.table.weigh(given.table.listed()), np.zeros(len(table) - len(given.table))])
    after = system.best(lines(), Keyed(table, {"LM": 1.0}))
    assert after == keyed().best(lines(), Keyed(given.table, {"LM": 1.0})) != before
    model = system.model(Keyed(table, {"LM": 1.0}))
    table.settle()
    assert system.model(Keyed(table, {"LM": 1.0})) is not model


def test_the_fingerprint_knows_what_changes_answers():
    _, blocks, lm = toy()
    values = blocks.blocks.values.copy()
    values[-1, 0] -= 0.5
    changed = replace(blocks, blocks=blocks.blocks._replace(values=values))
    taught = keyed()
    taught.templates.add("Long", lambda source, target: ["yes"] if len(target) > 2 else [])
    systems = [
        keyed(), keyed("all"), keyed("LM,phrase"), keyed(settings=MONOTONE), keyed(oracle=11), keyed(options=5),
        keyed(longest=3), keyed(distinct=True), taught, BlockDecoder(changed, lm, "LM,all", criterion=ORACLE),
        BlockDecoder(blocks, lm, "LM,all", criterion=ORACLE),
    ]  # fmt: skip
    prints = [system.fingerprint for system in systems]
    assert len(set(prints)) == len(prints)
    assert keyed().fingerprint == prints[0]


def test_it_is_a_keyed_decoder_and_weights_of_other_features_change_nothing():
    system: KeyedDecoder = keyed("all")
    assert system.names == ()
    assert system.best(lines(), Keyed(Keys(), {"LM": 0.1})) == system.best(lines(), Keyed(Keys(), {}))
