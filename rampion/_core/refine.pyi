from typing import Any

from rampion.slabs import Fresh, Ids, Offsets, Slabs

def refine(
    slabs: Slabs,
    fresh: Fresh,
    places: Ids,
    renamed: Ids,
    awake: int,
    common: bool,
    first: int,
    room: Any,
    starts: Offsets,
    blob: Ids,
) -> int: ...
