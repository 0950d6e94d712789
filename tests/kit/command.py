"""The command line inside this process, or as a process of its own; and small files for it to work on."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from rampion.decoder.text.toy import INITIAL, task

from rampion.cli import main
from rampion.formats import read_lists, references, save_nbest
from rampion.formats.jsonl import write as write_jsonl
from rampion.store.candidates import Candidates
from rampion.store.names import Names
from rampion.store.records import rows_of
from rampion.store.text import References

# A process of its own runs on the compiled kernels, which say nothing on stderr, and with Python's own buffers.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "RAMPION_KERNELS")}
PROGRAM = [sys.executable, "-P", "-m", "rampion"]  # -P: the installed one, not the folder one stands in


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def rampion(*arguments: object, stdin: bytes = b"", encoding: str = "utf-8") -> Outcome:
    """What the command answers."""
    given, out, err = (io.TextIOWrapper(io.BytesIO(content), encoding=encoding) for content in (stdin, b"", b""))
    program = ["rampion", *map(str, arguments)]
    with mock.patch.multiple(sys, argv=program, stdin=given, stdout=out, stderr=err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode(encoding))
    return Outcome(code, *texts)


def good(*arguments: object, stdin: bytes = b"") -> str:
    """What a command that must work writes to stdout."""
    code, out, err = rampion(*arguments, stdin=stdin)
    assert code == 0, err
    return out


def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    """The command as a process, with pipes for what is not given."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT}
    return subprocess.Popen([*PROGRAM, *map(str, arguments)], **(pipes | options))


def lists_of(path: Path) -> Candidates:
    """The lists of a file of any format."""
    files = read_lists([path])
    return Candidates.from_rows(files.names, files.runs)[0]


def write_task(folder: Path) -> None:
    """The same 24 lists of 8 in every format, two references, initial weights, and 12 other lists with references."""
    records = list(task(seed=1, segments=36, k=8))
    for name, part in (("dev", records[:24]), ("test", records[24:])):
        names = Names()
        rows = rows_of(part, names)
        refs = References.from_lists(record["refs"] for record in part)
        write_jsonl(folder / f"{name}.jsonl", [rows], names.texts(), refs)
        references.write([folder / f"{name}.ref.0", folder / f"{name}.ref.1"], refs)
        (folder / f"{name}.own").write_text("".join(f"{record['hyps'][2]['text']}\n" for record in part))
        lists = Candidates.from_rows(names, [[rows]])[0]
        for ending in ("nbest", "nbest.gz", "store"):
            save_nbest(folder / f"{name}.{ending}", lists)
    lines = (f"{name}= {' '.join(map(str, v if isinstance(v, list) else [v]))}\n" for name, v in INITIAL.items())
    (folder / "start.weights").write_text("".join(lines))
