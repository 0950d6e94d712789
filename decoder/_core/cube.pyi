from decoder.cube import NonLocal, Work
from decoder.kbest import Said
from decoder.options import Derivations, Graph

def cube(
    graph: Graph,
    said: Said,
    features: NonLocal,
    n: int,
    k: int,
    looks: int,
    start: int,
    work: Work,
    derivations: Derivations,
) -> int: ...
