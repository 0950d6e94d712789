"""make faults: kill, stop, fill up, mutilate and flip, and count what was survived; it fails if anything was lost.

Runs are killed until they are through, and must end in the bits of a run that nobody touched. Files are spoilt, and
commands that read them must refuse them with a sentence and exit code 2, or not mind; nothing may be half-written.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import strange
from collisions import colliding
from command import good, rampion, start, write_task
from rampion.decoder.text.language import Language

from rampion.formats import toml

SECONDS = 40.0  # for kills of one kind
TRIES = 12  # before a run may go on to its end


class Count(NamedTuple):
    what: str
    tried: int
    survived: int
    told: str = ""


def main() -> int:
    names = sys.argv[1:] or list(CHECKS)
    rows, began = [], time.time()
    with tempfile.TemporaryDirectory(prefix="rampion-faults-") as folder:
        bench = Bench(Path(folder))
        for name in names:
            print(f"{name} …", file=sys.stderr, flush=True)
            rows.append(CHECKS[name](bench))
    width = max(len(row.what) for row in rows)
    print(f"{'fault':{width}}  tried  survived  lost")
    for row in rows:
        print(f"{row.what:{width}}  {row.tried:5}  {row.survived:8}  {row.tried - row.survived:4}  {row.told}".rstrip())
    lost = sum(row.tried - row.survived for row in rows)
    print(f"{sum(row.tried for row in rows):,} faults, {lost} lost, {time.time() - began:.0f} s")
    return 1 if lost or not all(row.tried for row in rows) else 0


class Bench:
    """A small corpus, a system of it, lists, and what runs that nobody touches end in."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.random = folder, random.Random(7)
        Language.invent(1).corpus(240, 15, 2).write(folder / "corpus")
        self.system = folder / "whole" / "system"
        self.train = ["train", folder / "corpus", "--iterations", "3", "--fixed", "LM=0.1", "--set", "epochs=4"]
        self.train += ["--set", "rate=0.01", "--beam", "8", "--shards", "3"]
        good(*self.train, "--out", folder / "whole", "--threads", 1)
        self.train += ["--system", self.system]
        write_task(folder)
        self.blocks = ["--blocks", self.system / "system.blocks", "--lm", self.system / "system.lm"]
        self.tune = ["tune", folder / "corpus" / "dev.src", "--refs", folder / "corpus" / "dev.tgt.0", *self.blocks]
        self.tune += ["--set", "iterations=4", "--set", "k=20", "--beam", "8"]
        good(*self.tune, "--out", folder / "loop")

    def ends(self, run: Path) -> str:
        """A name of what a run has ended in."""
        digest = hashlib.sha256()
        for part in ("sets", "lists", "weights"):
            for path in sorted((run / part).glob("*")):
                digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()


def killed(bench: Bench, name: str, command: list[object], whole: Path, hurt: Callable[[int], bool]) -> Count:
    """Hurt a run at random moments until it is through. The moments lie within the time that it takes unhurt."""
    run, count = bench.folder / f"killed-{name}", 0
    begun = time.time()
    good(*command, "--out", bench.folder / f"unhurt-{name}")
    unhurt, end = time.time() - begun, time.time() + SECONDS
    while True:
        process = start(*command, "--out", run, "--resume")
        try:
            while process.poll() is None:
                moment = bench.random.uniform(0.2, 0.9) * min(unhurt, 3.0)
                wait = moment if count < TRIES and time.time() < end else 120
                try:
                    process.wait(wait)
                except subprocess.TimeoutExpired:
                    count += hurt(process.pid)
        finally:
            if process.poll() is None:
                process.kill()
        error = process.communicate()[1].decode()
        if process.returncode == 0:
            break
        if process.returncode != -signal.SIGKILL:
            return Count(name, count + 1, count, error.strip().splitlines()[-1][:120])
    same = bench.ends(run) == bench.ends(whole)
    return Count(name, count, count if same else 0, "" if same else "other bits")


def itself(pid: int) -> bool:
    os.kill(pid, signal.SIGKILL)
    return True


