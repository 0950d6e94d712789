from rampion.candidates import Offsets, Reals
from rampion.passes import Room, Singles
from rampion.slabs import Slabs

def respond(
    slabs: Slabs,
    order: Offsets,
    weights: Singles,
    own: Reals,
    portable: bool,
    room: Room,
    scores: Reals,
) -> None: ...
def collect(slabs: Slabs, slopes: Reals, gradient: Reals) -> None: ...
