"""Reading and writing of files; all other modules use these functions.

Reading: a path or `-` (stdin); plain, gzip or zstd by the first bytes; blocks of whole lines in bounded memory.
Writing: a temporary file beside the target replaces it once it is wholly on the disk; until then the old file stays.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import secrets
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from rampion import signals
from rampion.errors import FormatError, InputError
from rampion.system import held, settle

FilePath = str | os.PathLike[str]

BLOCK = 4 << 20
LONGEST_LINE = 64 << 20
BOM = b"\xef\xbb\xbf"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# Four bytes of zstd can stand for 128 KiB, so a packed piece of this size becomes 64 MiB at most.
_PIECE = 2048
_HEAD = 1 << 16
_PART = re.compile(r"\..*[0-9a-f]{12}\.part")  # temporary names
# Parts of runs, demos and experiments that are folders.
_WRITTEN = (
    "weights", "lists", "sets", "system", "shards", "blobs", "results", "dense", "tuned", "learnt", "rows", "whole",
    "pool", "lessons", "corpus", "text", "candidates",
)  # fmt: skip


@dataclass(slots=True)
class Skipped:
    """The lines that a lenient reader left out: their number, and the sentence about the first."""

    count: int = 0
    first: str = ""

    def add(self, error: FormatError, count: int = 1) -> None:
        self.count += count
        self.first = self.first or str(error)


class UnwritableError(Exception):
    """What a format cannot hold: the place in the content, and what to do; `replacing` adds the file."""


class Remark(str):
    """A remark of a reader about a list, in place of a record: `3 of 20 lists …`."""


def shown(path: FilePath) -> str:
    """The file's name as sentences show it."""
    return "<stdin>" if os.fspath(path) == "-" else os.fspath(path)


class Origin(NamedTuple):
    """A file that was read, identified by its inode and time."""

    path: Path
    inode: int
    changed: int  # in nanoseconds

    @classmethod
    def of(cls, path: FilePath) -> Origin:
        found = os.stat(path)
        return cls(Path(path).absolute(), found.st_ino, found.st_mtime_ns)

    @property
    def there(self) -> bool:
        """Whether the file still exists unchanged."""
        try:
            return Origin.of(self.path) == self
        except OSError:
            return False


def head(path: FilePath) -> bytes:
    """The first bytes of the content. Stdin keeps them for the next reader, and may have none yet if it is packed."""
    with _opened(path) as file:
        if os.fspath(path) != "-":
            if not file.seekable():
                raise InputError(f"{path}: is a pipe, which can be read once only; send it to stdin and name it -")
            start = _first(_unpacked(path, file))
        elif file.seekable():
            raw = file.read(_PIECE)
            file.seek(-len(raw), os.SEEK_CUR)
            start = next(_unpacked(path, io.BytesIO(raw)), b"")
        else:
            start = next(_unpacked(path, io.BytesIO(cast(io.BufferedReader, file).peek()[:_PIECE])), b"")
        return start.removeprefix(BOM)


def _first(pieces: Iterator[bytes]) -> bytes:
    """Enough of the content to tell formats apart: programs may print pages of settings first."""
    found, size = list[bytes](), 0
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size >= _HEAD:
            break
    return b"".join(found)[:_HEAD]


def line_blocks(path: FilePath) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the number of its first line; every line, also the last, ends with a newline."""
    line, pieces, size, enough = 1, list[bytes](), 0, BLOCK
    for piece in _contents(path):
        pieces.append(piece)
        size += len(piece)
        if size >= enough:
            block = b"".join(pieces)
            _check_lengths(path, line, block)
            whole = block.rfind(b"\n") + 1
            if whole:
                yield line, block[:whole]
            line += newlines(block)
            pieces, size = [block[whole:]], len(block) - whole
            enough = max(BLOCK, 2 * size)
    block = b"".join(pieces)
    _check_lengths(path, line, block)
    if block:
        yield line, block if block.endswith(b"\n") else block + b"\n"


def _check_lengths(path: FilePath, first: int, block: bytes) -> None:
    if len(block) > LONGEST_LINE:
        for number, line in enumerate(block.split(b"\n"), first):
            if len(line) > LONGEST_LINE:
                limit = f"no line may be longer than {LONGEST_LINE >> 20} MiB"
                raise FormatError.at(shown(path), number, f"{limit}; is this a text file?")


def newlines(block: bytes) -> int:
    """block.count(b"\\n"), three times as fast."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10))


def lines(path: FilePath, skipped: Skipped | None = None) -> Iterator[tuple[int, str]]:
    """Every line with its number, without the blanks at its ends. A line that is not UTF-8 is an error, or skipped."""
    for first, block in line_blocks(path):
        for number, line in enumerate(block[:-1].split(b"\n"), first):
            try:
                yield number, line.strip().decode()
            except UnicodeDecodeError as mistake:
                error = not_utf8(path, number, mistake)
                if skipped is None:
                    raise error from mistake
                skipped.add(error)


def not_utf8(path: FilePath, line: int, error: UnicodeDecodeError) -> FormatError:
    found = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
    return FormatError.at(shown(path), line, f"{found}; convert the file to UTF-8 (iconv)")


