"""One file of named arrays, mapped into memory when it is opened; stores and binary weights are such files.

    0    8   magic; its last byte is the version
    8    4   length of the header, little-endian; header and these 16 bytes together fill a multiple of 64
    12   4   CRC-32 of the header
    16       header: JSON {"kind", "meta", "arrays": [{"name", "dtype", "shape", "crc32"}]}, filled up with blanks
    …        the arrays one after another, little-endian, each filled up with zeros to a multiple of 64 bytes

An array's CRC-32 covers its filling too: every byte of the file is checked when it is opened. Nothing is mapped or
allocated before the sizes in the header agree with the size of the file.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import stat
import struct
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from rampion.arrays import Array
from rampion.errors import InputError, StoreError
from rampion.formats.files import FilePath, replacing
from rampion.schema import Schema

NAME, VERSION = b"\x89RAMPIO", 1
_START, _ALIGN, _DIMENSIONS = struct.Struct("<7sBII"), 64, 8
_trusted = False  # whether the user trusts all files
_DTYPES = ("|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4", "<f8")


class _Entry(NamedTuple):
    """An array of the header, and how many bytes it has."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    length: int
    crc32: int


def write(
    path: FilePath, kind: str, arrays: Mapping[str, Array], meta: Mapping[str, Any], durable: bool = True
) -> None:
    """Write the arrays; meta is any JSON value. A file that can be made again need not be durable."""
    if str(path).endswith((".gz", ".zst")):
        raise InputError(f"{path}: a binary file is mapped into memory and cannot be packed; drop the ending")
    parts, entries = list[bytes | memoryview](), []
    for name, array in arrays.items():
        packed = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        content, filling = packed.reshape(-1).view(np.uint8).data, bytes(-packed.nbytes % _ALIGN)
        crc = zlib.crc32(filling, zlib.crc32(content))
        entries.append({"name": name, "dtype": packed.dtype.str, "shape": packed.shape, "crc32": crc})
        parts += [content, filling]
    header = json.dumps({"kind": kind, "meta": meta, "arrays": entries}, allow_nan=False).encode()
    header += b" " * (-(len(header) + _START.size) % _ALIGN)
    with replacing(path, durable) as file:
        file.write(_START.pack(NAME, VERSION, len(header), zlib.crc32(header)))
        file.write(header)
        file.writelines(parts)


def trust(wanted: bool = True) -> None:
    """From now on read files without checking their bytes, for files that nobody else could have changed."""
    global _trusted
    _trusted = wanted


def read(path: FilePath, schema: Schema) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays, read-only and mapped from the file, and meta; every byte has been checked, and proved by the schema.

    A reader of binary files is a schema and this call; the arrays can be passed to kernels.
    """
    arrays, meta = opened(path, schema.kind)
    try:
        schema.prove(arrays, meta, _trusted)
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error
    return arrays, meta


def opened(path: FilePath, kind: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays and meta. Checksums have been compared, but not whether the arrays fit together."""
    with _file(path) as file:
        entries, meta, offset = _header(path, kind, file)
        whole = np.memmap(file, np.uint8, "r")
    arrays = {}
    for name, dtype, shape, length, crc in entries:
        end = offset + length + -length % _ALIGN
        if not _trusted and zlib.crc32(whole[offset:end].data) != crc:
            raise StoreError(f"{path}: the array {name} is damaged (its checksum differs); write the file again")
        arrays[name] = np.asarray(whole[offset : offset + length]).view(dtype).reshape(shape)
        offset = end
    return arrays, meta


def kind_of(path: FilePath) -> str:
    """The kind in a file's header; the arrays are not read."""
    with _file(path) as file:
        return str(_content(path, "binary", file)[0]["kind"])


def release(array: Array) -> None:
    """Release the memory of a mapped array and of all others of its file; the next access reads them from disk."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if sys.platform != "win32" and isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


@contextmanager
def _file(path: FilePath) -> Iterator[BinaryIO]:
    if os.fspath(path) == "-":
        raise InputError("<stdin>: a binary file is mapped into memory and cannot come from a pipe; name the file")
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise InputError(f"{path}: is a pipe; a binary file is mapped into memory, so name a file")
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _header(path: FilePath, kind: str, file: BinaryIO) -> tuple[list[_Entry], dict[str, Any], int]:
    """Every array; meta; where the first array begins. The sizes have been compared with that of the file."""
    content, offset = _content(path, kind, file)
    size = os.fstat(file.fileno()).st_size
    try:
        found, meta = content["kind"], dict(content["meta"])
        entries = [_entry(**entry) for entry in content["arrays"]]
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{path}: the header is not one that Rampion writes; the file cannot be used") from error
    if found != kind:
        raise StoreError(f"{path}: holds {str(found)[:60]}, expected {kind}")
    if len({entry.name for entry in entries}) < len(entries):
        raise StoreError(f"{path}: holds two arrays of the same name; the file cannot be used")
    expected = offset + sum(entry.length + -entry.length % _ALIGN for entry in entries)
    if expected != size:
        raise StoreError(f"{path}: has {size} bytes, but its header says {expected}; get the file again")
    if any(side > size for entry in entries for side in entry.shape):  # of an empty array; readers allocate by sides
        raise StoreError(f"{path}: holds an empty array with a side longer than the file; the file cannot be used")
    return entries, meta, offset


def _content(path: FilePath, kind: str, file: BinaryIO) -> tuple[Any, int]:
    """The header, and where it ends."""
    start, size = file.read(_START.size), os.fstat(file.fileno()).st_size
    if not start.startswith(NAME) or len(start) < _START.size:
        raise StoreError(f"{path}: is no {kind} file of Rampion; expected one that Rampion wrote")
    _, version, length, crc = _START.unpack(start)
    if version != VERSION:
        raise StoreError(f"{path}: has format version {version}, this Rampion reads version {VERSION}; write it again")
    offset = _START.size + length
    if offset > size:
        raise StoreError(f"{path}: is cut off: {size} bytes, and its header alone says {offset}; get the file again")
    header = file.read(length)
    if zlib.crc32(header) != crc or offset % _ALIGN:
        raise StoreError(f"{path}: the header is damaged (its checksum differs); get the file again")
    try:
        content = json.loads(header)
        _ = content["kind"], content["meta"], content["arrays"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"{path}: the header is not one that Rampion writes; the file cannot be used") from error
    return content, offset


def _entry(name: str, dtype: str, shape: list[int], crc32: int) -> _Entry:
    sides = all(type(side) is int and side >= 0 for side in shape) and len(shape) <= _DIMENSIONS
    if dtype not in _DTYPES or not isinstance(name, str) or not sides:
        raise ValueError(f"array {name}")
    return _Entry(name, dtype, tuple(shape), math.prod(shape) * np.dtype(dtype).itemsize, crc32)
