from rampion.candidates import Offsets, Reals

def side(
    scores: Reals, stance: tuple[Reals, float], bounds: Offsets, work: Reals, values: Reals, masses: Reals
) -> None: ...
def contrast(
    scores: Reals,
    up: tuple[Reals, float],
    down: tuple[Reals, float],
    bounds: Offsets,
    work: Reals,
    values: Reals,
    slopes: Reals,
) -> None: ...
