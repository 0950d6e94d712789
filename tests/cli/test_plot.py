"""rampion plot: pictures hold what was asked for, and their figures are those of the run."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from command import good, rampion, write_task

import rampion as library
from rampion.report import pictures


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    write_task(folder)
    good("tune", folder / "dev.jsonl", "--recipe", "rampion", "--set", "rounds=3", "--out", folder / "run")
    return folder


@pytest.fixture(scope="module")
def score(folder):
    """The score of the run's weights on its lists, as the library computes it from texts."""
    lists = library.load_nbest(folder / "dev.jsonl")
    picks = library.pick(lists, library.load_weights(folder / "run" / "weights.txt"))
    references = library.load_references(folder / "dev.jsonl", lists)
    return library.metric("bleu").score(list(lists.texts[picks]), references)


@pytest.mark.parametrize("kind", ["curves", "line", "surface", "plane", "ablation"])
def test_a_picture_is_svg(folder, kind):
    good("plot", kind, folder / "run", "--out", folder / f"{kind}.svg")
    root = ElementTree.parse(folder / f"{kind}.svg").getroot()  # noqa: S314 - written just now
    assert root.tag.endswith("}svg")
    assert float(root.get("width")) > 0
    assert len(list(root.iter())) > 20


@pytest.mark.parametrize("kind", ["line", "surface"])
def test_the_height_at_the_weights_is_the_score_of_the_run(folder, score, kind):
    told = good("plot", kind, folder / "run", "--out", folder / f"again-{kind}.svg")
    found = re.search(r"([0-9.]+) at the weights", told)
    assert float(found[1]) == pytest.approx(score, rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["line", "run", "--out", "line.gif"], "line.gif: pictures are SVG, PNG or PDF; name a file that ends in"),
        (["surface", "run", "--feature", "none"], "--feature 'none': the lists have no such feature; they have:"),
        (["plane", "run", "--segment", "none"], "--segment 'none': the lists have no such segment; they have:"),
        (["curves", "no-run"], "no-run: holds no run; name a folder that rampion tune or rampion train has written"),
    ],
)
def test_what_cannot_be_drawn_is_told(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    code, _, err = rampion("plot", *arguments)
    assert code == 2
    assert message in err


def test_without_a_browser_it_says_what_is_missing(folder, monkeypatch):
    monkeypatch.setenv("PATH", "")
    code, _, err = rampion("plot", "line", folder / "run", "--out", folder / "line.png")
    assert code == 2
    assert "PNG is made from SVG by Chromium or Chrome, and none of" in err
    assert not (folder / "line.png").exists()


@pytest.mark.skipif(pictures.browser() is None, reason="no browser is installed")
@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_browser_makes_png_and_pdf(folder, ending, magic):
    good("plot", "curves", folder / "run", "--out", folder / f"curves.{ending}")
    assert (folder / f"curves.{ending}").read_bytes().startswith(magic)
