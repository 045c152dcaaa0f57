# cython: language_level=3
"""The merger of event order: merges and removals replayed in training order (Picky BPE)."""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.tokenmill.events._replay_cy import SHORT_REPLAY, EventTable, replay_memory
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_MEMORY, SIGNALLED, Merger, Workspace, reserve

from ...events import event_table


@cython.cclass
class EventMerger(Merger):
    """Merges the parts of a pretoken by replaying the events of its table."""

    table: EventTable

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge_parts(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t,
                    pretoken: cython.pointer(cython.const[uint8_t]), work: cython.pointer(Workspace)) -> cython.Py_ssize_t:
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
