"""The block sequences of highest BLEU (S10.4): a beam over the states of search/states.py, a stack per words covered.

The n-grams of a sentence's references are an automaton: a step leads from the longest suffix of up to three words that
they hold to the longest of up to four. Each n-gram owns as many bits as it may match; a hypothesis sets one per match,
so that its bits and its length say its BLEU. Those that agree in state, suffix, length and bits have one future and are
one hypothesis with several pasts. Longer than other kernels, as the parts of a search share its arrays.
Twin: decoder/_reference/oracle.py
"""

from libc.math cimport INFINITY, exp, fabs
from libc.stdint cimport int32_t

from rampion.decoder._core.moves cimport NO_GAP
from rampion._core.types cimport id_t, key_t, real, row_t

cdef enum:
    ORDER = 4
    IDENTITY = 0
    CLIPPED = 0
    UNCLIPPED = 1
    PLUS_ONE = 2

cdef id_t NONE = 0xFFFFFFFF

cdef packed struct gram_t:
    id_t suffix
    id_t context
    int32_t order
    int32_t first
    int32_t limit
    int32_t count
    int32_t reader

cdef packed struct phrase_t:
    int32_t first
    int32_t last
    int32_t shared[4]

cdef packed struct hypothesis_t:
    int32_t free
    int32_t gap
    int32_t start
    int32_t end
    int32_t length
    int32_t paths
    int32_t matches[4]
    id_t context
    id_t origin
    id_t option
    id_t other

cdef packed struct entry_t:
    real key
    row_t slot

cdef packed struct stack_t:
    real threshold
    row_t size
    row_t settled
    row_t used


cdef struct frame_t:  # what holds for one sentence
    row_t begin, length, option, first, last, width, cap, room, beam, best, reach, longest
    int adjacent, brevity


cdef row_t _number(const id_t[::1] words, row_t start, row_t end, id_t[::1] local) except -1 nogil:
    """Give the words of the references numbers from 1 on; one more than they are."""
    cdef row_t place, width = 1
    for place in range(start, end):
        if local[words[place]] == 0:
            local[words[place]] = <id_t>width
            width += 1
    return width


cdef row_t _learn(const id_t[::1] words, const row_t[::1] bounds, row_t first, row_t last, const id_t[::1] local,
                  row_t width, id_t[::1] at, gram_t[::1] grams, id_t[::1] moves) except -1 nogil:
    """Number the n-grams order by order; their suffix is what the order before found one word later. How many + 1."""
    cdef row_t n, r, place, base = bounds[first], cell, letter, size = 1
    cdef id_t node
    grams[0].context, grams[0].order = 0, 0
    for letter in range(width):
        moves[letter] = 0
    for place in range(bounds[last] - base):
        at[place] = 0
    for n in range(1, ORDER + 1):
        for r in range(first, last):
            for place in range(bounds[r] - base, bounds[r + 1] - base - n + 1):
                cell = at[place] * width + local[words[base + place + n - 1]]
                node = moves[cell]
                if node == 0:
                    node = <id_t>size
                    size += 1
                    moves[cell] = node
                    grams[node].suffix = at[place + 1] if n > 1 else 0
                    grams[node].context = node if n < ORDER else grams[node].suffix
                    grams[node].order = <int32_t>n
                    grams[node].limit = 0
                    grams[node].reader = -1
                    for letter in range(width if n < ORDER else 0):
                        moves[node * width + letter] = 0
                if grams[node].reader != r:
                    grams[node].reader = <int32_t>r
                    grams[node].count = 0
                grams[node].count += 1
                grams[node].limit = max(grams[node].limit, grams[node].count)
                at[place] = node
    return size


cdef row_t _complete(row_t size, row_t width, gram_t[::1] grams, id_t[::1] moves) except -1 nogil:
    """Give every n-gram its bits, and every suffix the steps of its own suffix where it has none. How many bits."""
    cdef row_t node, letter, bits = 0
    for node in range(1, size):
        grams[node].first = <int32_t>bits
        bits += grams[node].limit
        for letter in range(1, width if grams[node].order < ORDER else 1):
            if moves[node * width + letter] == 0:
                moves[node * width + letter] = moves[grams[node].suffix * width + letter]
    return bits


