"""The benchmark of the k best derivations runs."""

from __future__ import annotations

import bench_kbest


def test_the_benchmark_runs(capsys):
    bench_kbest.main(1, 2, 3)
    assert len(capsys.readouterr().out.splitlines()) == 14
