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
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.errors import InputError, StoreError
from rampion.formats.files import FilePath, replacing

Array = NDArray[Any]

NAME, VERSION = b"\x89RAMPIO", 1
_START, _ALIGN = struct.Struct("<7sBII"), 64
_DTYPES = ("|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4", "<f8")


def write(
    path: FilePath, kind: str, arrays: Mapping[str, Array], meta: Mapping[str, Any], durable: bool = True
) -> None:
    """Write the arrays; meta is whatever JSON can hold. What can be made again need not be durable."""
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


def read(path: FilePath, kind: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays, read-only and mapped from the file, and meta; every byte has been checked."""
    if os.fspath(path) == "-":
        raise InputError("<stdin>: a binary file is mapped into memory and cannot come from a pipe; name the file")
    try:
        size = os.stat(path).st_size
        with open(path, "rb") as file:
            entries, meta, offset = _header(path, kind, file.read(_START.size), file.read, size)
            whole = np.memmap(file, np.uint8, "r")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    arrays = {}
    for name, dtype, shape, length, crc in entries:
        end = offset + length + -length % _ALIGN
        if zlib.crc32(whole[offset:end].data) != crc:
            raise StoreError(f"{path}: the array {name} is damaged (its checksum differs); write the file again")
        arrays[name] = np.asarray(whole[offset : offset + length]).view(dtype).reshape(shape)
        offset = end
    return arrays, meta


def release(array: Array) -> None:
    """Let go of the memory of a mapped array and of all others of its file; whoever reads them gets them anew."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def _header(
    path: FilePath, kind: str, start: bytes, take: Callable[[int], bytes], size: int
) -> tuple[list[tuple[str, str, tuple[int, ...], int, int]], dict[str, Any], int]:
    """Name, dtype, shape, bytes and checksum of every array; meta; where the first array begins. Sizes are proved."""
    if not start.startswith(NAME) or len(start) < _START.size:
        raise StoreError(f"{path}: is no {kind} file of Rampion; expected one that Rampion wrote")
    _, version, length, crc = _START.unpack(start)
    if version != VERSION:
        raise StoreError(f"{path}: has format version {version}, this Rampion reads version {VERSION}; write it again")
    offset = _START.size + length
    if offset > size:
        raise StoreError(f"{path}: is cut off: {size} bytes, and its header alone says {offset}; get the file again")
    header = take(length)
    if zlib.crc32(header) != crc or offset % _ALIGN:
        raise StoreError(f"{path}: the header is damaged (its checksum differs); get the file again")
    try:
        content = json.loads(header)
        found, meta = content["kind"], dict(content["meta"])
        entries = [_entry(**entry) for entry in content["arrays"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"{path}: the header is not one that Rampion writes; the file cannot be used") from error
    if found != kind:
        raise StoreError(f"{path}: holds {str(found)[:60]}, expected {kind}")
    expected = offset + sum(length + -length % _ALIGN for _, _, _, length, _ in entries)
    if expected != size:
        raise StoreError(f"{path}: has {size} bytes, but its header says {expected}; get the file again")
    return entries, meta, offset


def _entry(name: str, dtype: str, shape: list[int], crc32: int) -> tuple[str, str, tuple[int, ...], int, int]:
    if dtype not in _DTYPES or not isinstance(name, str) or any(type(side) is not int or side < 0 for side in shape):
        raise ValueError(f"array {name}")
    return name, dtype, tuple(shape), math.prod(shape) * np.dtype(dtype).itemsize, crc32
