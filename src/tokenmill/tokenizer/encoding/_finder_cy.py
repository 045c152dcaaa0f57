"""Find added tokens in UTF-8 text: vector instructions for the first two bytes, then a trie."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memchr, memcmp, memset
from cython.cimports.tokenmill.split._scan_cy import tm_byte_pairs_make, tm_has_simd
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import TM_NO_BLOCK, tm_find_pair, tm_pair_block
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID


@cython.cclass
class Finder:
    """A set of strings to find, each with its id.

    flags: LSTRIP, RSTRIP and SINGLE_WORD of the strings that have some, for `Sections`. is_word: returns whether a str has a word
        character; required for SINGLE_WORD.

    >>> Finder({b"<|a|>": 7}).find("low <|a|> lower")
    b'<|a|>'
    """

    def __cinit__(self, ids: dict, flags: dict = {}, is_word=None):
        second: cython.int
        self.contents = sorted(filter(None, ids))
        self.n = len(self.contents)
        self.strings = cython.cast(cython.pointer(String), malloc((self.n + 1) * cython.sizeof(String)))
        self.nodes = cython.cast(cython.pointer(Node), malloc((2 * self.n + 1) * cython.sizeof(Node)))
        if self.strings == cython.NULL or self.nodes == cython.NULL:
            raise MemoryError
        self.is_word = is_word
        self.space = 32
        firsts = b"".join({content[:1] for content in self.contents})
        self.first = firsts[0] if len(firsts) == 1 and firsts != b" " else -1
        for i in range(self.n):
            content = self.contents[i]
            p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(content))
            self.strings[i] = String(p, PyBytes_GET_SIZE(content), ids[content], flags.get(content, 0))
            self.flagged |= self.strings[i].flags != 0
            self.alone[p[0]] |= self.strings[i].length == 1
            for second in range(256):
                if self.strings[i].length == 1 or p[1] == second:
                    self.begins[p[0] << 2 | second >> 6] |= cython.cast(uint64_t, 1) << (second & 63)
        self.make_nodes()
        self.make_pairs()

    def make_nodes(self):
        """Level by level. In an unfinished node, `string` and `ends` are the first and the end of the strings that go through it."""
        i: uint32_t = 0
        used: uint32_t = 1
        node: cython.pointer(Node) = self.nodes
        node[0] = Node(0, cython.cast(uint32_t, self.n), 0, 0, 0, 0)
        while i < used:
            node = self.nodes + i
            first: uint32_t = node.string
            stop = node.ends
            end: uint32_t = node.end
            if i > 0:  # as far as the first and the last of them are equal
                while end < min(self.strings[first].length, self.strings[stop - 1].length) and (
                    self.strings[first].bytes[end] == self.strings[stop - 1].bytes[end]
                ):
                    end += 1
            node.end = end
            node.ends = NO_ID
            if first < stop and self.strings[first].length == end:
                node.ends = first
                first += 1
            node.children = used
            while first < stop:
                byte = self.strings[first].bytes[end]
                at: uint32_t = first
                while first < stop and self.strings[first].bytes[end] == byte:
                    first += 1
                self.nodes[used] = Node(at, first, 0, 0, end, byte)
                used += 1
            node.n_children = used - node.children
            i += 1
        for i in range(self.nodes[0].children, self.nodes[0].children + self.nodes[0].n_children):
            self.heads[self.nodes[i].byte] = i

    def make_pairs(self):
        first: uint8_t[256]
        second: uint8_t[256]
        a: cython.int
        b: cython.int
        n: cython.int = 0
        memset(first, 0, 256)
        memset(second, 0, 256)
        for a in range(256):
            bit: uint8_t = 1 << (n & 7)
            for b in range(256):
                if self.begins[a << 2 | b >> 6] >> (b & 63) & 1:
                    first[a if a < 128 else 128] |= bit
                    second[b if b < 128 else 128] |= bit
                    self.pairs.most_beyond = a if a >= 128 else 0
                    if self.pairs.least_beyond == 0:
                        self.pairs.least_beyond = self.pairs.most_beyond
            n += first[a if a < 128 else 128] & bit != 0
        tm_byte_pairs_make(cython.address(self.pairs), first, second)
        self.pairs.first_beyond = first[128]
        self.pairs.second_beyond = second[128]
        self.uses_simd = tm_has_simd() and self.first < 0

    def __dealloc__(self):
        free(self.strings)
        free(self.nodes)

    def __len__(self):
        return self.n

    def find(self, data: bytes):
        """The first of the strings in `data`, or None."""
        which: cython.Py_ssize_t = 0
        size: cython.size_t = len(data)
        block = tm_pair_block(size, TM_NO_BLOCK, 0)
        text = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
        return None if self.search(text, 0, size, cython.address(which), cython.address(block)) == size else self.contents[which]

    def is_in(self, text, length):
        if length <= 4096:
            return self.has_any(text, length)
        with cython.nogil:
            return self.has_any(text, length)

    def has_any(self, text, length):
        which: cython.Py_ssize_t = 0
        block = tm_pair_block(length, TM_NO_BLOCK, 0)
        return self.search(text, 0, length, cython.address(which), cython.address(block)) < length

    def search(self, text, at, length, which, block):
        while at < length:
            if self.first >= 0:
                p = cython.cast(cython.pointer(cython.const[uint8_t]), memchr(text + at, self.first, length - at))
                if p == cython.NULL:
                    break
                at = p - text
            elif self.uses_simd:
                at = tm_find_pair(cython.address(self.pairs), self.begins, text, at, length, block)
                if at >= length:
                    break
            if self.begins[text[at] << 2 | text[at + 1] >> 6] >> (text[at + 1] & 63) & 1 if at + 1 < length else self.alone[text[at]]:
                which[0] = self.match(text + at, length - at)
                if which[0] >= 0:
                    return at
            at += 1
        return length

    def touches_word(self, text, begin, start, end, length):
        first: cython.size_t = start
        last: cython.size_t = end
        while first > begin and start - first < 4:
            first -= 1
            if text[first] & 0xC0 != 0x80:
                break
        if last < length:
            last += 1
            while last < length and text[last] & 0xC0 == 0x80:
                last += 1
        with cython.gil:
            around: bytes = cython.cast(cython.p_char, text)[first:start] + cython.cast(cython.p_char, text)[end:last]
            return self.is_word(around.decode("utf-8", "replace"))

    def match(self, text, left):
        size: cython.size_t = 0  # bytes that match
        at: uint32_t = self.heads[text[0]]
        longest: cython.Py_ssize_t = -1
        while at > 0:
            node = self.nodes + at
            if node.end > left or memcmp(text + size, self.strings[node.string].bytes + size, node.end - size) != 0:
                break
            size = node.end
            if node.ends != NO_ID:
                longest = node.ends
            if size == left:
                break
            at = node.children
            stop = at + node.n_children
            while at < stop and self.nodes[at].byte != text[size]:
                at += 1
            if at == stop:
                break
        return longest
