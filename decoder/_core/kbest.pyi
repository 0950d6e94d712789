from decoder.kbest import Said, Work
from decoder.options import Derivations, Graph

def kbest(
    graph: Graph, said: Said, k: int, looks: int, start: int, work: Work, derivations: Derivations
) -> int: ...
