# cython: language_level=3
"""A growing array of ids."""

import cython
from cython.cimports.cpython.buffer import PyBuffer_FillInfo
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_grow


@cython.cclass
class Ids:
    """A growing array of ids. Its buffer is their bytes, 4 for each."""

    def __dealloc__(self):
        tm_pages_free(self.data, self.room * 4)

    def __len__(self):
        return self.used

    def reserve(self, more, expected):
        need: cython.size_t = self.used + more
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
