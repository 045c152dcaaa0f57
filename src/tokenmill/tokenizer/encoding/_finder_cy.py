"""Finds added tokens in UTF-8 text, at the speed of vector instructions; behind the first two bytes, a trie."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memchr, memcmp, memset
from cython.cimports.tokenmill.kernels._pair_map import (
    tm_pair_map_free,
    tm_pair_map_get,
    tm_pair_map_get_or_put,
    tm_pair_map_reserve,
)
from cython.cimports.tokenmill.split._scan_cy import tm_byte_pairs_make, tm_has_simd
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import tm_find_pair
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID


@cython.cclass
class Finder:
    """A set of strings to find, each with its id.

    flags: LSTRIP, RSTRIP and SINGLE_WORD of those that have some, for `Sections`. is_word: whether a str has a word character;
        needed for SINGLE_WORD.

    >>> Finder({b"<|a|>": 7}).find("low <|a|> lower")
    b'<|a|>'
    """

    def __cinit__(self, ids: dict, flags: dict = {}, is_word=None):
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        node: uint32_t
        nodes: uint32_t = 1
        second: cython.int
        self.contents = sorted(ids, key=lambda content: (-len(content), content))
        self.n = len(self.contents)
        room: cython.size_t = 2 + sum(map(len, self.contents))
        self.strings = cython.cast(cython.pointer(String), malloc((self.n + 1) * cython.sizeof(String)))
        self.ends = cython.cast(cython.pointer(uint32_t), malloc(room * 4))
        self.runs = cython.cast(cython.pointer(Run), calloc(room, cython.sizeof(Run)))
        if self.strings == cython.NULL or self.ends == cython.NULL or self.runs == cython.NULL or not tm_pair_map_reserve(cython.address(self.children), room):
            raise MemoryError
        memset(self.ends, 0xFF, room * 4)
        self.is_word = is_word
        self.space = 32
        firsts = b"".join({content[:1] for content in self.contents})
        self.first = firsts[0] if len(firsts) == 1 and b"" not in ids else -1
        for i in range(self.n):
            content = self.contents[i]
            p: cython.pointer(cython.const[uint8_t]) = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(content))
            self.strings[i].bytes = p
            self.strings[i].length = PyBytes_GET_SIZE(content)
            self.strings[i].id = ids[content]
            self.strings[i].flags = flags.get(content, 0)
            self.flagged |= self.strings[i].flags != 0
            node = 0
            for k in range(cython.cast(cython.Py_ssize_t, self.strings[i].length)):
                node = tm_pair_map_get_or_put(cython.address(self.children), node, p[k], nodes)
                self.runs[node].string = i
                self.runs[node].strings += 1
                nodes += node == nodes
            self.ends[node] = i
            self.alone[p[0]] |= self.strings[i].length == 1
            for second in range(256):
                if self.strings[i].length == 1 or p[1] == second:
                    self.begins[p[0] << 2 | second >> 6] |= cython.cast(uint64_t, 1) << (second & 63)
        self.make_runs()
        self.make_pairs()

    def make_runs(self):
        path: cython.pointer(uint32_t)
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t
        end: cython.Py_ssize_t
        path = cython.cast(cython.pointer(uint32_t), malloc((max(map(len, self.contents), default=0) + 1) * 4))
        if path == cython.NULL:
            raise MemoryError
        for i in range(self.n):
            n = self.strings[i].length
            path[0] = 0
            for k in range(n):
                path[k + 1] = tm_pair_map_get(cython.address(self.children), path[k], self.strings[i].bytes[k])
            end = n
            for k in range(n, 0, -1):
                if k < n and (self.ends[path[k]] != NO_ID or self.runs[path[k]].strings != self.runs[path[k + 1]].strings):
                    end = k
                self.runs[path[k]].end = end
                self.runs[path[k]].node = path[end]
        free(path)
        return 0

    def make_pairs(self):
        first: uint8_t[256]
        second: uint8_t[256]
        a: cython.int
        b: cython.int
        n: cython.int = 0
        bit: uint8_t
        memset(first, 0, 256)
        memset(second, 0, 256)
        for a in range(256):
            bit = 1 << (n & 7)
            for b in range(256):
                if self.begins[a << 2 | b >> 6] >> (b & 63) & 1:
                    first[a if a < 128 else 128] |= bit
                    second[b if b < 128 else 128] |= bit
            n += first[a if a < 128 else 128] & bit != 0
        tm_byte_pairs_make(cython.address(self.pairs), first, second, first[128], second[128])
        self.uses_simd = tm_has_simd() and self.first < 0

    def __dealloc__(self):
        free(self.strings)
        free(self.ends)
        free(self.runs)
        tm_pair_map_free(cython.address(self.children))

    def __len__(self):
        return self.n

    def find(self, data: bytes):
        """The first of the strings in `data`, or None."""
        which: cython.Py_ssize_t = 0
        size: cython.size_t = len(data)
        text: cython.pointer(cython.const[uint8_t]) = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
        return None if self.search(text, 0, size, cython.address(which)) == size else self.contents[which]

    def is_in(self, text, length):
        which: cython.Py_ssize_t = 0
        if length <= 4096:
            return self.search(text, 0, length, cython.address(which)) < length
        with cython.nogil:
            return self.search(text, 0, length, cython.address(which)) < length

    def search(self, text, at, length, which):
        p: cython.pointer(cython.const[uint8_t])
        while at < length:
            if self.first >= 0:
                p = cython.cast(cython.pointer(cython.const[uint8_t]), memchr(text + at, self.first, length - at))
                if p == cython.NULL:
                    break
                at = p - text
            elif self.uses_simd:
                at = tm_find_pair(cython.address(self.pairs), self.begins, text, at, length)
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
        """The longest string that text[0:left] begins with, or -1."""
        size: cython.size_t = 0  # bytes that match
        node: uint32_t = 0
        run: cython.pointer(Run)
        found: cython.Py_ssize_t = -1
        while size < left:
            node = tm_pair_map_get(cython.address(self.children), node, text[size])
            if node == NO_ID:
                break
            size += 1
            run = self.runs + node
            if run.end > size:
                if run.end > left or memcmp(text + size, self.strings[run.string].bytes + size, run.end - size) != 0:
                    break
                size = run.end
                node = run.node
            if self.ends[node] != NO_ID:
                found = self.ends[node]
        return found
