"""Whole lines of a Moses n-best list, taken apart: id, hypothesis, labelled values, total, the rest; and of weights.

Twin: rampion/_reference/parse.py
A mantissa up to 2^53 with a power of ten up to 22 is one correctly rounded operation (Clinger 1990); the rest goes to
strtod_l in the C locale, the only use of an address here. Every line, the last one too, must end with a newline.
Longer than the other kernels, because a line is read in one pass and its grammar is here whole.
"""

from libc.math cimport INFINITY, NAN, isfinite
from libc.stdint cimport uint64_t

from .spans cimport enter
from .types cimport byte_t, id_t, real, row_t
from .words cimport is_blank

cdef extern from "<locale.h>" nogil:
    ctypedef void* locale_t
    int LC_ALL_MASK
    locale_t newlocale(int, const char*, locale_t)

cdef extern from "<stdlib.h>" nogil:
    real strtod_l(const char*, char**, locale_t)

cdef enum:  # columns of spans
    PLACE, ID, ID_END, TEXT, TEXT_END, NOTE, NOTE_END, SEGMENT, ENTRIES

cdef enum:  # columns of groups
    LABEL, FIRST, START

cdef enum:  # cells of state
    POSITION, LINES, WHERE, GROUPS

cdef enum:  # answers
    DONE, FULL, FIELDS, NO_ID, NUMBER, TOTAL, NO_VALUE, TWICE, SIZE

cdef locale_t C_LOCALE = newlocale(LC_ALL_MASK, "C", NULL)
cdef real[23] TENS = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
                      1e18, 1e19, 1e20, 1e21, 1e22]


cdef inline row_t _skip(const byte_t[::1] block, row_t at) except? -1 nogil:
    """The first place from `at` on that is a newline or no blank."""
    while block[at] != c"\n" and is_blank(block[at]):
        at += 1
    return at


cdef inline row_t _trim(const byte_t[::1] block, row_t start, row_t end) except? -1 nogil:
    """The end of block[start:end] without its trailing blanks."""
    while end > start and is_blank(block[end - 1]):
        end -= 1
    return end


cdef inline bint _is_bar(const byte_t[::1] block, row_t at, bint first) except? -1 nogil:
    """A separator stands here: blanks on both sides, but the first of a line needs only the one behind it."""
    return (block[at] == c"|" and block[at + 1] == c"|" and block[at + 2] == c"|" and is_blank(block[at + 3])
            and (first or is_blank(block[at - 1])))


cdef inline row_t _bar(const byte_t[::1] block, row_t at, bint first) except? -1 nogil:
    """The next separator or newline."""
    while block[at] != c"\n" and not _is_bar(block, at, first):
        at += 1
    return at


cdef inline row_t _low(const byte_t[::1] block, row_t start, real[::1] values, row_t entry) except? -1 nogil:
    """The end of `-inf` that begins here and fills its token, stored as values[entry]; 0 if it does not."""
    if (block[start] == c"-" and block[start + 1] | 32 == c"i" and block[start + 2] | 32 == c"n"
            and block[start + 3] | 32 == c"f" and is_blank(block[start + 4])):
        values[entry] = -INFINITY
        return start + 4
    return 0


cdef inline row_t _number(const byte_t[::1] block, row_t start, real[::1] values, row_t entry) except? -1 nogil:
    """The end of the number that begins here and fills its token, stored as values[entry]; 0 if there is none."""
    cdef row_t at = start + (block[start] == c"-" or block[start] == c"+"), digits = -at, scale = 0, power = 0, sign
    cdef uint64_t mantissa = 0
    while c"0" <= block[at] <= c"9":
        mantissa = mantissa * 10 + (block[at] - c"0")
        at += 1
    digits += at
    if block[at] == c".":
        at += 1
        while c"0" <= block[at] <= c"9":
            mantissa = mantissa * 10 + (block[at] - c"0")
            at += 1
            scale -= 1
    digits -= scale
    if digits == 0:
        return _low(block, start, values, entry)
    if block[at] == c"e" or block[at] == c"E":
        sign = -1 if block[at + 1] == c"-" else 1
        at += 2 if block[at + 1] == c"-" or block[at + 1] == c"+" else 1
        if not c"0" <= block[at] <= c"9":
            return 0
        while c"0" <= block[at] <= c"9":
            power = min(power * 10 + (block[at] - c"0"), 1000)
            at += 1
        scale += sign * power
    if not is_blank(block[at]):
        return 0
    if digits > 19 or mantissa > (<uint64_t> 1 << 53) or not -22 <= scale <= 22:
        values[entry] = strtod_l(<const char*> &block[start], NULL, C_LOCALE)
    else:
        values[entry] = <real> mantissa * TENS[scale] if scale >= 0 else <real> mantissa / TENS[-scale]
        if block[start] == c"-":
            values[entry] = -values[entry]
    return at