cdef row_t _spell(const id_t[::1] words, row_t start, row_t end, const id_t[::1] local, row_t width,
                  const gram_t[::1] grams, const id_t[::1] moves, row_t at, id_t[::1] letters,
                  phrase_t[::1] phrases, row_t p) except -1 nogil:
    """Write the phrase's letters from `at` on, and count the n-grams inside it that the references hold."""
    cdef row_t place, n
    cdef id_t node = 0
    phrases[p].first = <int32_t>at
    phrases[p].last = <int32_t>(at + end - start)
    for n in range(ORDER):
        phrases[p].shared[n] = 0
    for place in range(start, end):
        letters[at] = local[words[place]]
        node = moves[grams[node].context * width + letters[at]]
        for n in range(grams[node].order):
            phrases[p].shared[n] += 1
        at += 1
    return at


cdef real _nearest(const row_t[::1] bounds, row_t first, row_t last, real share, real length) except -1 nogil:
    """Of the reference lengths times `share` the closest, of two equally close the shorter."""
    cdef real best = INFINITY, one
    cdef row_t r
    for r in range(first, last):
        one = <real>(bounds[r + 1] - bounds[r]) * share
        if fabs(one - length) < fabs(best - length) or fabs(one - length) == fabs(best - length) and one < best:
            best = one
    return best


cdef real _scale(const row_t[::1] bounds, row_t first, row_t last, real share, row_t length,
                 int brevity) except -1 nogil:
    """What the fourth power of BLEU+1 is beside its matches: brevity penalty over n-grams said."""
    cdef real excess = 0.0, reference, said = <real>max(length, 1)
    cdef row_t n
    if length == 0:
        return 0.0
    if brevity <= PLUS_ONE:
        reference = _nearest(bounds, first, last, share, <real>length) + (brevity == PLUS_ONE)
        excess = 1.0 - reference / <real>length
        if brevity != UNCLIPPED:
            excess = min(excess, 0.0)
    for n in range(1, ORDER):
        said = said * <real>(max(length - n, 0) + 1)
    return exp(4.0 * excess) / said


cdef inline real _key(real scale, row_t one, row_t two, row_t three, row_t four) except -1 nogil:
    """The fourth power of BLEU+1: exact integers, rounded once by their scale."""
    return scale * (<real>one * <real>(two + 1) * <real>(three + 1) * <real>(four + 1))


cdef inline int _compare(const hypothesis_t[::1] all, const key_t[:, ::1] bits, row_t a, row_t b) except? -2 nogil:
    """By state, suffix, length and bits, any of which tells two futures apart; in source order first."""
    cdef row_t word
    if all[a].gap != all[b].gap:
        return -1 if all[a].gap < all[b].gap else 1
    if all[a].free != all[b].free:
        return -1 if all[a].free < all[b].free else 1
    if all[a].end != all[b].end:
        return -1 if all[a].end > all[b].end else 1
    if all[a].start != all[b].start:
        return -1 if all[a].start < all[b].start else 1
    if all[a].context != all[b].context:
        return -1 if all[a].context < all[b].context else 1
    if all[a].length != all[b].length:
        return -1 if all[a].length < all[b].length else 1
    for word in range(bits.shape[1]):
        if bits[a, word] != bits[b, word]:
            return -1 if bits[a, word] < bits[b, word] else 1
    return 0


cdef row_t _merge(entry_t[::1] entries, row_t start, row_t middle, row_t end, entry_t[::1] spare,
                  const hypothesis_t[::1] all, const key_t[:, ::1] bits) except -1 nogil:
    """Sort entries that are sorted up to `middle` and from there on: by key, then _compare, then age."""
    cdef row_t left = 0, right = middle, size = middle - start
    cdef bint swap
    for left in range(size):
        spare[left] = entries[start + left]
    left = 0
    while left < size:
        swap = right < end and entries[right].key >= spare[left].key
        if swap and entries[right].key == spare[left].key:
            swap = _compare(all, bits, entries[right].slot, spare[left].slot) < 0
        if swap:
            entries[start] = entries[right]
            right += 1
        else:
            entries[start] = spare[left]
            left += 1
        start += 1
    return 0


cdef row_t _sort(entry_t[::1] entries, row_t base, row_t settled, row_t size, entry_t[::1] spare,
                 const hypothesis_t[::1] all, const key_t[:, ::1] bits) except -1 nogil:
    """Sort the entries from `base` on, the first `settled` of which are sorted."""
    cdef row_t run = 1, start
    while run < size - settled:
        start = base + settled
        while start + run < base + size:
            _merge(entries, start, start + run, min(base + size, start + 2 * run), spare, all, bits)
            start += 2 * run
        run *= 2
    return _merge(entries, base, base + settled, base + size, spare, all, bits)


