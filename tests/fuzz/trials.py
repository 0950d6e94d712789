"""make fuzz: strange files for every reader, for FUZZ_SECONDS each; it fails if one is not met with a sentence.

A finding is a crash, an exception that is not a RampionError, a message of several lines or without the file's name,
10 seconds without an answer, or a demand for memory that the file's size does not explain. The files that made them are
put into build/fuzz.

With atheris, changes that reach new lines of Python are changed further; without it, those that are met with a new
sentence. In a build with sanitizers or checks, what kernels do is looked at, too (see CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 10  # seconds for a file
MEMORY = 256 << 20  # more than any of these files explains: a reader's blocks, and ten times the largest file
LARGEST = 200_000  # bytes of a file
POOL = 400  # files that are changed further
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


class Row(NamedTuple):
    target: str
    tried: int
    findings: list[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="some of the targets; all of them if none is named")
    parser.add_argument("--seconds", type=float, default=30.0, help="for every target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--plain", action="store_true", help="without atheris, even if it is there")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        return work(asked.targets[0], asked.seconds, asked.seed, asked.out, asked.plain)
    from targets import TARGETS

    guided = not asked.plain and not SANITIZED and find_spec("atheris") is not None
    print(f"{'guided by atheris' if guided else 'guided by sentences'}, {asked.seconds:g} s a target", flush=True)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        rows = list(pool.map(lambda name: watched(name, asked, guided), asked.targets or TARGETS))
    print(f"{'target':15}  {'files':>9}  findings")
    for row in rows:
        print(f"{row.target:15}  {row.tried:9,}  {len(row.findings)}")
        for finding in row.findings:
            print(f"  {finding}")
    found = sum(len(row.findings) for row in rows)
    print(f"{sum(row.tried for row in rows):,} files, {found} findings")
    return 1 if found or not all(row.tried for row in rows) else 0


def watched(name: str, asked: Any, guided: bool) -> Row:
    """A target in processes of its own, a new one whenever one dies."""
    folder = (asked.out / name.replace(" ", "-")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*"):
        if old.is_file():
            old.unlink()
    end, seed, tried, crashes = time.monotonic() + asked.seconds, asked.seed, 0, list[str]()
    while (left := end - time.monotonic()) > 1 and len(crashes) < 5:
        command = [sys.executable, "-P", __file__, name, "--worker", "--seconds", f"{left:.1f}", "--seed", str(seed)]
        command += ["--out", str(folder)] + ([] if guided else ["--plain"])
        with open(folder / "log", "ab") as log:
            code = subprocess.run(command, stdout=log, stderr=log).returncode
        facts = Facts(folder)
        tried, seed = tried + facts.tried, seed + 1
        if facts.ended:
            break
        kept = folder / f"crash-{len(crashes)}"
        if (folder / "input").exists():
            (folder / "input").rename(kept)
        last = (folder / "log").read_text(errors="replace").strip().splitlines()[-25:]
        what = next((line for line in last if re.search("Timeout|ERROR: AddressSanitizer|runtime error", line)), "died")
        crashes.append(f"exit {code}: {what.strip()[:200]}; see {kept}")
    return Row(name, tried, crashes + [line for line in (folder / "findings").read_text().splitlines() if line])


class Facts:
    """What a worker has told of itself, even if it died."""

    def __init__(self, folder: Path) -> None:
        (folder / "findings").touch()
        try:
            told = json.loads((folder / "facts").read_text())
        except (OSError, ValueError):
            told = {}
        self.tried, self.ended = told.get("tried", 0), told.get("ended", False)


# In a process of its own


class Trial:
    """Gives files to a reader, and writes down what should not have happened."""

    def __init__(self, name: str, folder: Path) -> None:
        from targets import TARGETS, seeds

        self.target, self.folder, self.seeds = TARGETS[name], folder, list(seeds(name))
        self.path, self.tried, self.known, self.told = folder / "input", 0, set[str](), 0.0
        for seed in self.seeds:
            self.path.write_bytes(seed)
            self.target.read(self.path)  # what is good is read

    def tell(self, ended: bool = False) -> None:
        part = self.folder / "facts.part"
        part.write_text(json.dumps({"tried": self.tried, "ended": ended}))
        part.rename(self.folder / "facts")

    def __call__(self, content: bytes) -> str:
        """How the content is met: the sentence without its numbers and quotations, or what went wrong."""
        self.tried += 1
        if time.monotonic() - self.told > 1:
            self.tell()
            self.told = time.monotonic()
        self.path.write_bytes(content)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            with little_memory():
                return self._met()
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _met(self) -> str:
        from rampion.errors import RampionError

        try:
            self.target.read(self.path)
        except RampionError as error:
            sentence = str(error)
            if "\n" in sentence or not sentence.startswith(str(self.path)):
                return self._found(f"no sentence with the place: {sentence[:200]!r}", sentence)
            return re.sub(r"\d+|'[^']*'", "", sentence.removeprefix(str(self.path)))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            return self._found(
                f"{type(error).__name__} at {place}: {str(error)[:150]!r}", f"{type(error).__name__} {place}"
            )
        return "read"

    def _found(self, what: str, key: str) -> str:
        key = re.sub(r"\d+|'[^']*'", "", key) if key.count(" ") > 1 else key
        if key not in self.known:
            self.known.add(key)
            kept = self.folder / f"finding-{os.getpid()}-{len(self.known)}"
            kept.write_bytes(self.path.read_bytes())
            with open(self.folder / "findings", "a") as file:
                file.write(f"{what}; see {kept}\n")
        return key


@contextmanager
def little_memory() -> Iterator[None]:
    """What a reader takes is limited; what the fuzzer itself remembers, before and after, is not."""
    if SANITIZED:  # shadow memory is no memory
        yield
        return
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def work(name: str, seconds: float, seed: int, folder: Path, plain: bool) -> int:
    """Try files until the time is up."""
    if not plain:
        import atheris

        with atheris.instrument_imports(include=["rampion"]):
            import targets  # noqa: F401
    from mutations import mutated
    from targets import TARGETS

    trial = Trial(name, folder)
    words = TARGETS[name].words
    if not plain:
        guided(trial, words, seconds, seed)
    choice, pool, met = random.Random(f"{name} {seed}"), list(trial.seeds), set[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        content = mutated(choice, pool, words)[:LARGEST]
        if (how := trial(content)) not in met:
            met.add(how)
            pool.append(content)
            if len(pool) > POOL:
                pool.pop(choice.randrange(len(trial.seeds), POOL))
    trial.tell(ended=True)
    return 0


def guided(trial: Trial, words: tuple[bytes, ...], seconds: float, seed: int) -> None:
    """Let libFuzzer keep what reaches new lines; it ends the process."""
    import atheris
    from mutations import mutated

    corpus = Path(tempfile.mkdtemp(prefix="rampion-fuzz-"))
    for number, content in enumerate(trial.seeds):
        (corpus / f"{number}").write_bytes(content)
    end, seeds = time.monotonic() + seconds, trial.seeds

    def changed(data: bytes, largest: int, number: int) -> bytes:
        choice = random.Random(number)
        return mutated(choice, [bytes(data), bytes(data), *seeds], words)[:largest]

    def one(data: bytes) -> None:
        trial(bytes(data))
        if time.monotonic() > end:
            trial.tell(ended=True)
            os._exit(0)

    options = [
        f"-seed={seed + 1}",
        f"-max_len={LARGEST}",
        "-timeout=1000000",  # its alarm would end the process after half of that; the trial has its own
        "-rss_limit_mb=0",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
