"""The records of the search; decoder/search/search.py holds the same types for numpy.

A node is a hypothesis, or several that no feature can distinguish from now on: its state says what is covered, its look
what the templates can see of the last block, and its history what the language model can. Nodes of one state are a
group, best first. An edge is a way to come from one node to another by one option.

A row is a node, and its score once it is known how the next block turns. A grid is the nodes of one group times the
options of one span: rows and columns of cells, each of which may become an edge. While a stack is filled, cells are
tried: a try is an edge whose `next` is its grid, and then the try into the same node that was met before. Options are
numbered within their sentence from 1 on; 0 is the boundary.
"""

from rampion._core.types cimport id_t, key_t, real, row_t

cdef enum:
    FULL = -2         # room is short
    BOUNDARY = 1      # the block at either end of a sentence
    START = 1         # <s>, also of the language model
    END = 2
    NOTHING = 0xFFFFFFFF  # no option: the last edge of a derivation
    BATCH = 64        # cells or grids whose keys are made before the first is looked up

cdef struct frame_t:  # what holds for one sentence
    # Its place in the batch
    row_t word, words      # its first word, and how many it has
    row_t option, options  # its first option, and how many it has
    row_t longest          # words of a span
    # The model
    key_t mask
    real jump, jump_out, jump_in
    real first, rest       # weights of the language model: of the first word of a block, and of others
    row_t past             # words of a history
    bint fluent            # whether there is a language model
    # How far to look
    row_t reach, kinds     # words of a gap; moves that there are: 1 without gaps, 4 with them, 5 within a limit
    row_t limit, turns     # of distortion, or 0; orders of rows: 3 within a limit, as the next block may turn, else 1
    bint adjacent
    row_t beam, pops
    real slack

cdef packed struct node_t:  # NODE
    # the score is that of the best derivation that leads here, and of what its state makes certain of the next move, or
    # the best that the next move may bring
    real score
    real rank    # score and an estimate of what the rest will bring
    key_t state  # as `packed` has it
    key_t look   # what the templates can see of the last block
    row_t edge   # the try met last while the stack is filled, the first of its edges afterwards
    id_t option  # any option with this look
    id_t slot    # where the table of fresh nodes has it

cdef packed struct edge_t:  # EDGE
    real total   # of the best derivation over this edge
    real score
    row_t next   # of a try: see above
    id_t origin
    id_t option

cdef packed struct group_t:  # GROUP
    key_t state
    row_t first  # nodes, best first
    row_t last
    id_t phrase  # the source phrase of the last block

cdef packed struct grid_t:  # GRID
    real source   # what the source side scores, the same for all cells: P4, W2 and the jump
    real future   # the estimate of what the rest will bring
    real base     # both
    key_t state   # after the option
    row_t first   # rows: the nodes of a group in the order of this turn
    row_t last
    row_t choice  # columns: the options of a span by what they bring, best first
    row_t end
    row_t group
    id_t phrase   # the source phrase of the span
    id_t turn     # where the span lies, seen from the last block: M, S, D; 0 without a limit

cdef packed struct option_t:  # OPTION
    key_t look   # see node_t
    real head    # log-probability, weighted, of the block's first words by themselves
    id_t block
    id_t source  # its phrases
    id_t target
    id_t size    # how many of its words a neighbour sees at either end: 1, or 2
    id_t lead    # how many of its words the language model sees otherwise when a block stands before them


cdef inline key_t packed(row_t free, row_t gap, row_t start, row_t end) except? 0 nogil:
    """A state in 40 bits: sentences have less than 1024 words."""
    return <key_t> free << 30 | <key_t> (gap + 1) << 20 | <key_t> start << 10 | <key_t> end


cdef inline key_t packed_window(row_t free, key_t words, row_t start, row_t end) except? 0 nogil:
    """A state within a limit: bit i of the 34 `words` says whether word free + i is covered."""
    return <key_t> free << 54 | words << 20 | <key_t> start << 10 | <key_t> end


cdef inline row_t open_of(key_t state) except? -1 nogil:
    """The first word that is not covered, of a state within a limit."""
    return <row_t> (state >> 54)


cdef inline key_t words_of(key_t state) except? 0 nogil:
    return state >> 20 & ((<key_t> 1 << 34) - 1)


cdef inline row_t free_of(key_t state) except? -1 nogil:
    return <row_t> (state >> 30)


cdef inline row_t gap_of(key_t state) except? -9 nogil:
    return <row_t> (state >> 20 & 1023) - 1


cdef inline row_t start_of(key_t state) except? -1 nogil:
    return <row_t> (state >> 10 & 1023)


cdef inline row_t end_of(key_t state) except? -1 nogil:
    return <row_t> (state & 1023)
