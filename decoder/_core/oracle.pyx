"""The block sequences of highest BLEU (S10.4): a beam over the states of search/states.py, a stack per words covered.

1. The n-grams of a sentence's references become an automaton (automaton.pxd), and all phrases are read by it.
2. Each n-gram owns as many bits as it may match. A hypothesis sets one per match, so that its bits and its length
   determine its BLEU. Hypotheses that agree in state, suffix, length and bits have one future: they are one hypothesis
   with several pasts.
3. Stack by stack, hypotheses are sorted by BLEU+1 of their words so far, reference lengths being scaled by the
   share of words covered. The `beam` best are kept, and each is followed by every phrase that may come next. A phrase
   that cannot reach the worst hypothesis kept is not appended: its n-grams were counted beforehand.
4. The best of the last stack are traced back.

Twin: decoder/_reference/oracle.py
"""

from libc.math cimport INFINITY, exp, fabs
from libc.stdint cimport int32_t

from rampion.decoder._core.automaton cimport ORDER, complete, gram_t, learn, number_words, phrase_t, read_phrase
from rampion.decoder._core.moves cimport NO_GAP
from rampion._core.types cimport id_t, key_t, real, row_t

cdef enum:
    IDENTITY = 0
    CLIPPED = 0
    UNCLIPPED = 1
    PLUS_ONE = 2

cdef id_t NONE = 0xFFFFFFFF

cdef packed struct hypothesis_t:  # HYPOTHESIS of search/oracle.py
    int32_t free        # state: the first word that is not covered, but for a gap
    int32_t gap         # where the open gap begins, or NO_GAP
    int32_t start       # the source words of the last block
    int32_t end
    int32_t length      # words
    int32_t paths       # how many sequences of options lead here, `best` at most
    int32_t matches[4]  # n-grams matched, by order
    id_t context        # node of the automaton
    id_t origin         # the hypothesis before the last block, or NONE
    id_t option         # the last block's option
    id_t other          # the same hypothesis with another past, or NONE

cdef packed struct entry_t:  # ENTRY of search/oracle.py
    real key   # what hypotheses are sorted by, the highest first
    row_t slot

cdef packed struct stack_t:  # STACK of search/oracle.py
    real threshold  # the key of the worst hypothesis kept, once there are `beam` of them
    row_t size      # entries
    row_t settled   # entries that are sorted and known to be kept

cdef struct frame_t:  # what holds for one sentence
    row_t begin, length           # its words in the batch
    row_t option, options         # its first option, and where its options end
    row_t first, last             # its references
    row_t width                   # letters of the automaton
    row_t most, cap               # words of its longest reference; lengths whose scales are in the table
    row_t beam, best, room        # hypotheses kept; pasts of each; slots of a stack
    row_t spare                   # entries from here on are room to sort in
    row_t reach, longest          # words of a gap; of a span
    int adjacent, brevity

cdef struct way_t:  # how a hypothesis may go on
    row_t h           # the hypothesis, which has covered k words
    row_t k
    row_t start, end  # the span of the next block


cdef real nearest(const row_t[::1] bounds, row_t first, row_t last, real share, real length) except -1 nogil:
    """Of the reference lengths times `share` the closest, of two equally close the shorter."""
    cdef real best = INFINITY, one
    cdef row_t r
    for r in range(first, last):
        one = <real>(bounds[r + 1] - bounds[r]) * share
        if fabs(one - length) < fabs(best - length) or fabs(one - length) == fabs(best - length) and one < best:
            best = one
    return best


cdef real scale_of(real reference, row_t length, int brevity) except -1 nogil:
    """What the fourth power of BLEU+1 is beside its matches: brevity penalty over its n-grams."""
    cdef real excess = 0.0, grams = <real>max(length, 1)
    cdef row_t n
    if length == 0:
        return 0.0
    if brevity <= PLUS_ONE:
        excess = 1.0 - (reference + (brevity == PLUS_ONE)) / <real>length
        if brevity != UNCLIPPED:
            excess = min(excess, 0.0)
    for n in range(1, ORDER):
        grams = grams * <real>(max(length - n, 0) + 1)
    return exp(4.0 * excess) / grams


