"""`rampion tune` from n-best text to weights, in processes of its own: CPU seconds, most memory, and where they go.

The parent stays small and imports neither rampion nor NumPy: a child's peak memory begins with its parent's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

TIMES = 3
RAMPION = ("-P", "-m", "rampion")  # -P: the installed one, not the folder one stands in
STARTS = {"import rampion": ("-P", "-c", "import rampion"), "rampion --help": (*RAMPION, "--help")}


def python(*arguments: str | Path) -> tuple[float, int, str]:
    """User and system seconds, peak bytes and output of a fresh interpreter."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen([sys.executable, *arguments], stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode()
    if child.returncode:
        raise SystemExit(f"python {' '.join(map(str, arguments))} failed:\n{text}")
    return usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss, text


def starts() -> dict[str, float]:
    """CPU seconds of the least that one can ask for."""
    return {what: min(python(*how)[0] for _ in range(TIMES)) for what, how in STARTS.items()}


def tuning(case: str, segments: int | None = None) -> dict[str, Any]:
    """The command as a whole, best of several, and the same steps one by one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nbest, refs, weights = files(folder)
        python(__file__, "prepare", folder, case, *([str(segments)] if segments else []))
        tune = (*RAMPION, "tune", nbest, "--refs", refs, "--weights", weights, "--out", folder / "run")
        runs = [python(*tune)[:2] for _ in range(TIMES)]
        steps = [json.loads(python(__file__, "steps", folder)[2]) for _ in range(TIMES)]
        return {
            "load": case,
            "bytes": nbest.stat().st_size,
            "seconds": min(seconds for seconds, _ in runs),
            "peak": max(peak for _, peak in runs),
            "steps": min(steps, key=lambda found: sum(step["seconds"] for step in found)),
        }


def files(folder: Path) -> tuple[Path, Path, Path]:
    """The lists, their references, and the initial weights."""
    return folder / "nbest", folder / "refs", folder / "weights"


def prepare(folder: Path, case: str, segments: int | None) -> None:
    import cases

    from rampion.formats import weights
    from rampion.store.features import Weights

    nbest, refs, initial = files(folder)
    cases.write_nbest(nbest, case, segments=segments)
    refs.write_text("\n".join([*cases.references(case, segments=segments), ""]))
    weights.write(initial, Weights.from_dict(cases.INITIAL))


def steps(folder: Path) -> list[dict[str, Any]]:
    """What the command does, step by step, with the CPU seconds of each and the peak memory at its end."""
    found: list[dict[str, Any]] = []

    def done(step: str) -> None:
        before = sum(earlier["seconds"] for earlier in found)
        found.append({"step": step, "seconds": process_time() - before, "peak": peak()})

    done("start of Python")
    from rampion.formats import read_lists, references, weights
    from rampion.store.candidates import Candidates
    from rampion.store.features import Weights
    from rampion.training.inputs import judge
    from rampion.training.loop import ignore, learn
    from rampion.training.recipes import recipe_named

    done("imports")
    nbest, refs, initial = files(folder)
    read = read_lists([nbest])
    done("read")
    (lists,) = Candidates.from_rows(read.names, read.runs)
    done("pack")
    recipe = recipe_named("rampion")
    arbiter = judge(lists, references.read([refs], lists.segments), recipe.metric, recipe.alpha)
    batch = arbiter.batch(lists)
    done("statistics")
    start = Weights(lists.features, weights.read(initial).onto(lists.features))
    tuned = learn(recipe, batch, start, start, ignore)
    done("10 rounds of 5 passes")
    weights.write(folder / "tuned", tuned)
    done("write")
    return found


def peak() -> int:
    """The most memory that this process has had in use."""
    import resource

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(arguments: list[str]) -> None:
    match arguments:
        case ["prepare", folder, case, *segments]:
            prepare(Path(folder), case, int(segments[0]) if segments else None)
        case ["steps", folder]:
            print(json.dumps(steps(Path(folder))))
        case _:
            loads = arguments or ["D", "S"]
            print(json.dumps({"starts": starts(), "tune": [tuning(load) for load in loads]}))


if __name__ == "__main__":
    main(sys.argv[1:])
