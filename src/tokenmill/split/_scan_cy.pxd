from libc.stdint cimport uint8_t, uint16_t, uint64_t


cdef extern from "tokenmill/split/_chain_state.h" nogil:
    enum: TM_CHAIN_MAX
    void tm_chain_take(const void* scanner, const uint8_t* text, size_t at, size_t length, size_t* known)
    void tm_chain_save(const void* scanner, const uint8_t* text, size_t at, size_t length, const size_t* known)


cdef extern from "tokenmill/split/_simd_scan.h" nogil:
    ctypedef struct tm_byte_pairs:
        uint8_t first_beyond, second_beyond, least_beyond, most_beyond
    ctypedef struct tm_simd_tables:
        const uint8_t* pairs
        uint8_t ascii[128]
        const uint16_t* index
        const uint8_t* pages
        unsigned int columns
        uint8_t next
        uint8_t end
        uint8_t invalid
        uint8_t leads[64]
        tm_byte_pairs odd
    enum: TM_SIMD_ROOM
    bint tm_has_simd()
    int tm_bits_of(uint64_t x)
    void tm_byte_pairs_make(tm_byte_pairs* set, const uint8_t* first, const uint8_t* second)
    void tm_column_table(uint8_t* table, const uint8_t* columns, int n)
    void tm_simd_pairs(uint8_t* pairs, const uint8_t* steps, unsigned int columns, unsigned int next)
    Py_ssize_t tm_simd_scan(const tm_simd_tables* simd, const uint8_t* text, size_t start, size_t length, size_t* ends,
        Py_ssize_t room, size_t* stopped)


# Make a set of pairs of bytes the union of eight products (_byte_pairs.h). rows: by first byte, two words with a bit for each
# second byte; they become those of the union.
cdef void join_products(uint64_t* rows, uint8_t* first, uint8_t* second) noexcept


cdef class Scanner:
    cdef readonly object tables
    cdef readonly bint uses_simd
    cdef readonly Scanner inner
    cdef readonly Scanner composed
    cdef readonly bytes joins
    cdef const uint8_t* joined
    cdef const uint8_t* ascii
    cdef const uint16_t* index
    cdef const uint8_t* pages
    cdef const uint16_t* steps
    cdef const uint8_t* actions
    cdef const uint16_t* matches
    cdef const uint8_t* accepts
    cdef const uint8_t* certain
    cdef size_t width
    cdef size_t invalid
    cdef tm_simd_tables simd
    cdef uint8_t* pairs

    cdef void make_leads(self) noexcept  # the tables `leads` and `odd`
    cdef uint8_t simd_column(self, size_t point) noexcept nogil  # of a code point

    # Cut text[start:length] into pretokens, or into runs of joined ones, from a known start, where `length` is the true end of the text.
    # Writes the exclusive end offset (from `text`) of at most `room` of them and returns their number. Never reads outside of
    # text[0:length]. Call again with start = the last end written, until that is `length`.
    cdef Py_ssize_t scan(self, const uint8_t* text, size_t start, size_t length, size_t* ends, Py_ssize_t room) noexcept nogil
    # The same for pretokens, joined or not.
    cdef Py_ssize_t scan_pretokens(self, const uint8_t* text, size_t start, size_t length, size_t* ends, Py_ssize_t room) noexcept nogil
    # The last certain cut in (start, length), whatever is before `start` or after `length`, or 0 if there is none.
    cdef size_t cut(self, const uint8_t* text, size_t start, size_t length) noexcept nogil

    # The steps of scan.
    cdef bint is_certain(self, const uint8_t* text, size_t before, size_t at, size_t size) noexcept nogil
    cdef bint joins_at(self, const uint8_t* text, size_t at) noexcept nogil
    cdef Py_ssize_t scan_one(self, Scanner machine, const uint8_t* text, size_t start, size_t length, size_t* ends, Py_ssize_t room, size_t* known) noexcept nogil
    cdef Py_ssize_t scan_chain(self, const uint8_t* text, size_t start, size_t length, size_t* ends, Py_ssize_t room, size_t* known) noexcept nogil
    cdef size_t class_of(self, const uint8_t* p, size_t left, size_t* size) noexcept nogil
    cdef Py_ssize_t run_transducer(self, const uint8_t* text, size_t start, size_t length, size_t* ends, Py_ssize_t room, size_t* stopped) noexcept nogil
    cdef size_t match(self, const uint8_t* text, size_t begin, size_t length) noexcept nogil
    cdef size_t next_pretoken(self, const uint8_t* text, size_t begin, size_t length) noexcept nogil