cdef inline real scale_at(frame_t f, row_t k, row_t length, const real[::1] scales) except -1 nogil:
    """The scale of a hypothesis that has covered k words: from the table, which ends well above all references."""
    if length < f.cap:
        return scales[k * f.cap + length]
    return scale_of(<real>f.most * (<real>k / <real>f.length), length, f.brevity)


cdef inline real key_of(real scale, row_t one, row_t two, row_t three, row_t four) except -1 nogil:
    """The fourth power of BLEU+1: exact integers, rounded once by their scale."""
    return scale * (<real>one * <real>(two + 1) * <real>(three + 1) * <real>(four + 1))


cdef inline int compare(const hypothesis_t[::1] all, const key_t[:, ::1] bits, row_t a, row_t b) except? -2 nogil:
    """By state, suffix, length and bits, any of which makes another future; in source order first."""
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


cdef row_t merge(entry_t[::1] entries, row_t start, row_t middle, row_t end, row_t spare,
                 const hypothesis_t[::1] all, const key_t[:, ::1] bits) except -1 nogil:
    """Sort entries that are sorted up to `middle` and from there on: by key, then `compare`, then age."""
    cdef row_t left = 0, right = middle, size = middle - start
    cdef bint swap
    for left in range(size):
        entries[spare + left] = entries[start + left]
    left = 0
    while left < size:
        swap = right < end and entries[right].key >= entries[spare + left].key
        if swap and entries[right].key == entries[spare + left].key:
            swap = compare(all, bits, entries[right].slot, entries[spare + left].slot) < 0
        if swap:
            entries[start] = entries[right]
            right += 1
        else:
            entries[start] = entries[spare + left]
            left += 1
        start += 1
    return 0


cdef row_t sort(entry_t[::1] entries, row_t base, row_t settled, row_t size, row_t spare,
                const hypothesis_t[::1] all, const key_t[:, ::1] bits) except -1 nogil:
    """Sort the entries from `base` on, the first `settled` of which are sorted."""
    cdef row_t run = 1, start
    while run < size - settled:
        start = base + settled
        while start + run < base + size:
            merge(entries, start, start + run, min(base + size, start + 2 * run), spare, all, bits)
            start += 2 * run
        run *= 2
    return merge(entries, base, base + settled, base + size, spare, all, bits)


cdef row_t settle(frame_t f, row_t k, stack_t[::1] stacks, entry_t[::1] entries, hypothesis_t[::1] all,
                  const key_t[:, ::1] bits) except -1 nogil:
    """Join the equal, keep the `beam` best and of each the `best` oldest pasts; the rest give their slots back.

    The entries of a stack name all its slots: first those in use, `size` of them, then the free ones.
    """
    cdef row_t i, slot, base = k * f.room, kept = 0, groups = 0, pasts = 0, leader = 0, last = 0
    cdef entry_t entry
    sort(entries, base, stacks[k].settled, stacks[k].size, f.spare, all, bits)
    for i in range(stacks[k].size):
        entry = entries[base + i]
        slot = entry.slot
        if i == 0 or entry.key != entries[base + kept - 1].key or compare(all, bits, leader, slot) != 0:
            groups += 1
            pasts = 0
            leader = slot
        pasts += 1
        if groups > f.beam or pasts > f.best:
            continue
        if pasts > 1:
            all[last].other = <id_t>slot
        all[slot].other = NONE
        last = slot
        entries[base + i] = entries[base + kept]
        entries[base + kept] = entry
        kept += 1
    if groups >= f.beam:
        stacks[k].threshold = entries[base + kept - 1].key
    stacks[k].size = kept
    stacks[k].settled = kept
    return 0


