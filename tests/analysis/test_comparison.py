"""Systems compared in a call, against the parts that do the work."""

from __future__ import annotations

import numpy as np
import pytest
from problems import toy

import rampion
from rampion.analysis.significance import bootstrap, paired_bootstrap, randomisation
from rampion.errors import InputError
from rampion.metrics import metric as named
from rampion.training.inputs import judge


@pytest.mark.parametrize(("test", "tested"), [("ar", randomisation), ("bs", paired_bootstrap)])
def test_outputs_and_weights_compare_alike(test, tested):
    lists, references = toy()
    weights = [rampion.Weights.from_dict(dict.fromkeys(lists.features, value)) for value in (1.0, -1.0)]
    picks = [lists.bounds[:-1], *(rampion.pick(lists, one) for one in weights)]
    outputs = [list(lists.texts[chosen]) for chosen in picks]
    batch = judge(lists, references, "chrf").batch(lists)
    rows = [batch.statistics[chosen] for chosen in picks]
    by_weights = rampion.compare(
        {"base": None, "up": weights[0], "down": dict(weights[1])}, references, "chrf", lists=lists, test=test,
        trials=50, seed=3,
    )  # fmt: skip
    by_output = rampion.compare(
        dict(zip(["base", "up", "down"], outputs, strict=True)), list(references), "chrf", test=test, trials=50, seed=3
    )
    assert repr(by_weights) == repr(by_output)
    assert list(by_weights) == ["base", "up", "down"]
    for name, row in zip(by_weights, rows, strict=True):
        found = by_weights[name]
        assert (found.score, found.low, found.high) == bootstrap(batch.metric, row, 50, 3)
        assert found.score == pytest.approx(named("chrf").score(outputs[list(by_weights).index(name)], references))
        if name != "base":
            gain = tested(batch.metric, rows[0], row, 50, 3)
            assert (found.difference, found.p) == (gain.score, gain.p)
    assert by_weights["base"].p is None
    assert by_weights.signature.endswith(f"|{test}:50|seed:3")


def test_several_runs_of_a_system_are_pooled():
    lists, references = toy()
    outputs = [list(lists.texts[np.minimum(lists.bounds[:-1] + k, lists.bounds[1:] - 1)]) for k in range(4)]
    found = rampion.compare({"a": outputs[:2], "b": outputs[2:]}, references, "wer", trials=20)
    rows = [
        np.stack([judge(lists, references, "wer").metric.statistics(
            rampion.Texts.from_strings(output), np.arange(len(lists) + 1), references) for output in two])
        for two in (outputs[:2], outputs[2:])
    ]  # fmt: skip
    assert found["b"].difference == randomisation(named("wer"), *rows, trials=20).score


def test_a_metric_column_needs_no_references():
    records = [
        {"id": str(s), "hyps": [{"text": "a", "feats": {"x": x}, "metrics": {"ok": x}} for x in (0, 1)]}
        for s in range(8)
    ]
    lists = rampion.Candidates.from_records(records)
    found = rampion.compare({"first": None, "best": {"x": 1.0}}, metric="metric:ok", lists=lists)
    assert (found["first"].score, found["best"].score, found["best"].difference) == (0, 1, 1)
    assert found["best"].p == 2 / 2**8
    assert "1.0000" in repr(found), "a scale from 0 to 1 has four decimals"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (({"a": ["x"]}, ["x"]), "name a baseline and at least one system"),
        ((["x", "y"], ["x"]), "name a baseline and at least one system"),
        (({"a": "x", "b": ["x"]}, ["x"]), "a system's output is the string 'x'"),
        (({"a": ["x"], "b": ["x", "y"]}, ["x"]), "b: has 2 segments, expected 1"),
        (({"a": ["x"], "b": ["x"]}, None), "BLEU needs references"),
        (({"a": ["x"], "b": None}, ["x"]), "weights choose from lists, and there are none"),
        (({"a": ["x"], "b": ["x"]}, "x"), "references are the string 'x'"),
    ],
)
def test_what_cannot_be_compared(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        rampion.compare(*arguments)


def test_an_unknown_test_is_refused():
    with pytest.raises(InputError, match="test is 'anova'; expected 'ar' or 'bs'"):
        rampion.compare({"a": ["x"], "b": ["y"]}, ["x"], test="anova")
