"""Explanations: the text adds up, the picture is well formed and to scale."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from rampion.decoder.explain import CELL, Step, drawn, orientations, told

SOURCE = ["das", "gelbe", "<haus>", "hat", "der", "alte", "mann", "gebaut"]
STEPS = [
    Step(0, 1, ["the"], {"P1/das/the": 1, "LM": -0.5}),
    Step(1, 3, ["yellow", "&", "house"], {"LM": -3.25}),
    Step(5, 7, ["the", "old", "man"], {"Words": 3, "LM": -1.0}),
    Step(3, 5, [], {"never": 2}),
    Step(7, 8, ["built"], {}),
]
WEIGHTS = {"P1/das/the": 0.5, "LM": 0.25, "Words": -0.125}


def test_orientations_follow_the_gap_rule():
    assert orientations(STEPS) == ["R", "R", "N", "L", "N"]
    assert orientations(
        [Step(2, 3, ["a"], {}), Step(0, 2, ["b"], {}), Step(3, 4, ["c"], {}), Step(4, 6, ["d"], {})]
    ) == list("NLNR")


def test_the_text_adds_up_to_the_score():
    text = told(SOURCE, STEPS, WEIGHTS, {"LM": -2.0})
    score = sum(WEIGHTS.get(name, 0) * value for step in STEPS for name, value in step.fired.items()) - 0.5
    assert text.splitlines()[-2].endswith(f"= {score:+.4f}")
    assert "b3 N [6-7] alte mann → the old man  -0.6250 =" in text
    assert "       -0.3750  -0.1250 x 3  Words\n       -0.2500  +0.2500 x -1  LM\n" in text
    assert "     and 1 more" in told(SOURCE, STEPS, WEIGHTS, {}, top=1)


@pytest.mark.parametrize("title", ["", "segment <1>"])
def test_the_picture_has_a_rectangle_to_scale_for_every_block(title):
    tree = ElementTree.fromstring(drawn(SOURCE, STEPS, title))  # noqa: S314
    tag = "{http://www.w3.org/2000/svg}"
    blocks = [rect for rect in tree.iter(f"{tag}rect") if rect.get("class", "").startswith("block")]
    assert [rect.get("class") for rect in blocks] == ["block R", "block R", "block N", "block L", "block N"]
    assert [float(rect.get("width")) + 2 for rect in blocks] == [CELL * (step.end - step.start) for step in STEPS]
    assert [float(rect.get("height")) + 2 for rect in blocks] == [CELL * (len(step.words) or 0.3) for step in STEPS]
    words = [text.text for text in tree.iter(f"{tag}text")]
    assert set(SOURCE) | {"&", "b4 L"} <= set(words)
    width, height = map(float, tree.get("viewBox").split()[2:])
    for rect in blocks:
        assert 0 <= float(rect.get("x")) <= width - float(rect.get("width"))
        assert 0 <= float(rect.get("y")) <= height - float(rect.get("height"))
    points = re.findall(r"([\d.]+),([\d.]+)", next(tree.iter(f"{tag}polyline")).get("points"))
    assert len(points) == len(STEPS) + 1


def test_a_sentence_without_words_is_a_picture_too():
    ElementTree.fromstring(drawn([], []))  # noqa: S314
    assert told([], [], {}, {}) == "\n"
