"""The batch kernel: many texts at once, on threads that never wait for the GIL.

The threads take jobs in turn: neighbouring texts of about the same total length. They read the str objects themselves, which do not
change while the batch has references to them. The caller's thread also collects the results in order, with the GIL if they become
lists. While there is nothing to collect it takes jobs like the others.
"""

from array import array
from time import sleep

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.object import PyObject
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.kernels._signals import raise_signalled, signalled
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_encode
from cython.cimports.tokenmill.tokenizer._objects import tm_items, tm_text_units
from cython.cimports.tokenmill.tokenizer.encoding._encode_cy import Encoder
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import Finder
from cython.cimports.tokenmill.tokenizer.encoding._ids_cy import Ids
from cython.cimports.tokenmill.tokenizer.encoding._sections_cy import Sections
from cython.cimports.tokenmill.tokenizer.encoding._stages_cy import SLICE, Documents, State
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_MEMORY, SIGNALLED

# Characters of a job: about a millisecond of work, so that the threads end together.
JOB = cython.declare(cython.size_t, 1 << 18)
JOB_TEXTS = cython.declare(cython.Py_ssize_t, 1 << 14)
MIN_WORK = cython.declare(cython.size_t, 1 << 15)  # characters: with fewer, a thread takes longer to start than to work
PAUSE = cython.declare(cython.double, 1e-3)  # seconds between two looks of a thread that waits

Job = cython.struct(
    first=cython.Py_ssize_t,  # texts[first:last]
    last=cython.Py_ssize_t,
    code=cython.Py_ssize_t,  # negative if the whole job failed; then all its texts need the fallback
    done=cython.bint,
    ids=cython.pointer(uint32_t),
    used=cython.size_t,
)