def a_worker(pid: int) -> bool:
    """One that has been at work for a while, if there is one."""
    found = subprocess.run(["pgrep", "-P", str(pid), "-f", "spawn_main", "-O", "2"], capture_output=True, text=True)
    workers = list(map(int, found.stdout.split()))
    if workers:
        os.kill(random.choice(workers), signal.SIGKILL)
    return bool(workers)


def runs_killed(bench: Bench) -> Count:
    return killed(bench, "training, killed", [*bench.train, "--threads", 2], bench.folder / "whole", itself)


def threads_killed(bench: Bench) -> Count:
    command = [*bench.train, "--executor", "local,size=20"]
    return killed(bench, "training by shards, killed", command, bench.folder / "whole", itself)


def coordinators_killed(bench: Bench) -> Count:
    command = [*bench.train, "--executor", "dask,workers=2,size=20"]
    return killed(bench, "training on Dask, coordinator killed", command, bench.folder / "whole", itself)


def workers_killed(bench: Bench) -> Count:
    command, whole = [*bench.train, "--iterations", "40"], bench.folder / "long"
    good(*command, "--out", whole)
    command += ["--executor", "dask,workers=2,size=5,deaths=50"]
    return killed(bench, "training on Dask, workers killed", command, whole, a_worker)


def loops_killed(bench: Bench) -> Count:
    return killed(bench, "tuning in a loop, killed", bench.tune, bench.folder / "loop", itself)


def disks_filled(bench: Bench) -> Count:
    """No file may grow beyond a size, which is another one each time; then the run goes on without a limit."""
    import resource

    tried = survived = 0
    for size in (100, 2_000, 20_000, 60_000, 200_000):
        run = bench.folder / f"full-{size}"
        limit = lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: E731
        process = start(*bench.train, "--out", run, "--executor", "local,size=20", "--resume", preexec_fn=limit)
        error = process.communicate()[1].decode()
        told = process.returncode == 2 and error.count("\n") == 1 and "cannot be written" in error
        good(*bench.train, "--out", run, "--executor", "local,size=20", "--resume")
        tried += 1
        survived += (told or process.returncode == 0) and bench.ends(run) == bench.ends(bench.folder / "whole")
    return Count("full disks", tried, survived)


