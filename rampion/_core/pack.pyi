from typing import Any

from rampion.candidates import Ids, Lists, Offsets, Rows

def pack(rows: Rows, picks: Offsets, places: Ids, lists: Lists, work: Any) -> None: ...