@cython.cclass
class Batch:
    """Texts to encode, once, by `work` in some threads and `lists` or `flat` in one.

    texts: str or bytes.
    refused, sections: as for Encoder.encode.
    fallback: returns the list of ids of a text that the kernel cannot encode, or raises an exception.
    threads: the highest number of threads; afterwards the number that the texts are worth.
    divided: the texts are pieces of one, divided at certain cuts.
    """

    encoder: Encoder
    texts: tuple
    item: cython.pointer(cython.pointer(PyObject))
    n: cython.Py_ssize_t
    refused: Finder
    sections: Sections
    fallback: object
    threads = cython.declare(cython.Py_ssize_t, visibility="readonly")
    divided: cython.bint
    most: cython.size_t
    ends: bytearray
    # end[i + 1]: the end of the ids of text i, counted from the first of its job; -1 for a text that needs the fallback
    end: cython.pointer(int64_t)
    text_ends: bytearray
    text_end: cython.pointer(uint64_t)  # the end of text i in the UTF-8 of its job

    lock: cython.pythread_type_lock  # for the attributes below
    jobs: cython.pointer(Job)  # a ring: job k is jobs[k % room]
    room: cython.Py_ssize_t
    taken: cython.Py_ssize_t  # jobs
    collected: cython.Py_ssize_t
    next: cython.Py_ssize_t  # the first text that is in no job
    stopped: cython.bint

    def __cinit__(self, encoder: Encoder, texts: tuple, refused: Finder | None, sections: Sections | None, fallback,
                  threads: cython.Py_ssize_t, divided: cython.bint = False):
        self.encoder = encoder
        self.texts = texts
        self.item = tm_items(texts)
        self.n = len(texts)
        self.refused = refused
        self.sections = sections
        self.fallback = fallback
        self.divided = divided
        self.ends = PyByteArray_FromStringAndSize(cython.NULL, (self.n + 1) * 8)
        self.end = cython.cast(cython.pointer(int64_t), PyByteArray_AS_STRING(self.ends))
        self.end[0] = 0
        self.text_ends = PyByteArray_FromStringAndSize(cython.NULL, self.n * 8)
        self.text_end = cython.cast(cython.pointer(uint64_t), PyByteArray_AS_STRING(self.text_ends))
        self._divide(threads)
        self.jobs = cython.cast(cython.pointer(Job), calloc(self.room, cython.sizeof(Job)))
        if self.jobs == cython.NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.jobs != cython.NULL:
            for k in range(self.room):
                free(self.jobs[k].ids)
        free(self.jobs)

    @cython.cfunc
    def _divide(self, threads: cython.Py_ssize_t) -> cython.void:
        """Choose the number of threads and the size of a job, so that each thread gets some of a short text."""
        total: cython.size_t = 0
        enough: cython.size_t = JOB * 4 * threads
        for i in range(self.n):
            total += self._length(i)
            if total >= enough:
                break
        self.threads = max(1, min(threads, self.n, cython.cast(cython.Py_ssize_t, total // MIN_WORK)))
        self.most = 1 if self.divided else JOB if total >= enough else total // (4 * self.threads) + 1
        self.room = 4 * self.threads if self.threads > 1 else 1

    def stop(self) -> None:
        """Make all threads end soon, with texts left."""
        self.stopped = True

    # ------------------------------------------------------------------ jobs

    def work(self) -> None:
        """Encode until no text is left."""
        state: State = self.encoder.take()
        try:
            with cython.nogil:
                while self.next < self.n and not self.stopped:
                    with self.lock:
                        job = self._begin()
                    if job != cython.NULL:
                        self._do(job, state)
                    else:
                        with cython.gil:
                            sleep(PAUSE)
        finally:
            self.encoder.give(state)

    @cython.cfunc
    @cython.exceptval(check=True)
    def _collect(self, state: State) -> cython.pointer(Job):
        """The next job in order when it is done, NULL after the last; encodes meanwhile. To be followed by _collected."""
        job: cython.pointer(Job) = self.jobs + self.collected % self.room
        pause: cython.double = 0
        while True:
            PyErr_CheckSignals()
            with self.lock:
                done = job.done
                mine: cython.pointer(Job) = cython.NULL if done else self._begin()
            if mine != cython.NULL:
                with cython.nogil:
                    self._do(mine, state)
                if mine.code == SIGNALLED:
                    raise_signalled()
            elif done:
                if job.code == NO_MEMORY:
                    raise MemoryError
                return job
            elif self.collected == self.taken:
                return cython.NULL
            else:  # another thread does the job
                sleep(pause)
                pause = min(2 * pause + PAUSE / 100, PAUSE)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _collected(self, job: cython.pointer(Job)) -> cython.void:
        with self.lock:
            free(job.ids)
            job.ids = cython.NULL
            job.done = False
            self.collected += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _begin(self) -> cython.pointer(Job):
        """Take the next texts; NULL if there are none, or no room for their ids. The caller holds the lock."""
        job: cython.pointer(Job) = self.jobs + self.taken % self.room
        size: cython.size_t = 0
        if self.next == self.n or self.taken - self.collected == self.room:
            return cython.NULL
        job.first = self.next
        while self.next < self.n and size < self.most and self.next - job.first < JOB_TEXTS:
            size += self._length(self.next)
            if size > 2 * self.most and self.next > job.first:
                break  # a long text is a job of its own, and is not copied
            self.next += 1
        job.last = self.next
        self.taken += 1
        return job

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _do(self, job: cython.pointer(Job), state: State) -> cython.void:
        """Encode the texts of a job."""
        work: Documents
        state.ids.used = 0
        state.goes_on = self.divided and job.first > 0
        memset(cython.address(work), 0, cython.sizeof(Documents))
        work.n = job.last - job.first
        work.ends = self.text_end + job.first
        work.id_ends = self.end + job.first + 1
        work.text = self._text(job, state)
        job.code = 0 if work.text != cython.NULL else NO_MEMORY
        while job.code == 0 and work.document < work.n:
            job.code = self.encoder.documents(state, cython.address(work), work.at + SLICE, self.sections)
            if job.code == 0 and work.document < work.n and (self.stopped or signalled()):
                job.code = SIGNALLED
        state.goes_on = False
        for i in range(job.first, job.last):
            if self._length(i) > 0 and self.text_end[i] == (self.text_end[i - 1] if i > job.first else 0):
                self.end[i + 1] = -1  # `_text` has left it out
        job.used = state.ids.used
        ids = cython.cast(cython.pointer(uint32_t), malloc(4 * job.used + 1))
        if ids == cython.NULL:
            job.code = NO_MEMORY
        elif job.used > 0:
            memcpy(ids, state.ids.data, 4 * job.used)
        job.ids = ids
        with self.lock:
            job.done = True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _length(self, i: cython.Py_ssize_t) -> cython.size_t:
        """The characters or bytes of text i; 1 for an object that is neither str nor bytes."""
        data: cython.p_void = cython.NULL
        size: cython.size_t = 1
        tm_text_units(self.item[i], cython.address(data), cython.address(size))
        return size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _text(self, job: cython.pointer(Job), state: State) -> cython.pointer(cython.const[uint8_t]):
        """The UTF-8 of all texts of a job, without those that must be encoded in Python. Sets their ends. NULL without memory."""
        data: cython.p_void = cython.NULL
        n: cython.size_t = 0
        room: cython.size_t = 0
        at: cython.size_t = 0
        width: cython.int = 0
        for i in range(job.first, job.last):
            width = tm_text_units(self.item[i], cython.address(data), cython.address(n))
            room += n * (4 if width == 4 else width + 1)
        alone: cython.bint = job.last - job.first == 1 and width == 0  # it is not copied
        if not alone and not self.encoder.reserve_text(state, room, 0):
            return cython.NULL
        text = cython.cast(cython.pointer(cython.const[uint8_t]), data) if alone else state.text
        for i in range(job.first, job.last):
            size: cython.Py_ssize_t = -1
            width = tm_text_units(self.item[i], cython.address(data), cython.address(n))
            if width > 0:
                size = tm_utf8_encode(data, n, width, state.text + at)
            elif width == 0:
                size = n
                if not alone:
                    memcpy(state.text + at, data, n)
            if size > 0 and self.refused is not None and self.refused.has_any(text + at, size):
                size = -1
            at += max(size, 0)
            self.text_end[i] = at
        return text

    # ------------------------------------------------------------------ results

    def lists(self) -> list:
        """The ids of each text as a list."""
        return self._results(None)

    def flat(self) -> tuple:
        """The ids of all texts in one array, and n + 1 64-bit offsets into it."""
        whole: Ids = Ids()
        self._results(whole)
        return whole, self.ends

    @cython.cfunc
    def _results(self, whole: Ids | None) -> list:
        """Take the ids of all jobs in order: append them to `whole`, or make lists of them."""
        lists: list = [[]] * self.n if whole is None else []
        state: State = self.encoder.take()
        try:
            while True:
                job = self._collect(state)
                if job == cython.NULL:
                    return lists
                start: cython.size_t = 0
                # The array grows to the size that the texts so far suggest, and an eighth more.
                expected = 0 if whole is None else 1.125 * (whole.used + job.used) / job.last * self.n
                for i in range(job.first, job.last):
                    if job.code < 0 or self.end[i + 1] < 0:
                        ids = self.fallback(self.texts[i])
                        if whole is None:
                            lists[i] = ids
                        else:
                            whole.extend(array("I", ids))
                    else:
                        n: cython.size_t = self.end[i + 1] - start
                        if whole is None:
                            lists[i] = self.encoder.list_of(job.ids + start, n)
                        else:
                            if not whole.reserve(n, cython.cast(cython.size_t, expected)):
                                raise MemoryError
                            memcpy(whole.data + whole.used, job.ids + start, 4 * n)
                            whole.used += n
                        start += n
                    if whole is not None:
                        self.end[i + 1] = whole.used
                self._collected(job)
        finally:
            self.encoder.give(state)
