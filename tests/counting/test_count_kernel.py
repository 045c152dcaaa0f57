"""The counting kernel beside collections.Counter over the reference's pretokens, in slices of any size."""

import collections
import random
from array import array

from hypothesis import given, settings
from hypothesis import strategies as st

from naive_split import reference_pretokens
from tokenmill import Splitter
from tokenmill.counting._table_cy import CountTable, count_text
from tokenmill.counting.rows import concatenate, merge_all, table_sources
from tokenmill.split._scan_cy import Scanner
from tokenmill.split.patterns import PATTERNS

SPLITTER = Splitter("cl100k")
SCALAR = Scanner(SPLITTER.scanner.tables, None, True)


def items_of(rows):
    arena, offsets, counts = rows
    data = arena.tobytes()
    return {data[offsets[i] : offsets[i + 1]]: int(count) for i, count in enumerate(counts)}


def counted(documents, limit=1 << 20, slots=1024, scanner=SPLITTER.scanner):
    table, text, ends = CountTable(slots), b"".join(documents), array("Q")
    for document in documents:
        ends.append((ends[-1] if ends else 0) + len(document))
    position = document = 0
    while document < len(ends):
        if not table.room:
            table.grow(2 * table.slots, lambda: None)
        position, document = count_text(table, scanner, text, ends, position, document, limit)
    return items_of(concatenate(list(merge_all(table_sources([table])))))


def pretokens_by_bytes(documents):
    """Bytes that may be no UTF-8, which the reference does not take: by the automaton, a character at a time."""
    counter = collections.Counter()
    for document in documents:
        ends = array("Q")
        while (at := ends[-1] if ends else 0) < len(document):
            ends.frombytes(SCALAR.fill(document, at, 1))
        counter.update(document[a:b] for a, b in zip([0, *ends], ends, strict=False))
    return counter


PARTS = [b" ", b"  ", b"\n", b"a", b" the", b"def", b" " * 16, b"\0", b"\0\0", b"\xff", b"\xe4\xb8", b"0123", b"--" * 9]
PARTS += [bytes(range(97, 97 + n)) for n in range(1, 26)] + ["é".encode(), "漢字".encode(), b"'ll", b"();\r\n"]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(PARTS), max_size=40).map(b"".join), max_size=30),
    st.sampled_from([1, 7, 100, 1 << 20]),
    st.sampled_from([1024, 1 << 13, 1 << 15]),
)
def test_any_bytes_are_counted_like_a_counter(documents, limit, slots):
    assert counted(documents, limit, slots) == pretokens_by_bytes(documents)


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("aab  \n\t\r1'sé漢😀.;_\0"), max_size=400))
def test_any_text_is_counted_like_the_reference(text):
    expected = collections.Counter(pretoken.encode() for pretoken in reference_pretokens((PATTERNS["cl100k"],), text))
    assert counted([text.encode()], slots=1 << 14) == expected


def test_more_pretokens_than_the_cache_holds():
    rng = random.Random(3)
    words = [bytes(rng.choices(range(97, 123), k=rng.randrange(1, 20))) for _ in range(20_000)]
    words[1::2] = [b"sameeig" + word[:8] for word in words[1::2]]  # with a space before it, half of a key alike
    text = b" ".join(words[int(len(words) * rng.random() ** 3)] for _ in range(100_000))
    assert counted([text], slots=1 << 16) == pretokens_by_bytes([text])


def test_pretokens_of_every_length_at_the_very_end_of_the_text():
    for n in range(1, 40):
        for text in (b"x" * n, b"y " + b"x" * n, b" " * n, b"ab " * n):
            assert counted([text], slots=1 << 14) == pretokens_by_bytes([text])
