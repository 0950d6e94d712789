from rampion.groups import Places
from rampion.lists import Ids, Lists, Offsets

def group(
    lists: Lists,
    work: Offsets,
    features: Ids,
    feature_bounds: Offsets,
    groups: Places,
    group_bounds: Offsets,
    entries: Places,
    owners: Places,
    entry_bounds: Offsets,
) -> None: ...
