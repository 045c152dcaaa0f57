from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pair_ranks cimport tm_pair_ranks
from tokenmill.kernels._token_list cimport Node

cdef extern from "tokenmill/kernels/_pair_ranks.h":
    const uint32_t NO_ID "TM_NO_RANK"  # no token, or no rank: above every id and every rank

cdef enum:
    SHORT = 128  # ids that are merged in an array
    OPEN = 2048  # chains that grow
    DROPPED_POINTS = 0x10000
    LONGEST = 0x40000000  # bytes of a pretoken
    NO_MEMORY = -1
    NO_TOKEN = -2  # a byte or a character that the vocabulary does not have, and no unknown token
    SIGNALLED = -3  # a signal handler raised: call raise_signalled with the GIL
    TOO_LONG = -4  # a pretoken of LONGEST bytes or more
    LEFT = 1 << 30  # sides of a merge, above the bits of an id
    RIGHT = 1 << 29
    ID_BITS = 0xFFFFFF

# The caller's working memory for merges. It grows to the needs of the longest pretoken.
cdef struct Workspace:
    uint8_t* memory
    size_t room

# A pair that waits for its rank, and the next one of its chain.
cdef struct Waiting:
    uint32_t index, next

# The last pair of a chain that grows; NO_ID for none.
cdef struct LastPair:
    uint32_t rank, entry

cdef extern from *:
    """
    #include "tokenmill/kernels/_heap.h"

    typedef struct { uint64_t key; uint32_t entry; } tm_chain;
    #define TM_CHAIN_LESS(a, b) ((a)->key < (b)->key)
    TM_HEAP(tm_chains, tm_chain, TM_CHAIN_LESS)
    """
    # The first pair of a chain: rank << 32 | index, and its entry in Queue.pairs.
    ctypedef struct Chain "tm_chain":
        uint64_t key
        uint32_t entry
    size_t tm_chains_push(Chain* heap, size_t used, Chain item) nogil
    size_t tm_chains_pop(Chain* heap, size_t used) nogil

cdef struct Queue:
    Node* nodes
    Waiting* pairs
    Chain* heap
    LastPair* last  # of the chains that grow, by the low bits of the rank
    size_t n_pairs, n_chains

# The merges of two neighbouring bytes a and b. Each rank is stored as its complement, so that 0 is none.
cdef struct BytePair:
    uint32_t rank, id  # of their merge, and its new id, with LEFT or RIGHT if that is an operand on this side; NO_ID if never certain
    uint32_t before  # the lowest rank of a merge of a token that ends with a, and b
    uint32_t after  # the lowest rank of a merge of a, and a token that begins with b

# The merges of a character of three bytes. `left` and `right`: the complement of the rank of the merge that includes its first byte,
# its last byte.
cdef struct ByteTriple:
    uint32_t id  # of its token if the two merges are certain unless another includes these bytes earlier; else 0 or NO_ID
    uint32_t left, right