@contextmanager
def replacing(path: FilePath, durable: bool = True) -> Iterator[BinaryIO]:
    """A file whose content takes the place of `path` when the block ends well; packed for names in .gz and .zst.

    Unless it is durable it may be gone, or damaged, after a power cut. Devices, pipes and streams of this process that
    are open are written to, and not replaced.
    """
    if os.fspath(path) == "-":
        try:
            yield sys.stdout.buffer
        except UnwritableError as error:
            raise InputError(f"<stdout>: {error}") from error
        return
    target = Path(os.path.realpath(path))
    try:
        if (stream := _stream(path)) is not None or (os.path.exists(path) and not os.path.isfile(path)):
            if stream is None and target.is_dir():
                raise InputError(f"{path}: is a directory; name a file")
            with open(Path(path) if stream is None else os.dup(stream), "wb") as file, _packed(target, file) as packed:
                yield packed
            return
        with _beside(target, durable) as partial, _packed(target, partial) as packed:
            yield packed
    except UnwritableError as error:
        raise InputError(f"{path}: {error}") from error
    except BrokenPipeError:
        raise  # the reader has gone, which is no error
    except OSError as error:
        left = "the old file is unchanged" if target.is_file() and stream is None else "nothing was left behind"
        raise InputError(f"{path}: cannot be written: {error.strerror}; {left}") from error


@contextmanager
def _beside(target: Path, durable: bool) -> Iterator[BinaryIO]:
    """A file beside the target that takes its place when the block ends well."""
    partial = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")
    signals.UNFINISHED.add(str(partial))
    try:
        with ExitStack() as stack:
            with open(partial, "xb") as file:
                stack.enter_context(held(partial))
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            os.replace(partial, target)
    except BaseException:
        with suppress(OSError):  # the system's error is about the file, not about this attempt
            partial.unlink(missing_ok=True)
        raise
    finally:
        signals.UNFINISHED.discard(str(partial))
    if durable:
        settle(target.parent)


def _stream(path: FilePath) -> int | None:
    """The number of the open file of this process that a path such as /dev/stdout names, if it names one."""
    found = os.path.abspath(path)
    for _ in range(40):  # the number of links that the system follows
        folder, name = os.path.split(found)
        own = folder in ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd") and name.isdecimal()
        if own or not os.path.islink(found):
            return int(name) if own else None
        found = os.path.normpath(os.path.join(folder, os.readlink(found)))
    return None


def swept_beside(path: FilePath) -> None:
    """Remove temporary files of this file or folder that killed processes have left and no process holds."""
    target = Path(os.path.realpath(path))
    try:
        names = [name for name in os.listdir(target.parent) if name.startswith(f".{target.name[:200]}.")]
    except (OSError, ValueError):
        return  # writing will report it
    for left in (target.parent / name for name in names if _PART.fullmatch(name)):
        with suppress(OSError), held(left) as free:
            if free:
                signals.remove(str(left))


def swept(folder: Path) -> None:
    """Remove unfinished files of killed processes. No other process may be writing in this folder."""
    for where in (folder, *(folder / name for name in _WRITTEN)):
        for left in where.rglob(".*.part") if where != folder else where.glob(".*.part"):
            if _PART.fullmatch(left.name):
                signals.remove(str(left))


@contextmanager
def _opened(path: FilePath) -> Iterator[BinaryIO]:
    """The raw bytes. An error of the system becomes one sentence."""
    try:
        with nullcontext(sys.stdin.buffer) if os.fspath(path) == "-" else open(path, "rb") as file:
            yield file
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a directory; name a file") from error
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot be read: {error.strerror}") from error


def _contents(path: FilePath) -> Iterator[bytes]:
    """The unpacked content piece by piece, without a byte order mark."""
    with _opened(path) as file:
        pieces = _unpacked(path, file)
        yield next(pieces, b"").removeprefix(BOM)
        yield from pieces


def _unpacked(path: FilePath, file: BinaryIO) -> Iterator[bytes]:
    first = file.read(_PIECE)
    if first.startswith(_GZIP):
        return _decompressed(path, file, first, "gzip", lambda: zlib.decompressobj(31), zlib.error)
    if first.startswith(_ZSTD):
        return _decompressed(path, file, first, "zstd", *_zstd(path))
    return chain([first], iter(lambda: file.read(BLOCK), b""))


def _decompressed(
    path: FilePath, file: BinaryIO, first: bytes, kind: str, fresh: Callable[[], Any], failure: type[Exception]
) -> Iterator[bytes]:
    """The content of one packed stream after another; zeros may fill up the end of the file."""
    line, engine = 1, fresh()
    try:
        for piece in chain([first], iter(lambda: file.read(_PIECE), b"")):
            while piece := piece.lstrip(b"\0") if engine.eof else piece:
                if engine.eof:
                    engine = fresh()
                content = engine.decompress(piece)
                line += newlines(content)
                yield content
                piece = engine.unused_data
    except failure as error:
        raise FormatError.at(shown(path), line, f"the {kind} data are damaged here; get the file again") from error
    if not engine.eof:
        raise FormatError.at(shown(path), line, f"the {kind} data break off here; get the file again")


def _zstd(path: FilePath) -> tuple[Callable[[], Any], type[Exception]]:
    """A function that makes zstd decompressors, and the exceptions that these raise."""
    try:
        from compression import zstd

        return zstd.ZstdDecompressor, zstd.ZstdError
    except ModuleNotFoundError:
        pass
    try:
        import zstandard
    except ModuleNotFoundError as error:
        raise InputError(f"{shown(path)}: is zstd data; to read it, pip install zstandard") from error
    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


def _packed(target: Path, file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    if target.suffix == ".gz":
        return cast(AbstractContextManager[BinaryIO], gzip.GzipFile("", "wb", 6, file, mtime=0))
    if target.suffix == ".zst":
        _zstd(target)
        with suppress(ModuleNotFoundError):
            from compression import zstd

            options = {zstd.CompressionParameter.checksum_flag: 1}
            return cast(AbstractContextManager[BinaryIO], zstd.ZstdFile(file, "wb", options=options))
        import zstandard

        writer = zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)
        return cast(AbstractContextManager[BinaryIO], writer)
    return nullcontext(file)
