# cython: language_level=3
"""The batch kernel: many texts at once, by threads that never wait for the GIL.

The threads take jobs in turn, each as many of the next texts as make up a stretch of text. All read the str objects
themselves, which do not change while the batch holds them. One thread, the caller's, also puts the results together, in
order, for which it has the GIL where they are lists; while there is nothing to put it takes jobs like the others.
"""

from array import array

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.object import PyObject
from cython.cimports.libc.stdint import int64_t, uint8_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.counting._pages import tm_pages_free, tm_prefetch
from cython.cimports.tokenmill.tokenizer.encoding._encode_cy import Encoder, State, tm_items
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import Finder
from cython.cimports.tokenmill.tokenizer._gate import (
    tm_gate,
    tm_gate_enter,
    tm_gate_free,
    tm_gate_leave,
    tm_gate_make,
    tm_gate_tell,
    tm_gate_wait,
)
from cython.cimports.tokenmill.tokenizer.encoding._ids_cy import Block, Ids
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_MEMORY, SIGNALLED, signalled, tm_raise_pending
from cython.cimports.tokenmill.tokenizer._text import tm_narrow, tm_units

# Characters of a job: a millisecond, so that threads end together, and its ids stay in the cache of the processor.
JOB = cython.declare(cython.size_t, 1 << 18)
JOB_TEXTS = cython.declare(cython.Py_ssize_t, 1 << 14)
LITTLE = cython.declare(cython.size_t, 1 << 15)  # characters: with less, a thread takes longer to start than to work
AHEAD = cython.declare(cython.Py_ssize_t, 16)  # how far ahead the str objects are fetched
SLICE = cython.declare(cython.size_t, 4 << 20)  # bytes of a text after which a thread looks whether it is to stop
KEPT = cython.declare(cython.size_t, 1 << 20)  # an array of up to so many ids is kept for the next batch
NOT_HERE = cython.declare(cython.Py_ssize_t, -9)  # what becomes of a text must be said in Python

Job = cython.struct(
    first=cython.Py_ssize_t,  # texts[first:last]
    last=cython.Py_ssize_t,
    code=cython.Py_ssize_t,  # negative where not all texts could be encoded
    done=cython.bint,
    ids=Block,
)


