# cython: language_level=3
"""Long pretokens to ids, through a cache of their parts.

A pretoken that spans words hardly ever occurs twice, so a cache of such pretokens is useless. But a merge makes a token that
holds the two bytes on both sides of the border that it crosses. So where two neighbouring bytes are side by side in no
token, no merge crosses, and the parts between such borders can be encoded on their own: mostly, they are words.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import BATCH, PretokenCache


@cython.final
@cython.cclass
class PartEncoder:
    """Encodes pretokens of any length. One thread at a time uses it.

    cache: encodes the parts.
    inside: 1,024 words, a bit for each pair of bytes left << 8 | right: whether a token holds it.
    sizes: uint32, the bytes of each token by id.
    """

    def __cinit__(
        self,
        cache: PretokenCache,
        inside: cython.const[uint64_t][::1],
        sizes: uint32_t[::1],
    ):
        self.cache = cache
        self.inside = inside
        self.sizes = sizes

    def copy(self):
        return PartEncoder(self.cache.copy(), self.inside, self.sizes)

    def begin(self):
        """Make the present entries of the cache the initial ones, also of copies. To be called once."""
        self.cache.begin()

    def set_limit(self, cache_bytes: cython.size_t):
        """Limit the bytes of the cache."""
        self.cache.set_limit(cache_bytes)

    def encode(self, text, start, length, ends, n, out, id_ends):
        parts: cython.size_t[BATCH]
        inside: cython.pointer(cython.const[uint64_t]) = cython.address(self.inside[0])
        first: cython.size_t = start  # of the next batch of parts
        at: cython.size_t = start
        position: cython.size_t = start  # where the ids so far end
        waiting: cython.Py_ssize_t
        count: cython.Py_ssize_t
        used: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        pretoken: cython.Py_ssize_t = 0  # whose bytes are cut
        done: cython.Py_ssize_t = 0  # whose ids are found
        pair: cython.size_t
        stop: cython.size_t
        last: cython.size_t
        while pretoken < n:
            waiting = 0
            while pretoken < n and waiting < BATCH:
                stop = ends[pretoken] - 1
                # Whether a part ends here cannot be predicted, so nothing branches on it.
                last = stop if stop - at < BATCH - waiting else at + BATCH - waiting
                while at < last:
                    pair = cython.cast(cython.size_t, text[at]) << 8 | text[at + 1]
                    at += 1
                    parts[waiting] = at
                    waiting += 1 - cython.cast(cython.Py_ssize_t, inside[pair >> 6] >> (pair & 63) & 1)
                if at == stop and waiting < BATCH:
                    at += 1
                    parts[waiting] = at
                    waiting += 1
                    pretoken += 1
            count = self.cache.encode(text, first, length, parts, waiting, out + used)
            if count < 0:
                return count
            first = parts[waiting - 1]
            for i in range(used, used + count):
                position += self.sizes[out[i]]
                if position == ends[done]:
                    id_ends[done] = i + 1
                    done += 1
            used += count
        return used