cdef inline row_t append(const id_t[::1] letters, row_t first, row_t last, row_t width, const gram_t[::1] grams,
                         const id_t[::1] moves, hypothesis_t[::1] all, key_t[:, ::1] bits, row_t h) except -1 nogil:
    """Append letters[first:last] to h: every n-gram that ends in one takes the first bit that it has left."""
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


cdef row_t follow(frame_t f, way_t way, const row_t[::1] spans, const phrase_t[::1] phrases, const id_t[::1] letters,
                  const gram_t[::1] grams, const id_t[::1] moves, const real[::1] scales, stack_t[::1] stacks,
                  entry_t[::1] entries, hypothesis_t[::1] all, key_t[:, ::1] bits) except -1 nogil:
    """Let every option over [way.start, way.end) follow way.h; return how many words were appended."""
    cdef row_t cell = (f.begin + way.start) * f.longest + way.end - way.start - 1
    cdef row_t k = way.k + way.end - way.start, base = k * f.room
    cdef row_t p, slot, join, word, appended = 0
    cdef hypothesis_t old = all[way.h]
    cdef real scale, key
    for p in range(spans[cell] - f.option, spans[cell + 1] - f.option):
        # A phrase that joins no n-gram matches what is inside it at most, another one n - 1 more: is that enough?
        scale = scale_at(f, k, old.length + phrases[p].last - phrases[p].first, scales)
        join = phrases[p].last > phrases[p].first and grams[
            moves[old.context * f.width + letters[phrases[p].first]]].order > 1
        key = key_of(scale, old.matches[0] + phrases[p].shared[0], old.matches[1] + phrases[p].shared[1] + join,
                     old.matches[2] + phrases[p].shared[2] + 2 * join, old.matches[3] + phrases[p].shared[3] + 3 * join)
        if key < stacks[k].threshold:
            continue
        # The first free slot takes the hypothesis with the phrase; it is free still if that is not good enough.
        slot = entries[base + stacks[k].size].slot
        all[slot] = old
        for word in range(bits.shape[1]):
            bits[slot, word] = bits[way.h, word]
        appended += append(letters, phrases[p].first, phrases[p].last, f.width, grams, moves, all, bits, slot)
        key = key_of(scale, all[slot].matches[0], all[slot].matches[1], all[slot].matches[2], all[slot].matches[3])
        if key < stacks[k].threshold:
            continue
        all[slot].free = <int32_t>max(old.free, way.end)
        all[slot].gap = <int32_t>(old.free if old.gap == NO_GAP and way.start > old.free else NO_GAP)
        all[slot].start, all[slot].end = <int32_t>way.start, <int32_t>way.end
        all[slot].origin, all[slot].option = <id_t>way.h, <id_t>(f.option + p)
        entries[base + stacks[k].size].key = key
        stacks[k].size += 1
        if stacks[k].size == stacks[k].settled + f.beam:
            settle(f, k, stacks, entries, all, bits)
    return appended


cdef row_t expand(frame_t f, way_t way, const row_t[::1] spans, const phrase_t[::1] phrases, const id_t[::1] letters,
                  const gram_t[::1] grams, const id_t[::1] moves, const real[::1] scales, stack_t[::1] stacks,
                  entry_t[::1] entries, hypothesis_t[::1] all, key_t[:, ::1] bits) except -1 nogil:
    """Let way.h go on in every way of search/states.py; return how many words were appended."""
    cdef row_t start, end, cell, free = all[way.h].free, appended = 0, reach = f.reach
    if all[way.h].gap != NO_GAP:
        way.start, way.end = all[way.h].gap, all[way.h].start
        return follow(f, way, spans, phrases, letters, grams, moves, scales, stacks, entries, all, bits)
    if all[way.h].end < free and not f.adjacent:
        reach = 0
    for start in range(free, min(free + min(reach, f.longest) + 1, f.length)):
        # A gap opens only where one phrase can fill it.
        cell = (f.begin + free) * f.longest + start - free - 1
        if start > free and spans[cell] == spans[cell + 1]:
            continue
        for end in range(start + 1, min(start + f.longest, f.length) + 1):
            way.start, way.end = start, end
            appended += follow(f, way, spans, phrases, letters, grams, moves, scales, stacks, entries, all, bits)
    return appended


