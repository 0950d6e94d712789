from typing import Any

from rampion.lists import Ids, Lists, Offsets, Rows

def pack(rows: Rows, picks: Offsets, places: Ids, lists: Lists, work: Any) -> None: ...
