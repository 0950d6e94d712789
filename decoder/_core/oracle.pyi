from decoder.blocks import Blocks
from decoder.options import Options, Sentences
from decoder.oracle import Found, Limits, Truth, Work

def oracle(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    truth: Truth,
    limits: Limits,
    first: int,
    last: int,
    work: Work,
    found: Found,
) -> int: ...
