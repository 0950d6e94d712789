"""Bad input: one sentence that says where, exit code 2, and every file as it was."""

from __future__ import annotations

import json
import os
import re
import resource
import struct
import zlib

import pytest
from command import good, rampion, start, write_task


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    write_task(folder)
    good("tune", folder / "dev.jsonl", "--out", folder / "run")
    return folder


@pytest.fixture
def task(source, tmp_path, monkeypatch):
    """A folder to spoil, in which the command runs."""
    for name in ("dev.nbest", "dev.nbest.gz", "dev.jsonl", "dev.store", "dev.ref.0", "dev.ref.1", "start.weights"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "weights.txt").write_bytes((source / "run" / "weights.txt").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def refused(folder, *arguments, sentence, stdin=b""):
    """The command ends with 2 and this sentence, and has written nothing."""
    before = contents(folder)
    code, out, err = rampion(*arguments, stdin=stdin)
    assert re.fullmatch(f"rampion: {sentence}\n", err), err
    assert (code, out) == (2, "")
    assert contents(folder) == before


# How a file is spoilt: functions of its content.


def lines(change):
    """Change the list of lines."""

    def spoil(content):
        found = content.splitlines(keepends=True)
        return b"".join(change(found) or found)

    return spoil


def line(number, content):
    """Put another line in place of line `number`."""
    return lines(lambda found: [*found[: number - 1], content + b"\n", *found[number:]])


def replaced(old, new, number=None):
    """Put other bytes in place of the first, in the whole or in line `number`."""

    def spoil(content):
        found = content.splitlines(keepends=True)
        place = next(n for n, text in enumerate(found) if old in text and number in (None, n + 1))
        found[place] = found[place].replace(old, new, 1)
        return b"".join(found)

    return spoil


def record(number, change):
    """Change the JSON object in line `number`."""

    def spoil(content):
        found = content.splitlines()
        value = json.loads(found[number - 1])
        change(value)
        found[number - 1] = json.dumps(value).encode()
        return b"\n".join(found) + b"\n"

    return spoil


def flipped(place):
    def spoil(content):
        spoilt = bytearray(content)
        spoilt[place] ^= 4
        return bytes(spoilt)

    return spoil


def huge(content):
    """A store whose header says, with a right checksum, that its first array has 2**50 numbers."""
    length = struct.unpack_from("<I", content, 8)[0]
    header = json.loads(content[16 : 16 + length])
    header["arrays"][0]["shape"] = [1 << 50]
    fresh = json.dumps(header).encode()
    fresh += b" " * (-(len(fresh) + 16) % 64)
    return content[:8] + struct.pack("<II", len(fresh), zlib.crc32(fresh)) + fresh + content[16 + length :]


TUNE = ("tune", "--force", "--refs", "dev.ref.0", "--refs", "dev.ref.1", "--weights", "start.weights", "--out", "run")
PLAIN = ("tune", "--force", "--refs", "dev.ref.0", "--out", "run")
PACK = ("store", "pack", "--out", "new.store")
RERANK = ("rerank", "--weights", "run", "--out", "new.out", "--lists", "new.nbest")


@pytest.mark.parametrize("command", [TUNE, RERANK, PACK], ids=["tune", "rerank", "pack"])
@pytest.mark.parametrize(
    ("file", "spoil", "sentence"),
    [
        ("dev.nbest.gz", lambda content: content[:-9], r"dev\.nbest\.gz:\d+: the gzip data break off here; get .*"),
        ("dev.nbest.gz", lambda content: content[:9], r"dev\.nbest\.gz:1: the gzip data break off here; get .*"),
        ("dev.nbest.gz", flipped(2000), r"dev\.nbest\.gz:\d+: .+"),
        ("dev.nbest", line(3, b"0 ||| a b"), r"dev\.nbest:3: found 2 fields, expected 3 to 6: id .*"),
        ("dev.nbest", line(3, b"0 ||| a ||| LM= 1 ||| 1 ||| 0-0 ||| x ||| y"), r"dev\.nbest:3: found 7 fields, .*"),
        ("dev.nbest", line(3, b""), r"dev\.nbest:3: found 1 fields, .*"),
        ("dev.nbest", line(3, b" ||| a ||| LM= 1"), r"dev\.nbest:3: the segment id is empty"),
        ("dev.nbest", replaced(b"LM= ", b"LM= x", 7), r"dev\.nbest:7: 'x-?[\d.]+' is not a finite number; .*"),
        ("dev.nbest", replaced(b"LM= ", b"LM= nan ", 7), r"dev\.nbest:7: 'nan' is not a finite number; .*"),
        ("dev.nbest", replaced(b"LM= ", b"LM= inf ", 7), r"dev\.nbest:7: 'inf' is not a finite number; .*"),
        ("dev.nbest", replaced(b"LM= ", b"LM= 1e999 ", 7), r"dev\.nbest:7: '1e999' is not a finite number; .*"),
        ("dev.nbest", replaced(b"LM= ", b"LM= 1 ", 7), r"dev\.nbest:7: feature LM has 2 values here and 1 .*"),
        ("dev.nbest", replaced(b"LM= ", b"LM= 1 LM= ", 7), r"dev\.nbest:7: feature LM appears twice in one candidate"),
        ("dev.nbest", lines(lambda found: found[8:16] + found[:8] + found[16:]),
         r"dev\.nbest:9: segment 0 follows segment 1, but numbers go up by one; sort .*"),
        ("dev.nbest", lines(lambda found: found[:8] + found[16:24] + found[8:16]),
         r"dev\.nbest:9: segment 2 follows segment 0, but numbers go up by one; sort .*"),
        ("dev.nbest", lines(lambda found: found[:16] + found[:1] + found[16:]),
         r"dev\.nbest:17: segment 0 follows segment 1, but it is in the file already; sort .*"),
        ("dev.nbest", lambda _: b"", r"dev\.nbest: holds no candidates"),
        ("dev.nbest", lambda _: b"\n" * 3, r"dev\.nbest:1: found 1 fields, .*"),
        ("dev.nbest", line(5, b"0 ||| \xff\xfe ||| LM= 1"), r"dev\.nbest:5: byte 0xff is not UTF-8; convert .*"),
        ("dev.nbest", line(5, b"0 ||| a ||| \x1b[31mx="), r"dev\.nbest:5: feature \\x1b\[31mx has no value"),
        ("dev.jsonl", record(2, lambda value: value.update(hyps=[])), r"dev\.jsonl:2: segment 1 has no hypotheses; .*"),
        ("dev.jsonl", record(2, lambda value: value["hyps"][3].update(text=None)),
         r"dev\.jsonl:2: hyps\[3\]\.text is missing; a text is expected .*"),
        ("dev.jsonl", record(2, lambda value: value.update(id="0")), r"dev\.jsonl:2: segment 0 is in the list .*"),
        ("dev.jsonl", record(2, lambda value: value["hyps"][3]["feats"].update(LM="x")),
         r"dev\.jsonl:2: hyps\[3\]\.feats\['LM'\] is 'x'; a finite number is expected"),
        ("dev.jsonl", record(2, lambda value: value["hyps"][3]["feats"].update(LM=float("inf"))),
         r"dev\.jsonl:2: hyps\[3\]\.feats\['LM'\] is 'inf'; a finite number is expected"),
        ("dev.jsonl", lambda content: content[:-200], r"dev\.jsonl:24: is not JSON: .*"),
        ("dev.jsonl", line(2, b'{"id": "\xff"}'), r"dev\.jsonl:2: byte 0xff is not UTF-8; convert .*"),
        ("dev.store", flipped(100), r"dev\.store: the header is damaged \(its checksum differs\); .*"),
        ("dev.store", flipped(-100), r"dev\.store: the array \S+ is damaged \(its checksum differs\); .*"),
        ("dev.store", lambda content: content[:-64], r"dev\.store: has \d+ bytes, but its header says \d+; .*"),
        ("dev.store", lambda content: content[:12], r"dev\.store: is no candidates file of Rampion; .*"),
        ("dev.store", lambda content: content[:8] + b"\xff\xff\xff\x7f" + content[12:],
         r"dev\.store: is cut off: \d+ bytes, and its header alone says 2147483663; .*"),
        ("dev.store", huge, r"dev\.store: has \d+ bytes, but its header says 9007199\d+; .*"),
        ("dev.store", lambda content: content[:7] + b"\x09" + content[8:], r"dev\.store: has format version 9, .*"),
    ],
)  # fmt: skip
def test_spoilt_lists(task, command, file, spoil, sentence):
    content = (task / file).read_bytes()
    (task / file).write_bytes(spoil(content))
    assert (task / file).read_bytes() != content
    refused(task, *command, file, sentence=sentence)


@pytest.mark.parametrize(
    ("file", "spoil", "arguments", "sentence"),
    [
        ("dev.ref.1", lines(lambda found: found[:-1]), [*TUNE, "dev.nbest"],
         r"dev\.ref\.1: has 23 lines, and dev\.ref\.0 has 24; reference files must be line-aligned"),
        ("dev.ref.0", lines(lambda found: found[:-1]), [*PLAIN, "dev.nbest"],
         r"dev\.ref\.0: has 23 lines for 24 segments; expected a line for every segment, .*"),
        ("dev.ref.0", line(4, b""), [*PLAIN, "dev.nbest"], r"dev\.ref\.0:4: no reference in this line; .*"),
        ("dev.ref.0", line(4, b"\xff"), [*PLAIN, "dev.nbest"], r"dev\.ref\.0:4: byte 0xff is not UTF-8; .*"),
        ("dev.ref.0", lambda _: b"0 ||| a\n", [*PLAIN, "dev.nbest"], r"dev\.ref\.0: has no reference of segment 1.*"),
        ("dev.ref.0", lambda _: b"0 ||| a\nb\n", [*PLAIN, "dev.nbest"], r"dev\.ref\.0:2: 'b' is no reference; .*"),
        ("dev.jsonl", record(2, lambda value: value.pop("refs")), ["tune", "dev.jsonl", "--out", "new"],
         r"dev\.jsonl: has no reference of segment 1; every segment needs one"),
        ("dev.ref.1", lines(lambda found: found[:-1]), ["rerank", "dev.nbest", "-w", "run", "--refs", "dev.ref.1"],
         r"dev\.ref\.1: has 23 lines for 24 segments; .*"),
        ("dev.ref.1", lines(lambda found: found[:-1]), ["score", "dev.ref.1", "--refs", "dev.ref.0"],
         r"dev\.ref\.0: has 24 lines for 23 segments; expected a line for every segment"),
        ("dev.ref.1", lines(lambda found: found[:-1]), ["score", "dev.ref.0", "--refs", "dev.ref.1"],
         r"dev\.ref\.1: has 23 lines for 24 segments; expected a line for every segment"),
        ("start.weights", replaced(b"LM= 0.5\n", b""), [*TUNE, "dev.nbest"],
         r"start\.weights: the lists have the dense feature 'LM', for which there is no weight; add a weight, or .*"),
        ("start.weights", replaced(b"LM= ", b"LM= 1 "), [*TUNE, "dev.nbest"],
         r"start\.weights: the lists have the dense feature 'LM', for which there is no weight; .*"),
        ("start.weights", replaced(b"LM= ", b"Extra= 1\nLM= "), [*TUNE, "dev.nbest"],
         r"start\.weights: the weights name the dense feature 'Extra', which no candidate has; .*"),
        ("run/weights.txt", replaced(b"LM=", b"LN="), [*RERANK, "dev.nbest"],
         r"run/weights\.txt: the lists have the dense feature 'LM', for which there is no weight; .*"),
        ("start.weights", replaced(b"0.5", b"half"), [*TUNE, "dev.nbest"],
         r"start\.weights:1: 'half' is not a finite number; mend the weight"),
        ("start.weights", replaced(b"0.5", b"nan"), ["weights", "start.weights", "--out", "new"],
         r"start\.weights:1: 'nan' is not a finite number; mend the weight"),
        ("start.weights", lambda _: b"", ["weights", "start.weights"], r"start\.weights: holds no weights"),
        ("start.weights", lambda _: b"x 1\nx 2\n", ["weights", "start.weights"],
         r"start\.weights:2: feature x has a weight already; keep one"),
        ("start.weights", line(2, b"\xff 1"), ["weights", "run", "--compare", "start.weights", "--out", "new"],
         r"start\.weights:2: byte 0xff is not UTF-8; .*"),
        ("dev.jsonl", lambda content: content.replace(b'"LM"', b'"LN"'), [*TUNE, "dev.nbest", "dev.jsonl"],
         r"dev\.jsonl: no candidate has the feature LM, which every candidate of dev\.nbest has; all lists must be .*"),
        ("dev.jsonl", lambda content: content.replace(b'"LM": ', b'"LN": 1, "LM": '), [*TUNE, "dev.nbest", "dev.jsonl"],
         r"dev\.nbest: no candidate has the feature LN, which every candidate of dev\.jsonl has; all lists must be .*"),
    ],
)  # fmt: skip
def test_spoilt_partners(task, file, spoil, arguments, sentence):
    content = (task / file).read_bytes()
    (task / file).write_bytes(spoil(content))
    assert (task / file).read_bytes() != content
    refused(task, *arguments, sentence=sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*PLAIN, "none"], r"none: there is no such file"),
        ([*PLAIN, "."], r"\.: is a directory; name a file .*"),
        (["tune", "dev.nbest", "--refs", "run", "--out", "r"], r"run: is a directory; name a file"),
        (["tune", "dev.nbest", "--refs", "none", "--out", "new"], r"none: there is no such file"),
        ([*PLAIN, "dev.nbest", "--weights", "none"], r"none: there is no such file"),
        ([*PLAIN, "dev.nbest", "--weights", "."], r"\.: is a folder without weights\.txt or weights\.bin; .*"),
        (["tune", "dev.nbest", "--refs", "dev.ref.0", "--out", "dev.ref.1"], r"dev\.ref\.1: is a file; --out names .*"),
        (["rerank", "dev.nbest", "-w", "run", "--out", "."], r"\.: is a directory; name a file"),
        (["rerank", "dev.nbest", "-w", "run", "--out", "none/x"], r"none/x: cannot be written: No such file .*"),
        (["rerank", "dev.nbest", "-w", "none"], r"none: there is no such file"),
        (["score", "/dev/null", "--refs", "dev.ref.0"], r"/dev/null: holds no lines; expected a system's output, .*"),
        (["score", ".", "--refs", "dev.ref.0"], r"\.: is a directory; name a file"),
        (["weights", "none"], r"none: there is no such file"),
        (["weights", "run", "--out", "."], r"\.: is a directory; name a file"),
        (["store", "verify", "dev.nbest"], r"dev\.nbest: is no binary file of Rampion; .*"),
        (["store", "verify", "run"], r"run: holds no \.records files; name the folder of a run, or its sets"),
        (["store", "pack", "dev.nbest", "--out", "new.store.gz"], r"new\.store\.gz: a binary file is mapped .*"),
        # What was asked for cannot be.
        (["tune", "dev.nbest", "--out", "new"], r"there are no references, which bleu:lin-och needs; .* --refs, .*"),
        (["rerank", "dev.nbest", "-w", "run", "--metric", "ter"], r"there are no references, which ter needs; .*"),
        ([*PLAIN, "dev.nbest", "--metric", "blue"], r"no metric 'blue'; there are bleu, .*"),
        ([*PLAIN, "dev.nbest", "--metric", "bleu:x"], r"metric 'bleu:x': bleu has no option 'x'; it has .*"),
        ([*PLAIN, "dev.nbest", "--metric", "metric:x"], r"the candidates have no metric column 'x'; they have: none"),
        ([*RERANK, "dev.nbest", "--metric", "metric:x"], r"the candidates have no metric column 'x'; they have: none"),
        (["tune", "-", "--out", "new"], r"there are no references, which bleu:lin-och needs; .*"),
        ([*PLAIN, "dev.nbest", "--recipe", "x"], r"no recipe 'x'; there are rampion, .*"),
        (["recipes", "x"], r"no recipe 'x'; there are rampion, .*"),
        (["cite", "x"], r"no recipe 'x'; there are rampion, .*"),
        ([*PLAIN, "dev.nbest", "--policy", "x"], r"no policy 'x'; there are replace, merge, fixed and window:N"),
        ([*PLAIN, "dev.nbest", "--policy", "window:0"], r"a window of 0 iterations holds no lists; .*"),
        ([*PLAIN, "dev.nbest", "--set", "rate"], r"--set 'rate': expected name=value, for example --set rate=1e-3"),
        ([*PLAIN, "dev.nbest", "--set", "x=1"], r"this recipe has no setting 'x'; it has .*"),
        ([*PLAIN, "dev.nbest", "--set", "rounds=x"], r"--set rounds=x: expected a whole number of 0 or more"),
        ([*PLAIN, "dev.nbest", "--set", "rounds=1.5"], r"--set rounds=1\.5: expected a whole number of 0 or more"),
        (
            [*PLAIN, "dev.nbest", "--recipe", "mira-online", "--set", "averaged=1"],
            r"--set averaged=1: expected true or false",
        ),
        ([*PLAIN, "dev.nbest", "--set", "seed=-1"], r"--set seed=-1: expected a whole number of 0 or more"),
        ([*PLAIN, "dev.nbest", "--set", "rate=nan"], r"--set rate=nan: expected a number of 0 or more"),
        ([*PLAIN, "dev.nbest", "--set", "rate=none"], r"--set rate=none: expected a number of 0 or more"),
        ([*PLAIN, "dev.nbest", "--set", "rate=1e9"], r"the L2 pull of one step is .* of the distance; use .*"),
        ([*PLAIN, "dev.nbest", "--set", "after=x"], r"after is 'x'; expected 'segment' or 'all'"),
        ([*PLAIN, "dev.nbest", "--set", "alpha=0"], r"alpha is 0\.0; expected a positive number"),
        ([*PLAIN, "dev.nbest", "--set", "iterations=5"], r"--set iterations=5: iterations is for tuning with a .*"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(task, arguments, sentence):
    stdin = (task / "dev.nbest").read_bytes() if "-" in arguments else b""
    refused(task, *arguments, sentence=sentence, stdin=stdin)


@pytest.mark.parametrize("command", [["tune", "-", "--refs", "dev.ref.0"], ["weights", "-"]])
def test_binary_files_do_not_come_from_stdin(task, command):
    good("weights", "run", "--out", "w.bin")
    content = (task / ("w.bin" if command[0] == "weights" else "dev.store")).read_bytes()
    refused(task, *command, stdin=content, sentence="<stdin>: a binary file is mapped into memory .*; name the file")


@pytest.mark.parametrize("command", [[*PLAIN, "pipe"], ["weights", "pipe"], ["tune", "dev.nbest", "--refs", "pipe"]])
def test_a_pipe_is_read_through_stdin_only(task, command):
    os.mkfifo("pipe")
    handle = os.open("pipe", os.O_RDWR)  # so that opening it to read does not wait
    try:
        code, out, err = rampion(*command)
    finally:
        os.close(handle)
    assert (code, out) == (2, "")
    assert err == "rampion: pipe: is a pipe, which can be read once only; send it to stdin and name it -\n"


def test_a_loss_with_nothing_to_learn_from_makes_no_folder(task):
    before = contents(task)
    code, _, err = rampion(*PLAIN, "dev.nbest", "--recipe", "hinge")
    assert (code, contents(task)) == (1, before)
    assert re.fullmatch(r"rampion: no candidate equals a reference, .*\n", err)


@pytest.mark.parametrize("setting", ["rounds=0", "rate=0"])
def test_useless_weights_are_not_written(task, setting):
    weights = task / "run" / "weights.txt"
    old = weights.read_bytes()
    code, _, err = rampion(*PLAIN, "dev.nbest", "--set", setting)
    assert (code, err.count("\n"), weights.read_bytes()) == (1, 1, old)
    assert err.startswith("rampion: training ended with all weights zero; use a larger rate")


# Disks that are full, and other places that take no bytes


def limited(size):
    """Run before the command begins: no file may grow beyond `size` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize(
    ("command", "size", "sentence"),
    [
        ([*TUNE, "dev.nbest"], 200, r"run/config\.toml: cannot be written: File too large; nothing was left behind"),
        ([*TUNE, "dev.nbest"], 6000, r"run/weights\.txt: cannot be written: File too large; the old file is unchanged"),
        ([*RERANK, "dev.nbest"], 100, r"new\.out: cannot be written: File too large; nothing was left behind"),
        ([*PACK, "dev.nbest"], 5000, r"new\.store: cannot be written: File too large; nothing was left behind"),
    ],
)  # fmt: skip
def test_a_full_disk(task, command, size, sentence):
    old = (task / "run" / "weights.txt").read_bytes()
    with start(*command, preexec_fn=limited(size)) as process:
        _, err = process.communicate()
    assert process.returncode == 2
    assert re.fullmatch(f"rampion: {sentence}\n", err.decode()), err
    assert (task / "run" / "weights.txt").read_bytes() == old
    assert not [path for path in contents(task) if path.name.startswith((".", "new"))]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", [["rerank", "dev.nbest", "-w", "run"], ["recipes"]])
def test_a_full_stdout(task, command):
    with open("/dev/full", "wb") as full, start(*command, stdout=full) as process:
        _, err = process.communicate()
    assert (process.returncode, err) == (2, b"rampion: <stdout>: No space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tune", "", "--out", "new"], r"an argument: is empty; .*"),
        ([*RERANK, "dev.nbest", "--refs", ""], r"--refs: is empty; give it a value, or leave it out"),
        (["report", ""], r"an argument: is empty; .*"),
        (["lm", "estimate", "dev.ref.0", "--out", ""], r"--out: is empty; .*"),
    ],
)
def test_a_variable_that_is_not_set_names_no_file(task, arguments, sentence):
    refused(task, *arguments, sentence=sentence)
