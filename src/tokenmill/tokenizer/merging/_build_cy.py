"""From the parts of a vocabulary to the tables that encode with it: the merger, and the initial entries of the caches.

Tokens are built in order of rank. Of all pairs that spell a token, at most one can occur when the token's bytes are merged by
what was built before: two compatible tokens (_origins_cy.py). The other pairs are passed over. That is right unless one of them
turns out compatible later; then the vocabulary is not rank-ordered, and the merger gets more pairs: of a list only the late merges
and what they lead to (_origins_cy.py), of ranks all.

The loops check for signals, so that Ctrl-C stops loading.
"""

from array import array
from functools import partial

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.tokenmill.events._replay_cy import SHORT_REPLAY, EventTable, replay_memory
from cython.cimports.tokenmill.kernels._arrays import new_array
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key, tm_key_of, tm_random_hashes
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read
from cython.cimports.tokenmill.split._scan_cy import Scanner
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import BATCH, Entry, PretokenCache
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import TM_NO_BLOCK, Finder, tm_pair_block
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import (
    DROPPED_POINTS,
    NO_ID,
    NO_MEMORY,
    SIGNALLED,
    Merger,
    Workspace,
    reserve,
)
from cython.cimports.tokenmill.tokenizer.merging._origins_cy import Origins
from cython.cimports.tokenmill.tokenizer.merging._prefixes_cy import find_prefixes

from ...events import event_table
from ...formats.byte_alphabet import CHARACTERS

MOST_SEEDS = cython.declare(cython.Py_ssize_t, 1 << 16)  # tokens of the lowest ids, with room for others 8 MB of the cache
PASSED = cython.declare(uint8_t, 1)  # a merge of a list that was passed over
UNBUILT = cython.declare(uint8_t, 2)  # one that was so because a part was not built
LATE = cython.declare(uint8_t, 3)  # one that is added at the end
CHECK = cython.declare(uint32_t, 0xFFF)  # signals are checked for after so many tokens, plus 1


@cython.final
@cython.cclass
class Tokens:
    """Packed tokens by id."""

    blob: bytes
    sizes: bytes
    n: uint32_t
    longest: uint32_t
    total: cython.size_t
    starts: cython.pointer(cython.pointer(cython.const[uint8_t]))  # NULL for an id without a token
    size: cython.pointer(uint32_t)

    def __cinit__(self, blob: bytes, sizes: bytes):
        p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(blob))
        self.blob = blob
        self.sizes = sizes
        self.n = PyBytes_GET_SIZE(sizes) // 4
        self.size = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
        self.starts = cython.cast(
            cython.pointer(cython.pointer(cython.const[uint8_t])), new_array(self.n, cython.sizeof(cython.p_void))
        )
        for id in range(self.n):
            self.starts[id] = cython.NULL
            if self.size[id] != NO_ID:
                self.starts[id] = p
                p += self.size[id]
                self.longest = max(self.longest, self.size[id])
        self.total = PyBytes_GET_SIZE(blob)

    def __dealloc__(self):
        free(self.starts)


def starts(packed: tuple, apart=frozenset()) -> tuple:
    """Return the ids that merging begins with: the id of each of the 256 bytes, None for one without, and the id of each code point.

    packed: the tokens, as `pack_tokens` returns them. apart: ids that are neither. The lowest of several ids counts. A byte that is
    not UTF-8 is a lone surrogate, as in surrogateescape.
    """
    tokens: Tokens = Tokens(*packed)
    byte_ids: list = [None] * 256
    characters: dict = {}
    point: uint32_t = 0
    for id in range(tokens.n):
        if tokens.starts[id] == cython.NULL or tokens.size[id] > 4 or id in apart:
            continue
        if tokens.size[id] == 1:
            byte_ids[tokens.starts[id][0]] = id if byte_ids[tokens.starts[id][0]] is None else byte_ids[tokens.starts[id][0]]
            point = 0xDC00 | tokens.starts[id][0] if tokens.starts[id][0] >= 0x80 else tokens.starts[id][0]
        elif tokens.size[id] == 0 or tm_utf8_read(tokens.starts[id], tokens.size[id], cython.address(point)) != tokens.size[id]:
            continue
        characters.setdefault(point, id)
    return byte_ids, characters


