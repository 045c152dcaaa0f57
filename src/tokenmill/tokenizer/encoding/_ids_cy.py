"""A growing array of ids.

The memory of one large array is kept for the next: getting fresh pages of the system takes up to a sixth of a call
(docs/experiments/tokenizer.md).
"""

import cython
from cython.cimports.cpython.buffer import PyBuffer_FillInfo
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_exchange, tm_pages_free, tm_pages_grow

MIN_SPARE = cython.declare(cython.size_t, 1 << 18)  # ids of an array whose memory may be kept
MAX_SPARE = cython.declare(cython.size_t, 1 << 24)
_spare = cython.declare(cython.p_void, cython.NULL)  # kept memory, or NULL; it begins with the number of ids that it has room for


@cython.cclass
class Ids:
    """A growing array of ids. Its buffer is their bytes, 4 for each."""

    def __dealloc__(self):
        spare: cython.p_void = self.data
        if self.room >= MIN_SPARE and self.used <= MAX_SPARE:
            cython.cast(cython.pointer(cython.size_t), spare)[0] = self.room
            spare = tm_exchange(cython.address(_spare), spare)
            if spare == cython.NULL:
                return
            self.room = cython.cast(cython.pointer(cython.size_t), spare)[0]
        tm_pages_free(spare, self.room * 4)

    def __len__(self):
        return self.used

    def reserve(self, more, expected):
        need: cython.size_t = self.used + more
        if need <= self.room:
            return True
        if self.data == cython.NULL and max(need, expected) >= MIN_SPARE:
            self.data = cython.cast(cython.pointer(uint32_t), tm_exchange(cython.address(_spare), cython.NULL))
            if self.data != cython.NULL:
                self.room = cython.cast(cython.pointer(cython.size_t), self.data)[0]
                if need <= self.room:
                    return True
        need = max(need, self.room + self.room // 2, expected, 1024)
        data: cython.p_void = tm_pages_grow(self.data, self.room * 4, need * 4)
        if data == cython.NULL:
            return False
        self.data = cython.cast(cython.pointer(uint32_t), data)
        self.room = need
        return True

    def extend(self, ids: cython.const[uint32_t][::1]) -> None:
        """Append ids."""
        n: cython.size_t = ids.shape[0]
        if n == 0:
            return
        if not self.reserve(n, 0):
            raise MemoryError
        memcpy(self.data + self.used, cython.address(ids[0]), 4 * n)
        self.used += n

    def __getbuffer__(self, view: cython.pointer(Py_buffer), flags: cython.int):
        PyBuffer_FillInfo(view, self, self.data, self.used * 4, False, flags)
