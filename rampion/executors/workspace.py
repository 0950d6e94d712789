"""The folder that a run shares with its workers: input files named by their hash, results named by their tasks."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path

from rampion.errors import InputError
from rampion.executors.journal import Journal
from rampion.executors.tasks import Place
from rampion.formats.files import replacing


class Workspace:
    """A folder with blobs/ (inputs), results/, the journal, and a token by which workers recognise the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        try:
            for part in ("blobs", "results"):
                (self.path / part).mkdir(parents=True, exist_ok=True)
            for left in self.path.rglob(".*.part"):
                left.unlink()
        except OSError as error:
            raise InputError(f"{path}: cannot be a folder to work in: {error.strerror}; name another") from error
        with replacing(self.path / "token") as file:
            file.write(secrets.token_hex(16).encode())
        self.place = Place.of(self.path, (self.path / "token").read_text())
        self.journal = Journal(self.path / "journal")
        self.lasting = set[str]()  # names of blobs that `keep` never removes

    def made(self, make: Callable[[Path], None], *, lasting: bool = False) -> str:
        """Write a blob by `make(path)`, and return its name. `keep` never removes a lasting blob."""
        draft = self.path / "blobs" / f".{secrets.token_hex(6)}.part"
        try:
            make(draft)
            name = fingerprint(draft)
            os.replace(draft, self.place.blob(name))
        finally:
            draft.unlink(missing_ok=True)
        if lasting:
            self.lasting.add(name)
        return name

    def taken(self, path: Path) -> str:
        """Make an existing file, which nobody changes in place, a lasting blob, by a hard link or a copy."""
        return self.made(partial(_linked, path), lasting=True)

    def known(self, path: Path) -> str:
        """Make an existing file a lasting blob, by a symbolic link, and return its name."""
        name = fingerprint(path)
        if not (blob := self.place.blob(name)).exists():
            with suppress(FileNotFoundError):
                blob.unlink()  # a dangling link
            blob.symlink_to(path.absolute())
        self.lasting.add(name)
        return name

    def keep(self, blobs: Collection[str], results: Collection[str]) -> None:
        """Remove all other results, and all other blobs that are not lasting."""
        for part, kept in (("blobs", self.lasting.union(blobs)), ("results", results)):
            for path in (self.path / part).iterdir():
                if path.name not in kept and not path.name.startswith("."):
                    path.unlink(missing_ok=True)


def _linked(path: Path, to: Path) -> None:
    """Another name of the file if its file system lets it have one, else a copy."""
    try:
        os.link(path.resolve(), to)
    except OSError:
        shutil.copyfile(path, to)


def fingerprint(path: Path) -> str:
    """The name of a file's content: the first 32 hexadecimal digits of its SHA-256."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
