"""Beam search over block sequences (S10.1), a batch of sentences a call.

Stacks hold nodes by the number of words covered. A grid is the nodes of one state, best first, times the options of
one span, best first; what lies between the two spans is the same all over it. Of all the cells of all the grids that
lead into a stack those are scored that promise most, their joins left aside: a threshold is sought that about `pops`
of them reach, and the cells above it are walked row by row. That is cube pruning without a queue. What is worse than
the best by more than `threshold` is left out, as promised and as scored.

Twin: decoder/_core/search.pyx (and search_*.pxd). Only this one asks `model.pair`, a score in Python of two
neighbouring blocks.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

from rampion.decoder._reference import templates
from rampion.decoder._reference.model import Fluency, summed, summed_up, weights_of
from rampion.decoder._reference.model import State as History
from rampion.decoder.search.states import FILL, NO_GAP, OPEN, ORIENTATION, REOPEN, TURNS, Reordering, State, Window

HALVINGS = 40
SMALL = 1e-9
BOUNDARY, START, END, NOTHING = 1, 1, 2, 0xFFFFFFFF


class Node:
    """A hypothesis, or several that no template can tell apart."""

    def __init__(self, state: State | Window, look: Any, said: int, history: History) -> None:
        self.state, self.look, self.said, self.history = state, look, said, history
        self.score = self.rank = -inf
        self.edges: list[Edge] = []


class Edge(NamedTuple):
    total: float
    score: float
    origin: int
    said: int


class Grid(NamedTuple):
    source: float
    future: float
    state: State | Window
    turn: int
    nodes: list[tuple[int, float]]
    choices: list[tuple[float, int]]

    def promises(self, score: float, gain: float) -> float:
        return ((self.source + self.future) + score) + gain


class Sentence:
    """What is known of the options before the search; they are numbered from 1 on, 0 is the boundary."""

    def __init__(self, word: int, words: list[int], options: Any, blocks: Any, model: Any, limits: Any) -> None:
        n, longest, limit = len(words), options.longest, limits.limit
        kinds = len(TURNS) if limit else 4 if limits.reach > 0 else 1
        spans = options.spans[word * longest : (word + n) * longest + 1].tolist() if n else [0]
        self.first, self.words, self.model = spans[0], words, model
        chosen = [BOUNDARY, *options.blocks[spans[0] : spans[-1]].tolist()]
        self.blocks, self.fluency, self.heads = chosen, Fluency(model), model.heads[chosen].tolist()
        self.targets = [BOUNDARY, *blocks.targets[chosen[1:]].tolist()]
        bounds = blocks.target_bounds
        self.said = [blocks.target_words[bounds[t] : bounds[t + 1]].tolist() for t in self.targets]
        self.leaving = [[0.0] * 3, *model.leaves[chosen[1:]].tolist()] if limit else [[0.0]] * len(chosen)
        first = dict[Any, int]()
        self.looks = [first.setdefault((self.look(at), *self.leaving[at]), at) for at in range(len(chosen))]
        local = model.local[chosen].tolist()
        for at, rates in enumerate(options.rates[spans[0] : spans[-1]].tolist(), 1):
            own, columns = blocks.values[chosen[at]].tolist(), model.columns.tolist()
            gain = columns[0] * (rates[0] - own[0]) + columns[1] * (rates[1] - own[1])
            local[at] = [score + gain for score in local[at]]
        self.sources: dict[tuple[int, int], int] = {}
        self.choices: dict[tuple[int, int, int], list[tuple[float, int]]] = {}
        best: dict[tuple[int, int], float] = {}
        for start in range(n):
            for size in range(1, min(longest, n - start) + 1):
                at = start * longest + size - 1
                here = range(spans[at] - spans[0] + 1, spans[at + 1] - spans[0] + 1)
                if not here:
                    continue
                self.sources[start, start + size] = int(blocks.sources[chosen[here[0]]])
                for kind in range(kinds):
                    pairs = [(local[at][kind], at) for at in here]
                    self.choices[start, start + size, kind] = sorted(pairs, key=lambda pair: -pair[0])
                best[start, start + size] = max(self.choices[start, start + size, kind][0][0] for kind in range(kinds))
        self.rest = [-inf] * n + [0.0]
        for start in range(n - 1, -1, -1):
            ends = [end for end in range(start + 1, min(start + longest, n) + 1) if (start, end) in best]
            self.rest[start] = max((best[start, end] + self.rest[end] for end in ends), default=-inf)
        self.gaps = dict.fromkeys(((start, start) for start in range(n + 1)), 0.0)
        for end in range(n, 0, -1):
            for start in range(end - 1, max(end - limit, -1), -1):
                firsts = [place for place in range(start + 1, min(start + longest, end) + 1) if (start, place) in best]
                every = (best[start, place] + self.gaps[place, end] for place in firsts)
                self.gaps[start, end] = max(every, default=-inf)

    def look(self, at: int) -> Any:
        """What the templates can see of an option, its span apart."""
        if self.model.pair:
            return self.blocks[at]
        if self.model.mask >> templates.P3 & 1:
            return self.targets[at]
        if self.model.mask >> templates.W3 & 1:
            return tuple(self.said[at][-2:])
        return self.said[at][-1] if self.model.mask >> templates.W4 & 1 else 0

    def future(self, state: State) -> float:
        if state.gap == NO_GAP:
            return self.rest[state.free]
        choices = self.choices.get((state.gap, state.start, FILL))
        return choices[0][0] + self.rest[state.free] if choices else -inf

    def hope(self, state: Window) -> float:
        """What is still to come brings at best: the gaps, the words behind them, and the jumps if it comes in order."""
        total, place, words = 0.0, state.free, state.words
        if place == len(self.words):
            return 0.0
        jumped = abs(state.free - state.end) + words.bit_count()
        while words:
            gap = (words & -words).bit_length() - 1
            total += self.gaps[place, place + gap]
            words >>= gap
            run = (~words & words + 1).bit_length() - 1
            place, words = place + gap + run, words >> run
        return (total + self.rest[place]) - float(self.model.jump) * jumped

    def source(self, weights: dict[int, float], state: State | Window, orientation: int, start: int, end: int) -> float:
        """P4, W2 and the jump."""
        last = self.sources[state.start, state.end] if state.end else BOUNDARY
        word = self.words[state.end - 1] if state.end else START
        between = start - state.end if start >= state.end else state.start - end
        jump = templates.jump_of(orientation, between)
        keys = templates.source_keys(self.model.mask, last, self.sources[start, end], jump, word, self.words[start])
        total: float = -self.model.jump * abs(start - state.end)
        out, into = self.model.jumps
        if len(out):
            limit = out.shape[1] // 2
            at = min(max(start - state.end, -limit), limit) + limit
            first, second = float(out[word, at]), float(into[self.words[start], at])
            total += self.model.jump_out * first + self.model.jump_in * second
        return total + summed(weights, keys)

    def rows(self, nodes: list[Node], members: list[int], turn: int) -> list[tuple[int, float]]:
        """Nodes and their scores if the next block turns so, best first."""
        scored = [(at, nodes[at].score + self.leaving[nodes[at].said][turn]) for at in members]
        return sorted(scored, key=lambda row: -row[1])

    def join(self, weights: dict[int, float], last: int, said: int) -> float:
        """P3, W3 across the join, W4; the templates of users."""
        keys = templates.join_keys(
            self.model.mask, self.targets[last], self.targets[said], self.said[last], self.said[said]
        )
        total = summed(weights, keys)
        return total + self.model.pair(self.blocks[last], self.blocks[said]) if self.model.pair else total


def grids_into(
    covered: int,
    stacks: list[list[int]],
    nodes: list[Node],
    sentence: Sentence,
    limits: Any,
    longest: int,
    weights: dict[int, float],
) -> list[Grid]:
    """All that leads into the stack of `covered` words, without a limit."""
    reordering = Reordering(min(limits.reach, longest), limits.adjacent_swaps)
    n, grids = len(sentence.words), []
    for size in range(1, min(longest, covered) + 1):
        groups: dict[Any, list[tuple[int, float]]] = {}
        for at in stacks[covered - size]:
            groups.setdefault(nodes[at].state, []).append((at, nodes[at].score))
        for state, members in groups.items():
            first = state.free if state.gap == NO_GAP else state.gap
            for start in range(first, min(first + reordering.reach, n - size) + 1):
                move = state.move(start, start + size, reordering)
                after = state.after(start, start + size)
                choices = sentence.choices.get((start, start + size, OPEN if move == REOPEN else move or 0))
                if move is None or choices is None or (future := sentence.future(after)) == -inf:
                    continue
                source = sentence.source(weights, state, ORIENTATION[move], start, start + size)
                grids.append(Grid(source, future, after, 0, members, choices))
    return grids


def open_grids_into(
    covered: int,
    stacks: list[list[int]],
    nodes: list[Node],
    sentence: Sentence,
    limits: Any,
    longest: int,
    weights: dict[int, float],
) -> list[Grid]:
    """The same within a limit."""
    grids = []
    for size in range(1, min(longest, covered) + 1):
        groups: dict[Any, list[int]] = {}
        for at in stacks[covered - size]:
            groups.setdefault(nodes[at].state, []).append(at)
        for state, members in groups.items():
            rows = [sentence.rows(nodes, members, turn) for turn in range(3)]
            for start in range(state.free, min(state.free + limits.limit, len(sentence.words) - size) + 1):
                turn = state.move(start, start + size, limits.reordering)
                if turn is None:
                    continue
                after = state.after(start, start + size)
                choices = sentence.choices.get((start, start + size, turn.kind))
                if choices is None or (future := sentence.hope(after)) == -inf:
                    continue
                source = sentence.source(weights, state, turn.orientation, start, start + size)
                grids.append(Grid(source, future, after, turn.forward, rows[turn.forward], choices))
    return grids


def reaching(least: float, grids: list[Grid]) -> int:
    """How many cells promise at least so much."""
    return sum(
        grid.promises(score, gain) >= least for grid in grids for _, score in grid.nodes for gain, _ in grid.choices
    )


def seek_bracket(pops: int, slack: float, grids: list[Grid], window: float) -> tuple[float, float, float]:
    """Two bounds: the upper one about and at most `pops` cells reach, the lower one as many or more; a new window.

    Both are `slack` below the most promising cell if no more cells reach that. The search begins `window` below that
    cell; the new one is how far below it ended.
    """
    if sum(len(grid.nodes) * len(grid.choices) for grid in grids) <= pops:
        return -inf, -inf, window
    top = max(grid.promises(grid.nodes[0][1], grid.choices[0][0]) for grid in grids)
    if slack < inf and reaching(top - slack, grids) <= pops:
        return top - slack, top - slack, window
    low, high = top - window, top
    for _ in range(HALVINGS):
        found = reaching(low, grids)
        if found > pops:
            break
        high = low
        if 8 * found >= 7 * pops:
            break
        low = top - 1.5 * (top - low)
    for _ in range(HALVINGS):
        if low == high:
            break
        middle = 0.5 * low + 0.5 * high
        found = reaching(middle, grids)
        if found > pops:
            low = middle
        else:
            high = middle
            if 8 * found >= 7 * pops:
                low = middle
    return low, high, max(top - high, SMALL)


def take(least: float, below: float, most: int, grids: list[Grid]) -> list[tuple[Grid, int, float, int]]:
    """The cells that promise from `least` to less than `below`, row by row, until there are `most`."""
    found: list[tuple[Grid, int, float, int]] = []
    for grid in grids:
        for origin, score in grid.nodes:
            for gain, said in grid.choices:
                if len(found) < most and least <= grid.promises(score, gain) < below:
                    found.append((grid, origin, gain, said))
    return found


def extend(
    slack: float,
    cells: list[tuple[Grid, int, float, int]],
    nodes: list[Node],
    sentence: Sentence,
    weights: dict[int, float],
) -> list[Node]:
    """The cells scored; those near the best, recombined where no template can tell their last blocks apart."""
    fresh: dict[tuple[State | Window, int, tuple[int, ...]], Node] = {}
    fluency, scored = sentence.fluency, []
    for grid, origin, gain, said in cells:
        score = (grid.source + gain) + sentence.leaving[nodes[origin].said][grid.turn]
        score += sentence.join(weights, nodes[origin].said, said)
        history: History = ()
        if fluency.past:
            logs, history = fluency.read(sentence.said[said], nodes[origin].history)
            score += summed_up(logs[: fluency.past]) - sentence.heads[said]
        scored.append((grid, Edge(nodes[origin].score + score, score, origin, said), history))
    top = max((edge.total + grid.future for grid, edge, _ in scored), default=-inf)
    for grid, edge, history in scored:
        if edge.total + grid.future < top - slack:
            continue
        look = sentence.looks[edge.said]
        known = (grid.state, look, tuple(word for word, _ in history))
        node = fresh.setdefault(known, Node(grid.state, look, edge.said, history))
        if edge.total > node.score:
            node.score, node.rank = edge.total, edge.total + grid.future
        node.edges.append(edge)
    return list(fresh.values())


def keep(beam: int, fresh: list[Node]) -> list[Node]:
    """The best nodes by rank, the earlier of equals; by state and best first."""
    kept = sorted(sorted(range(len(fresh)), key=lambda at: (-fresh[at].rank, at))[:beam])
    return sorted((fresh[at] for at in kept), key=lambda node: (node.state, -node.score))


def searched(sentence: Sentence, limits: Any, longest: int, weights: dict[int, float]) -> list[Node]:
    """All nodes of a sentence, the goal last, each with its edges, best derivation first."""
    n, window = len(sentence.words), 1.0
    fluency = sentence.fluency
    state, into = (Window, open_grids_into) if limits.limit else (State, grids_into)
    start = Node(state(), sentence.looks[0], 0, fluency.start)
    start.score = start.rank = 0.0
    nodes, stacks = [start], [[0]]
    for covered in range(1, n + 1):
        grids = into(covered, stacks, nodes, sentence, limits, longest, weights)
        low, high, window = seek_bracket(limits.pops, limits.threshold, grids, window)
        cells = take(high, inf, limits.pops, grids)
        if low < high:
            cells += take(low, high, limits.pops - len(cells), grids)
        kept = keep(limits.beam, extend(limits.threshold, cells, nodes, sentence, weights))
        stacks.append(list(range(len(nodes), len(nodes) + len(kept))))
        nodes += kept
    goal = Node(state(n), None, 0, ())
    for at in stacks[n]:
        turn = 2 if limits.limit and nodes[at].state.end < n else 0
        score = sentence.leaving[nodes[at].said][turn]
        if fluency.spoken:
            score += fluency.rest * fluency.predict(END, nodes[at].history)[0]
        goal.edges.append(Edge(nodes[at].score + score, score, at, 0))
    nodes.append(goal)
    for node in nodes:
        node.edges.sort(key=lambda edge: -edge.total)
    return nodes


def search(sentences: Any, options: Any, blocks: Any, model: Any, limits: Any, work: Any, graph: Any, done: int) -> int:
    """Fill the graph from sentence `done` on; return how many sentences are done: all, or room is short."""
    bounds, weights = sentences.bounds.tolist(), weights_of(model.slots)
    for s in range(done, len(bounds) - 1):
        words = sentences.words[bounds[s] : bounds[s + 1]].tolist()
        sentence = Sentence(bounds[s], words, options, blocks, model, limits)
        nodes = searched(sentence, limits, options.longest, weights)
        alive = {0, len(nodes) - 1}
        for at in range(len(nodes) - 1, 0, -1):
            if at in alive:
                alive.update(edge.origin for edge in nodes[at].edges)
        first = int(graph.bounds[s])
        places = {at: first + place for place, at in enumerate(sorted(alive))}
        edge = int(graph.edge_bounds[first])
        total = sum(len(nodes[at].edges) for at in alive)
        if first + len(alive) + 1 > len(graph.edge_bounds) or edge + total > len(graph.origins):
            return s
        for at, place in places.items():
            for e, found in enumerate(nodes[at].edges, edge):
                graph.origins[e], graph.scores[e] = places[found.origin], found.score
                graph.options[e] = sentence.first + found.said - 1 if found.said else NOTHING
            edge += len(nodes[at].edges)
            graph.edge_bounds[place + 1] = edge
        graph.bounds[s + 1] = first + len(alive)
    return len(bounds) - 1
