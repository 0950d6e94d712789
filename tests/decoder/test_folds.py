"""Cross-fitting: what a stretch is decoded with is what the text without it gives."""

from __future__ import annotations

import numpy as np
import pytest
from rampion.decoder.alignment.links import Alignment, parsed
from rampion.decoder.folds import Folds
from rampion.decoder.models import extract, kneser
from rampion.decoder.system import Parts, Settings, System
from rampion.decoder.text.corpus import Corpus
from rampion.decoder.text.language import Language

from rampion.errors import RecipeError


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folds")
    Language.invent(3).corpus(120, 10, 2).write(folder / "toy")
    return System.prepare(folder / "toy", folder / "system", Settings(order=3, longest=4)), folder / "system"


def test_rows_of_an_alignment():
    points = Alignment.of([[(0, 0)], [], [(1, 0), (0, 1)], [(2, 2)]])
    taken = points.take(np.array([2, 0, 1, 2]))
    assert [taken[s] for s in range(4)] == [points[s] for s in (2, 0, 1, 2)]
    assert len(points.take(np.zeros(0, np.int64))) == 0


@pytest.mark.parametrize(("listed", "count"), [(120, 2), (120, 7), (50, 4), (3, 3)])
def test_stretches_are_of_about_the_same_size_and_cover_what_is_listed(system, listed, count):
    spans = list(Folds.of(*system, count, listed))
    assert [number for first, last in spans for number in range(first, last)] == list(range(listed))
    sizes = [last - first for first, last in spans]
    assert len(spans) == count
    assert max(sizes) - min(sizes) <= 1


def test_a_stretch_is_decoded_with_what_the_other_lines_give(system):
    """As if the text without these lines were all there is, with the links that they had in the whole text."""
    made, _ = system
    folds = Folds.of(*system, 3)
    first, last = list(folds)[1]
    found = folds.others(first, last)
    rows = [row for row in range(len(made.corpus.train)) if not first <= row < last]
    text = made.corpus.train.take(np.array(rows))
    lengths = [np.array([len(line.split()) for line in side]) for side in (text.source, text.target)]
    points = parsed(enumerate(text.links, 1), "the others", lengths)
    blocks = extract.build(text.source, text.target, points, made.settings.rules)
    alone = Parts(made.settings, blocks, kneser.estimate(text.target, 3).lm)
    assert found.decoder("fourteen").fingerprint == alone.decoder("fourteen").fingerprint
    assert found.decoder("fourteen").fingerprint != made.decoder("fourteen").fingerprint


@pytest.mark.parametrize(
    ("listed", "count", "said"),
    [(120, 1, "2 or more"), (5, 6, "5 sentence pairs of 120"), (121, 2, "121 sentence pairs of 120")],
)
def test_what_cannot_be_cut(system, listed, count, said):
    with pytest.raises(RecipeError, match=said):
        Folds.of(*system, count, listed)


def test_a_corpus_of_a_folder_keeps_its_alignment(tmp_path):
    """Without links in the corpus, those that the system has made."""
    corpus = Language.invent(3).corpus(120, 10, 2)
    corpus.write(tmp_path / "toy")
    for path in (tmp_path / "toy").glob("*.align"):
        path.unlink()
    system = System.prepare(tmp_path / "toy", tmp_path / "system", Settings(longest=4))
    assert Corpus.load(tmp_path / "toy").train.links is None
    folds = Folds.of(system, tmp_path / "system", 2)
    assert len(folds.alignment) == 120
    assert folds.alignment == folds.alignment.take(np.arange(120))