def bits_flipped(bench: Bench) -> Count:
    """One bit of every file whose bytes are under checksums, at 150 places each."""
    files = {
        bench.folder / "dev.store": ["store", "verify"],
        next((bench.folder / "whole" / "sets").glob("000*")): ["store", "verify"],
        bench.folder / "whole" / "weights" / "002.bin": None,
        bench.system / "system.blocks": None,
        bench.system / "system.lm": None,
    }
    from rampion.decoder.models.blocks import BlockSet
    from rampion.decoder.models.lm import read as read_lm

    from rampion.errors import InputError
    from rampion.formats import container, store
    from rampion.sets import files as records

    readers = [store.read, records.read, lambda path: container.opened(path, "keyed weights"), BlockSet.read, read_lm]
    tried = found = 0
    for path, read in zip(files, readers, strict=True):
        spoilt, content = bench.folder / f"flipped{path.suffix}", path.read_bytes()
        spots = sorted(bench.random.sample(range(8 * len(content)), 150))
        for spot in spots:
            changed = bytearray(content)
            changed[spot // 8] ^= 1 << spot % 8
            spoilt.write_bytes(changed)
            tried += 1
            try:
                read(spoilt)
            except InputError:
                found += 1
    return Count("bits flipped", tried, found)


def journals_damaged(bench: Bench) -> Count:
    """Bits of journals and results of a run that was stopped: it must find them and end in the same bits."""
    run, tried, survived = bench.folder / "damaged", 0, 0
    results = run / "shards" / "results"
    for turn in range(4):
        process = start(*bench.train, "--out", run, "--executor", "local,size=10", "--resume")
        while process.poll() is None and len(list(results.glob("[0-9a-f]*"))) < 4 + turn:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        for path in [run / "shards" / "journal", *results.glob("[0-9a-f]*")][:3]:
            content = bytearray(path.read_bytes())
            content[bench.random.randrange(len(content))] ^= 1 << turn
            path.write_bytes(content)
            tried += 1
    good(*bench.train, "--out", run, "--executor", "local,size=10", "--resume")
    if bench.ends(run) == bench.ends(bench.folder / "whole"):
        survived = tried
    return Count("journals and results damaged", tried, survived)


def inputs_spoilt(bench: Bench) -> Count:
    """Text cut off, doubled, overwritten and mixed up at random: refused with a sentence, or harmless."""
    folder = bench.folder
    tune = ["tune", "{}", "--refs", folder / "dev.ref.0", "--out", folder / "spoilt-run", "--set", "rounds=1"]
    commands = {
        "dev.nbest": tune, "dev.nbest.gz": tune, "dev.jsonl": tune, "dev.store": tune,
        "dev.ref.0": ["tune", folder / "dev.nbest", "--refs", "{}", "--out", folder / "spoilt-run"],
        "start.weights": ["rerank", folder / "dev.nbest", "--weights", "{}", "--out", folder / "spoilt-out"],
    }  # fmt: skip
    tried = survived = 0
    told = ""
    for name, command in commands.items():
        content = (folder / name).read_bytes()
        for _ in range(40):
            (folder / f"spoilt-{name}").write_bytes(spoilt(content, bench.random))
            before = {path for path in folder.iterdir() if path.name.startswith(".")}
            code, _, err = rampion(*(folder / f"spoilt-{name}" if part == "{}" else part for part in command))
            sentence = err.startswith("rampion: ") and "Traceback" not in err
            tidy = before == {path for path in folder.iterdir() if path.name.startswith(".")}
            tried += 1
            if tidy and (code in (0, 1) or (code == 2 and sentence)):
                survived += 1
            else:
                told = f"{name}: exit code {code}, {err.strip()[-80:]}"
            shutil.rmtree(folder / "spoilt-run", ignore_errors=True)
    return Count("inputs spoilt", tried, survived, told)


def limits_reached(bench: Bench) -> Count:
    """Large and strange lists: most are read, and names made to collide are refused, all within a minute each."""
    folder, told, survived = bench.folder, "", 0
    collide = "1100 names of eight letters whose hash ends alike"
    lists = {
        "five million candidates": lambda file: file.writelines(
            "".join(f"{s} ||| a ||| L= {n}\n" for n in range(100)) for s in range(50_000)
        ),
        "a million features": lambda file: file.write(
            "0 ||| a ||| " + " ".join(f"f{n}= {n}" for n in range(1_000_000)) + "\n0 ||| b ||| f1= 1\n"
        ),
        "a name of a megabyte": lambda file: file.write(f"0 ||| a ||| {'n' * 1_000_000}= 1\n0 ||| b ||| x= 1\n"),
        collide: lambda file: file.writelines(f"0 ||| a ||| {name}= 1\n" for name in colliding(1200, 4096)),
    }
    for name, write in lists.items():
        with open(folder / "large.nbest", "w") as file:
            write(file)
        began = time.time()
        code, _, err = rampion("store", "pack", folder / "large.nbest", "--out", folder / "large.store")
        fine = code == 2 and "made to collide" in err if name == collide else code == 0
        if fine and time.time() - began < 60:
            survived += 1
        else:
            told = f"{name}: exit code {code}, {err.strip()[-80:]}"
    return Count("limits reached", len(lists), survived, told)


def spoilt(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content))
    kind = draw.choice(["cut", "drop", "write", "double", "swap"])
    if kind == "cut":
        return content[:at]
    if kind == "drop":
        return content[:at] + content[at + draw.randint(1, 40) :]
    if kind == "write":
        noise = np.random.default_rng(at).integers(0, 256, draw.randint(1, 8)).astype(np.uint8).tobytes()
        return content[:at] + noise + content[at + len(noise) :]
    lines = content.splitlines(keepends=True)
    one, two = draw.randrange(len(lines)), draw.randrange(len(lines))
    if kind == "double":
        lines.insert(one, lines[two])
    else:
        lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


STRANGE = (None, True, -1, 2**70, 1e300, float("nan"), "x", "", [], {}, ["x"], {"x": 1}, "\0", "\x1b[2J")