@cython.cclass
class Batch:
    """Texts to be encoded, once, by `work` in some threads and `lists` or `flat` in one.

    texts: str or bytes.
    refused: finds strings that must not be there. finder: finds added tokens.
    otherwise: gives the ids of a text that the kernel does not take, as a list, or raises what is wrong with it.
    threads: how many may work, at most; afterwards how many are worth it.
    """

    encoder: Encoder
    texts: tuple
    item: cython.pointer(cython.pointer(PyObject))
    n: cython.Py_ssize_t
    refused: Finder
    finder: Finder
    otherwise: object
    threads = cython.declare(cython.Py_ssize_t, visibility="readonly")
    most: cython.size_t
    ends: bytearray
    end: cython.pointer(int64_t)  # end[i + 1]: where the ids of text i end, counted from the first of its job

    gate: tm_gate  # for all that follows
    jobs: cython.pointer(Job)  # a ring: job k is jobs[k % room]
    room: cython.Py_ssize_t
    taken: cython.Py_ssize_t  # jobs
    collected: cython.Py_ssize_t
    next: cython.Py_ssize_t  # the first text that is in no job
    stopped: cython.bint

    def __cinit__(self, encoder: Encoder, texts: tuple, refused: Finder | None, finder: Finder | None, otherwise,
                  threads: cython.Py_ssize_t):
        tm_gate_make(cython.address(self.gate))
        self.encoder = encoder
        self.texts = texts
        self.item = tm_items(texts)
        self.n = len(texts)
        self.refused = refused
        self.finder = finder
        self.otherwise = otherwise
        self.ends = PyByteArray_FromStringAndSize(cython.NULL, (self.n + 1) * 8)
        self.end = cython.cast(cython.pointer(int64_t), PyByteArray_AS_STRING(self.ends))
        self.end[0] = 0
        self._divide(threads)
        self.jobs = cython.cast(cython.pointer(Job), calloc(self.room, cython.sizeof(Job)))
        if self.jobs == cython.NULL:
            raise MemoryError
        k: cython.Py_ssize_t
        for k in range(self.room):
            if encoder.read:
                ids: Ids = encoder.read.pop()
                ids.swap(cython.address(self.jobs[k].ids))

    def __dealloc__(self):
        k: cython.Py_ssize_t
        if self.jobs != cython.NULL:
            for k in range(self.room):
                tm_pages_free(self.jobs[k].ids.data, self.jobs[k].ids.mapped)
        free(self.jobs)
        tm_gate_free(cython.address(self.gate))

    @cython.cfunc
    def _divide(self, threads: cython.Py_ssize_t) -> cython.void:
        """How many threads to use, and how much text to a job: of little text each thread gets some."""
        i: cython.Py_ssize_t
        total: cython.size_t = 0
        enough: cython.size_t = JOB * 4 * threads
        for i in range(self.n):
            if i + AHEAD < self.n:
                tm_prefetch(self.item[i + AHEAD])
            total += _length(self.item[i])
            if total >= enough:
                break
        self.threads = max(1, min(threads, self.n, cython.cast(cython.Py_ssize_t, total // LITTLE)))
        self.most = JOB if total >= enough else total // (4 * self.threads) + 1
        self.room = 4 * self.threads if self.threads > 1 else 1

    def close(self) -> None:
        """Keep the arrays of ids for the next batch. When no thread works any more."""
        k: cython.Py_ssize_t
        ids: Ids
        for k in range(self.room):
            if 0 < self.jobs[k].ids.room <= KEPT:
                ids = self.encoder.new_ids()
                ids.swap(cython.address(self.jobs[k].ids))
                self.encoder.read.append(ids)

    def stop(self) -> None:
        """Let all threads end soon, whatever is left to do."""
        with cython.nogil:
            tm_gate_enter(cython.address(self.gate))
            self.stopped = True
            tm_gate_tell(cython.address(self.gate))
            tm_gate_leave(cython.address(self.gate))

    # ------------------------------------------------------------------ jobs

    def work(self) -> None:
        """Encode until there is nothing left to take."""
        job: cython.pointer(Job)
        state: State = self.encoder.take()
        try:
            with cython.nogil:
                tm_gate_enter(cython.address(self.gate))
                while self.next < self.n and not self.stopped:
                    job = self._begin()
                    if job == cython.NULL:
                        tm_gate_wait(cython.address(self.gate))
                    else:
                        self._do(job, state)
                tm_gate_leave(cython.address(self.gate))
        finally:
            self.encoder.give(state)

    @cython.cfunc
    @cython.exceptval(check=True)
    def _collect(self, state: State) -> cython.pointer(Job):
        """The next job in order when it is done, NULL after the last; encodes meanwhile. Goes with _collected."""
        job: cython.pointer(Job)
        mine: cython.pointer(Job)
        while True:
            PyErr_CheckSignals()
            mine = cython.NULL
            with cython.nogil:
                tm_gate_enter(cython.address(self.gate))
                job = self.jobs + self.collected % self.room
                if not (self.collected < self.taken and job.done):
                    mine = self._begin()
                    if mine != cython.NULL:
                        self._do(mine, state)
                    elif self.collected < self.taken:
                        tm_gate_wait(cython.address(self.gate))
                    else:
                        job = cython.NULL
                tm_gate_leave(cython.address(self.gate))
            if mine != cython.NULL and mine.code == SIGNALLED:
                tm_raise_pending()
            if job == cython.NULL or job.done:
                return job

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _collected(self, job: cython.pointer(Job)) -> cython.void:
        tm_gate_enter(cython.address(self.gate))
        job.done = False
        self.collected += 1
        tm_gate_tell(cython.address(self.gate))
        tm_gate_leave(cython.address(self.gate))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _begin(self) -> cython.pointer(Job):
        """Take the next texts; NULL where there are none, or no room for their ids. Whoever calls is within the gate."""
        job: cython.pointer(Job) = self.jobs + self.taken % self.room
        size: cython.size_t = 0
        if self.next == self.n or self.taken - self.collected == self.room:
            return cython.NULL
        job.first = self.next
        while self.next < self.n and size < self.most and self.next - job.first < JOB_TEXTS:
            if self.next + AHEAD < self.n:
                tm_prefetch(self.item[self.next + AHEAD])
            size += _length(self.item[self.next])
            self.next += 1
        job.last = self.next
        self.taken += 1
        return job

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _do(self, job: cython.pointer(Job), state: State) -> cython.void:
        """Encode the texts of a job. Whoever calls is within the gate, and is again afterwards."""
        i: cython.Py_ssize_t
        tm_gate_leave(cython.address(self.gate))
        state.ids.used = 0
        job.code = 0
        for i in range(job.first, job.last):
            job.code = self._encode(state, self.item[i])
            if job.code < 0:
                break
            self.end[i + 1] = state.ids.used
        state.ids.swap(cython.address(job.ids))
        tm_gate_enter(cython.address(self.gate))
        job.done = True
        tm_gate_tell(cython.address(self.gate))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _encode(self, state: State, item: cython.pointer(PyObject)) -> cython.Py_ssize_t:
        """Put the ids of a text behind those in state.ids."""
        data: cython.p_void = cython.NULL
        size: cython.size_t = 0
        text: cython.pointer(cython.const[uint8_t])
        code: cython.Py_ssize_t
        width: cython.int = tm_units(item, cython.address(data), cython.address(size))
        if width < 0:
            return NOT_HERE
        if width > 0:
            if not self.encoder.reserve_text(state, size, width):
                return NO_MEMORY
            code = tm_narrow(data, size, width, state.text)
            if code < 0:
                return NOT_HERE
            size = code
            data = state.text
        text = cython.cast(cython.pointer(cython.const[uint8_t]), data)
        if self.refused is not None and self.refused.search(text, 0, size, cython.address(state.which)) < size:
            return NOT_HERE
        state.at = 0
        while state.at < size:
            if self.stopped:
                return NOT_HERE
            code = self.encoder.sections(state, text, state.at, size, state.at + SLICE, self.finder)
            if code < 0:
                return code
            if state.at < size and signalled():
                return SIGNALLED
        return 0

    # ------------------------------------------------------------------ results

    def lists(self) -> list:
        """The ids of each text as a list."""
        i: cython.Py_ssize_t
        start: cython.Py_ssize_t
        job: cython.pointer(Job)
        lists: list = [[]] * self.n
        state: State = self.encoder.take()
        try:
            while True:
                job = self._collect(state)
                if job == cython.NULL:
                    return lists
                start = 0
                for i in range(job.first, job.last):
                    if job.code < 0:
                        lists[i] = self.otherwise(self.texts[i])
                    else:
                        lists[i] = self.encoder.list_of(job.ids.data + start, self.end[i + 1] - start)
                        start = self.end[i + 1]
                self._collected(job)
        finally:
            self.encoder.give(state)

    def flat(self) -> tuple:
        """The ids of all texts in one array; and n + 1 64-bit integers, at which those of each text begin and end."""
        i: cython.Py_ssize_t
        base: cython.Py_ssize_t
        rate: cython.double
        likely: cython.size_t
        job: cython.pointer(Job)
        whole: Ids = self.encoder.new_ids()
        state: State = self.encoder.take()
        try:
            while True:
                job = self._collect(state)
                if job == cython.NULL:
                    return whole, self.ends
                if job.code < 0:
                    for i in range(job.first, job.last):
                        whole.extend(array("I", self.otherwise(self.texts[i])), 0)
                        self.end[i + 1] = whole.used
                else:
                    with cython.nogil:
                        base = whole.used
                        for i in range(job.first, job.last):
                            self.end[i + 1] += base
                        # As many ids a text as so far, and an eighth more: what is not touched costs nothing.
                        rate = cython.cast(cython.double, base + job.ids.used) / job.last * 1.125
                        likely = cython.cast(cython.size_t, rate * (self.n - job.first))
                        if whole.reserve(job.ids.used, likely):
                            memcpy(whole.data + base, job.ids.data, 4 * job.ids.used)
                            whole.used += job.ids.used
                            base = -1
                    if base >= 0:
                        raise MemoryError
                self._collected(job)
        finally:
            self.encoder.give(state)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _length(item: cython.pointer(PyObject)) -> cython.size_t:
    """How long a str or bytes object is; 1 for what is none."""
    data: cython.p_void
    size: cython.size_t = 1
    tm_units(item, cython.address(data), cython.address(size))
    return size
