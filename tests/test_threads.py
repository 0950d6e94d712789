"""How many threads a process starts, and that results do not depend on it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rampion.threads import each, in_order, processors, quota

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 20])
def test_results_are_in_the_order_of_the_items(threads, count):
    def work(item):
        time.sleep((count - item) * 1e-4)  # later items end first
        return item * item

    expected = [item * item for item in range(count)]
    assert each(work, range(count), threads) == expected
    assert list(in_order(work, range(count), threads)) == expected


def test_items_are_taken_up_only_a_few_ahead():
    taken = []

    def items():
        for item in range(50):
            taken.append(item)
            yield item

    results = in_order(str, items(), threads=2)
    assert next(results) == "0"
    assert len(taken) <= 5
    assert len([*results]) == 49


@pytest.mark.parametrize("threads", [1, 3])
def test_nothing_new_begins_after_an_error(threads):
    begun, lock = [], threading.Lock()

    def work(item):
        with lock:
            begun.append(item)
        time.sleep(0.01)
        if item == 0:
            raise ValueError("the first one")

    with pytest.raises(ValueError, match="the first one"):
        each(work, range(200), threads)
    assert len(begun) < 50


def test_one_call_after_another_has_the_same_threads():
    seen, start = set(), threading.Barrier(3, timeout=10)

    def work(_):
        start.wait()
        seen.add(threading.get_ident())

    for _ in range(5):
        each(work, range(3), 3)
    assert len(seen) == 3


def test_work_that_has_parts_of_its_own_ends():
    assert each(lambda n: sum(each(lambda m: n * m, range(9), 2)), range(9), 2) == [36 * n for n in range(9)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_has_threads_of_its_own():
    assert each(str, range(4), 2) == ["0", "1", "2", "3"]
    child = os.fork()
    if not child:
        os._exit(each(str, range(4), 2) != ["0", "1", "2", "3"])
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no CPU affinity")
def test_processors_respect_the_affinity():
    one = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{one}}}); from rampion.threads import processors; print(processors())"
    assert subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True).stdout == b"1\n"
    assert 1 <= processors() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/cpu.max": "400000 100000", "a/b/cpu.max": "max 100000"}, 4.0),
        ("0::/a/b\n", {"cpu.max": "50000 100000"}, 0.5),  # a container sees its own group as the root
        ("0::/a\n", {"a/cpu.max": "max 100000"}, math.inf),
        ("0::/a\n", {"a/cpu.max": "rubbish"}, math.inf),
        ("", {}, math.inf),
        (
            "3:cpu,cpuacct:/job\n2:memory:/job\n",
            {"cpu,cpuacct/job/cpu.cfs_quota_us": "300000", "cpu,cpuacct/job/cpu.cfs_period_us": "100000"},
            3.0,
        ),
        (
            "3:cpu:/job\n0::/\n",
            {"cpu/job/cpu.cfs_quota_us": "-1", "cpu/job/cpu.cfs_period_us": "100000"},
            math.inf,
        ),
    ],
)
def test_the_quota_of_a_control_group(tmp_path, groups, files, expected):
    (tmp_path / "groups").write_text(groups)
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert quota(tmp_path / "groups", tmp_path / "root") == expected


def test_nobody_else_counts_processors():
    """Every default number of threads comes from `processors`."""
    for room in ("rampion", "decoder"):
        for path in (ROOT / room).rglob("*.py"):
            if path != ROOT / "rampion" / "threads.py":
                assert "cpu_count" not in path.read_text("utf-8"), path
