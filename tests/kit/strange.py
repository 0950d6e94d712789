"""Files and folders that are not what a command expects, of every kind; none of them was made by Rampion."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path

MEGABYTE = 1_000_000

CONTENTS = {
    "empty": b"",
    "a newline": b"\n",
    "blanks": b" \n\t\n  \n",
    "a word": b"a\n",
    "zeros": bytes(1000),
    "zeros in text": b"a \0 b\n" * 20,
    "any bytes": random.Random(1).randbytes(5000),
    "UTF-16": "das Haus\n".encode("utf-16") * 10,
    "Latin-1": "Häuser\n".encode("latin-1") * 24,
    "a mark alone": b"\xef\xbb\xbf",
    "carriage returns": b"a b\r" * 24,
    "escapes": b"\x1b[31m ||| \x1b]0;x\x07 ||| \x1b[2J= 1\n" * 3,
    "controls in ids": b"0\x01\x02 ||| a ||| x= 1\n0\x01\x02 ||| b ||| x= 2\n",
    "a long word": b"w" * MEGABYTE + b"\n",
    "a long name": b"0 ||| a ||| " + b"n" * MEGABYTE + b"= 1\n0 ||| b ||| x= 1\n",
    "gzip, cut": gzip.compress(b"0 ||| a ||| x= 1\n" * 100)[:-5],
    "gzip, empty": gzip.compress(b""),
    "gzip, two bytes": b"\x1f\x8b",
    "gzip, a line of 200 megabytes": gzip.compress(bytes(10 * MEGABYTE), 1) * 20,
    "zstd, junk": b"\x28\xb5\x2f\xfd" + b"\xff" * 50,
    "a number": b"1",
    "a large number": b"9" * 10_000 + b"\n",
    "null": b"null\n",
    "an empty list": b"[]",
    "an empty object": b"{}",
    "brackets": b"[" * 100_000,
    "half a letter": b'{"id":"\\ud800","hyps":[{"text":"a","feats":{"x":1}}]}\n',
    "zeros in JSON": b'{"id":"\\u0000","hyps":[{"text":"\\u0000","feats":{"\\u0000":1}}]}\n',
    "infinity": b'{"id":"1","hyps":[{"text":"a","feats":{"x":1e999}}]}\n',
    "a quotation without an end": b'id,text,lm\n0,"a\n0,b,1\n',
    "wide": b"id,text," + b",".join(b"f%d" % i for i in range(20_000)) + b"\n0,a\n",
    "a column a row": b"".join(b'{"id":"%d","text":"a","x%d":1}\n' % (i, i) for i in range(4000)),
    "Parquet": b"PAR1" + bytes(100) + b"PAR1",
    "ZIP": b"PK\x03\x04" + bytes(100),
    "pickle": b"\x80\x04\x95" + bytes(30),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "Kaldi's archive": b"utt1 \0BFM \4\1\0\0\0",
    "HTK, large": b"VERSION=1.0\nN=99999999999 L=1\nI=0\n",
    "HTK, a circle": b"VERSION=1.0\nN=2 L=2\nI=0\nI=1\nJ=0 S=0 E=1 W=a\nJ=1 S=1 E=0 W=b\n",
    "ARPA, large": b"\\data\\\nngram 1=99999999999999\n\n\\1-grams:\n-1 a\n\\end\\\n",
    "ARPA, torn": b"\\data\\\nngram 1=1\nngram 2=1\n\n\\1-grams:\n-1 a\n\\2-grams:\n-1 a b\n\\end\\\n",
    "ARPA, nothing": b"\\data\\\n",
    "links, far": b"0-0 1-1\n9999999999-1\n",
    "links, negative": b"0-0 -1-3\n",
    "a lattice, large": b"sentence 99999999999 1\n",
    "a lattice, backwards": b"sentence 2 1\n1 0 -1 a\n",
    "a weight, large": b"x 1e400\n",
    "a weight without a name": b"= 1\n",
    "a weight without a number": b"x\n",
    "counts, negative": b"pair\tx\t-1\t0\n",
    "a container, cut": b"RAMPION\x01" + b"\xff" * 8,
    "a container, zeros": b"RAMPION\x01" + bytes(8),
}


def write(folder: Path) -> list[Path]:
    """All of them, in a new folder; a name that holds a newline and an escape, links, folders and devices too."""
    folder.mkdir()
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    (folder / "a\nname \x1b[2J").write_bytes(b"x\n")
    (folder / "a folder").mkdir()
    files = "manifest.json", "config.toml", "events.jsonl", "weights.txt", "train.src", "train.tgt", "system.blocks"
    for name in files:
        (folder / "folders" / name).mkdir(parents=True)
    (folder / "empty files").mkdir()
    for name in files:
        (folder / "empty files" / name).write_bytes(b"")
    (folder / "other JSON").mkdir()
    for name in files:
        (folder / "other JSON" / name).write_text(json.dumps([name]))
    (folder / "a circle").symlink_to(folder / "another")
    (folder / "another").symlink_to(folder / "a circle")
    (folder / "to nowhere").symlink_to(folder / "nowhere")
    devices = [Path(name) for name in ("/dev/null", "/dev/full", "/dev/zero", "/dev/urandom") if os.path.exists(name)]
    return [*sorted(folder.iterdir()), folder / "nowhere" / "at all", Path("x" * 5000), Path("/"), *devices]
