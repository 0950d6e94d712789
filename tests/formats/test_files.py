"""The way into a file and out of it: every failure is one sentence, and the old file stays whole."""

from __future__ import annotations

import gzip
import io
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from rampion.errors import FormatError, InputError
from rampion.formats import files

TEXT = "".join(f"line {number} ünïcode\n" for number in range(20_000))


def zstd_compressed(content):
    zstandard = pytest.importorskip("zstandard")
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def read(path):
    return [text for _, text in files.lines(path)]


def packed(kind, content=None):
    content = TEXT.encode() if content is None else content
    return {"plain": lambda data: data, "gzip": gzip.compress, "zstd": zstd_compressed}[kind](content)


@pytest.mark.parametrize("kind", ["plain", "gzip", "zstd"])
def test_packed_files_are_known_by_their_first_bytes(tmp_path, kind):
    path = tmp_path / "any.name"
    path.write_bytes(packed(kind))
    assert read(path) == TEXT.splitlines()
    assert files.head(path).startswith(b"line 0")


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_several_packed_streams_and_zeros_behind_them(tmp_path, kind):
    path = tmp_path / "x"
    path.write_bytes(packed(kind, b"a\n") + packed(kind, b"b\n") + bytes(5000))
    assert read(path) == ["a", "b"]


@pytest.mark.parametrize("seekable", [True, False])
@pytest.mark.parametrize("kind", ["plain", "gzip", "zstd"])
def test_stdin(monkeypatch, kind, seekable):
    raw = io.BytesIO(packed(kind))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw if seekable else io.BufferedReader(raw)))
    assert files.head("-").startswith(b"" if kind == "zstd" else b"line 0")
    assert read("-") == TEXT.splitlines()


def test_without_zstd_the_sentence_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(packed("zstd"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    with pytest.raises(InputError, match=r"x: is zstd data; to read it, pip install zstandard"):
        read(tmp_path / "x")
    with pytest.raises(InputError, match="to read it, pip install zstandard"), files.replacing(tmp_path / "y.zst"):
        pass


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_data_that_break_off(tmp_path, kind):
    (tmp_path / "x").write_bytes(packed(kind)[:-9])
    with pytest.raises(FormatError, match=rf"x:\d+: the {kind} data break off here; get the file again"):
        read(tmp_path / "x")


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_damaged_data(tmp_path, kind):
    content = bytearray(packed(kind))
    content[len(content) // 2] ^= 0x55
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FormatError, match=rf"x:\d+: the {kind} data (are damaged|break off) here"):
        read(tmp_path / "x")


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(InputError, match="is a directory; name a file"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"none\.txt: there is no such file"):
        read(tmp_path / "none.txt")
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        read(Path(__file__) / "x")


def test_bytes_that_are_not_utf8(tmp_path):
    (tmp_path / "x").write_bytes(b"a\nb\xe9\nc\n")
    with pytest.raises(FormatError, match="x:2: byte 0xe9 is not UTF-8; convert the file"):
        read(tmp_path / "x")
    skipped = files.Skipped()
    assert list(files.lines(tmp_path / "x", skipped)) == [(1, "a"), (3, "c")]
    assert skipped.count == 1


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 4096)
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    (tmp_path / "x").write_bytes(b"short\n" + gzip.compress(bytes(0), mtime=0) + b"x" * (3 << 20))
    with pytest.raises(FormatError, match=r"x:2: no line may be longer than 1 MiB; is this a text file\?"):
        read(tmp_path / "x")


def test_unpacking_is_bounded(tmp_path):
    """64 MiB of zeros in 64 KiB: no piece is larger than what 2 KiB can stand for."""
    (tmp_path / "x").write_bytes(gzip.compress(bytes(64 << 20)))
    with open(tmp_path / "x", "rb") as file:
        assert max(map(len, files._unpacked("x", file))) <= 4 << 20


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_writing_replaces_the_file_and_leaves_nothing_else(tmp_path, suffix):
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"x{suffix}"
    path.write_text("old")
    with files.replacing(path) as file:
        file.write(TEXT.encode())
        assert path.read_text() == "old"
    assert read(path) == TEXT.splitlines()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_writing_the_same_twice_gives_the_same_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        with files.replacing(tmp_path / name) as file:
            file.write(TEXT.encode())
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_writing_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with files.replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_write_leaves_the_old_file_whole(tmp_path, error):
    (tmp_path / "x").write_text("old")

    def interrupted():
        yield TEXT.encode()
        raise error

    with pytest.raises(error), files.replacing(tmp_path / "x") as file:
        file.writelines(interrupted())
    assert (tmp_path / "x").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_ctrl_c_in_the_middle(tmp_path):
    (tmp_path / "x").write_text("old")

    def endless():
        while True:
            yield TEXT.encode()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), files.replacing(tmp_path / "x") as file:
        file.writelines(endless())
    assert (tmp_path / "x").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


@pytest.fixture
def small_disk():
    """No file may grow beyond 64 KiB: writing fails in the kernel, as on a full disk."""
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("old", [True, False])
def test_a_disk_without_room(tmp_path, small_disk, old):
    if old:
        (tmp_path / "x").write_text("old")
    state = "the old file is unchanged" if old else "nothing was left behind"
    sentence = f"x: cannot be written: File too large; {state}"
    with pytest.raises(InputError, match=sentence), files.replacing(tmp_path / "x") as file:
        file.write(TEXT.encode())
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ["old"] * old


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a disk that is always full")
def test_a_full_disk():
    sentence = "/dev/full: cannot be written: No space left on device"
    with pytest.raises(InputError, match=sentence), files.replacing("/dev/full") as file:
        file.write(TEXT.encode())
    assert Path("/dev/full").is_char_device()


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(InputError, match="is a directory; name a file"), files.replacing(tmp_path):
        pass
    sentence = "cannot be written: No such file or directory; nothing was left behind"
    with pytest.raises(InputError, match=sentence), files.replacing(tmp_path / "none" / "x"):
        pass


def test_writing_to_stdout(capfdbinary):
    with files.replacing("-") as file:
        file.write(b"out\n")
        file.flush()
    assert capfdbinary.readouterr().out == b"out\n"
