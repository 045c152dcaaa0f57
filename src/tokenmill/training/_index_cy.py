"""The index of a phase: which pairs are in the corpus, how often, and where.

An index takes two passes over the nodes. The first gives each distinct pair an id and counts it: pairs of bytes through a
table of 65,536, others through a map. Then only the pairs that reach the threshold are kept, and the second pass writes their
positions into their segments (a counting sort).
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._arrays import new_array, zeroed_array
from cython.cimports.tokenmill.kernels._pair_map import tm_pair_map_free
from cython.cimports.tokenmill.kernels._signals import check_signals
from cython.cimports.tokenmill.training._corpus_cy import FREE, SENTINEL, TOKEN, Corpus, Cursor, count_at, put_place
from cython.cimports.tokenmill.training._limits_cy import Limits
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_places

SLICE = cython.declare(cython.size_t, 1 << 22)  # nodes between two looks for Ctrl-C


def index_pairs(corpus: Corpus, pairs: Pairs, limits: Limits) -> None:
    """Fill `pairs` with the pairs of `corpus`, and queue them. Those that may not merge by the limits are left out."""
    node: cython.pointer(uint32_t) = corpus.node
    spread: cython.bint = limits.spread
    wide: cython.bint = corpus.wide
    direct: cython.pointer(uint32_t) = cython.NULL
    kept: cython.pointer(uint32_t) = cython.NULL  # by id in the first pass: the new id, or FREE | left token
    place: cython.size_t
    next: cython.size_t = 1
    looked: cython.size_t = 0
    n: cython.size_t = 1
    pair: uint32_t
    record: cython.pointer(Pair)
    left: uint32_t
    right: uint32_t
    cursor: Cursor
    cursor.run = cursor.end = 0
    try:
        direct = cython.cast(cython.pointer(uint32_t), zeroed_array(1 << 16, 4))
        with cython.nogil:
            while next < corpus.n_nodes:
                if next - looked > SLICE:
                    looked = next
                    check_signals()
                place = next
                left = node[place]
                next += 1
                if left == SENTINEL:
                    continue
                left &= TOKEN
                if spread:
                    next = place + limits.spans[left]
                right = node[next]
                if right == SENTINEL:
                    continue
                right &= TOKEN
                if (left | right) < 256:
                    pair = direct[(left << 8) | right]
                    if pair == 0:
                        pair = pairs.find(left, right)
                        direct[(left << 8) | right] = pair
                else:
                    pair = pairs.find(left, right)
                record = cython.address(pairs.pair[pair])
                record.count += count_at(corpus, cython.address(cursor), place)
                record.size += 1
                node[place] = pair
            tm_pair_map_free(cython.address(pairs.ids))  # the merge loop does not look for pairs
            kept = cython.cast(cython.pointer(uint32_t), new_array(pairs.n_pairs, 4))
            for pair in range(1, pairs.n_pairs):
                record = cython.address(pairs.pair[pair])
                kept[pair] = FREE | record.left
                if record.count >= pairs.threshold and limits.fits(record.left, record.right):
                    kept[pair] = cython.cast(uint32_t, n)
                    pairs.pair[n] = record[0]
                    pairs.places[n] = new_places(pairs, record.size)
                    pairs.enqueue(cython.cast(uint32_t, n))
                    n += 1
            pairs.n_pairs = n
            for place in range(1, corpus.n_nodes):
                if place % SLICE == 0:
                    check_signals()
                if node[place] < FREE:
                    pair = kept[node[place]]
                    node[place] = pair
                    if pair < FREE:
                        put_place(pairs.places[pair], 0, wide, place)
                        pairs.places[pair] += pairs.width
            for pair in range(1, n):
                pairs.places[pair] -= pairs.pair[pair].size * pairs.width
    finally:
        free(direct)
        free(kept)