def packed_cache(merger: Merger, blob: bytes, sizes: bytes) -> PretokenCache:
    """A cache that maps each token, as a pretoken, to its id: the lowest where two have the same bytes."""
    cache: PretokenCache = PretokenCache(merger)
    _put_tokens(cache, cython.NULL, blob, sizes)
    return cache


def learning_cache(merger: Merger, blob: bytes, sizes: bytes) -> PretokenCache:
    """An empty cache that learns tokens once some pretokens were merged: those that merging is known to make of their own bytes.
    That is not known of a token that contains the text of a late merge (_origins_cy.py)."""
    cache: PretokenCache = PretokenCache(merger)
    if merger.built is not None:
        sizes = sizes[: 4 * MOST_SEEDS]
        cache.set_seeds(len(sizes) // 4, partial(_put_built, blob=blob, sizes=sizes))
    return cache


def _put_built(cache: PretokenCache, blob: bytes, sizes: bytes):
    _put_tokens(cache, PyBytes_AS_STRING(known_built(cache.merger, blob, sizes)), blob, sizes)


def known_built(merger: Merger, blob: bytes, sizes: bytes):
    """By id, 1 for a token that merging is known to make of its own bytes, else 0. None if that is not known of any."""
    return merger.built if not merger.late else _without(merger.built, merger.late, Tokens(blob, sizes))


@cython.cfunc
def _without(built: bytes, late: tuple, tokens: Tokens) -> bytes:
    """`built`, with 0 for the tokens that contain one of the texts `late`, and for some in which one begins."""
    which: cython.Py_ssize_t = 0
    id: cython.Py_ssize_t = 0
    known: bytearray = bytearray(built)
    finder: Finder = Finder(dict.fromkeys(late, 0))
    text = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(tokens.blob))
    block = tm_pair_block(tokens.total, TM_NO_BLOCK, 0)
    at: cython.size_t = finder.search(text, 0, tokens.total, cython.address(which), cython.address(block))
    while at < tokens.total:
        while id < tokens.n and (tokens.starts[id] == cython.NULL or tokens.starts[id] + tokens.size[id] <= text + at):
            id += 1
        if id == tokens.n:  # the sizes of fewer tokens were given than the text has
            break
        known[id] = 0
        at = finder.search(text, at + 1, tokens.total, cython.address(which), cython.address(block))
    return bytes(known)


@cython.cfunc
@cython.exceptval(-1)
def _put_tokens(cache: PretokenCache, chosen: cython.p_char, blob: bytes, sizes: bytes) -> cython.int:
    """Add the tokens to a cache; of several with the same bytes the first. chosen: by id; 0 for one that is left out. NULL for all."""
    size = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    pretoken = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(blob))
    limit: cython.pointer(cython.const[uint8_t]) = pretoken + PyBytes_GET_SIZE(blob)
    next: cython.pointer(cython.const[uint8_t]) = pretoken
    n: cython.Py_ssize_t = PyBytes_GET_SIZE(sizes) // 4
    held: cython.size_t = 0
    keys: tm_key[BATCH]
    hashes: uint64_t[BATCH]
    for i in range(n):
        held += size[i] != NO_ID
    if not cache.reserve(3 * held):
        raise MemoryError
    for first in range(0, n, BATCH):
        if chosen == cython.NULL and first & 0xFFF == 0:  # a cache that learns does so within an encode
            PyErr_CheckSignals()
        k: cython.Py_ssize_t = 0
        for i in range(first, min(first + BATCH, n)):
            if size[i] != NO_ID:
                keys[k] = tm_key_of(next, size[i], limit, cache.seed)
                k += 1
                next += size[i]
        tm_random_hashes(keys, k, cache.seed, cache.entries, cython.sizeof(Entry), cache.slots - 1, hashes)
        k = 0
        for i in range(first, min(first + BATCH, n)):
            if size[i] != NO_ID:
                if size[i] > 0 and (chosen == cython.NULL or chosen[i]):
                    if not cache.put_token(pretoken, size[i], keys[k], hashes[k], cython.cast(uint32_t, i)):
                        raise MemoryError
                k += 1
                pretoken += size[i]
    return 0


