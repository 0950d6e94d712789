from rampion.candidates import Lists, Offsets, Reals

def epoch(
    lists: Lists,
    order: Offsets,
    up: tuple[Reals, float],
    down: tuple[Reals, float],
    step: tuple[float, float, float],
    origin: Reals,
    movement: Reals,
    work: Reals,
) -> float: ...