def places(value: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where something stands in a JSON value."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from places(one, (*place, name))


def with_another(value: object, place: tuple[str | int, ...], new: object) -> object:
    if not place:
        return new
    value = json.loads(json.dumps(value))
    at = value
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = new
    return value


def folders_changed(bench: Bench) -> Count:
    """A value of another type somewhere in the files of a run: commands say so, or do not mind."""
    folder, run, tried, survived, told = bench.folder, bench.folder / "changed", 0, 0, ""
    good("tune", folder / "dev.jsonl", "--recipe", "rampion", "--out", folder / "small", "--keep-rounds")
    kinds = {
        "small": [["report", run], ["weights", run]],
        "loop": [["report", run], [*bench.tune, "--out", run, "--resume"]],
        "whole": [["weights", run], ["status", run], ["report", run]],
    }
    for (kind, commands), name in product(kinds.items(), ("manifest.json", "config.toml", "events.jsonl")):
        content = (folder / kind / name).read_text()
        for _ in range(12):
            shutil.rmtree(run, ignore_errors=True)
            shutil.copytree(folder / kind, run)
            (run / name).write_text(changed(name, content, bench.random))
            for command in commands:
                code, _, err = rampion(*command)
                fine = code in (0, 1, 2) and (not code or "rampion: " in err)
                tried, survived = tried + 1, survived + fine
                told = told if fine else f"{kind}/{name}, {command[0]}: exit code {code}, {err.strip()[-80:]}"
    return Count("files of runs changed", tried, survived, told)


def changed(name: str, content: str, draw: random.Random) -> str:
    """The file with one value replaced by a strange one."""
    if name.endswith(".jsonl"):
        lines = content.splitlines()
        line = draw.randrange(len(lines))
        lines[line] = changed(".json", lines[line], draw)
        return "\n".join(lines) + "\n"
    value = tomllib.loads(content) if name.endswith(".toml") else json.loads(content)
    place = draw.choice(list(places(value))[1:])
    found = with_another(value, place, draw.choice(STRANGE))
    return toml.written(found) if name.endswith(".toml") else json.dumps(found)


def strange_files_given(bench: Bench) -> Count:
    """Strange files, and good ones of another kind, in place of each input of each command: refused, or read."""
    folder, tried, survived, told = bench.folder / "strangers", 0, 0, ""
    folder.mkdir()
    for path in bench.folder.iterdir():
        if path.is_file() or path.name == "corpus":
            (folder / path.name).symlink_to(path)
    (folder / "system").symlink_to(bench.system)
    (folder / "whole").symlink_to(bench.folder / "whole")
    (folder / "loop").symlink_to(bench.folder / "loop")
    above = os.getcwd()
    os.chdir(folder)
    try:
        for command in MADE:
            good(*command)
        kinds = [path for path in folder.iterdir() if path.name != "strange"]
        kinds += strange.write(folder / "strange")
        before = contents(folder)
        for command in GIVEN:
            for place in [place for place, word in enumerate(command[1:], 1) if Path(word).exists()]:
                for other in bench.random.sample(kinds, STRANGERS):
                    asked = [*command[:place], str(other), *command[place + 1 :]]
                    code, _, err = rampion(*(OUT.get(word, word) for word in asked))
                    line = (err.strip().splitlines() or [""])[-1]
                    fine = code in (0, 1) or (code == 2 and line.startswith("rampion: ") and not any(Path().glob(".*")))
                    if code == 2:
                        fine = fine and not any(Path(word).exists() for word in OUT.values())
                    for word in OUT.values():
                        shutil.rmtree(word) if Path(word).is_dir() else Path(word).unlink(missing_ok=True)
                    tried, survived = tried + 1, survived + fine
                    told = told if fine else f"{' '.join(asked)[:200]}: exit code {code}, {line[-80:]}"
        survived -= contents(folder) != before
    finally:
        os.chdir(above)
    return Count("strange files given", tried, survived, told)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and not path.is_symlink()}


