"""The folder that a run shares with its workers: input files named by their hash, results named by their tasks."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rampion.arrays import Array
from rampion.errors import InputError
from rampion.executors.journal import Journal
from rampion.executors.tasks import Place, fingerprint
from rampion.formats import container
from rampion.formats.files import replacing, swept
from rampion.schema import Schema


class Workspace:
    """A folder with blobs/ (inputs), results/, the journal, and a token by which workers recognise the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        try:
            for part in ("blobs", "results"):
                (self.path / part).mkdir(parents=True, exist_ok=True)
            swept(self.path)
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

    def stored(
        self, schema: Schema, arrays: Mapping[str, Array], meta: Mapping[str, Any], *, lasting: bool = False
    ) -> str:
        """Write arrays as a blob, and return its name.

        It need not be durable, because a run that goes on writes it again.
        """
        return self.made(lambda path: container.write(path, schema.kind, arrays, meta, False), lasting=lasting)

    def taken(self, path: Path) -> str:
        """Make an existing file, which nobody changes in place, a lasting blob, by a hard link or a copy."""
        return self.made(partial(_linked, path), lasting=True)

    def known(self, path: Path) -> str:
        """Make an existing file a lasting blob, by a symbolic link, and return its name.

        A link that is there may lead to a file that has another content by now, so it is always made anew.
        """
        name, draft = fingerprint(path), self.path / "blobs" / f".{secrets.token_hex(6)}.part"
        blob = self.place.blob(name)
        if blob.is_symlink() or not blob.exists():
            draft.symlink_to(path.absolute())
            os.replace(draft, blob)
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
