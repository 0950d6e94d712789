from rampion.lists import Offsets, Reals
from rampion.passes import Room, Singles
from rampion.slabs import Slabs

def rank(
    slabs: Slabs,
    order: Offsets,
    loss: tuple[float, bool, bool, int, bool],
    pace: tuple[float, float],
    weights: Singles,
    own: Reals,
    portable: bool,
    room: Room,
) -> tuple[float, int]: ...
def regress(
    slabs: Slabs,
    order: Offsets,
    pace: tuple[float, float],
    weights: Singles,
    own: Reals,
    portable: bool,
    room: Room,
) -> tuple[float, int]: ...
