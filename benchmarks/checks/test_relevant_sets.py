"""The generated relevant sets are what they say, and all contestants of their benchmark do the same work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import relevant_peers
from relevant_sets import DECODER, PAPER, TRUTHS, RelevantSets

from rampion import _kernels
from rampion.losses.ranking import COSTMARGIN
from rampion.optim.online_sgd import WorkArrays
from rampion.sets.packed import Fresh, Slabs, numbering

SMALL = replace(PAPER, sentences=40, candidates=12, features=20_000)


@pytest.mark.parametrize("shape", [SMALL, replace(SMALL, hashed=True), replace(DECODER, sentences=20, candidates=8)])
def test_any_part_can_be_made_alone_and_no_two_candidates_of_a_sentence_are_alike(shape):
    sets = RelevantSets(shape)
    whole = sets.records(range(shape.sentences), range(shape.candidates))
    part = RelevantSets(replace(shape, sentences=12)).records(range(3, 9), range(2, 7))
    rows = (np.arange(3, 9)[:, None] * shape.candidates + np.arange(2, 7)).ravel()
    spans = [whole.ids[whole.id_bounds[row] : whole.id_bounds[row + 1]] for row in rows]
    assert part.ids.tolist() == np.concatenate(spans).tolist()
    assert np.diff(part.id_bounds).tolist() == [len(span) for span in spans]
    assert all((span[1:] > span[:-1]).all() for span in spans)
    assert (part.gains == whole.gains[rows]).all()
    prints = whole.prints.reshape(shape.sentences, shape.candidates)
    assert all(len(set(row)) == shape.candidates for row in prints.tolist())
    assert ((whole.gains > 0) & (whole.gains < 1)).all()
    assert whole.ids.max() < shape.features


@pytest.mark.parametrize("name", ["plain", "valued", "scipy", "numpy"])
def test_all_contestants_take_the_same_steps(name):
    sets, rate = RelevantSets(SMALL), 0.01
    made = sets.records(range(SMALL.sentences), range(SMALL.candidates))
    places, awake = numbering(np.bincount(made.ids, minlength=SMALL.features).astype(np.uint32), 1)
    fresh = Fresh(made.bounds, made.id_bounds, made.ids, made.gains, np.zeros(len(made.gains)), made.values)
    truths = np.full(SMALL.sentences, TRUTHS, np.int32)
    slabs = Slabs.start(SMALL.sentences, truths=truths).refined(fresh, places, np.zeros(1, np.uint32), awake)
    gains = made.gains.reshape(SMALL.sentences, -1)
    rows = relevant_peers.Rows(made.id_bounds, places[made.ids].astype(np.int32), gains, TRUTHS, rate)
    peers = {
        "plain": lambda: relevant_peers.plain(rows, valued=False),
        "valued": lambda: relevant_peers.plain(rows, valued=True),
        "scipy": lambda: relevant_peers.scipy(rows),
        "numpy": lambda: relevant_peers.numpy(rows),
    }
    epoch, order = peers[name](), np.random.default_rng(1).permutation(SMALL.sentences)
    theirs, ours = np.zeros((2, awake + 1), np.float32)
    for _ in range(3):
        work = WorkArrays.of(slabs)
        told = _kernels.rank(slabs, order, COSTMARGIN.packed, (rate, 0.0), ours, np.zeros(0), False, work)
        assert epoch(order, theirs) == told[1]
    assert margins(theirs, rows) == pytest.approx(margins(ours, rows), abs=1e-3)


def margins(weights, rows):
    """How far each candidate is above the first; what all have in common does not count."""
    scores = np.add.reduceat(weights[rows.ids].astype(float), rows.bounds[:-1]).reshape(rows.gains.shape)
    return scores - scores[:, :1]


def test_plain_python_takes_the_same_steps_as_numpy():
    made = RelevantSets(SMALL).records(range(SMALL.sentences), range(SMALL.candidates))
    rows = relevant_peers.Rows(
        made.id_bounds, made.ids.astype(np.int32), made.gains.reshape(SMALL.sentences, -1), TRUTHS, 0.01
    )
    order, weights = np.arange(SMALL.sentences), np.zeros(SMALL.features, np.float32)
    one, other = relevant_peers.numpy(rows), relevant_peers.python(rows)
    assert [one(order, weights) for _ in range(3)] == [other(order, weights) for _ in range(3)]
