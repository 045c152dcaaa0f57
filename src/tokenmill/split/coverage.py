"""Whether the matches of a split pattern cover every text, with nothing between two matches."""

from __future__ import annotations

from .alphabet import Alphabet
from .automaton import DEAD, compile_tree, sets_of
from .syntax import NotRegular, parse


def covers_all_text(pattern: str) -> bool:
    """Whether a non-empty match begins at every position of every text; False if that is not known.

    Other patterns leave text between their matches. tokenmill makes that text a pretoken too; other libraries drop it.

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
    # Follow each first character until the match could have ended somewhere.
    waiting = list(set(automaton.steps[0]))
    seen = set(waiting)
    for state in waiting:  # grows during the loop
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
