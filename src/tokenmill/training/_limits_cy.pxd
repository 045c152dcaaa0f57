from libc.stdint cimport uint8_t, uint32_t


cdef class Limits:
    cdef uint32_t[::1] spans
    cdef uint32_t[::1] lengths
    cdef uint8_t[::1] shapes
    cdef size_t max_bytes
    cdef size_t max_words
    cdef bint spread  # some token spans several nodes

    cdef inline bint fits(self, uint32_t left, uint32_t right) noexcept nogil:
        # Whether the two tokens may merge.
        if <size_t> self.lengths[left] + self.lengths[right] > self.max_bytes:
            return False
        return self.max_words == 0 or joined(self.shapes[left], self.shapes[right]) >> 2 <= self.max_words

    cdef inline void make(self, uint32_t left, uint32_t right, size_t new) noexcept nogil:
        # Set the span, the length and the shape of the token `new`.
        self.spread = True
        self.spans[new] = self.spans[left] + self.spans[right]
        self.lengths[new] = self.lengths[left] + self.lengths[right]
        if self.max_words:
            self.shapes[new] = <uint8_t> joined(self.shapes[left], self.shapes[right])


cdef inline uint32_t joined(uint32_t left, uint32_t right) noexcept nogil:
    # The shape of two tokens together. Where no space is between them, a word goes on. 63 words stand for more.
    cdef uint32_t words = (left >> 2) + (right >> 2) - (left & right >> 1 & 1)
    return (words if words < 63 else 63) << 2 | left & 2 | right & 1