cdef inline row_t _label(const byte_t[::1] block, row_t start) except? -1 nogil:
    """The end of the name that begins here, of `name=`, `name:` or `name=value`; `start` itself if there is none."""
    cdef row_t at = start, equals = start
    while not is_blank(block[at]):
        if block[at] == c"=":
            equals = at
        at += 1
    return at - 1 if block[at - 1] == c":" else equals


cdef inline int _values(const byte_t[::1] block, row_t entry, id_t[::1] slots, byte_t[::1] blob, row_t[::1] bounds,
                        row_t[::1] counts, real[::1] values, row_t[:, ::1] groups, row_t[::1] state) except? -1 nogil:
    """Read labelled values from WHERE on, leaving the end there; those before any label belong to label 0."""
    cdef row_t at = _skip(block, state[WHERE]), group = 0, label, end
    while block[at] != c"\n" and not _is_bar(block, at, False):
        state[WHERE] = at
        end = _number(block, at, values, entry)
        if end > 0:
            if not isfinite(values[entry]) and values[entry] > 0:
                return NUMBER
            if group == 0:
                groups[0, LABEL], groups[0, FIRST], groups[0, START] = 0, entry, at
                group = 1
            entry += 1
        else:
            end = _label(block, at) + 1
            if end == at + 1:
                return NUMBER
            label = enter(block, at, end - 1 - at, slots, blob, bounds, counts)
            if label < 0:
                return FULL
            groups[group, LABEL], groups[group, FIRST], groups[group, START] = label, entry, at
            group += 1
        at = _skip(block, end)
    groups[group, FIRST] = entry
    state[GROUPS], state[WHERE] = group, at
    return DONE


cdef inline int _accept(row_t place, row_t[::1] sizes, row_t[::1] firsts, row_t[::1] total, row_t[::1] seen,
                        id_t[::1] slots, row_t[:, ::1] groups, row_t[::1] state) except? -1 nogil:
    """Check the groups of the line at `place`, then number their values: those of a label follow each other."""
    cdef row_t group, label, size, j
    for group in range(state[GROUPS]):
        label, size = groups[group, LABEL], groups[group + 1, FIRST] - groups[group, FIRST]
        state[WHERE] = groups[group, START]
        if size == 0:
            return NO_VALUE
        if seen[label] == place + 1:
            return TWICE
        if sizes[label] != 0 and sizes[label] != size:
            return SIZE
        seen[label] = place + 1
    for group in range(state[GROUPS]):
        label, size = groups[group, LABEL], groups[group + 1, FIRST] - groups[group, FIRST]
        if sizes[label] == 0:
            sizes[label], firsts[label] = size, total[0]
            total[0] += size
        for j in range(size):
            slots[groups[group, FIRST] + j] = <id_t> (firsts[label] + j)
    return DONE


cdef inline int _rest(const byte_t[::1] block, row_t line, real[::1] scores, row_t[:, ::1] spans,
                      row_t[::1] state) except? -1 nogil:
    """Read the total and whatever follows it from WHERE on, leaving the newline there."""
    cdef row_t at = state[WHERE], bars = 0
    scores[line] = NAN
    if block[at] == c"|":
        at = _skip(block, at + 3)
        state[WHERE] = at
        if block[at] != c"\n" and not _is_bar(block, at, False):
            at = _number(block, at, scores, line)
            if at == 0 or not isfinite(scores[line]):
                return TOTAL
            at = _skip(block, at)
            if block[at] != c"\n" and not _is_bar(block, at, False):
                return TOTAL
    if block[at] == c"|":
        at = _skip(block, at + 3)
    spans[line, NOTE] = at
    at = _bar(block, at, False)
    while block[at] != c"\n":
        bars += 1
        at = _bar(block, at + 3, False)
    spans[line, NOTE_END] = _trim(block, spans[line, NOTE], at)
    state[WHERE] = at if bars < 2 else spans[line, NOTE]
    return DONE if bars < 2 else FIELDS


cdef inline row_t _segment(const byte_t[::1] block, row_t line, row_t[:, ::1] spans) except? -1 nogil:
    """The number of the line's segment: the one before, or the next one if the ids differ."""
    cdef row_t at, other, length
    if line == 0:
        return 0
    at, other = spans[line, ID], spans[line - 1, ID]
    length = spans[line, ID_END] - at
    if length != spans[line - 1, ID_END] - other:
        return spans[line - 1, SEGMENT] + 1
    while length > 0 and block[at] == block[other]:
        at, other, length = at + 1, other + 1, length - 1
    return spans[line - 1, SEGMENT] + (length > 0)


