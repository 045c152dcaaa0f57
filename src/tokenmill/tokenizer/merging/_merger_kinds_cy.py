"""Mergers of vocabularies that need more than the ranks of pairs: steps after ByteLevel, a suffix of words, the events of Picky BPE."""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.tokenmill.events._replay_cy import SHORT_REPLAY, EventTable, replay_memory
from cython.cimports.tokenmill.split._scan_cy import Scanner
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_MEMORY, SIGNALLED, Merger, Workspace, reserve

from ...events import event_table
from ...formats.byte_alphabet import CHARACTERS


@cython.cclass
class DividedMerger(Merger):
    """Splits a pretoken again, and merges each of its matches on its own. The scanner reads one character of the byte alphabet for
    each byte."""

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
                added: cython.Py_ssize_t = Merger.merge(self, pretoken + start, done - start, out + count, work)
                if added < 0:
                    count = added
                    break
                count += added
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
        count: cython.Py_ssize_t = self.initial_ids(pretoken, start, ids)
        return count + self.last.initial_ids(pretoken + start, n - start, ids + count)


@cython.cclass
class EventMerger(Merger):
    """Merges ids by replaying merges and removals in training order (Picky BPE)."""

    table: EventTable

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge_ids(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t,
                  work: cython.pointer(Workspace)) -> cython.Py_ssize_t:
        if n <= SHORT_REPLAY:
            n = self.table.replay_short(ids, n, cython.NULL, 0)
        elif not reserve(work, replay_memory(n)):
            return NO_MEMORY
        else:
            n = self.table.replay_long(ids, n, work.memory, cython.NULL, 0)
        return n if n >= 0 else SIGNALLED


def new_merger(settings: tuple, scanner: Scanner | None, last: tuple | None) -> Merger:
    """A merger without pairs. settings: the arguments of Merger. scanner, last: see list_merger."""
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


def event_merger(vocabulary, byte_ids, characters) -> Merger:
    """The merger of a vocabulary of the order "events"."""
    merger: EventMerger = EventMerger(len(vocabulary.tokens), byte_ids, vocabulary.unknown, characters)
    merger.table = event_table(vocabulary)
    return merger
