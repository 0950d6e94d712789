from rampion.lists import Offsets, Reals

def extremes(values: Reals, bounds: Offsets, least: Offsets, most: Offsets) -> None: ...
def envelope(
    intercepts: Reals,
    slopes: Reals,
    flattest: Offsets,
    steepest: Offsets,
    highest: Offsets,
    bounds: Offsets,
    kept: Offsets,
    starts: Reals,
    winners: Offsets,
) -> int: ...
def sweep(
    starts: Reals,
    winners: Offsets,
    order: Offsets,
    statistics: Reals,
    least: float,
    reach: float,
    total: Reals,
    spots: Reals,
    totals: Reals,
) -> int: ...
