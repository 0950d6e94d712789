"""Parallel text from installed Debian packages: the help and the interface of LibreOffice, in any two languages.

Help pages are the same files in every language, and their paragraphs and headings have the same ids. Messages of the
interface have the same key in the gettext catalogue of every language: their context and English text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path

from rampion.decoder.text.corpus import Parallel, read_lines

from rampion.errors import InputError
from rampion.formats.files import FilePath
from rampion.store.text import Texts

ROOT, HELP, INTERFACE = "/usr", "share/libreoffice/help", "lib/libreoffice/program/resource"
_ELEMENT = re.compile(r'<(p|h[1-6]) id="([^"]+)"[^>]*>(.*?)</\1>', re.DOTALL)
_HIDDEN = re.compile(r'<span hidden="true" id="(?!default)[^>]*>.*?</span>', re.DOTALL)  # text for a Mac, for example
_TAG = re.compile(r"<[^>]*>")
_MNEMONIC = re.compile(r"[~_](?=\w)")  # marks the key that chooses a menu item
_MAGIC = 0x950412DE


def read(source: str, target: str, root: FilePath = ROOT) -> dict[str, Parallel]:
    """The pairs of help and interface, neither cleaned nor split into words."""
    help_folders = [Path(root, HELP, _region(language), "text") for language in (source, target)]
    catalogues = [Path(root, INTERFACE, language, "LC_MESSAGES") for language in (source, target)]
    wanted = [
        (f"libreoffice-{kind}-{_region(language).lower()}", folder)
        for kind, folders in (("help", help_folders), ("l10n", catalogues))
        for language, folder in zip((source, target), folders, strict=True)
        if (kind, language) != ("l10n", "en")  # English is what the keys are written in
    ]
    missing = [package for package, folder in wanted if not folder.is_dir()]
    if missing:
        raise InputError(
            f"{root}: the LibreOffice texts in {source} and {target} are not all installed; "
            f"get them: apt-get install {' '.join(missing)}"
        )
    pages = _paired(help_folders, "*.html", elements)
    if "en" in (source, target):
        other = catalogues[source == "en"]
        keyed = {key: text for path in sorted(other.glob("*.mo")) for key, text in messages(path).items()}
        pairs = [(_plain(key.rpartition("\x04")[2]), text) for key, text in keyed.items()]
        return {"help": pages, "interface": _parallel(pairs if source == "en" else [pair[::-1] for pair in pairs])}
    return {"help": pages, "interface": _paired(catalogues, "*.mo", messages)}


def elements(path: Path) -> dict[str, str]:
    """The texts of the paragraphs and headings of a help page, by their ids."""
    page = "\n".join(read_lines(path))
    texts = {name: _TAG.sub("", _HIDDEN.sub("", inside)) for _, name, inside in _ELEMENT.findall(page)}
    return {name: plain for name, text in texts.items() if (plain := " ".join(unescape(text).split()))}


def messages(path: Path) -> dict[str, str]:
    """The translations of the messages of a gettext catalogue, by their keys. Of plurals, the first form is taken."""
    content = path.read_bytes()
    try:
        order = "<" if struct.unpack_from("<I", content)[0] == _MAGIC else ">"
        magic, _, count, *tables = struct.unpack_from(f"{order}5I", content)
        keys, texts = (
            [
                content[start : start + length].split(b"\0")[0].decode()
                for length, start in struct.iter_unpack(f"{order}2I", content[table : table + 8 * count])
            ]
            for table in tables
        )
        if magic != _MAGIC or len(keys) != count:
            raise ValueError
    except (struct.error, ValueError) as error:
        raise InputError(f"{path}: is no whole gettext catalogue in UTF-8; install its package again") from error
    return {key: _plain(text) for key, text in zip(keys, texts, strict=True) if key and text}


def _plain(text: str) -> str:
    """A message on one line, without the mark of its mnemonic."""
    found = _MNEMONIC.findall(text)
    return " ".join((_MNEMONIC.sub("", text) if len(found) == 1 else text).split())


def _paired(folders: list[Path], pattern: str, read_one: Callable[[Path], Mapping[str, str]]) -> Parallel:
    """The texts with the same key in the same file of both folders."""
    first, second = folders
    pairs = []
    for path in sorted(first.rglob(pattern)):
        twin = second / path.relative_to(first)
        if twin.exists():
            theirs = read_one(twin)
            pairs += [(text, theirs[name]) for name, text in read_one(path).items() if name in theirs]
    return _parallel(pairs)


def _parallel(pairs: list[tuple[str, str]]) -> Parallel:
    return Parallel(
        Texts.from_strings(source for source, _ in pairs), (Texts.from_strings(target for _, target in pairs),)
    )


def _region(language: str) -> str:
    """Debian's name of the language in its packages of the help."""
    return "en-US" if language == "en" else language.replace("_", "-")
