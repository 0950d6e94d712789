from rampion.lists import Lists, Offsets, Reals

def epoch(
    lists: Lists,
    order: Offsets,
    up: tuple[Reals, float, Reals],
    down: tuple[Reals, float, Reals],
    step: tuple[float, float, float],
    origin: Reals,
    movement: Reals,
    total: Reals,
    work: Reals,
) -> float: ...
