from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pretoken_key cimport tm_key, tm_seed

cdef enum:
    GROUP = 32  # merges whose texts are looked up together

cdef struct Entry:
    tm_key key
    size_t start
    uint32_t size, id

# Of one merge: where its text begins, the size of its left part and of it, and the hashes of the left and the right part.
cdef struct Side:
    size_t start
    uint32_t left, size
    uint64_t hashes[2]


cdef class BpeTables:
    cdef uint8_t* text  # of all entries; behind them that of the merges being read
    cdef size_t used, room
    cdef size_t at  # where the text of the next merge belongs
    cdef Entry* entries
    cdef size_t n, entries_room
    cdef uint64_t* slots  # by hash: the upper half of the hash, and the number of the entry plus 1; 0 is free
    cdef size_t n_slots
    cdef tm_seed seed
    cdef uint32_t* by_id  # the entry of each id, plus 1
    cdef size_t n_ids
    cdef int32_t* rows
    cdef size_t n_rows, rows_room
    cdef uint8_t* blob  # the tokens, by id
    cdef uint32_t* sizes  # of the tokens; NONE where an id has none
    cdef Side sides[GROUP]
    cdef int n_sides

    # The text[used:used + size] is an entry.
    cdef int add(self, size_t size, uint32_t id) except -1
    # Find the entries by text and by id. False if a text or an id occurs twice.
    cdef bint index(self) except? -1
    # The text[at:at + size] is a merge, `left` bytes and the rest. Like the next two, False where a text is not in the vocabulary.
    cdef bint add_merge(self, size_t left, size_t size) except? -1
    # The same with a space between the parts, and none in them.
    cdef bint add_spaced_merge(self, size_t size) except? -1
    # All merges are there.
    cdef bint finish_merges(self) except? -1

    cdef tm_key key_at(self, size_t start, size_t size) noexcept
    # The slot of text[start:start + size], or the free one where it belongs.
    cdef size_t slot(self, size_t start, size_t size, tm_key key, uint64_t hash) noexcept
    cdef uint32_t id_at(self, size_t start, size_t size, uint64_t hash) noexcept
    cdef bint add_rows(self) except? -1
    cdef int put_row(self, uint32_t left, uint32_t right, uint32_t made) except -1
    cdef bytes packed_rows(self, size_t n)
    cdef uint32_t find(self, size_t start, size_t size) noexcept
    cdef bint is_text(self, uint32_t id, size_t start, size_t size) noexcept
    cdef bint drop_repeated(self) except? -1
