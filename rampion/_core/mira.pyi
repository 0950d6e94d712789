from rampion.lists import Lists, Offsets, Reals

def mira(
    lists: Lists,
    order: Offsets,
    statistics: Reals,
    tilts: tuple[float, float, float],
    step: tuple[float, float],
    background: Reals,
    weights: Reals,
    total: Reals,
    work: Reals,
) -> None: ...
