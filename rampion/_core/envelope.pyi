from rampion.candidates import Ids, Offsets, Reals

def envelope(
    intercepts: Reals,
    slopes: Reals,
    order: Ids,
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
