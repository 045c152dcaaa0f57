# cython: language_level=3
"""Growing arrays of ids, and the memory of large ones, which is kept for the next."""

import cython
from cython.cimports.cpython.buffer import PyBUF_FORMAT
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.counting._pages import tm_pages_fill, tm_pages_free, tm_pages_plain

STEP = cython.declare(cython.size_t, 1 << 19)  # ids for which such arrays get pages at once: a huge page


@cython.cclass
class Spare:
    """The memory of the last large array that was given back, for the next one.

    Fresh memory is zeroed by the system when it is first touched, which costs a sixth of the time of encoding; what
    is kept here the system may take whenever it wants.
    """

    def __dealloc__(self):
        tm_pages_free(self.data, self.size)

    def keep(self, data, size):
        if size < self.size:
            tm_pages_free(data, size)
            return
        tm_pages_free(self.data, self.size)
        self.data = data
        self.size = size
        tm_pages_rest(data, size)

    def take(self, size, got):
        """At least `size` bytes, and how many they are; NULL where there is no memory."""
        data: cython.p_void = self.data
        got[0] = size
        if size < LARGE:
            return tm_pages_plain(size)
        with cython.gil:
            data = self.data
            if data != cython.NULL and self.size >= size:
                got[0] = self.size
                self.data = cython.NULL
                self.size = 0
                return data
        return tm_pages_plain(size)


@cython.cclass
class Ids:
    """A growing array of ids; gives them out by the buffer protocol as unsigned 32-bit integers."""

    def __cinit__(self, spare: Spare):
        self.format[0] = 73  # "I"
        self.spare = spare

    def __dealloc__(self):
        if self.mapped >= LARGE:
            self.spare.keep(self.data, self.mapped)
        else:
            tm_pages_free(self.data, self.mapped)

    def __len__(self):
        return self.used

    def reserve(self, more, hint):
        """Room for `more` ids, and at once for `hint` of them where it has to grow: what is not touched costs nothing."""
        need: cython.size_t = self.used + more
        if need <= self.room:
            if need > self.filled and self.mapped >= LARGE:
                self.fill(need)
            return True
        if need < self.room + self.room // 2:
            need = self.room + self.room // 2
        if need < self.used + hint:
            need = self.used + hint
        size: cython.size_t = (need * 4 + 4095) & ~cython.cast(cython.size_t, 4095)
        data: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), self.spare.take(size, cython.address(size)))
        if data == cython.NULL:
            return False
        if self.used:
            memcpy(data, self.data, self.used * 4)
        tm_pages_free(self.data, self.mapped)
        self.data = data
        self.mapped = size
        self.room = size // 4
        self.filled = self.used
        if self.mapped >= LARGE:
            self.fill(self.used + more)
        return True

    def fill(self, need):
        need = (need + STEP - 1) // STEP * STEP
        if need > self.room:
            need = self.room
        tm_pages_fill(self.data + self.filled, (need - self.filled) * 4)
        self.filled = need

    def swap(self, block):
        mine: Block
        mine.data = self.data
        mine.room = self.room
        mine.mapped = self.mapped
        mine.filled = self.filled
        mine.used = self.used
        self.data = block.data
        self.room = block.room
        self.mapped = block.mapped
        self.filled = block.filled
        self.used = block.used
        block[0] = mine

    def extend(self, ids: cython.const[uint32_t][::1], hint: cython.size_t) -> None:
        """Put further ids behind these; where that takes more memory, for `hint` of them at once."""
        n: cython.size_t = ids.shape[0]
        if n == 0:
            return
        if not self.reserve(n, hint):
            raise MemoryError
        with cython.nogil:
            memcpy(self.data + self.used, cython.address(ids[0]), 4 * n)
        self.used += n

    def __getbuffer__(self, view: cython.pointer(Py_buffer), flags: cython.int):
        self.shape[0] = self.used
        view.buf = self.data
        view.obj = self
        view.len = self.used * 4
        view.readonly = 0
        view.itemsize = 4
        view.format = self.format if flags & PyBUF_FORMAT else cython.NULL
        view.ndim = 1
        view.shape = self.shape
        view.strides = cython.address(view.itemsize)
        view.suboffsets = cython.NULL
        view.internal = cython.NULL