cdef row_t count_paths(hypothesis_t[::1] all, row_t h, row_t best) except -1 nogil:
    """Note how many sequences lead to h, as far as `best`; return how many pasts it has."""
    cdef row_t paths = 0, pasts = 0
    cdef id_t one = <id_t>h
    while one != NONE:
        paths += 1 if all[one].origin == NONE else all[all[one].origin].paths
        pasts += 1
        one = all[one].other
    all[h].paths = <int32_t>min(paths, best)
    return pasts


cdef row_t trace(const hypothesis_t[::1] all, row_t h, row_t rank, id_t[::1] steps, row_t at) except -1 nogil:
    """Write the steps of the rank-th sequence that leads to h from `at` on; return where they end."""
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


cdef row_t read_options(
    frame_t f, const int32_t[::1] starts, const id_t[::1] blocks, const id_t[::1] targets, const id_t[::1] words,
    const row_t[::1] bounds, const id_t[::1] surfaces, const id_t[::1] local, const gram_t[::1] grams,
    const id_t[::1] moves, id_t[::1] letters, phrase_t[::1] phrases,  # OUT
) except -1 nogil:
    """Read the words of every option of the sentence: of the identity block its source word, of others the target."""
    cdef row_t o, start, end, at = 0
    for o in range(f.option, f.options):
        if blocks[o] == IDENTITY:
            start = f.begin + starts[o]
            at = read_phrase(surfaces, start, start + 1, local, f.width, grams, moves, at, letters, phrases,
                             o - f.option)
        else:
            start, end = bounds[targets[blocks[o]]], bounds[targets[blocks[o]] + 1]
            at = read_phrase(words, start, end, local, f.width, grams, moves, at, letters, phrases, o - f.option)
    return at


cdef row_t begin(frame_t f, const row_t[::1] bounds, real[::1] scales, stack_t[::1] stacks, entry_t[::1] entries,
                 hypothesis_t[::1] all, key_t[:, ::1] bits) except -1 nogil:
    """Fill the table of scales, empty all stacks, and put the empty hypothesis into the first."""
    cdef row_t k, i
    cdef real share
    for k in range(f.length + 1):
        share = <real>k / <real>f.length
        for i in range(f.cap if k > 0 else 0):
            scales[k * f.cap + i] = scale_of(nearest(bounds, f.first, f.last, share, <real>i), i, f.brevity)
        stacks[k].threshold, stacks[k].size, stacks[k].settled = -1.0, 0, 0
        for i in range(f.room):
            entries[k * f.room + i].slot = k * f.room + i
    all[0].free, all[0].gap, all[0].start, all[0].end, all[0].length = 0, NO_GAP, 0, 0, 0
    all[0].context, all[0].origin, all[0].option, all[0].other = 0, NONE, NONE, NONE
    for i in range(ORDER):
        all[0].matches[i] = 0
    for i in range(bits.shape[1]):
        bits[0, i] = 0
    entries[0].key = 0.0
    stacks[0].size = 1
    return 0


cdef row_t finish(frame_t f, const row_t[::1] bounds, const stack_t[::1] stacks, const entry_t[::1] entries,
                  hypothesis_t[::1] all, row_t done,
                  row_t[::1] step_bounds, id_t[::1] steps, row_t[:, ::1] statistics) except -1 nogil:  # OUT
    """Write the `best` sequences of the last stack, with their statistics, as number `done` and on; where they end."""
    cdef row_t i = 0, n, h, rank, most = done + f.best
    while i < stacks[f.length].size and done < most:
        h = entries[f.length * f.room + i].slot
        for rank in range(min(all[h].paths, most - done)):
            step_bounds[done + 1] = trace(all, h, rank, steps, step_bounds[done])
            statistics[done, 0] = all[h].length
            statistics[done, 1] = <row_t>nearest(bounds, f.first, f.last, 1.0, <real>all[h].length)
            for n in range(ORDER):
                statistics[done, 2 + n] = all[h].matches[n]
                statistics[done, 2 + ORDER + n] = max(all[h].length - n, 0)
            done += 1
        i += count_paths(all, h, f.best)
    return done