cdef class Merger:
    cdef uint32_t byte_ids[256]
    cdef BytePair* byte_pairs  # [a << 8 | b]; NULL if they are not merged by ranks alone
    cdef ByteTriple* triples  # by code point; NULL where the alphabet is characters
    # The new id of a merge is its rank plus offsets[rank >> block_bits]. Before `number_ranks`, a rank is the id.
    cdef uint32_t* offsets
    cdef uint32_t no_offset
    cdef int block_bits
    cdef uint32_t* characters  # the id of each code point, where the alphabet is characters
    cdef uint32_t n_characters
    cdef uint32_t n_ids  # higher ids stand for bytes and characters that have no token
    cdef uint32_t unknown  # the id for those, or NO_ID
    cdef tm_pair_ranks pairs  # (left id, right id) -> rank
    cdef bint complete  # every byte has a token
    cdef bint fallback  # a character without a token becomes its bytes, where all of them have one
    # A bit for each code point below DROPPED_POINTS: a pretoken that begins with one has no ids. NULL for no such code point.
    cdef const uint8_t* drops
    cdef bytes dropped_bits  # the owner of `drops`
    cdef bint fuse  # neighbouring characters that are unknown become one
    cdef readonly bytes built  # by id: 1 for a token that merging makes of its own bytes, else 0; None if that is not known
    cdef readonly tuple late  # the texts that late merges make; for a token that contains one, `built` may be wrong

    cdef int reserve_pairs(self, size_t n) except -1  # room for n pairs at once
    # Add a pair. One that is in the table keeps its rank. False if memory runs out.
    cdef bint add_pair(self, uint32_t left, uint32_t right, uint32_t rank) noexcept nogil
    # Replace the ranks of all pairs by others in the same order, and set `offsets`. Call this once. new_ids: by rank, the new id of
    # the merge, or NO_ID for a rank that no pair has. Returns the new ranks plus 1, by the old ones plus 1, to be freed.
    cdef uint32_t* number_ranks(self, const uint32_t* new_ids, size_t n) except NULL
    cdef int expect_merges(self) except -1  # `note_merge` follows for every pair
    # Note that `left` and `right`, of these bytes, merge to `id`: to be called in order of rank.
    cdef void note_merge(self, uint32_t left, const uint8_t* left_bytes, size_t left_size, uint32_t right,
                         const uint8_t* right_bytes, size_t right_size, uint32_t rank, uint32_t id) noexcept
    # Note that a token is an operand of a merge. If no merge to it is noted yet, its bytes are never certain.
    cdef void note_operand(self, const uint8_t* token, size_t size, uint32_t side) noexcept
    # Note a merge to a token of three bytes; `rank` is the complement.
    cdef void note_triple(self, uint32_t left, const uint8_t* left_bytes, size_t left_size, uint32_t right,
                          const uint8_t* right_bytes, uint32_t rank, uint32_t id) noexcept
    # The id of a byte before any merge; NO_ID for one of several in a character, where the alphabet is characters.
    cdef uint32_t initial_id(self, uint8_t byte) noexcept nogil
    # The size of the first character of a text if it is in `drops`, else 0.
    cdef size_t dropped(self, const uint8_t* text, size_t n) noexcept nogil
    # Append the ids of the first character of a text. Returns its size.
    cdef size_t add_character(self, const uint8_t* text, size_t n, uint32_t* ids, Py_ssize_t* count) noexcept nogil
    # The ids of the bytes or characters of a pretoken. Returns their number.
    cdef Py_ssize_t initial_ids(self, const uint8_t* pretoken, size_t n, uint32_t* ids) noexcept nogil
    # The ids of a pretoken after the merges of all certain pairs of bytes, and of certain characters of three bytes. Returns their
    # number.
    cdef Py_ssize_t first_merges(self, const uint8_t* pretoken, size_t n, uint32_t* ids) noexcept nogil
    # The ids of the bytes of a character. False if one has no token.
    cdef bint fallback_ids(self, const uint8_t* character, size_t n, uint32_t* ids) noexcept nogil
    # The ids of pretoken[0:n], n >= 1, written to `out`, which has room for n. Returns their number, or one of the
    # negative numbers above.
    cdef Py_ssize_t merge(self, const uint8_t* pretoken, size_t n, uint32_t* out, Workspace* work) noexcept nogil
    # Replace ids without a token by the unknown token. Returns NO_TOKEN if there is none, else `count`.
    cdef Py_ssize_t replace_missing(self, uint32_t* ids, Py_ssize_t count) noexcept nogil
    # Merge n ids in place. Returns their number, or a negative number.
    cdef Py_ssize_t merge_ids(self, uint32_t* ids, Py_ssize_t n, Workspace* work) noexcept nogil


cdef bint reserve(Workspace* work, size_t size) noexcept nogil  # room for `size` bytes; the contents are lost. False without memory
cdef void release(Workspace* work, size_t keep) noexcept nogil  # free the memory if it is more than `keep` bytes
