"""Cost of opening binary files: `python benchmarks/bench_opening.py FOLDER [GB [KIND]]` prints a table.

A store of lists and a file of keyed weights are written into FOLDER, GB gigabytes each (2), opened and removed. A file
is opened as every command does it, checksums and rules of its kind, and trusted (`--trust`). CPU seconds of the process
that opens it; before, the file has been read once.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from run import table

from rampion.formats import container, store
from rampion.runs import sets_run
from rampion.store.candidates import Candidates
from rampion.store.text import Texts

DENSE, LENGTH, LIST = 14, 60, 100  # features and letters of a candidate, candidates of a list
READERS = {
    "store": "store.read(path)",
    "keyed weights": "container.read(path, sets_run.SCHEMA)",
}
OPENED = """
import sys, time
from rampion.formats import container, store
from rampion.runs import sets_run
path, trusted = sys.argv[1], sys.argv[2] == "trusted"
container.trust(trusted)
begun, cpu = time.monotonic(), time.process_time()
{}
print(time.process_time() - cpu, time.monotonic() - begun)
"""


def lists(size: int) -> Candidates:
    """Lists of about so many bytes."""
    rng, count = np.random.default_rng(0), 1000 * LIST
    letters = "abcdefgh "
    texts = ["".join(letters[code] for code in row) for row in rng.integers(0, len(letters), (count, LENGTH - 2))]
    values = rng.normal(size=(count, DENSE)).tolist()
    base = Candidates.from_records(
        {"id": str(s), "hyps": [{"text": f"x{texts[i]}x", "feats": {f"f{j}": x for j, x in enumerate(values[i])}}
                                for i in range(s * LIST, (s + 1) * LIST)]}
        for s in range(1000)
    )  # fmt: skip
    times = max(1, size // sum(array.nbytes for array in base.arrays().values()))
    bounds = np.arange(0, times * base.size + 1, LIST)
    return base.take(np.tile(np.arange(base.size), times), bounds, Texts.from_strings(map(str, range(len(bounds) - 1))))


def main() -> None:
    folder, size = Path(sys.argv[1]), int(float(sys.argv[2] if len(sys.argv) > 2 else 2) * 1e9)
    rows = []
    for kind in sys.argv[3:] or READERS:
        path = folder / "opened"
        try:
            if kind == "store":
                store.write(path, lists(size))
            else:
                keyed = np.memmap(folder / "numbers", np.float32, "w+", shape=(size // 4,))
                container.write(path, sets_run.SCHEMA.kind, {"keyed": keyed, "own": np.ones(1)}, {"names": ["LM"]})
                (folder / "numbers").unlink()
            with open(path, "rb") as file:
                while file.read(1 << 24):
                    pass
            for how in ("checked", "trusted"):
                command = [sys.executable, "-P", "-c", OPENED.format(READERS[kind]), str(path), how]
                cpu, wall = map(
                    float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                )
                gigabytes = path.stat().st_size / 1e9
                rows.append([kind, how, f"{gigabytes:.2f}", f"{cpu:.3f}", f"{wall:.3f}", f"{gigabytes / cpu:.2f}"])
        finally:
            path.unlink(missing_ok=True)
    print("\n".join(table(["file", "opened", "GB", "CPU s", "wall s", "GB per CPU s"], rows)))


if __name__ == "__main__":
    main()
