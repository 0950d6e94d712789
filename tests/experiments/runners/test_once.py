"""Rows decode no text twice with the same weights: what training has translated is not translated again to measure."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from rampion.decoder.block_decoder import BlockDecoder
from scales import TINY

from rampion.arrays import fingerprint
from rampion.experiments.papers.tillmann_zhang.binary import table_5
from rampion.experiments.papers.tillmann_zhang.real import figures_4_6, table_9
from rampion.experiments.runners import Workshop
from rampion.experiments.scales import SCALES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCALES, "small", TINY)
        yield Workshop.open(tmp_path_factory.mktemp("once"), "small", None, None, 1)


@pytest.mark.parametrize("row", [table_5.rows[-1], *figures_4_6.rows, table_9.rows[-1]], ids=lambda row: row.folder)
def test_a_row_decodes_no_text_twice(shop, row, monkeypatch):
    asked, best = Counter[tuple[str, ...]](), BlockDecoder.best

    def counted(self, segments, weights):
        keys, names = weights.table.listed(), sorted(weights.own)
        values = weights.table.weigh(keys)
        told = fingerprint(keys[values != 0], values[values != 0], np.array([weights.own[name] for name in names]))
        asked[self.fingerprint, fingerprint(*segments.arrays), told, *names] += 1
        return best(self, segments, weights)

    monkeypatch.setattr(BlockDecoder, "best", counted)
    folder = shop.stock.out / "rows" / row.folder
    folder.mkdir(parents=True)
    shop.make(row, 1, folder)
    assert len(asked) > 1
    assert asked.most_common(1)[0][1] == 1
