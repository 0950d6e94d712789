"""A writer of TOML, for the settings of a run. Python reads it (tomllib)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def written(settings: Mapping[str, object]) -> str:
    """A line for each setting that is not None. What is not valid Unicode, as in names of files, becomes `?`."""
    lines = (f"{_key(name)} = {value(one)}\n" for name, one in settings.items() if one is not None)
    return "".join(lines).encode(errors="replace").decode()


def value(given: object) -> str:
    """A value as TOML spells it."""
    if given is None:
        return "nothing"
    if isinstance(given, (bool, int)):
        return json.dumps(given)
    if isinstance(given, float):
        return json.dumps(given) if math.isfinite(given) else str(given)
    if isinstance(given, str):  # JSON's strings are TOML's, but TOML wants DEL escaped
        return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(given, (list, tuple)):
        return f"[{', '.join(map(value, given))}]"
    if isinstance(given, Mapping):
        return f"{{{', '.join(f'{_key(name)} = {value(one)}' for name, one in given.items())}}}"
    raise TypeError(f"TOML has no {type(given).__name__}")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else value(name)
