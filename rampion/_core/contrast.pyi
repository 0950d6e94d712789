from rampion.lists import Offsets, Reals

def side(
    scores: Reals, stance: tuple[Reals, float, Reals], bounds: Offsets, work: Reals, values: Reals, masses: Reals
) -> None: ...
def contrast(
    scores: Reals,
    up: tuple[Reals, float, Reals],
    down: tuple[Reals, float, Reals],
    bounds: Offsets,
    work: Reals,
    values: Reals,
    slopes: Reals,
) -> None: ...
