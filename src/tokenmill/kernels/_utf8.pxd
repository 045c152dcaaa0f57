from libc.stdint cimport uint8_t, uint32_t


cdef extern from "tokenmill/kernels/_utf8.h" nogil:
    size_t tm_utf8_expected(uint8_t lead)
    size_t tm_utf8_read(const uint8_t* p, size_t left, uint32_t* point)
    Py_ssize_t tm_utf8_decode(const uint8_t* p, size_t n, int width, void* data, size_t* count)
    Py_ssize_t tm_utf8_encode(const void* data, size_t n, int width, uint8_t* out)
    uint8_t* tm_utf8_write(uint32_t point, uint8_t* out)
