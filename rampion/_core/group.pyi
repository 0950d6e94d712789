from rampion.candidates import Ids, Lists, Offsets

def group(
    lists: Lists,
    work: Offsets,
    features: Ids,
    feature_bounds: Offsets,
    groups: Ids,
    group_bounds: Offsets,
    entries: Ids,
    owners: Ids,
    entry_bounds: Offsets,
) -> None: ...
