"""The papers' tables as data, their relations and verdicts, and what is kept of runs."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

import numpy as np
import pytest

from rampion.analysis.significance import Interval, Randomised, bootstrap, paired_bootstrap, randomisation
from rampion.errors import InputError, RecipeError
from rampion.experiments import (
    Experiment,
    Finding,
    Picture,
    Relation,
    Row,
    Scatter,
    experiments,
    findings,
    printed,
    results,
    run,
    tells,
)
from rampion.experiments.claims import (
    AlwaysZero,
    Close,
    GainsMoreOnTuning,
    Greater,
    InRange,
    Judged,
    MoreSpread,
    NearlyParallel,
    NotLess,
    Quantity,
    Ratio,
    SameWeights,
    decided,
    powered,
    together,
)
from rampion.experiments.papers import gimpel_smith, wuebker
from rampion.experiments.papers.tillmann_zhang import EXPERIMENTS
from rampion.experiments.papers.tillmann_zhang.binary import table_5
from rampion.experiments.samples import BLEU, MEAN, MEASURES, RISES, Outcome, Rise, Settled, measured, score
from rampion.experiments.scales import SCALES
from rampion.losses.table import LOSSES
from rampion.report import charts

ROOT = Path(__file__).resolve().parents[2]


def values(*numbers: float) -> Outcome:
    """A run with these training scores."""
    return Outcome({"train": MEAN.rows(np.array(numbers))})


def spread(middle: float, noise: float, seed: int) -> Outcome:
    return values(*(middle + noise * np.random.default_rng(seed).normal(size=200)))


def bleu_rows(matched: float, segments: int = 60, seed: int = 0) -> np.ndarray:
    """Sentences of ten words, of which that share matches."""
    rng = np.random.default_rng(seed)
    totals = np.tile([10, 9, 8, 7], (segments, 1))
    matches = rng.binomial(totals, matched)
    return np.hstack([np.full((segments, 2), 10), matches, totals])


# Verdicts


FIRST, SECOND = Quantity("first", "train"), Quantity("second", "train")


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (spread(41, 2, 1), spread(40, 2, 2), "holds"),
        (spread(40, 2, 1), spread(41, 2, 2), "does not hold"),
        (spread(40, 9, 1), spread(40.3, 9, 2), "within noise"),
        (spread(40, 2, 1), spread(40, 2, 1), "within noise"),  # equal, so not above
        (values(2, 3, 4), values(1, 2, 3), "holds"),  # every unit gains as much: no noise at all
    ],
)
def test_above_is_judged_by_the_interval_of_paired_units(first, second, verdict):
    outcomes = {"first": [first], "second": [second]}
    found = Greater(FIRST, SECOND).judge(outcomes)
    expected = paired_bootstrap(MEAN, second.samples["train"], first.samples["train"])
    assert found[1:4] == expected[:3]
    assert found.verdict == verdict
    assert found.text == "first − second, train, expected above 0"


def test_units_in_pairs_decide_what_they_could_not_decide_apart():
    base = np.random.default_rng(0).normal(40, 10, 100)
    outcomes = {"first": [values(*(base + 0.1))], "second": [values(*base)]}
    assert Greater(FIRST, SECOND).judge(outcomes).verdict == "holds"


def test_what_has_other_units_is_compared_without_pairs():
    one, two = spread(40, 2, 1), Outcome({"test": bleu_rows(0.5)})
    found = Greater(FIRST, Quantity("second")).judge({"first": [one], "second": [two]})
    a, b = bootstrap(MEAN, one.samples["train"]), bootstrap(BLEU, two.samples["test"])
    assert found.value == a.score - b.score
    assert found.low == pytest.approx(found.value - math.hypot(a.score - a.low, b.high - b.score))
    assert found.high == pytest.approx(found.value + math.hypot(a.high - a.score, b.score - b.low))


@pytest.mark.parametrize(
    ("times", "verdict"), [(8.0, "holds"), (3.0, "does not hold"), (20.0, "does not hold"), (16.0, "within noise")]
)
def test_ratios_lie_between_their_bounds(times, verdict):
    seconds = np.random.default_rng(0).uniform(0.9, 1.1, (2, 20))
    outcomes = {
        name: [Outcome({"online": MEAN.rows(row)})]
        for name, row in zip(("one", "ten"), seconds * [[1], [times]], strict=True)
    }
    found = Ratio(Quantity("ten", "online"), Quantity("one", "online"), 4, 16).judge(outcomes)
    assert found.verdict == verdict
    assert found.value == pytest.approx(seconds[1].sum() / seconds[0].sum() * times)
    assert found.low < found.value < found.high
    assert found.text == "ten, online / one, online, expected 4 to 16"


def test_a_pace_is_seconds_by_candidates():
    outcome = Outcome({"late pace": MEAN.rows(np.array([1.0, 5.0]), np.array([10, 20]))})
    assert measured([outcome], "late pace").score == pytest.approx(0.2)


@pytest.mark.parametrize(("violations", "verdict"), [([0, 0, 0], "holds"), ([0, 1, 0, 0], "does not hold")])
def test_never_is_not_once(violations, verdict):
    outcomes = {"row": [Outcome({"violated": MEAN.rows(np.array(violations))})]}
    found = AlwaysZero(Quantity("row", "violated")).judge(outcomes)
    share, text = sum(violations) / len(violations), f"row, violated, expected 0 in each of {len(violations)}"
    assert found == Judged(text, share, share, share, verdict)


def translated(test: float, tune: float = 0.5, seed: int = 0) -> Outcome:
    """A run that matches that share of the words of the test and of the tuning text."""
    return Outcome({"test": bleu_rows(test, 300, seed), "tune": bleu_rows(tune, 200, seed + 100)})


@pytest.mark.parametrize(
    ("by", "verdict"), [(0.0, "holds"), (-5.0, "holds"), (25.0, "does not hold"), (9.6, "within noise")]
)
def test_above_may_ask_for_more_or_less_than_nothing(by, verdict):
    outcomes = {"first": [translated(0.6)], "second": [translated(0.5)]}
    found = Greater(Quantity("first"), Quantity("second"), by).judge(outcomes)
    assert found.verdict == verdict, found
    assert found.text == f"first − second, test, expected above {by:g}"


@pytest.mark.parametrize(("share", "verdict"), [(0.5, "holds"), (0.7, "does not hold"), (0.3, "does not hold")])
def test_near_is_on_either_side(share, verdict):
    outcomes = {"first": [translated(share)], "second": [translated(0.5)]}
    found = Close(Quantity("first"), Quantity("second"), 1.0).judge(outcomes)
    assert found.verdict == verdict, found
    assert found[1:4] == Greater(Quantity("first"), Quantity("second")).judge(outcomes)[1:4]
    assert found.text.endswith("expected -1 to 1")


def test_near_is_in_doubt_where_a_bound_is_inside_the_interval():
    outcomes = {"first": [translated(0.5)], "second": [translated(0.5, seed=1)]}
    whole = Close(Quantity("first"), Quantity("second"), 0.0).judge(outcomes)
    assert Close(Quantity("first"), Quantity("second"), whole.high / 2).judge(outcomes).verdict == "within noise"


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.7, "holds"), (0.5, "holds"), (0.505, "holds"), (0.3, "does not hold")]
)
def test_unbeaten_is_what_no_other_is_clearly_above(share, verdict):
    outcomes = {"first": [translated(share, seed=1)], "second": [translated(0.505)]}
    found = NotLess(Quantity("first"), Quantity("second")).judge(outcomes)
    assert found.verdict == verdict, found


@pytest.mark.parametrize(
    ("tune", "test", "verdict"), [(0.8, 0.5, "holds"), (0.6, 0.6, "within noise"), (0.5, 0.8, "does not hold")]
)
def test_keener_gains_more_on_what_it_was_tuned_on(tune, test, verdict):
    outcomes = {"first": [translated(test, tune)], "second": [translated(0.5, 0.5)]}
    found = GainsMoreOnTuning("first", "second").judge(outcomes)
    gains = [
        Greater(Quantity("first", name), Quantity("second", name)).judge(outcomes).value for name in ("tune", "test")
    ]
    assert found.value == pytest.approx(gains[0] - gains[1])
    assert found.low < found.value < found.high
    assert found.verdict == verdict, found


def test_p_is_that_of_randomisation_over_segments():
    """A system of several runs is the mean of them, so that the same run three times proves no more than once."""
    one, two = [translated(0.55, seed=seed) for seed in (0, 1)], [translated(0.53, seed=2)]
    claim = Greater(Quantity("first"), Quantity("second"))
    found = claim.judge({"first": one, "second": two})
    first, second = (np.mean([run.samples["test"] for run in runs], axis=0) for runs in (one, two))
    assert found.p == randomisation(BLEU, second, first, 2000).p
    alone = [claim.judge({"first": [run], "second": two}).p for run in one]
    assert min(alone) != max(alone)
    assert claim.judge({"first": 3 * one[:1], "second": 3 * two}).p == alone[0]


def test_p_is_of_segments_alone():
    runs = {name: [Outcome({"online": MEAN.rows(np.ones(9))})] for name in ("first", "second")}
    assert Greater(Quantity("first", "online"), Quantity("second", "online")).judge(runs).p is None
    runs = {"first": [spread(41, 2, 1)], "second": [translated(0.5)]}
    assert Greater(FIRST, Quantity("second")).judge(runs).p is None


@pytest.mark.parametrize("by", ["sd", "range"])
@pytest.mark.parametrize(
    ("shares", "others", "verdict"),
    [
        ([0.4, 0.5, 0.6], [0.5, 0.5, 0.5], "holds"),
        ([0.5, 0.5, 0.5], [0.4, 0.5, 0.6], "does not hold"),
        ([0.4, 0.5, 0.6], [0.4, 0.5, 0.6], "within noise"),
    ],
)
def test_wider_is_the_spread_of_runs(by, shares, others, verdict):
    runs = {"first": [translated(share) for share in shares], "second": [translated(share) for share in others]}
    found = MoreSpread(("first",), ("second",), by).judge(runs)
    spreads = []
    for row in runs.values():
        scores = [measured([one], "test").score for one in row]
        spreads.append(np.ptp(scores) if by == "range" else np.std(scores, ddof=1))
    assert found.value == pytest.approx(spreads[0] - spreads[1])
    assert found.verdict == verdict, found


@pytest.mark.parametrize(("by", "spread"), [("sd", "standard deviation"), ("range", "range")])
def test_the_runs_of_several_rows_are_one_group_and_a_single_run_has_no_spread(by, spread):
    runs = {"a": [translated(0.4)], "b": [translated(0.6)], "c": [translated(0.5)]}
    assert MoreSpread(("a", "b"), ("c",), by).judge(runs).verdict == "holds"
    assert MoreSpread(("a",), ("c",), by).judge(runs) == Judged(
        f"{spread} of a − that of c, test, expected above 0", 0, 0, 0, "within noise"
    )


def weighed(**weights: float) -> Outcome:
    return Outcome({}, weights=weights)


@pytest.mark.parametrize(
    ("other", "cosine", "verdict"),
    [
        ({"LM": 2.0, "Words": -4.0}, 1.0, "holds"),
        ({"Words": -2.0, "LM": 1.0}, 1.0, "holds"),
        ({"LM": 2.0, "Words": 1.0}, 0.0, "does not hold"),
        ({"LM": -1.0, "Words": 2.0}, -1.0, "does not hold"),
    ],
)
def test_weights_are_alike_that_point_the_same_way(other, cosine, verdict):
    runs = {"a": [weighed(LM=1.0, Words=-2.0), weighed(LM=1.0, Words=-2.0)], "b": [weighed(**other)]}
    found = NearlyParallel(("a", "b"), 0.95).judge(runs)
    assert found.value == pytest.approx(cosine)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("other", "apart", "verdict"),
    [
        ({"Words": -2.0, "LM": 1.0}, 0.0, "holds"),
        ({"LM": 1.0, "Words": -2.0000000000000004}, 4.440892098500626e-16, "does not hold"),
        ({"LM": 1.0}, math.inf, "does not hold"),
    ],
)
def test_weights_are_the_same_to_the_last_bit(other, apart, verdict):
    found = SameWeights("a", "b").judge({"a": [weighed(LM=1.0, Words=-2.0)], "b": [weighed(**other)]})
    assert (found.value, found.verdict) == (apart, verdict)


def test_a_run_of_fewer_iterations_adds_nothing_to_the_others():
    runs = [Outcome({"learning": MEAN.rows(np.array(seconds))}) for seconds in ([1.0, 2.0, 3.0], [6.0])]
    assert measured(runs, "learning").score == pytest.approx(3.0)


def test_bounds_themselves_decide_nothing():
    assert decided(Interval(1, 0, 2), 0, math.inf) == "within noise"
    assert decided(Interval(-1, -2, 0), 0, math.inf) == "within noise"
    assert decided(Interval(0, 0, 0), 0, math.inf) == "within noise"


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "cannot tell at this size"], "cannot tell at this size"),
        (["cannot tell at this size", "within noise"], "within noise"),
        (["holds", "within noise"], "within noise"),
        (["within noise", "does not hold", "holds"], "does not hold"),
    ],
)
def test_a_relation_holds_if_all_of_its_claims_do(verdicts, whole):
    assert together(Judged("", 0, 0, 0, verdict) for verdict in verdicts) == whole


def test_several_runs_are_pooled():
    runs = [spread(40, 2, 1), spread(42, 2, 2)]
    assert measured(runs, "train").score == pytest.approx(np.mean([run.samples["train"][:, 0] for run in runs]))
    assert measured(runs, "test") is None
    found = Greater(FIRST, SECOND).judge({"first": runs, "second": [spread(40, 2, 3)]})
    assert found.value == pytest.approx(1, abs=0.5)


@pytest.mark.parametrize(
    ("shares", "settled"),
    [([0.5, 0.6, 0.7, 0.8], 4), ([0.5, 0.8, 0.8, 0.8], 2), ([0.8, 0.8, 0.5, 0.8], 4), ([0.8, 0.8], 1)],
)
def test_a_curve_has_settled_when_it_stays_near_its_end(shares, settled):
    rows = Settled.rows([bleu_rows(share, seed=3) for share in shares])
    assert MEASURES["settled"].score.scores(rows.sum(axis=0)[np.newaxis]).tolist() == [settled]


STRAIGHT = np.linspace(20, 60, 41)


@pytest.mark.parametrize(
    ("curve", "bend", "early", "overshoot", "reached"),
    [
        (STRAIGHT, 0, 0, -1, 36),
        (20 + 40 * (1 - 0.8 ** np.arange(41)), 1, 1, -1.07, 11),
        (20 + 1.2 ** np.arange(41), -1, -1, -0.2, 40),
        (np.array([20.0, 30, 27, *np.linspace(27.5, 40, 38)]), 1, 1, 3, 35),
        (np.full(41, 20.0), 0, 0, 0, 0),  # no gain, no shape
    ],
)
def test_how_a_curve_rises(curve, bend, early, overshoot, reached):
    samples = Rise.rows(curve[:, np.newaxis] + np.array([-1.0, 0.0, 1.0]))
    one = Outcome(dict.fromkeys(RISES, samples))
    found = {name: score(one, name) for name in RISES}
    assert found["overshoot"] == pytest.approx(overshoot, abs=0.1)
    assert found["reached"] == reached
    for name, expected in (("bend", bend), ("early bend", early)):
        assert np.sign(round(found[name], 9)) == np.sign(expected), name
    if bend:
        gone = (curve - curve[0]) / (curve[-1] - curve[0])
        assert found["bend"] == pytest.approx(np.mean(gone - np.arange(41) / 40))


@pytest.mark.parametrize(
    ("least", "most", "verdict"),
    [(39, 41, "holds"), (40.5, 50, "does not hold"), (0, 39.5, "does not hold"), (40, 50, "within noise")],
)
def test_a_number_lies_between_bounds(least, most, verdict):
    found = InRange(FIRST, least, most).judge({"first": [spread(40, 1, 1)]})
    assert found.verdict == verdict
    assert found.text == f"first, train, expected {least:g} to {most:g}"


def test_runs_are_spread_in_any_measure():
    runs = {"a": [spread(40, 1, 1)], "b": [spread(50, 1, 2)], "c": [spread(42, 1, 3)]}
    found = MoreSpread(("a", "b"), ("a", "c"), "range", "train").judge(runs)
    assert found.value == pytest.approx(8, abs=0.5)
    assert found.verdict == "holds"


# The frame


@dataclass(frozen=True, slots=True)
class Thrown:
    """A row whose outcome is a number with noise."""

    seeded: ClassVar[bool] = True
    middle: float


@dataclass(frozen=True, slots=True)
class Known:
    seeded: ClassVar[bool] = False
    middle: float


TOY = Experiment(
    "toy/table-1",
    "A table",
    {"train": "training", "test": "test"},
    (Row("best there is", Known(50.0), {"train": 50.0}), Row("A & B", Thrown(40.0)), Row("C", Thrown(30.0))),
    (
        Relation("X1", "must", "A & B is above C", (Greater(Quantity("A & B", "train"), Quantity("C", "train")),)),
        Relation("X2", "should", "C is best", (Greater(Quantity("C", "train"), Quantity("best there is", "train")),)),
    ),
)


class Maker:
    """Makes runs without a decoder, and remembers which; breaks down at a row if told to."""

    def __init__(self, stops: str = "", **asked) -> None:
        self.made, self.stops, self.common = [], stops, asked

    def asked(self, row):
        return self.common

    def make(self, row, seed, folder):
        if row.label == self.stops:
            raise RuntimeError("power cut")
        assert folder.is_dir()
        self.made.append((row.label, seed))
        found = spread(row.settings.middle, 1, seed)
        return Outcome(found.samples, {"train": np.array([10.0, row.settings.middle])}, {"chosen": 2})


def test_rows_are_run_in_order_and_read_back(tmp_path):
    maker, told = Maker(scale="small"), []
    outcomes = run(TOY, tmp_path, [1, 2], maker, told.append)
    assert maker.made == [("best there is", 1), ("A & B", 1), ("A & B", 2), ("C", 1), ("C", 2)]
    assert told[1:3] == [
        "toy/table-1: A & B (run 2 of 5), seed 1",
        "toy/table-1: A & B (run 3 of 5), seed 2, about 0 s left",
    ]
    assert (tmp_path / "rows" / "a-b" / "seed-2").is_dir()
    again = Maker(scale="small")
    kept = run(TOY, tmp_path, [1, 2], again)
    assert again.made == []
    assert results(TOY, kept, findings(TOY, kept)) == results(TOY, outcomes, findings(TOY, outcomes))


def test_long_experiments_end_with_how_busy_the_processors_were(tmp_path, monkeypatch):
    monkeypatch.setattr("rampion.experiments.LONG", 0.0)
    told = []
    run(TOY, tmp_path, [1], Maker(), told.append)
    assert re.fullmatch(r"toy/table-1: 3 runs in 0 min, \d+\.\d\d processors kept busy", told[-1])


def test_a_run_that_broke_down_goes_on_where_it_was(tmp_path):
    with pytest.raises(RuntimeError, match="power cut"):
        run(TOY, tmp_path, [1], Maker(stops="C"))
    maker = Maker()
    run(TOY, tmp_path, [1], maker)
    assert maker.made == [("C", 1)]
    run(TOY, tmp_path, [1, 7], maker)
    assert maker.made[1:] == [("A & B", 7), ("C", 7)]


def test_what_was_asked_otherwise_is_not_taken_for_an_answer(tmp_path):
    run(TOY, tmp_path, [1], Maker(iterations=8))
    with pytest.raises(
        InputError, match="best-there-is/seed-1: was run with iterations 8, and 30 is asked for; name another folder"
    ):
        run(TOY, tmp_path, [1], Maker(iterations=30))


def test_a_scatter_has_a_point_for_every_run():
    rows = {"A": [translated(0.6, 0.7), translated(0.5, 0.6)], "B": [translated(0.4, 0.5)]}
    points = Scatter("tune", "test", ("A", "B")).points(rows)
    assert [len(points[name]) for name in points] == [2, 1]
    assert points["B"] == [(measured(rows["B"], "tune").score, measured(rows["B"], "test").score)]
    toy = Experiment("toy/figure", "", {"tune": "t", "test": "T"}, (), (), picture=Scatter("tune", "test", ("A",)))
    assert results(toy, rows, [])["scatter"] == {"x": "t", "y": "T", "points": {"A": points["A"]}}


def test_results_hold_what_was_measured_and_judged(tmp_path):
    outcomes = run(TOY, tmp_path, [1, 2], Maker())
    found = findings(TOY, outcomes)
    assert [finding.verdict for finding in found] == ["holds", "does not hold"]
    facts = json.loads(json.dumps(results(TOY, outcomes, found)))
    assert [row["row"] for row in facts["rows"]] == ["best there is", "A & B", "C"]
    assert facts["rows"][0]["paper"] == {"train": 50}
    assert facts["rows"][1]["measured"]["train"]["score"] == pytest.approx(40, abs=0.3)
    assert "test" not in facts["rows"][1]["measured"]
    assert facts["rows"][2]["curves"] == [{"train": [10, 30]}] * 2
    assert facts["rows"][2]["runs"] == [{"chosen": 2}] * 2
    assert facts["relations"][0]["id"] == "X1"
    assert facts["relations"][0]["claims"][0]["low"] > 9


# The papers


ALL = pytest.mark.parametrize("experiment", experiments(), ids=lambda one: one.name)


@ALL
def test_relations_and_pictures_name_rows_and_measures_that_exist(experiment):
    labels = {row.label for row in experiment.rows}
    for relation in experiment.relations:
        assert relation.claims
        for quantity in (quantity for claim in relation.claims for quantity in claim.quantities):
            assert quantity.row in labels
            assert quantity.measure in MEASURES
    assert {name for row in experiment.rows for name in row.paper} | set(experiment.columns) <= set(MEASURES)
    match experiment.picture:
        case Picture(lines=lines):
            assert {label for label, _ in lines.values()} <= labels
        case Scatter(x, y, rows):
            assert set(rows) <= labels
            assert {x, y} <= set(experiment.columns)
    assert len({row.folder for row in experiment.rows}) == len(labels)
    assert len({relation.id for relation in experiment.relations}) == len(experiment.relations)


def test_rows_are_one_run_if_they_have_one_name():
    settings = {}
    for row in (row for experiment in experiments() for row in experiment.rows):
        assert settings.setdefault(row.folder, row.settings) == row.settings


def test_the_papers_own_numbers_fulfil_what_is_asked_of_ours():
    """But for word and all with swaps on the training data, whose order no relation asks for."""
    for relation in table_5.relations:
        for claim in relation.claims:
            papers = {row.label: row.paper for row in table_5.rows}
            first, second = (papers[quantity.row][quantity.measure] for quantity in claim.quantities)
            assert first > second, relation.id


def test_numbers_of_the_paper():
    papers = {(one.name.partition("/")[2], row.label): dict(row.paper) for one in EXPERIMENTS for row in one.rows}
    assert papers["table-5", "MON oracle"] == {"train": 54.2}
    assert papers["table-5", "SWAP oracle"] == {"train": 59.4}
    assert papers["table-5", "MON word"] == {"train": 42.3, "test": 34.0, "meteor": 60.8}
    assert papers["table-7", "Costmargin 100-best, 7 features"] == {"dev": 32.1, "test": 44.3, "meteor": 68.8}
    assert papers["table-8", "perceptron 10-best, 7 features, mWER"]["meteor"] == 66.6
    assert papers["table-9", "binary then 7 features"]["meteor"] == 67.8
    assert papers["table-5", "SWAP all & LM"] == {"train": 36.6, "test": 38.7, "meteor": 62.9}
    assert papers["figure-2", "SWAP all"]["train first"] == 19
    assert papers["figure-3", "SWAP all & LM"]["settled"] == 8
    assert SCALES["full"].sentences == 230_000


def test_numbers_of_gimpel_and_smith():
    papers = {(one.file, row.label): dict(row.paper) for one in gimpel_smith.EXPERIMENTS for row in one.rows}
    assert [papers["gimpel-smith-table-1", name]["test"] for name in gimpel_smith.TUNED] == [36.6, 36.6, 36.8]
    assert papers["gimpel-smith-table-2", "PRO, more"] == {"tune": 35.1, "test": 28.7}
    assert papers["gimpel-smith-table-2", "RAMPION, more"] == {"tune": 33.3, "test": 29.8}


def test_numbers_of_wuebker_and_others():
    papers = {(one.file, row.label): dict(row.paper) for one in wuebker.EXPERIMENTS for row in one.rows}
    assert papers["wuebker-table-2", "RPROP"] == {"test": 31.3, "chosen": 29}
    assert papers["wuebker-table-2", "RPROP without leave-one-out"] == {"test": 30.7}
    assert papers["wuebker-efficiency", "GT, effort"]["step"] / papers["wuebker-efficiency", "RPROP, effort"][
        "step"
    ] == pytest.approx(6.4)
    for relation in wuebker.table_2.relations:
        for claim in relation.claims:
            if relation.id != "X20f":  # which is not from the paper
                first, second = (papers["wuebker-table-2", one.row][one.measure] for one in claim.quantities)
                assert first > second, relation.id


def test_gimpel_and_smiths_own_numbers_fulfil_table_2():
    tested = {row.label: row.paper for row in gimpel_smith.table_2.rows}
    for relation in gimpel_smith.table_2.relations[:2]:
        for claim in relation.claims:
            first, second = (tested[quantity.row][quantity.measure] for quantity in claim.quantities)
            assert first > second, relation.id


def test_chance_is_in_what_draws():
    rows = [
        row for one in gimpel_smith.EXPERIMENTS for row in one.rows if isinstance(row.settings, gimpel_smith.Tuning)
    ]
    seeded = {row.label for row in rows if row.settings.seeded}
    assert {label.partition(" ")[0].strip(",") for label in seeded} == {"MERT", "PRO"}


@pytest.mark.parametrize("law", gimpel_smith.LAWS)
def test_laws_of_the_losses_hold_and_would_be_seen_to_fail(law, monkeypatch):
    family = gimpel_smith.Family(law, problems=3)
    assert measured([gimpel_smith.prove(family, 1)], "violated").score == 0
    for name in ("ramp3", "kbest-perceptron", "log"):
        monkeypatch.setitem(gimpel_smith.LOSSES, name, LOSSES["soft-ramp1"])
    assert measured([gimpel_smith.prove(family, 1)], "violated").score > 0


@pytest.mark.parametrize("law", wuebker.LAWS)
def test_laws_of_p_values_hold_and_would_be_seen_to_fail(law, monkeypatch):
    doubt, random = wuebker.Doubt(law, problems=2), np.random.default_rng(0)
    assert measured([wuebker.prove(doubt, 1)], "violated").score == 0
    monkeypatch.setattr(wuebker, "randomisation", lambda *_: Randomised(0.0, 0.9 * random.random() ** 2, 999, False))
    assert measured([wuebker.prove(doubt, 1)], "violated").score > 0


def test_scales_are_in_the_page():
    page = (ROOT / "docs/reproduce.md").read_text("utf-8")
    for name, scale in SCALES.items():
        assert f"| {name} | {' | '.join(f'{number:,}' for number in scale)} |" in page


def test_experiments_are_found_by_name():
    assert experiments("tillmann-zhang") == list(EXPERIMENTS)
    assert experiments() == [*EXPERIMENTS, *gimpel_smith.EXPERIMENTS, *wuebker.EXPERIMENTS]
    assert experiments("tillmann-zhang/table-5") == [table_5]
    with pytest.raises(
        RecipeError, match="'table-5'; there are tillmann-zhang, gimpel-smith, wuebker, tillmann-zhang/table-5, "
    ):
        experiments("table-5")


# Pictures


LINES = {"A, train": [(1, 10.0), (2, 20.0)], "A, test": [(1, 8.0), (2, 12.0)], "B": [(1, 5.0)]}


def test_pictures_are_the_same_every_time_and_name_their_lines(tmp_path):
    for name in ("one.svg", "two.svg"):
        charts.write_lines(tmp_path / name, LINES, "Figure 2", y="BLEU")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert all(f">{word}<" in text for word in [*LINES, "Figure 2", "BLEU", "iteration"])
    ElementTree.fromstring(text)  # noqa: S314 (it is our own)
    families = re.findall(r'class="series (c. s.)"', text)
    assert families == ["c0 s0", "c0 s1", "c1 s2"]  # colours tell A and B apart, strokes train, test and neither
    charts.write_lines(tmp_path / "log.svg", LINES | {"C": [(1, 0.0), (2, 3.0)]}, logarithmic=True)
    assert "C, 1:" not in (tmp_path / "log.svg").read_text()  # a logarithmic axis has no place for 0


POINTS = {"A": [(1.0, 2.0), (2.0, 2.5)], "A, draw 1": [(1.5, 2.2)], "B": [(3.0, 1.0)]}


def test_scatters_are_the_same_every_time_and_name_their_groups(tmp_path):
    for name in ("one.svg", "two.svg"):
        charts.write_scatter(tmp_path / name, POINTS, "Figure 3", "tuning BLEU", "test BLEU")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert all(f">{word}<" in text for word in [*POINTS, "Figure 3", "tuning BLEU", "test BLEU"])
    with pytest.raises(InputError, match="there is no curve to draw"):
        charts.write_scatter(tmp_path / "a.svg", {}, "", "", "")


def test_scatters_on_the_page():
    drawn = charts.scatter("Figure 3", {**POINTS, "nobody": []}, "tuning BLEU", "test BLEU")
    picture = drawn[drawn.index("<svg") : drawn.index("</svg>")]
    assert picture.count('class="mark"') == 4 + 3  # points, and a key for each group
    assert ">A: 2.00, 2.50<" in picture.replace("2.0000", "2.00")
    classes = [f'class="series c{colour} s0"' for colour in (0, 0, 1)]
    assert [part[: len(classes[0])] for part in picture.split("<g ")[1:] if "series" in part[:20]] == classes
    assert "nobody" not in drawn
    assert charts.scatter("Figure 3", {"nobody": []}, "x", "y") == ""


def test_what_cannot_be_drawn(tmp_path):
    with pytest.raises(InputError, match=r"a.pdf: pictures are SVG; name a file that ends in .svg"):
        charts.write_lines(tmp_path / "a.pdf", LINES)
    with pytest.raises(InputError, match="there is no curve to draw"):
        charts.write_lines(tmp_path / "a.svg", {})


@pytest.mark.parametrize(
    ("paper", "verdict"),
    [
        (None, "within noise"),
        (0.9, "cannot tell at this size"),
        (-0.9, "cannot tell at this size"),
        (1.1, "within noise"),
    ],
)
def test_what_a_small_test_cannot_tell(paper, verdict):
    """The interval is 1 wide on either side."""
    open_ = Judged("a − b", 0.2, -0.8, 1.2, "within noise")
    assert powered(open_, paper) == open_._replace(verdict=verdict)
    sure = Judged("a − b", 2.0, 1.0, 3.0, "holds")
    assert powered(sure, paper) == sure


def test_the_difference_that_a_paper_prints():
    (table,) = experiments("wuebker/table-2")
    claims = {relation.id: relation.claims[0] for relation in table.relations}
    assert printed(table, claims["X20e"]) == pytest.approx(31.3 - 30.4)
    assert printed(table, claims["X20a"]) is None  # it asks only not to be beaten
    assert printed(table, replace(claims["X20e"], by=0.4)) == pytest.approx(0.5)


def test_what_a_test_tells_is_half_of_the_median_interval():
    (table,) = experiments("wuebker/table-2")
    relation = next(one for one in table.relations if one.id == "X20a")  # four claims about test BLEU
    judged = [Judged("", 0.0, -half, half, "holds") for half in (0.1, 0.4, 0.2, 0.8)]
    assert tells([Finding(relation, judged, "holds")]) == pytest.approx(0.3)
    chosen = next(one for one in table.relations if one.id == "X21f")  # about steps
    assert tells([Finding(chosen, judged[:2], "holds")]) is None
