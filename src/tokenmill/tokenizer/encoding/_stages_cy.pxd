from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokenmill.split._scan_cy cimport Scanner
from tokenmill.tokenizer.encoding._cache_cy cimport SCAN, PretokenCache
from tokenmill.tokenizer.encoding._cutter_cy cimport Cutter
from tokenmill.tokenizer.encoding._finder_cy cimport Finder
from tokenmill.tokenizer.encoding._ids_cy cimport Ids
from tokenmill.tokenizer.encoding._sections_cy cimport NextToken, Sections
from tokenmill.tokenizer.merging._merger_cy cimport Merger, Workspace

cdef enum:
    HOLD = 4096  # bytes up to which a text is encoded with the GIL held: releasing it takes as long as encoding the text
    SLICE = 4 << 20  # bytes between two checks for signals: a tenth of a second if every pretoken is new
    RAISED = -13  # the exception is State.error; see also the negative numbers of _merger_cy


# Documents in one buffer, and the position up to which they are encoded.
cdef struct Documents:
    const uint8_t* text
    const uint64_t* ends  # document i is text[ends[i - 1]:ends[i]]
    Py_ssize_t n
    int64_t* id_ends  # the end of the ids of each document, to be written
    Py_ssize_t document  # the one at the position
    size_t at  # the position in the text


cdef class State:
    cdef PretokenCache cache
    cdef Ids ids
    cdef uint8_t* text  # the UTF-8 of a str
    cdef size_t text_size
    cdef size_t at  # the position in the text
    # The text is normalized from the start of a stretch up to here. Then later stretches inside are, too: a character that does not
    # change after some text does not change after less of it.
    cdef size_t passed
    cdef const uint8_t* readable  # the end of the text that is encoded: bytes before this may be read
    cdef NextToken raw  # the next added token of the text
    cdef NextToken normal  # the next added token of the stretch
    cdef int first  # 2 if the next section begins the text, 1 if it begins a stretch, else 0
    cdef bint goes_on  # the text is the rest of one that was cut inside a stretch
    cdef bint in_stretch, in_section  # of the position
    cdef Workspace prefixed  # a space and the start of a section
    cdef Workspace normal_text  # a stretch that the kernel normalized
    cdef bytes changed  # one that `Sections.change` normalized
    cdef object error  # the exception of `change`
    cdef Ids rows  # memory for `recorded`
    cdef Ids recorded  # the rows of the text, see _sections_cy.pxd; None if they are not recorded
    cdef list changes  # with `recorded`: the changed stretches
    cdef bint only_records  # nothing is encoded
    cdef bint in_changed
    # Pretokens and added tokens that wait to be looked up together: they cover waiting_text[waiting_from:waiting_end],
    # which continues to waiting_text[waiting_limit].
    cdef const uint8_t* waiting_text
    cdef size_t waiting_from, waiting_end, waiting_limit
    cdef size_t ends[SCAN]
    cdef uint32_t added[SCAN]  # the ids of the added tokens
    cdef Py_ssize_t n_waiting
    # The documents that end among them: for each, the number of `ends` up to its end; and the array for the ends of their ids.
    cdef Py_ssize_t ended[SCAN]
    cdef Py_ssize_t n_ended
    cdef int64_t* id_ends
    cdef Py_ssize_t counted  # ids that were counted and dropped from `ids`


cdef class Stages:
    cdef readonly Merger merger
    cdef Scanner scanner
    cdef Cutter cutter  # cuts text instead of the scanner, where the whole text is one pretoken

    cdef size_t cut(self, const uint8_t* text, size_t length) noexcept nogil
    # The methods below return 0, or a negative number, unless they say something else.
    # Encode text[at:length] by `sections` until `stop` or a little further, and set state.at to the end. A text begins
    # where `at` is 0.
    cdef Py_ssize_t encode_text(self, State state, const uint8_t* text, size_t at, size_t length, size_t stop,
                                Sections sections) noexcept nogil
    # Encode documents until `stop` or a little further.
    cdef Py_ssize_t documents(self, State state, Documents* work, size_t stop, Sections sections) noexcept nogil
    # Encode text[0:length], n pretokens that end at `ends`.
    cdef Py_ssize_t pretokens(self, State state, const uint8_t* text, size_t length, const size_t* ends, Py_ssize_t n) noexcept nogil
    # `encode_text` without the last flush: some pretokens of `text` may still wait.
    cdef Py_ssize_t stretches(self, State state, const uint8_t* text, size_t at, size_t length, size_t stop,
                              Sections sections) noexcept nogil
    # The same for text[at:length], the rest of a normalized stretch.
    cdef Py_ssize_t stretch(self, State state, const uint8_t* text, size_t at, size_t length, size_t stop,
                            Sections sections) noexcept nogil
    # Encode text[at:end], a stretch that is normalized up to `fail`, whole. If possible, only windows that change are normalized: each
    # begins and ends at a clean cut.
    cdef Py_ssize_t changed_stretch(self, State state, const uint8_t* text, size_t at, size_t fail, size_t end,
                                     Sections sections) noexcept nogil
    # The last clean cut in text[start:length], 0 for none: a certain cut between two characters that no surrounding text changes, in
    # a stretch that ends at text[end].
    cdef size_t clean_cut(self, const uint8_t* text, size_t start, size_t length, size_t end, Sections sections) noexcept nogil
    # Encode text[0:length] as it is after normalization.
    cdef Py_ssize_t changed(self, State state, const uint8_t* text, size_t length, Sections sections) noexcept nogil
    # Encode the start of the section text[at:length] with a space before it.
    cdef Py_ssize_t prefixed(self, State state, const uint8_t* text, size_t at, size_t length) noexcept nogil
    # Append the id of the added token `token`, if it starts before `length`, and of those that begin in white space which the one before
    # includes. Then `token` is the next one. Returns the end of the last one, or `at` without a token.
    cdef Py_ssize_t tokens(self, State state, NextToken* token, Finder finder, const uint8_t* text, size_t at, size_t length,
                            Sections sections) noexcept nogil
    # Append the ids of all that waits.
    cdef Py_ssize_t flush(self, State state) noexcept nogil
    # Let the pretokens of text[at:length] wait, from the start of one until `stop` or a little further; sets state.at to the end.
    cdef Py_ssize_t encode_section(self, State state, const uint8_t* text, size_t at, size_t length, size_t stop) noexcept nogil
    # Let n more pretokens wait, whose ends follow those that wait; the long ones of a script without spaces by their segments.
    cdef Py_ssize_t cut_long(self, State state, Cutter cutter, Py_ssize_t n) noexcept nogil