cdef row_t _settle(frame_t f, stack_t[::1] stacks, row_t k, entry_t[::1] entries, entry_t[::1] spare, id_t[::1] vacant,
                   hypothesis_t[::1] all, const key_t[:, ::1] bits) except -1 nogil:
    """Join the equal, keep the `beam` best and of each the `best` oldest pasts, and give back the slots of the rest."""
    cdef row_t i, slot, base = k * f.room, kept = 0, groups = 0, pasts = 0, leader = 0, last = 0
    _sort(entries, base, stacks[k].settled, stacks[k].size, spare, all, bits)
    for i in range(stacks[k].size):
        slot = entries[base + i].slot
        if i == 0 or entries[base + i].key != entries[base + kept - 1].key or _compare(all, bits, leader, slot) != 0:
            groups += 1
            pasts = 0
            leader = slot
        pasts += 1
        if groups > f.beam or pasts > f.best:
            stacks[k].used -= 1
            vacant[base + stacks[k].used] = <id_t>slot
            continue
        if pasts > 1:
            all[last].other = <id_t>slot
        all[slot].other = NONE
        last = slot
        entries[base + kept] = entries[base + i]
        kept += 1
    if groups >= f.beam:
        stacks[k].threshold = entries[base + kept - 1].key
    stacks[k].size = kept
    stacks[k].settled = kept
    return 0


cdef inline row_t _say(const id_t[::1] letters, row_t first, row_t last, row_t width, const gram_t[::1] grams,
                       const id_t[::1] moves, hypothesis_t[::1] all, key_t[:, ::1] bits, row_t h) except -1 nogil:
    """Append the letters: every n-gram that ends in one takes the first bit that it has left."""
    cdef row_t place, bit, stop
    cdef id_t node, context = all[h].context
    for place in range(first, last):
        node = moves[context * width + letters[place]]
        context = grams[node].context
        while node != 0:
            bit, stop = grams[node].first, grams[node].first + grams[node].limit
            while bit < stop and bits[h, bit >> 6] >> (bit & 63) & 1:
                bit += 1
            if bit < stop:
                bits[h, bit >> 6] |= <key_t>1 << (bit & 63)
                all[h].matches[grams[node].order - 1] += 1
            node = grams[node].suffix
    all[h].context = context
    all[h].length += <int32_t>(last - first)
    return last - first


cdef row_t _follow(frame_t f, row_t h, row_t start, row_t end, row_t k, const row_t[::1] spans,
                   const phrase_t[::1] phrases,
                   const id_t[::1] letters, const gram_t[::1] grams, const id_t[::1] moves, const row_t[::1] bounds,
                   const real[::1] scales, stack_t[::1] stacks, entry_t[::1] entries, entry_t[::1] spare,
                   id_t[::1] vacant, hypothesis_t[::1] all, key_t[:, ::1] bits) except -1 nogil:
    """Let every phrase over [start, end) follow h into stack k. How many words were appended.

    A phrase that joins no n-gram matches what is inside it at most, another one n - 1 more: most need not be said.
    """
    cdef row_t cell = (f.begin + start) * f.longest + end - start - 1
    cdef row_t p, slot, join, length, word, said = 0
    cdef hypothesis_t old = all[h]
    cdef real scale, key
    for p in range(spans[cell] - f.option, spans[cell + 1] - f.option):
        length = old.length + phrases[p].last - phrases[p].first
        scale = scales[k * f.cap + length] if length < f.cap else _scale(
            bounds, f.first, f.last, <real>k / <real>f.length, length, f.brevity)
        join = phrases[p].last > phrases[p].first and grams[
            moves[old.context * f.width + letters[phrases[p].first]]].order > 1
        key = _key(scale, old.matches[0] + phrases[p].shared[0], old.matches[1] + phrases[p].shared[1] + join,
                   old.matches[2] + phrases[p].shared[2] + 2 * join, old.matches[3] + phrases[p].shared[3] + 3 * join)
        if key < stacks[k].threshold:
            continue
        slot = vacant[k * f.room + stacks[k].used]
        all[slot] = old
        for word in range(bits.shape[1]):
            bits[slot, word] = bits[h, word]
        said += _say(letters, phrases[p].first, phrases[p].last, f.width, grams, moves, all, bits, slot)
        key = _key(scale, all[slot].matches[0], all[slot].matches[1], all[slot].matches[2], all[slot].matches[3])
        if key < stacks[k].threshold:
            continue
        all[slot].free = <int32_t>max(old.free, end)
        all[slot].gap = <int32_t>(old.free if old.gap == NO_GAP and start > old.free else NO_GAP)
        all[slot].start, all[slot].end = <int32_t>start, <int32_t>end
        all[slot].origin, all[slot].option = <id_t>h, <id_t>(f.option + p)
        entries[k * f.room + stacks[k].size].key = key
        entries[k * f.room + stacks[k].size].slot = slot
        stacks[k].size += 1
        stacks[k].used += 1
        if stacks[k].size == stacks[k].settled + f.beam:
            _settle(f, stacks, k, entries, spare, vacant, all, bits)
    return said


