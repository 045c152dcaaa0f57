# cython: language_level=3
"""The kernel of rank_merges.py: the pair that builds each token of a ranked vocabulary."""

from array import array

import cython
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import int32_t

CHECK = cython.declare(cython.int, 0xFFF)  # signals are checked for after so many tokens, plus 1


@cython.final
@cython.cclass
class Builder:
    """Builds tokens from pairs of tokens that were built before, in the order of their ids.

    left, right: the parts of each token that was built, as int32; -1 for the others.
    """

    left = cython.declare(object, visibility="readonly")
    right = cython.declare(object, visibility="readonly")
    tokens: list
    ranks: dict
    lefts: int32_t[::1]
    rights: int32_t[::1]
    born: int32_t[::1]  # the rank that makes each token, -1 for single bytes; a token that is not built has its id
    built: cython.char[::1]

    def __cinit__(self, tokens: list, ranks: dict):
        n: cython.Py_ssize_t = len(tokens)
        self.tokens, self.ranks = tokens, ranks
        self.left, self.right = array("i", [-1]) * n, array("i", [-1]) * n
        self.lefts, self.rights = self.left, self.right
        self.born = array("i", range(n))
        self.built = array("b", bytes(n))

    def build(self):
        """Build what can be built; the ids of the tokens of several bytes that cannot be."""
        id: int32_t
        unbuilt: list = []
        for id in range(len(self.tokens)):
            if id & CHECK == 0:
                PyErr_CheckSignals()
            token = self.tokens[id]
            if token is None:
                continue
            if len(cython.cast(bytes, token)) == 1:
                self.born[id] = -1
                self.built[id] = 1
            elif not self.find_pair(id, token):
                unbuilt.append(id)
        return unbuilt

    @cython.cfunc
    def find_pair(self, id: int32_t, token: bytes) -> cython.bint:
        """Whether two built tokens are joined to this one and no merge of a lower rank crosses from one to the other."""
        cut: cython.Py_ssize_t
        x: int32_t
        y: int32_t
        for cut in range(len(token) - 1, 0, -1):  # long left parts first: most tokens are a word and its ending
            x = self.rank(token[:cut], id)
            if x >= id or not self.built[x]:
                continue
            y = self.rank(token[cut:], id)
            if y < id and self.built[y] and not self.joined_across(x, y, id):
                self.lefts[id], self.rights[id] = x, y
                self.built[id] = 1
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def rank(self, token: bytes, none: int32_t) -> int32_t:
        found = self.ranks.get(token)
        return none if found is None else found

    @cython.cfunc
    def joined_across(self, x: int32_t, y: int32_t, limit: int32_t) -> cython.bint:
        """Whether a merge of a rank below `limit` crosses from x to y, when both grow side by side from bytes."""
        x_until: int32_t = limit  # the ranks at which x and y become part of something larger
        y_until: int32_t = limit
        rank: int32_t
        while True:
            rank = self.rank(cython.cast(bytes, self.tokens[x]) + cython.cast(bytes, self.tokens[y]), limit)
            # Of two pairs of one rank the left one is joined first, so a tie with the right neighbour counts.
            if rank < x_until and rank <= y_until:
                return True
            if self.born[x] > self.born[y]:
                x_until, x = self.born[x], self.rights[x]
            elif self.born[y] >= 0:
                y_until, y = self.born[y], self.lefts[y]
            else:
                return False