STRANGERS = 3  # for each input of each command
OUT = {"OUT": "written", "OUT2": "written.too"}
MODEL = "--blocks system/system.blocks --lm system/system.lm"
DEV = "--dev test.nbest --dev-refs test.ref.0"
SHORT = "--set iterations=1 --set k=5 --beam 3"
MADE = [  # what the others read
    line.split()
    for line in f"""
align corpus/train.src corpus/train.tgt --out links --save aligner
counts corpus --align links --out counts
lm convert system/system.lm --out arpa
weights start.weights --out weights.bin
tune dev.jsonl --recipe rampion --folds 0 --set rounds=1 --out run
decode corpus/dev.src {MODEL} --weights loop --beam 3 --out best --nbest lists
lattice corpus/dev.src {MODEL} --weights loop --beam 3 --out binary.lattice
lattice corpus/dev.src {MODEL} --weights loop --beam 3 --out lattice
report run --out page.html
store pack dev.nbest --out packed.store
""".strip().splitlines()
]
GIVEN = [
    line.split()
    for line in f"""
tune dev.nbest --refs dev.ref.0 --weights start.weights --recipe rampion --set rounds=1 --folds 0 --out OUT
tune dev.store --refs dev.ref.0 {DEV} --recipe risk --set iterations=2 --folds 0 --out OUT
tune corpus/dev.src --refs corpus/dev.tgt.0 {MODEL} --counts counts {SHORT} --out OUT
rerank dev.nbest --weights run --refs dev.ref.0 --out OUT --lists OUT2
rerank dev.store --weights weights.bin --out OUT
features dev.nbest --add length --source dev.own --out OUT
inspect dev.nbest --refs dev.ref.0 --weights run --other dev.jsonl
score dev.own --refs dev.ref.0
compare dev.own dev.ref.1 --refs dev.ref.0
report run --compare loop --out OUT
align corpus/train.src corpus/train.tgt --load aligner --score links --out OUT
blocks corpus --align links --out OUT
blocks system/system.blocks
counts counts
decode corpus/dev.src {MODEL} --weights loop --beam 3 --out OUT --nbest OUT2
explain corpus/dev.src --line 1 {MODEL} --weights loop
lattice corpus/dev.src {MODEL} --weights loop --beam 3 --out OUT
train corpus --system system --iterations 1 --fixed LM=0.1 --set epochs=1 --beam 3 --out OUT
condense system/system.blocks --weights whole --lenient --out OUT
weights run --compare start.weights --out OUT
diff run loop
status whole
corpus filter corpus --test corpus/test.src --out OUT
lm estimate corpus/train.tgt --order 2 --out OUT
lm score arpa corpus/dev.src
lm score system/system.lm corpus/dev.src
lm convert arpa --out OUT
plot curves run loop --out OUT
store pack dev.nbest --out OUT
store verify dev.store aligner binary.lattice system/system.blocks
store verify whole
""".strip().splitlines()
]


def commands_interrupted(bench: Bench) -> Count:
    """Ctrl-C after the start of Python itself: one line, exit code 130, within a second, nothing half-written."""
    tried = survived = 0
    told = ""
    for turn in range(30):
        out = bench.folder / f"interrupted-{turn}"
        command = bench.tune if turn % 2 else bench.train
        process = start(*command, "--out", out, preexec_fn=heeding)
        time.sleep(bench.random.uniform(0.5, 2.5))
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        error = process.communicate()[1].decode()
        seconds = time.monotonic() - begun
        left = list(out.rglob(".*.part"))
        line = error == "rampion: interrupted; files that stood before are whole\n"
        fine = seconds < 1 and not left and (process.returncode == 0 or (process.returncode == 130 and line))
        tried, survived = tried + 1, survived + fine
        told = told if fine else f"exit code {process.returncode}, {seconds:.1f} s, {left}, {error.strip()[-60:]}"
    return Count("commands interrupted", tried, survived, told)


def heeding() -> None:
    """A shell makes what it starts in the background deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


CHECKS = {
    "folders": folders_changed,
    "interruptions": commands_interrupted,
    "runs": runs_killed,
    "shards": threads_killed,
    "coordinators": coordinators_killed,
    "workers": workers_killed,
    "loops": loops_killed,
    "disks": disks_filled,
    "bits": bits_flipped,
    "journals": journals_damaged,
    "inputs": inputs_spoilt,
    "strangers": strange_files_given,
    "limits": limits_reached,
}

if __name__ == "__main__":
    sys.exit(main())
