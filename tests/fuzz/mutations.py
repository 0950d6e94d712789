"""Changes to files that fuzzing tries: any bytes, lines and words of texts, and arrays of binary files.

What is changed in a binary file gets right checksums again, most of the time, so that readers see it.
"""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from typing import Any

import numpy as np

from rampion.formats import container

NUMBERS = (
    0, 1, 2, 3, 7, 64, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1, 2**63,
    2**64 - 1, -1, -2, -(2**31), -(2**63),
)  # fmt: skip
REALS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e300, -1e300, 3.4e38, 1e39, np.inf, -np.inf, np.nan)
WORDS = (
    b"", b" ", b"\t", b"\n", b"\r\n", b"\x00", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xff", b"\xc3", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", "\u00a0".encode(), "\u2028".encode(), "é".encode(), "𝄞".encode(), b"|||", b" ||| ", b"=", b":",
    b"=1", b"metric:", b"#", b"\\", b"nan", b"inf", b"-inf", b"1e999", b"1e39", b"-1e38", b"1_0", b"0x10", b"1e",
    b"-", b"+", b".", b"-0", b"1e-400", b"9" * 400, b"9" * 5000, b"18446744073709551616", b"9223372036854775808",
    b"2147483648", b"4294967296", b"{", b"}", b"[", b"]", b"[" * 3000, b'"', b"null", b"true", b"{}", b"[]",
    b'"\\ud800"', b'{"id": 1}', b"\\data\\\n", b"\\end\\\n", b"\\1-grams:\n", b"ngram 1=0\n", b"ngram 2=1\n",
    b"<unk>", b"<s>", b"</s>", b"0-0", b"99999-0", b"sentence 1 0\n", b"sentence 99999999999 1\n", b"a" * 70_000,
)  # fmt: skip


def mutated(random: Any, seeds: list[bytes], extra: tuple[bytes, ...] = ()) -> bytes:
    """One of the seeds, changed once or a few times."""
    content = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        if content.startswith(container.NAME) and random.random() < 0.9:
            content = arrays_changed(random, content)
        else:
            content = random.choice(TEXT)(random, content, seeds, (*WORDS, *extra))
    return gzip.compress(content, 1) if random.random() < 0.01 else content


# Texts


def _flip(random: Any, content: bytes, *_: Any) -> bytes:
    if not content:
        return b"\n"
    at = random.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << random.randrange(8)]) + content[at + 1 :]


def _insert(random: Any, content: bytes, seeds: list[bytes], words: tuple[bytes, ...]) -> bytes:
    at = random.randint(0, len(content))
    return content[:at] + random.choice(words) + content[at:]


def _word(random: Any, content: bytes, seeds: list[bytes], words: tuple[bytes, ...]) -> bytes:
    parts = content.split(b" ")
    parts[random.randrange(len(parts))] = random.choice(words)
    return b" ".join(parts)


def _cut(random: Any, content: bytes, *_: Any) -> bytes:
    first, last = sorted(random.randint(0, len(content)) for _ in range(2))
    return content[:first] + content[last:] if random.random() < 0.7 else content[:first]


def _lines(random: Any, content: bytes, seeds: list[bytes], *_: Any) -> bytes:
    lines, others = content.split(b"\n"), random.choice(seeds).split(b"\n")
    at = random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            lines.insert(at, random.choice(lines))
        case 1:
            del lines[at]
        case 2:
            lines[at] = random.choice(others)
        case _:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)


TEXT = (_flip, _insert, _insert, _word, _word, _cut, _lines, _lines)


# Binary files


def parts_of(content: bytes) -> tuple[dict[str, Any], list[bytes]] | None:
    """The header, and the bytes of every array; None for what is no container."""
    try:
        length = struct.unpack_from("<I", content, 8)[0]
        header = json.loads(content[16 : 16 + length])
        at, blobs = 16 + length, []
        for entry in header["arrays"]:
            size = int(np.prod(entry["shape"], dtype=object)) * np.dtype(entry["dtype"]).itemsize
            blobs.append(content[at : at + size])
            at += size + -size % 64
        return (header, blobs) if all(entry["name"] for entry in header["arrays"]) else None
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, SyntaxError):
        return None


def packed(header: dict[str, Any], blobs: list[bytes]) -> bytes:
    """A container with right checksums, and sizes as they are said to be or not."""
    filled = [blob + bytes(-len(blob) % 64) for blob in blobs]
    for entry, blob in zip(header["arrays"], filled, strict=True):
        entry["crc32"] = zlib.crc32(blob)
    raw = json.dumps(header).encode()
    raw += b" " * (-(len(raw) + 16) % 64)
    return struct.pack("<7sBII", container.NAME, container.VERSION, len(raw), zlib.crc32(raw)) + raw + b"".join(filled)


def arrays_changed(random: Any, content: bytes) -> bytes:
    """Another number, type, shape or length of an array, or another fact of the header."""
    found = parts_of(content)
    if found is None or not found[1]:
        return _flip(random, content)
    try:
        return _changed(random, *found)
    except (TypeError, ValueError, AttributeError, OverflowError, SyntaxError):  # of a file that was changed before
        return _flip(random, content)


def _changed(random: Any, header: dict[str, Any], blobs: list[bytes]) -> bytes:
    at = random.randrange(len(blobs))
    entry, kind = header["arrays"][at], random.randrange(12)
    if kind < 6:
        blobs[at] = _numbers_changed(random, entry, blobs[at])
    elif kind < 8:
        array = np.frombuffer(blobs[at], entry["dtype"])
        grown = array[: random.randint(0, len(array))] if random.random() < 0.5 else np.append(array, array[-3:])
        blobs[at], rest = grown.tobytes(), entry["shape"][1:]
        step = int(np.prod(rest)) if rest else 1
        entry["shape"] = (
            [len(grown) // max(1, step), *rest] if step and len(grown) % max(1, step) == 0 else [len(grown)]
        )
    elif kind == 8:
        entry["dtype"] = random.choice(("|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4", "<f8"))
        entry["shape"] = [len(blobs[at]) // np.dtype(entry["dtype"]).itemsize]
    elif kind == 9:
        entry["shape"] = random.choice(([0, 2**62], [2**62], [1, *entry["shape"]], [], [-1], [0] * 9, None, [True]))
    elif kind == 10:
        if not isinstance(header.get("meta"), dict):  # a file that was changed before may have lost it
            header["meta"] = {}
        meta = header["meta"]
        meta[random.choice(list(meta) or ["width"])] = random.choice((None, "x", [], {}, True, 0.5, *NUMBERS, 2**70))
    else:
        other = random.randrange(len(blobs))
        match random.randrange(3):
            case 0:
                del header["arrays"][at], blobs[at]
            case 1:
                entry["name"] = random.choice(("x", header["arrays"][other]["name"]))
            case _:
                blobs[at], blobs[other] = blobs[other], blobs[at]
    return packed(header, blobs)


def _numbers_changed(random: Any, entry: dict[str, Any], blob: bytes) -> bytes:
    array = np.frombuffer(blob, entry["dtype"]).copy()
    if not len(array):
        return blob
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(array))
        near = (len(array), len(array) - 1, len(array) + 1, int(np.nan_to_num(array[at])) + random.choice((-1, 1)))
        value = random.choice(REALS if array.dtype.kind == "f" else (*NUMBERS, *near))
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array[at] = array.dtype.type(value)
        else:
            array[at] = np.array(int(value) % 2**64, np.uint64).astype(array.dtype)
    return array.tobytes()
