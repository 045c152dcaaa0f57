"""Random split patterns and texts for the tests of this folder."""

import itertools
from array import array

from hypothesis import strategies as st

from tokenmill.split._scan_cy import Scanner

SETS = [
    *"abc n'", "\\n", "é", ".", r"\s", r"\S", r"\d", r"\w", r"\p{L}", r"\P{L}", r"\p{N}", "[ab]", "[^a]", "[^\\s\\p{L}]",
    r"[\r\n]", "[a-c--b]", r"[\w&&[^a]]", "[[:alpha:]1]", r"\p{Han}", r"\h",
]  # fmt: skip
LOOKS = [r"(?=a)", r"(?!\s)", r"(?!\S)", "$", r"(?=b|$)", r"\z", "(?!a|$)", "(?m:$)"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{2,}"]


@st.composite
def atoms(draw, depth):
    kind = draw(st.integers(0, 9))
    if kind < 6 or depth == 0:
        one = draw(st.sampled_from(SETS))
        if draw(st.booleans()):
            one += draw(st.sampled_from(QUANTIFIERS)) + draw(st.sampled_from(["", "", "", "?", "+"]))
        return one
    if kind < 7:
        return draw(st.sampled_from(LOOKS))
    group = draw(st.sampled_from(["(?:", "(?i:", "("])) + draw(patterns(depth - 1)) + ")"
    if draw(st.booleans()):
        group += draw(st.sampled_from(QUANTIFIERS)) + draw(st.sampled_from(["", "", "?"]))
    return group


@st.composite
def patterns(draw, depth=2):
    sequences = draw(st.lists(st.lists(atoms(depth), min_size=1, max_size=3), min_size=1, max_size=4))
    return "|".join("".join(sequence) for sequence in sequences)


def texts(max_size=16):
    return st.text(st.sampled_from("aaabbcn  \n\r1'é\u3000Sſ-日K"), max_size=max_size)


UTF8 = [*b"aaab cn \n1'sl", *map(str.encode, ("é", "\u3000", "ſ", "日", "😀", "ll", "\r\n"))]
NOT_UTF8 = [b"\xff", b"\x80", b"\xe4", b"\xe4\xb8", b"\xf0\x9f", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"]


def data(max_size=300, invalid=True):
    """Bytes, several blocks of the fast lane long, with and without what is no UTF-8."""
    parts = [part if isinstance(part, bytes) else bytes([part]) for part in UTF8]
    mostly_ascii = st.lists(st.sampled_from(parts[:13] * 3 + parts[13:]), max_size=max_size)
    mixed = st.lists(st.sampled_from(parts + (NOT_UTF8 if invalid else [])), max_size=max_size)
    return st.one_of(mostly_ascii, mixed).map(b"".join)


def ends_of(scanner: Scanner, text, room: int) -> list[int]:
    """All ends, asked for `room` at a time."""
    ends = array("Q")
    while (at := ends[-1] if ends else 0) < len(text):
        some = scanner.fill(text, at, room)
        assert some, f"no progress at {at} with room for {room}"
        ends.frombytes(some)
    return list(ends)


def reference_ends(patterns: tuple[str, ...], text: bytes) -> list[int]:
    from naive_split import reference_pretokens

    pretokens = reference_pretokens(patterns, text.decode("utf-8", "surrogateescape"))
    return list(itertools.accumulate(len(pretoken.encode("utf-8", "surrogateescape")) for pretoken in pretokens))
