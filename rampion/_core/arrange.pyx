"""The ids of candidates in order, how often each stands, and the fingerprints of candidates.

Twin: rampion/_reference/arrange.py
"""

from rampion._core.types cimport id_t, key_t, row_t

cdef enum:
    FEW = 32    # so few are sorted by insertion, more by their bytes
    BYTES = 4
    DIGITS = 256


cdef inline int insert(id_t[::1] ids, row_t start, row_t end) except -1 nogil:
    """Sort ids[start:end] by insertion."""
    cdef row_t i, j
    cdef id_t one
    for i in range(start + 1, end):
        one = ids[i]
        j = i
        while j > start and ids[j - 1] > one:
            ids[j] = ids[j - 1]
            j -= 1
        ids[j] = one
    return 0


cdef inline int tell(const id_t[::1] ids, row_t start, row_t end, id_t[::1] work) except -1 nogil:
    """Count the digits of ids[start:end], of every byte its own, in the front of work."""
    cdef row_t i, byte
    for i in range(BYTES * DIGITS):
        work[i] = 0
    for i in range(start, end):
        for byte in range(BYTES):
            work[byte * DIGITS + (ids[i] >> 8 * byte & 255)] += 1
    return 0


cdef inline int deal(const id_t[::1] ids, row_t start, row_t size, row_t byte, id_t[::1] work, id_t[::1] dealt,
                     row_t base) except -1 nogil:  # OUT work, dealt
    """Deal ids[start:start + size] to dealt[base:] by a digit whose counts are in work; equals keep their order."""
    cdef row_t digit, place = base, i, slot
    cdef id_t count
    for digit in range(byte * DIGITS, (byte + 1) * DIGITS):
        count = work[digit]
        work[digit] = <id_t> (place - base)
        place += count
    for i in range(start, start + size):
        slot = byte * DIGITS + (ids[i] >> 8 * byte & 255)
        dealt[base + work[slot]] = ids[i]
        work[slot] += 1
    return 0


def arrange(const row_t[::1] bounds, id_t[::1] work, id_t[::1] ids):  # OUT ids
    """Sort every span of ids. Work holds 1024 numbers more than the longest."""
    cdef row_t s, start, end, byte, i
    cdef bint away
    with nogil:
        for s in range(bounds.shape[0] - 1):
            start, end = bounds[s], bounds[s + 1]
            if end - start <= FEW:
                insert(ids, start, end)
                continue
            tell(ids, start, end, work)
            away = False
            for byte in range(BYTES):
                if away:
                    if work[byte * DIGITS + (work[BYTES * DIGITS] >> 8 * byte & 255)] < end - start:
                        deal(work, BYTES * DIGITS, end - start, byte, work, ids, start)
                        away = False
                elif work[byte * DIGITS + (ids[start] >> 8 * byte & 255)] < end - start:
                    deal(ids, start, end - start, byte, work, work, BYTES * DIGITS)
                    away = True
            if away:
                for i in range(end - start):
                    ids[start + i] = work[BYTES * DIGITS + i]


def tally(const id_t[::1] ids, id_t[::1] counts):  # OUT counts
    """Count every id once more."""
    cdef row_t i
    with nogil:
        for i in range(ids.shape[0]):
            counts[ids[i]] += 1


cdef inline key_t spread(key_t key) except? 0 nogil:
    """A number that each bit of the key changes all bits of: the mixer of splitmix64."""
    key += <key_t> 0x9E3779B97F4A7C15
    key = (key ^ (key >> 30)) * <key_t> 0xBF58476D1CE4E5B9
    key = (key ^ (key >> 27)) * <key_t> 0x94D049BB133111EB
    return key ^ (key >> 31)


def prints(const row_t[::1] bounds, const key_t[::1] keys, const key_t[:, ::1] values, key_t[::1] prints):  # OUT prints
    """What tells candidates apart: 1 plus, modulo 2^64, a number for every key and for the bits of every value."""
    cdef row_t i, k, j
    cdef key_t total
    with nogil:
        for i in range(bounds.shape[0] - 1):
            total = 1
            for k in range(bounds[i], bounds[i + 1]):
                total += spread(keys[k])
            for j in range(values.shape[1]):
                total += spread(values[i, j] ^ spread(<key_t> j))
            prints[i] = total
