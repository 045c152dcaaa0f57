"""Whether the matches of a split pattern cover every text, so that nothing ever stands between two of them."""

from __future__ import annotations

from .alphabet import Alphabet
from .automaton import DEAD, compile_tree, sets_of
from .syntax import NotRegular, parse

__all__ = ["covers_all_text"]


def covers_all_text(pattern: str) -> bool:
    """Whether a match that is not empty begins at every place of every text; False where it cannot be told.

    The other kind of pattern leaves text between its matches: for us a pretoken too, while other libraries drop it.

    >>> covers_all_text(r"\\p{L}+|\\P{L}"), covers_all_text(r"\\p{L}+|\\p{N}")
    (True, False)
    """
    try:
        tree = parse(pattern)
        alphabet = Alphabet(sets_of(tree))
        automaton = compile_tree(tree, alphabet)
    except NotRegular:
        return False
    end = alphabet.size
    # Walk on from each first character as long as the match has not been able to end anywhere.
    waiting = list(set(automaton.steps[0]))
    seen = set(waiting)
    for state in waiting:  # grows while it is walked
        if state == DEAD:
            return False
        open_ways = [c for c in range(end + 1) if not automaton.accepts[state] >> c & 1]
        for c in open_ways:
            if c == end:
                return False
            following = automaton.steps[state][c]
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return True
