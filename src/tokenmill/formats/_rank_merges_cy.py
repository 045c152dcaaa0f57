"""The kernel of rank_merges.py: the pair that builds each token of a ranked vocabulary."""

import cython
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import int32_t

CHECK = cython.declare(cython.int, 0xFFF)  # signals are checked every 4,096 tokens


@cython.final
@cython.cclass
class Builder:
    """Builds tokens from pairs of tokens that were built before, in the order of their ids.

    left, right: int32 arrays for the pair of each token by id, all -1 at first. Tokens that cannot be built keep -1, and bytes get -2.
    """

    tokens: list
    ranks: dict
    left: int32_t[::1]
    right: int32_t[::1]

    def __cinit__(self, tokens: list, ranks: dict, left: int32_t[::1], right: int32_t[::1]):
        self.tokens, self.ranks, self.left, self.right = tokens, ranks, left, right

    def build(self):
        """Build the tokens. Return the ids of the tokens of several bytes that cannot be built."""
        id: int32_t
        unbuilt: list = []
        for id in range(len(self.tokens)):
            if id & CHECK == 0:
                PyErr_CheckSignals()
            token = self.tokens[id]
            if token is None:
                continue
            if len(cython.cast(bytes, token)) == 1:
                self.left[id] = -2
            elif not self.find_pair(id, token):
                unbuilt.append(id)
        return unbuilt

    @cython.cfunc
    def find_pair(self, id: int32_t, token: bytes) -> cython.bint:
        """Find two built tokens that spell this one, with no merge of a lower rank from one into the other. Return whether there are."""
        for cut in range(len(token) - 1, 0, -1):  # long left tokens first: most tokens are a word and its ending
            x = self.rank(token[:cut], id)
            if x >= id or self.left[x] == -1:
                continue
            y = self.rank(token[cut:], id)
            if y < id and self.left[y] != -1 and not self.joined_across(x, y, id):
                self.left[id], self.right[id] = x, y
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def rank(self, token: bytes, none: int32_t) -> int32_t:
        rank = self.ranks.get(token)
        return none if rank is None else rank

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def born(self, id: int32_t) -> int32_t:
        """Return the rank that makes a built token; -1 for a byte."""
        return id if self.left[id] >= 0 else -1

    @cython.cfunc
    def joined_across(self, x: int32_t, y: int32_t, limit: int32_t) -> cython.bint:
        """Return whether a merge of a rank below `limit` crosses from x to y, when both are built side by side from bytes."""
        x_until: int32_t = limit  # the ranks at which x and y are joined into larger tokens
        y_until: int32_t = limit
        while True:
            rank = self.rank(cython.cast(bytes, self.tokens[x]) + cython.cast(bytes, self.tokens[y]), limit)
            # Of two pairs of one rank the left one is joined first, so a tie with the right neighbour counts.
            if rank < x_until and rank <= y_until:
                return True
            if self.born(x) > self.born(y):
                x_until, x = x, self.right[x]
            elif self.born(y) >= 0:
                y_until, y = y, self.left[y]
            else:
                return False