def oracle(sentences, options, blocks, truth, limits, row_t first, row_t last, work, found):  # OUT found
    """Find the sequences of highest BLEU of the sentences from first to last - 1; how many words were appended."""
    # Longer than most, because half of its lines unpack arrays.
    cdef const row_t[::1] sentence_bounds = sentences.bounds, spans = options.spans
    cdef const int32_t[::1] starts = options.starts
    cdef const id_t[::1] option_blocks = options.blocks, targets = blocks.targets, target_words = blocks.target_words
    cdef const row_t[::1] target_bounds = blocks.target_bounds, segments = truth.segments, bounds = truth.bounds
    cdef const id_t[::1] words = truth.words, surfaces = truth.surfaces
    cdef id_t[::1] local = work.local, at = work.at, moves = work.moves, letters = work.letters
    cdef gram_t[::1] grams = work.grams
    cdef phrase_t[::1] phrases = work.phrases
    cdef real[::1] scales = work.scales
    cdef stack_t[::1] stacks = work.stacks
    cdef entry_t[::1] entries = work.entries
    cdef hypothesis_t[::1] all = work.hypotheses
    cdef key_t[:, ::1] bits = work.bits
    cdef row_t[::1] counts = found.bounds, step_bounds = found.step_bounds
    cdef id_t[::1] steps = found.steps
    cdef row_t[:, ::1] statistics = found.statistics
    cdef row_t s, i, done = 0, appended = 0
    cdef frame_t f
    cdef way_t way
    f.beam, f.best, f.reach, f.adjacent, f.brevity = (
        limits.beam, limits.best, limits.reach, limits.adjacent, limits.brevity)
    f.longest = options.longest
    f.room = f.beam * f.best + f.beam + 1
    f.spare = entries.shape[0] - f.room
    with nogil:
        step_bounds[0] = 0
        for s in range(first, last):
            f.begin, f.length = sentence_bounds[s], sentence_bounds[s + 1] - sentence_bounds[s]
            f.option, f.options = spans[f.begin * f.longest], spans[sentence_bounds[s + 1] * f.longest]
            f.first, f.last, f.most = segments[s], segments[s + 1], 0
            for i in range(f.first, f.last):
                f.most = max(f.most, bounds[i + 1] - bounds[i])
            f.cap = 2 * f.most + 16
            # 1, 2. The automaton of the references and its bits; the words of phrases.
            f.width = number_words(words, bounds[f.first], bounds[f.last], local)
            i = learn(words, bounds, f.first, f.last, local, f.width, at, grams, moves)
            complete(i, f.width, grams, moves)
            read_options(f, starts, option_blocks, targets, target_words, target_bounds, surfaces, local, grams, moves,
                         letters, phrases)
            for i in range(bounds[f.first], bounds[f.last]):
                local[words[i]] = 0
            # 3. The beam.
            begin(f, bounds, scales, stacks, entries, all, bits)
            for way.k in range(f.length + 1):
                settle(f, way.k, stacks, entries, all, bits)
                i = 0
                while i < stacks[way.k].size:
                    way.h = entries[way.k * f.room + i].slot
                    i += count_paths(all, way.h, f.best)
                    if way.k < f.length:
                        appended += expand(f, way, spans, phrases, letters, grams, moves, scales, stacks, entries, all,
                                           bits)
            # 4. The best.
            counts[s - first + 1] = done = finish(f, bounds, stacks, entries, all, done, step_bounds, steps,
                                                  statistics)
    return appended