cdef row_t _expand(frame_t f, row_t h, row_t k, const row_t[::1] spans, const phrase_t[::1] phrases,
                   const id_t[::1] letters, const gram_t[::1] grams, const id_t[::1] moves, const row_t[::1] bounds,
                   const real[::1] scales, stack_t[::1] stacks, entry_t[::1] entries, entry_t[::1] spare,
                   id_t[::1] vacant, hypothesis_t[::1] all, key_t[:, ::1] bits) except -1 nogil:
    """Every way of search/states.py to go on; a gap opens only where one phrase can fill it. How many words said."""
    cdef row_t start, end, cell, free = all[h].free, said = 0, reach = f.reach
    if all[h].gap != NO_GAP:
        start, end = all[h].gap, all[h].start
        return _follow(f, h, start, end, k + end - start, spans, phrases, letters, grams, moves, bounds, scales,
                       stacks, entries, spare, vacant, all, bits)
    if all[h].end < free and not f.adjacent:
        reach = 0
    for start in range(free, min(free + min(reach, f.longest) + 1, f.length)):
        cell = (f.begin + free) * f.longest + start - free - 1
        if start > free and spans[cell] == spans[cell + 1]:
            continue
        for end in range(start + 1, min(start + f.longest, f.length) + 1):
            said += _follow(f, h, start, end, k + end - start, spans, phrases, letters, grams, moves, bounds, scales,
                            stacks, entries, spare, vacant, all, bits)
    return said


cdef row_t _count(hypothesis_t[::1] all, row_t h, row_t best) except -1 nogil:
    """Note how many sequences lead to h, as far as `best`; how many pasts it has."""
    cdef row_t paths = 0, pasts = 0
    cdef id_t one = <id_t>h
    while one != NONE:
        paths += 1 if all[one].origin == NONE else all[all[one].origin].paths
        pasts += 1
        one = all[one].other
    all[h].paths = <int32_t>min(paths, best)
    return pasts


