from rampion.candidates import Ids, Lists, Offsets
from rampion.groups import Places

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