def rank_merger(packed: tuple, unknown) -> tuple:
    """The merger of the order "ranks", where any split of a token into two tokens merges, with the token's id as its rank. No two tokens
    are equal.

    packed: the tokens, as `pack_tokens` returns them. Returns the merger with the cache of all tokens, or None if that cache holds
    bytes without a token as well."""
    tokens: Tokens = Tokens(*packed)
    byte_ids = starts(packed)[0]
    shorter = cython.cast(cython.pointer(uint32_t), new_array(tokens.n + 257, 4))
    try:
        find_prefixes(tokens.starts, tokens.size, tokens.n, shorter)
        if None not in byte_ids:
            merger: Merger = _new_rank_merger(tokens, byte_ids, unknown)
            table: PretokenCache = packed_cache(merger, *packed)
            if _build_ranks(merger, table, tokens, shorter):
                return merger, table
        merger = _new_rank_merger(tokens, byte_ids, unknown)
        if None in byte_ids:  # all bytes have ids, those without a token from n on
            tokens = Tokens(tokens.blob + bytes(range(256)), tokens.sizes + array("I", [1] * 256).tobytes())
            find_prefixes(tokens.starts, tokens.size, tokens.n, shorter)
        table = packed_cache(merger, tokens.blob, tokens.sizes)
        _add_all_splits(merger, table, tokens, shorter)
        return merger, table if None not in byte_ids else None
    finally:
        free(shorter)


@cython.cfunc
def _new_rank_merger(tokens: Tokens, byte_ids: list, unknown) -> Merger:
    merger: Merger = Merger(tokens.n, byte_ids, unknown)
    merger.reserve_pairs(tokens.n)
    merger.expect_merges()
    return merger


@cython.cfunc
@cython.exceptval(-1)
def _add_all_splits(merger: Merger, table: PretokenCache, tokens: Tokens, shorter: cython.pointer(uint32_t)) -> cython.int:
    """Add each split of each token into two tokens to the pair table."""
    right: uint32_t[4]
    for id in range(tokens.n):
        if not _is_merged(tokens, id):
            continue
        start = tokens.starts[id]
        size: cython.size_t = tokens.size[id]
        left = shorter[id]
        while left != NO_ID:
            cut: cython.size_t = tokens.size[left]
            if table.find(start + cut, size - cut, start + size, right) != 0:
                if not merger.add_pair(left, right[0], id):
                    raise MemoryError
                _note(merger, tokens, left, right[0], id, id)
            left = shorter[left]
    return 0


@cython.cfunc
@cython.exceptval(check=True)
def _is_merged(tokens: Tokens, id: uint32_t) -> cython.bint:
    """Whether a token has several bytes. Checks for signals."""
    if id & CHECK == 0:
        PyErr_CheckSignals()
    return tokens.starts[id] != cython.NULL and tokens.size[id] > 1