cdef row_t _trace(const hypothesis_t[::1] all, row_t h, row_t rank, id_t[::1] steps, row_t at) except -1 nogil:
    """Write the steps of the rank-th sequence that leads to h from `at` on; where they end."""
    cdef id_t one = <id_t>h
    cdef row_t i, paths, end = at
    while all[one].origin != NONE:
        paths = all[all[one].origin].paths
        if rank >= paths:
            rank -= paths
            one = all[one].other
            continue
        steps[end] = all[one].option
        end += 1
        one = all[one].origin
    for i in range((end - at) // 2):
        steps[at + i], steps[end - 1 - i] = steps[end - 1 - i], steps[at + i]
    return end


def oracle(sentences, options, blocks, truth, limits, row_t first, row_t last, work, found):  # OUT found
    """Find the sequences of highest BLEU of the sentences from first to last - 1; how many words were appended."""
    cdef const row_t[::1] sentence_bounds = sentences.bounds, spans = options.spans
    cdef const int32_t[::1] starts = options.starts
    cdef const id_t[::1] said_blocks = options.blocks, targets = blocks.targets, target_words = blocks.target_words
    cdef const row_t[::1] target_bounds = blocks.target_bounds, segments = truth.segments, bounds = truth.bounds
    cdef const id_t[::1] words = truth.words, surfaces = truth.surfaces
    cdef id_t[::1] local = work.local, at = work.at, moves = work.moves, letters = work.letters, vacant = work.vacant
    cdef gram_t[::1] grams = work.grams
    cdef phrase_t[::1] phrases = work.phrases
    cdef real[::1] scales = work.scales
    cdef stack_t[::1] stacks = work.stacks
    cdef entry_t[::1] entries = work.entries, spare = work.spare
    cdef hypothesis_t[::1] all = work.hypotheses
    cdef key_t[:, ::1] bits = work.bits
    cdef row_t[::1] counts = found.bounds, step_bounds = found.step_bounds
    cdef id_t[::1] steps = found.steps
    cdef row_t[:, ::1] statistics = found.statistics
    cdef frame_t f
    cdef row_t s, k, i, o, n, h, rank, place, block, target, size, written, done = 0, said = 0
    f.beam, f.best, f.reach, f.adjacent, f.brevity = (
        limits.beam, limits.best, limits.reach, limits.adjacent, limits.brevity)
    f.longest = options.longest
    f.room = f.beam * f.best + f.beam + 1
    with nogil:
        step_bounds[0] = 0
        for s in range(first, last):
            f.begin, f.length = sentence_bounds[s], sentence_bounds[s + 1] - sentence_bounds[s]
            f.option = spans[f.begin * f.longest]
            f.first, f.last = segments[s], segments[s + 1]
            f.width = _number(words, bounds[f.first], bounds[f.last], local)
            size = _learn(words, bounds, f.first, f.last, local, f.width, at, grams, moves)
            _complete(size, f.width, grams, moves)
            written = 0
            for o in range(f.option, spans[sentence_bounds[s + 1] * f.longest]):
                block = said_blocks[o]
                if block == IDENTITY:
                    place = f.begin + starts[o]
                    written = _spell(surfaces, place, place + 1, local, f.width, grams, moves, written, letters,
                                     phrases, o - f.option)
                else:
                    target = targets[block]
                    written = _spell(target_words, target_bounds[target], target_bounds[target + 1], local, f.width,
                                     grams, moves, written, letters, phrases, o - f.option)
            for place in range(bounds[f.first], bounds[f.last]):
                local[words[place]] = 0
            f.cap = 0
            for i in range(f.first, f.last):
                f.cap = max(f.cap, 2 * (bounds[i + 1] - bounds[i]) + 16)
            for k in range(f.length + 1):
                for i in range(f.cap if k > 0 else 0):
                    scales[k * f.cap + i] = _scale(bounds, f.first, f.last, <real>k / <real>f.length, i, f.brevity)
                stacks[k].threshold, stacks[k].size, stacks[k].settled, stacks[k].used = -1.0, 0, 0, 0
                for i in range(f.room):
                    vacant[k * f.room + i] = <id_t>(k * f.room + i)
            all[0].free, all[0].gap, all[0].start, all[0].end, all[0].length = 0, NO_GAP, 0, 0, 0
            all[0].context, all[0].origin, all[0].option, all[0].other = 0, NONE, NONE, NONE
            for n in range(ORDER):
                all[0].matches[n] = 0
            for i in range(bits.shape[1]):
                bits[0, i] = 0
            entries[0].key, entries[0].slot = 0.0, 0
            stacks[0].size, stacks[0].used = 1, 1
            for k in range(f.length + 1):
                _settle(f, stacks, k, entries, spare, vacant, all, bits)
                i = 0
                while i < stacks[k].size:
                    h = entries[k * f.room + i].slot
                    i += _count(all, h, f.best)
                    if k < f.length:
                        said += _expand(f, h, k, spans, phrases, letters, grams, moves, bounds, scales, stacks,
                                        entries, spare, vacant, all, bits)
            k, i, n = f.length, 0, 0
            while i < stacks[k].size and n < f.best:
                h = entries[k * f.room + i].slot
                for rank in range(min(all[h].paths, f.best - n)):
                    step_bounds[done + 1] = _trace(all, h, rank, steps, step_bounds[done])
                    statistics[done, 0] = all[h].length
                    statistics[done, 1] = <row_t>_nearest(bounds, f.first, f.last, 1.0, <real>all[h].length)
                    for place in range(ORDER):
                        statistics[done, 2 + place] = all[h].matches[place]
                        statistics[done, 2 + ORDER + place] = max(all[h].length - place, 0)
                    done += 1
                    n += 1
                i += _count(all, h, f.best)
            counts[s - first + 1] = done
    return said
