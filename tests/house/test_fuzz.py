"""Fuzzing in small: every target reads good files, and meets strange ones with a sentence; the mutator works."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from rampion.errors import InputError
from rampion.formats import container

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
from mutations import arrays_changed, mutated, packed, parts_of
from targets import TARGETS, seeds
from trials import Trial


@pytest.mark.parametrize("name", TARGETS)
def test_strange_files_are_met_with_a_sentence(tmp_path, name):
    trial, choice = Trial(name, tmp_path), random.Random(name)
    met = {trial(mutated(choice, trial.seeds, TARGETS[name].words)) for _ in range(25)}
    assert not trial.known, (tmp_path / "findings").read_text()
    assert len(met) > 1 or name in ("texts", "corpus lines", "references", "journal")


def test_findings_are_written_down(tmp_path, monkeypatch):
    for what, wrong in (
        ("sentence", InputError("other: is wrong")),
        ("two lines", InputError("a\nb")),
        ("crash", KeyError(1)),
    ):

        def read(path, wrong=wrong):
            if path.read_bytes() == b"strange":
                raise wrong

        monkeypatch.setitem(TARGETS, "texts", TARGETS["texts"]._replace(read=read))
        (folder := tmp_path / what).mkdir()
        trial = Trial("texts", folder)
        for _ in range(2):
            trial(b"strange")
        assert trial(b"good") == "read"
        (kept,) = folder.glob("finding-*")
        assert kept.read_bytes() == b"strange"
        assert len((folder / "findings").read_text().splitlines()) == 1


def test_changed_arrays_have_right_checksums(tmp_path):
    (seed,) = seeds("keyed weights")
    assert packed(*parts_of(seed)) == seed
    choice, refused, read = random.Random(1), set(), 0
    for _ in range(150):
        (tmp_path / "x").write_bytes(arrays_changed(choice, seed))
        try:
            arrays, _ = container.opened(tmp_path / "x", "keyed weights")
        except InputError as error:
            refused.add(str(error).partition(": ")[2][:9])
        else:
            read += any(not np.array_equal(array, np.ones(len(array))) for array in arrays.values() if array.ndim == 1)
    assert read > 20
    assert not any("checksum" in sentence for sentence in refused)
