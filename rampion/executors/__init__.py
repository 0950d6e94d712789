"""Executors: threads of this process, or workers of dask.distributed, that run pure tasks for a coordinator."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rampion.errors import InputError, RecipeError
from rampion.executors.coordinator import Coordinator, Job, Patience
from rampion.executors.protocol import Executor
from rampion.executors.tasks import Task
from rampion.executors.workspace import Workspace

__all__ = ["Coordinator", "Executor", "Job", "Patience", "Task", "Workspace", "named", "shards"]

TLS = {"ca": str, "cert": str, "key": str}
OWN: dict[str, dict[str, Any]] = {"local": {"threads": int}, "dask": {"workers": int}, "address": TLS}
SCHEMES = ("tcp://", "tls://", "ws://", "wss://", "ucx://")  # of schedulers on a network
COMMON: dict[str, Any] = {"size": int, "deadline": float, "deaths": int, "tries": int, "poison": str}


def named(spec: str) -> tuple[Executor, Patience, int | None]:
    """The executor that NAME[,OPTION=VALUE...] describes, its Patience, and the segments of a task (None: not given).

    NAME is local, dask, or the address of a scheduler:

    local,threads=4   dask,workers=2,deadline=60   tls://host:8786,ca=ca.pem,cert=me.pem,key=me.key,poison=skip
    """
    name, *rest = spec.split(",")
    kind = name if name in OWN else "address"
    if kind == "address" and not name.startswith(SCHEMES):
        raise RecipeError(f"the executor {name!r} is none of local, dask and an address such as tcp://127.0.0.1:8786")
    known, values = OWN[kind] | COMMON, dict[str, Any]()
    for option in rest:
        key, equals, text = option.partition("=")
        if key not in known or not equals:
            raise RecipeError(f"the executor {name} has no {option!r}; it takes {', '.join(f'{k}=' for k in known)}")
        try:
            values[key] = known[key](text)
        except ValueError:
            raise RecipeError(f"{option!r}: expected a number, for example {key}=2") from None
        if known[key] is int and values[key] < 1:
            raise RecipeError(f"{option!r}: expected 1 or more")
    patience = Patience(**{one.name: values.pop(one.name) for one in fields(Patience) if one.name in values})
    size = values.pop("size", None)
    if kind == "local":
        from rampion.executors.local import Local

        return Local(**values), patience, size
    try:
        from rampion.executors.dask import Cluster
    except ModuleNotFoundError as error:
        raise InputError(f"the executor {name} needs dask.distributed: pip install distributed cryptography") from error
    if kind == "dask":
        return Cluster(**values), patience, size
    return Cluster(name, tls=values), patience, size


def shards(segments: int, size: int) -> list[tuple[int, int]]:
    """Spans (first, end) of `size` segments each; the last one may be shorter."""
    return [(first, min(first + size, segments)) for first in range(0, segments, size)]