@cython.cfunc
@cython.exceptval(check=True)
def _build_ranks(merger: Merger, table: PretokenCache, tokens: Tokens, shorter: cython.pointer(uint32_t)) -> cython.bint:
    """Build the tokens in order of id. False if the vocabulary is not rank-ordered."""
    origins: Origins = Origins(merger)
    id: uint32_t
    right: uint32_t[4]
    passed: list = []
    for id in range(tokens.n):
        if not _is_merged(tokens, id):
            continue
        left = _left_part(origins, table, tokens, shorter, id, right)
        if left == NO_ID:
            passed.append(id)
        elif not origins.make(left, right[0], id, id):
            raise MemoryError
        else:
            _note(merger, tokens, left, right[0], id, id)
    for id in passed:
        if _left_part(origins, table, tokens, shorter, id, right) != NO_ID:
            return False
    merger.built = origins.built()
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _left_part(origins: Origins, table: PretokenCache, tokens: Tokens, shorter: cython.pointer(uint32_t), id: uint32_t,
               right: cython.pointer(uint32_t)) -> uint32_t:
    """The longest left part of a token such that it and the rest, right[0], are compatible tokens; or NO_ID."""
    start: cython.pointer(cython.const[uint8_t]) = tokens.starts[id]
    size: cython.size_t = tokens.size[id]
    left: uint32_t = shorter[id]
    while left != NO_ID:
        cut: cython.size_t = tokens.size[left]
        if table.find(start + cut, size - cut, start + size, right) != 0 and origins.compatible(left, right[0]):
            return left
        left = shorter[left]
    return NO_ID


