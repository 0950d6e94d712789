from rampion.lists import Offsets, Reals

def expect(
    scores: Reals,
    values: Reals,
    bounds: Offsets,
    temperature: float,
    warmth: float,
    means: Reals,
    entropies: Reals,
    slopes: Reals,
) -> None: ...
