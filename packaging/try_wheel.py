"""Tries an installed Rampion: the compiled kernels are there, a tiny tune learns what is right, the command runs."""

import importlib
import subprocess
import sys
from pathlib import Path

import rampion

importlib.import_module("rampion._core.score")
importlib.import_module("rampion.decoder._core.align")
if Path(rampion.__file__).parent == Path(__file__).resolve().parents[1] / "rampion":
    sys.exit("try_wheel: this imports the source tree, not an installed Rampion; run it with python -P")


def sample(text: str, votes: int, right: int) -> dict[str, object]:
    return {"text": text, "feats": {"votes": votes, "length": len(text)}, "metrics": {"right": right}}


lists = rampion.Candidates.from_records(
    [
        {"id": "q1", "hyps": [sample("5", 1, 0), sample("4", 3, 1)]},
        {"id": "q2", "hyps": [sample("9", 1, 0), sample("7", 2, 1)]},
    ]
)
weights = rampion.tune(lists, metric="metric:right").weights
best = list(lists.texts[rampion.pick(lists, weights)])
if best != ["4", "7"]:
    sys.exit(f"try_wheel: tuning should choose ['4', '7'], but chooses {best}")
subprocess.run([sys.executable, "-P", "-m", "rampion", "recipes", "rampion"], check=True, stdout=subprocess.DEVNULL)