cdef inline int _head(const byte_t[::1] block, row_t line, row_t[:, ::1] spans, row_t[::1] state) except? -1 nogil:
    """Read id and hypothesis from POSITION on, leaving in WHERE the place behind the second separator."""
    cdef row_t place = state[POSITION], at = _bar(block, place, True), next
    state[WHERE] = place
    if block[at] == c"\n":
        return FIELDS
    next = _bar(block, at + 3, False)
    if block[next] == c"\n":
        return FIELDS
    spans[line, PLACE], spans[line, ID], spans[line, TEXT] = place, _skip(block, place), _skip(block, at + 3)
    spans[line, ID_END] = _trim(block, spans[line, ID], at)
    spans[line, TEXT_END] = _trim(block, spans[line, TEXT], next)
    if spans[line, ID] >= at:
        return NO_ID
    state[WHERE] = next + 3
    return DONE


def parse(const byte_t[::1] block, row_t end, table, row_t[::1] seen,
          row_t[:, ::1] spans, real[::1] scores, id_t[::1] slots, real[::1] values,
          row_t[:, ::1] groups, row_t[::1] state):  # OUT spans, scores, slots, values, groups; state goes in and out
    """Read the lines of block[:end] from state[POSITION] on; say why it stopped, an error being at state[WHERE]."""
    cdef id_t[::1] table_slots = table.names.slots
    cdef byte_t[::1] blob = table.names.blob
    cdef row_t[::1] bounds = table.names.bounds, counts = table.names.counts
    cdef row_t[::1] sizes = table.sizes, firsts = table.firsts, total = table.total
    cdef row_t line, entry, line_end
    cdef int answer = DONE
    with nogil:
        while answer == DONE and state[POSITION] < end:
            line = state[LINES]
            entry = spans[line - 1, ENTRIES] if line > 0 else 0
            answer = _head(block, line, spans, state)
            if answer == DONE:
                answer = _values(block, entry, table_slots, blob, bounds, counts, values, groups, state)
            if answer == DONE:
                spans[line, ENTRIES] = groups[state[GROUPS], FIRST]
                answer = _rest(block, line, scores, spans, state)
            if answer == DONE:
                line_end = state[WHERE]
                answer = _accept(state[POSITION], sizes, firsts, total, seen, slots, groups, state)
            if answer == DONE:
                spans[line, SEGMENT] = _segment(block, line, spans)
                state[POSITION], state[LINES] = line_end + 1, line + 1
    return answer


def cut(const byte_t[::1] block, const row_t[:, ::1] spans, row_t column,
        byte_t[::1] blob, row_t[::1] bounds):  # OUT blob, bounds
    """Copy block[spans[i, column]:spans[i, column + 1]] of every row, row i to blob[bounds[i]:bounds[i + 1]]."""
    cdef row_t row, at, start
    with nogil:
        bounds[0] = 0
        for row in range(spans.shape[0]):
            start = spans[row, column]
            bounds[row + 1] = bounds[row] + spans[row, column + 1] - start
            for at in range(spans[row, column + 1] - start):
                blob[bounds[row] + at] = block[start + at]


def weigh_lines(const byte_t[::1] block, row_t[:, ::1] spans, real[::1] values, row_t[::1] state):  # OUT
    """Read lines `name value` from state[0] on until one says something else; return how many weights there are.

    spans[i] are the start and the end of a name, and the number of its line, values[i] its weight. state goes in and
    out: where reading begins or has stopped, and the number of that line. Empty lines are passed over.
    """
    cdef row_t at = state[0], line = state[1], count = 0, name, end, stop
    with nogil:
        while at < block.shape[0]:
            name = _skip(block, at)
            if block[name] == c"\n":
                at, line = name + 1, line + 1
                continue
            end = name
            while not is_blank(block[end]):
                end += 1
            stop = _skip(block, end)
            if block[name] == c"#" or block[end - 1] == c"=" or block[stop] == c"\n":
                break
            stop = _number(block, stop, values, count)
            if stop == 0 or not isfinite(values[count]):
                break
            stop = _skip(block, stop)
            if block[stop] != c"\n":
                break
            spans[count, 0], spans[count, 1], spans[count, 2] = name, end, line
            at, line, count = stop + 1, line + 1, count + 1
    state[0], state[1] = at, line
    return count