def list_merger(packed: tuple, events: cython.const[int32_t][::1], byte_ids, characters, unknown,
                scores: cython.bint = False, fallback: cython.bint = False, fuse: cython.bint = False, dropped: str = "", scanner: Scanner | None = None,
                last: tuple | None = None) -> Merger:
    """The merger of the orders "merges" and "scores": the pairs of `events`, which holds left id, right id and new id of each merge.
    The first two spell the third.

    packed: the tokens, as `pack_tokens` returns them. scores: the order is "scores". fallback, fuse: see Merger.
    dropped: the characters that no id stands for. scanner: finds the parts of a pretoken (DividedMerger).
    last: byte_ids and characters for the end of a pretoken (SuffixMerger)."""
    tokens: Tokens = Tokens(*packed)
    settings = (tokens.n, byte_ids, unknown, characters, fallback, fuse)
    merger: Merger = _merger_of(settings, scanner, last)
    if dropped:
        bits: bytearray = bytearray(DROPPED_POINTS // 8)
        for character in dropped:
            bits[ord(character) >> 3] |= 1 << (ord(character) & 7)
        merger.dropped_bits = bytes(bits)
        merger.drops = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(merger.dropped_bits))
    merger.reserve_pairs(min(events.shape[0] // 3, tokens.n))
    if last is None and (characters is not None or _are_bytes(tokens, byte_ids)):
        merger.expect_merges()
    _add_listed(merger, tokens, events, scores, None if scores or last is not None else Origins(merger))
    if scanner is not None:
        merger.built = None  # the parts of a token merge on their own
    return merger


@cython.cfunc
def _merger_of(settings: tuple, scanner: Scanner | None, last: tuple | None) -> Merger:
    if last is not None:
        byte_ids, characters = last
        suffixed: SuffixMerger = SuffixMerger(*settings)
        suffixed.last = Merger(settings[0], byte_ids, None, characters)
        suffixed.complete = suffixed.complete and suffixed.last.complete
        return suffixed
    if scanner is None:
        return Merger(*settings)
    merger: DividedMerger = DividedMerger(*settings)
    merger.scanner = scanner
    for byte in range(256):
        spelt: bytes = CHARACTERS[byte].encode()
        merger.spelt[2 * byte] = spelt[0]
        merger.spelt[2 * byte + 1] = spelt[1] if len(spelt) > 1 else 0
    return merger


@cython.cfunc
def _are_bytes(tokens: Tokens, byte_ids: list) -> cython.bint:
    """Whether the token of each byte is that byte."""
    byte: cython.int
    for byte in range(256):
        if byte_ids[byte] is not None:
            id: uint32_t = byte_ids[byte]
            if tokens.starts[id] == cython.NULL or tokens.size[id] != 1 or tokens.starts[id][0] != byte:
                return False
    return True


@cython.cfunc
@cython.exceptval(-1)
def _add_listed(merger: Merger, tokens: Tokens, events: cython.const[int32_t][::1], scores: cython.bint,
                origins: Origins | None) -> cython.int:
    """Add the pairs of a list. origins: builds tokens, so that pairs that never occur are left out; None to add all."""
    rank: uint32_t = 0
    n: uint32_t = events.shape[0] // 3
    passed: bytearray = bytearray(n)
    is_passed = cython.cast(cython.pointer(uint8_t), PyByteArray_AS_STRING(passed))
    late: set = set()  # the texts of what late merges make
    for row in range(n):
        if row & CHECK == 0:
            PyErr_CheckSignals()
        left: uint32_t = events[3 * row]
        right: uint32_t = events[3 * row + 1]
        id: uint32_t = events[3 * row + 2]
        rank = _rank_of(events, row, rank, scores)
        if origins is None:
            if not merger.add_pair(left, right, rank):  # of a pair listed twice, the first rank counts
                raise MemoryError
        elif origins.of[left].size == 0 or origins.of[right].size == 0:
            is_passed[row] = UNBUILT
        elif origins.of[id].size > 0 or not origins.compatible(left, right):
            is_passed[row] = PASSED
        elif not origins.make(left, right, rank, id):
            raise MemoryError
    for row in range(n):
        if is_passed[row] == UNBUILT:
            is_passed[row] = PASSED
            if origins.compatible(events[3 * row], events[3 * row + 1]):
                is_passed[row] = LATE
                id = events[3 * row + 2]
                if tokens.starts[id] != cython.NULL:
                    late.add(cython.cast(cython.p_char, tokens.starts[id])[:tokens.size[id]])
    if late:
        _add_late(merger, tokens.n, events, is_passed)
    if origins is not None:
        merger.built = origins.built()
        merger.late = tuple(late)
    _number_ranks(merger, tokens, events, scores, is_passed)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def _number_ranks(merger: Merger, tokens: Tokens, events: cython.const[int32_t][::1], scores: cython.bint,
                  passed: cython.pointer(uint8_t)) -> cython.int:
    """Give the merges of a list their final ranks, and note them. passed: by row."""
    row: uint32_t
    rank: uint32_t = 0
    n: uint32_t = events.shape[0] // 3
    ranks: cython.pointer(uint32_t) = cython.NULL
    made = cython.cast(cython.pointer(uint32_t), new_array(n, 4))
    try:
        for row in range(n):
            rank = _rank_of(events, row, rank, scores)
            made[row] = events[3 * row + 2] if rank == row and passed[row] != PASSED else NO_ID
        ranks = merger.number_ranks(made, n)
        for row in range(n if merger.byte_pairs != cython.NULL else 0):
            rank = _rank_of(events, row, rank, scores)
            if passed[row] != PASSED:
                _note(merger, tokens, events[3 * row], events[3 * row + 1], ranks[rank + 1] - 1, events[3 * row + 2])
    finally:
        free(made)
        free(ranks)
    return 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _rank_of(events: cython.const[int32_t][::1], row: uint32_t, before: uint32_t, scores: cython.bint) -> uint32_t:
    """The rank of a merge while the list is read: its row. All merges to a token of a score have one rank."""
    return before if scores and row > 0 and events[3 * row - 1] == events[3 * row + 2] else row


@cython.cfunc
@cython.exceptval(-1)
def _add_late(merger: Merger, n_ids: uint32_t, events: cython.const[int32_t][::1], passed: cython.pointer(uint8_t)) -> cython.int:
    """Add the late merges of a list, and all with a disordered part. passed: by row."""
    n: uint32_t = events.shape[0] // 3
    disordered: bytearray = bytearray(n_ids)
    is_disordered = cython.cast(cython.pointer(uint8_t), PyByteArray_AS_STRING(disordered))
    more: cython.bint = True
    while more:
        PyErr_CheckSignals()
        more = False
        for row in range(n):
            part: cython.bint = is_disordered[events[3 * row]] or is_disordered[events[3 * row + 1]]
            if passed[row] == PASSED and part:
                passed[row] = LATE
            if (passed[row] == LATE or part) and not is_disordered[events[3 * row + 2]]:
                is_disordered[events[3 * row + 2]] = more = True
    for row in range(n):
        if passed[row] == LATE and not merger.add_pair(events[3 * row], events[3 * row + 1], row):
            raise MemoryError
    return 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _note(merger: Merger, tokens: Tokens, left: uint32_t, right: uint32_t, rank: uint32_t, id: uint32_t) -> cython.void:
    if 0 < min(tokens.size[left], tokens.size[right]) <= 3:
        merger.note_merge(left, tokens.starts[left], tokens.size[left], right, tokens.starts[right], tokens.size[right], rank, id)


@cython.cclass
class DividedMerger(Merger):
    """Merges each part of a pretoken on its own. A scanner finds them in its characters: one of the byte alphabet for each byte."""

    scanner: Scanner
    spelt: uint8_t[512]  # the character of each byte in UTF-8: two bytes, or one byte and a zero

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge(self, pretoken: cython.pointer(cython.const[uint8_t]), n: cython.size_t, out: cython.pointer(uint32_t),
              work: cython.pointer(Workspace)) -> cython.Py_ssize_t:
        i: cython.size_t
        j: cython.Py_ssize_t
        size: cython.size_t = 0
        at: cython.size_t = 0
        done: cython.size_t = 0  # bytes of the pretoken
        count: cython.Py_ssize_t = 0
        if self.drops != cython.NULL and self.dropped(pretoken, n) > 0:
            return 0
        ends = cython.cast(cython.pointer(cython.size_t), malloc(n * (cython.sizeof(cython.size_t) + 2)))
        if ends == cython.NULL:
            return NO_MEMORY
        text = cython.cast(cython.pointer(uint8_t), ends + n)
        for i in range(n):
            text[size] = self.spelt[2 * pretoken[i]]
            text[size + 1] = self.spelt[2 * pretoken[i] + 1]
            size += 1 if text[size + 1] == 0 else 2
        while at < size and count >= 0:
            m: cython.Py_ssize_t = self.scanner.scan(text, at, size, ends, n)
            for j in range(m):
                start: cython.size_t = done
                while at < ends[j]:
                    at += 1 if text[at] < 0x80 else 2
                    done += 1
                part: cython.Py_ssize_t = Merger.merge(self, pretoken + start, done - start, out + count, work)
                if part < 0:
                    count = part
                    break
                count += part
        free(ends)
        return count


@cython.cclass
class SuffixMerger(Merger):
    """Merges pretokens whose last byte or character has a token of its own, such as `t</w>` of CLIP: the id that `last` has for it.

    No pair of bytes is certain, since the next byte may be the last."""

    last: Merger

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def first_merges(self, pretoken: cython.pointer(cython.const[uint8_t]), n: cython.size_t,
                     ids: cython.pointer(uint32_t)) -> cython.Py_ssize_t:
        start: cython.size_t = n - 1
        while self.characters != cython.NULL and start > 0 and pretoken[start] & 0xC0 == 0x80:
            start -= 1
        count: cython.Py_ssize_t = self.parts(pretoken, start, ids)
        return count + self.last.parts(pretoken + start, n - start, ids + count)


@cython.cclass
class EventMerger(Merger):
    """Merges the parts of a pretoken by replaying merges and removals in training order (Picky BPE)."""

    table: EventTable

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge_parts(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t,
                    work: cython.pointer(Workspace)) -> cython.Py_ssize_t:
        if n <= SHORT_REPLAY:
            n = self.table.replay_short(ids, n, cython.NULL, 0)
        elif not reserve(work, replay_memory(n)):
            return NO_MEMORY
        else:
            n = self.table.replay_long(ids, n, work.memory, cython.NULL, 0)
        return n if n >= 0 else SIGNALLED


def event_merger(vocabulary, byte_ids, characters) -> Merger:
    """The merger of a vocabulary of the order "events"."""
    merger: EventMerger = EventMerger(len(vocabulary.tokens), byte_ids, vocabulary.unknown, characters)
    merger.table = event_table(vocabulary)
    return merger
