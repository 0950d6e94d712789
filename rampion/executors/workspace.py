"""The folder that a run shares with its workers: input files named by what they hold, results named by their tasks."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from rampion.errors import InputError
from rampion.executors.journal import Journal
from rampion.executors.tasks import Place
from rampion.formats.files import replacing


class Room:
    """blobs/ and results/, journal, and a token by which workers know whether they see this very folder."""

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
        self.lasting = set[str]()  # blobs that stay while the room is open

    def made(self, make: Callable[[Path], None], *, lasting: bool = False) -> str:
        """The name of the blob that is made at a path."""
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

    def known(self, path: Path) -> str:
        """The name of a file that stands elsewhere, which becomes a blob without being copied."""
        name = fingerprint(path)
        if not (blob := self.place.blob(name)).exists():
            with suppress(FileNotFoundError):
                blob.unlink()  # a link that leads nowhere
            blob.symlink_to(path.absolute())
        self.lasting.add(name)
        return name

    def keep(self, blobs: Collection[str], results: Collection[str]) -> None:
        """Remove all results but these, and all blobs but these and those that last."""
        for part, kept in (("blobs", self.lasting.union(blobs)), ("results", results)):
            for path in (self.path / part).iterdir():
                if path.name not in kept and not path.name.startswith("."):
                    path.unlink(missing_ok=True)


def fingerprint(path: Path) -> str:
    """A name that changes with every byte of the file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
