"""Many keys at once through the feature table: a whole group of slots is on its way before the first is looked at.

Twin: rampion/_reference/keys.py
"""

from rampion._core.types cimport id_t, key_t, row_t, small_t

cdef enum:
    AHEAD = 16


def enter(const key_t[::1] keys, row_t start, row_t limit, slot_t[::1] slots, id_t[::1] counts, row_t[::1] size,
          id_t[::1] ids):  # OUT slots, counts, size, ids
    """Count every key from `start` on, new ones under the ids from size[0] on; return how many are done.

    All are, unless the table holds `limit` keys and meets another.
    """
    cdef row_t homes[AHEAD]
    cdef row_t at = start, ahead = start, last = keys.shape[0], slot
    with nogil:
        while at < last:
            while ahead < last and ahead < at + AHEAD:
                homes[ahead % AHEAD] = home(slots, keys[ahead])
                fetch(slots, homes[ahead % AHEAD])
                ahead += 1
            slot = seek_from(slots, homes[at % AHEAD], keys[at])
            if slots[slot].key == 0:
                if size[0] == limit:
                    break
                slots[slot].key = keys[at]
                slots[slot].id = <id_t> size[0]
                size[0] += 1
            ids[at] = slots[slot].id
            counts[ids[at]] += 1
            at += 1
    return at


def locate(const key_t[::1] keys, const slot_t[::1] slots, id_t absent, id_t[::1] ids):  # OUT ids
    """The id of every key, or `absent`."""
    cdef row_t homes[AHEAD]
    cdef row_t at, ahead = 0, last = keys.shape[0], slot
    with nogil:
        for at in range(last):
            while ahead < last and ahead < at + AHEAD:
                homes[ahead % AHEAD] = home(slots, keys[ahead])
                fetch(slots, homes[ahead % AHEAD])
                ahead += 1
            slot = seek_from(slots, homes[at % AHEAD], keys[at])
            ids[at] = slots[slot].id if slots[slot].key != 0 else absent


def weigh(const key_t[::1] keys, const slot_t[::1] slots, small_t[::1] weights):  # OUT weights
    """The weight of every key, 0 for those not in the table."""
    cdef row_t homes[AHEAD]
    cdef row_t at, ahead = 0, last = keys.shape[0]
    with nogil:
        for at in range(last):
            while ahead < last and ahead < at + AHEAD:
                homes[ahead % AHEAD] = home(slots, keys[ahead])
                fetch(slots, homes[ahead % AHEAD])
                ahead += 1
            weights[at] = slots[seek_from(slots, homes[at % AHEAD], keys[at])].weight


def refresh(const small_t[::1] weights, slot_t[::1] slots):  # OUT slots
    """Give every slot the weight of its id."""
    cdef row_t slot
    with nogil:
        for slot in range(slots.shape[0]):
            if slots[slot].key != 0:
                slots[slot].weight = weights[slots[slot].id]


def settle(const slot_t[::1] old, const id_t[::1] places, id_t absent, slot_t[::1] slots):  # OUT slots
    """Put the old table's keys, weights and ids, renamed by places, into empty slots; leave out the `absent`."""
    cdef row_t at, slot
    with nogil:
        for at in range(old.shape[0]):
            if old[at].key != 0 and places[old[at].id] != absent:
                slot = seek(slots, old[at].key)
                slots[slot].key = old[at].key
                slots[slot].weight = old[at].weight
                slots[slot].id = places[old[at].id]


def listed(const slot_t[::1] slots, key_t[::1] keys):  # OUT keys
    """The keys in the order of their ids."""
    cdef row_t slot
    with nogil:
        for slot in range(slots.shape[0]):
            if slots[slot].key != 0:
                keys[slots[slot].id] = slots[slot].key
