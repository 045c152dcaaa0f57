"""The scanner, with and without its lane, gives the pretokens of the slow twin: on any text, any bytes, any cut."""

import itertools
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_split import reference_pretokens
from tokenmill.errors import PatternError
from tokenmill.split import Splitter
from tokenmill.split.patterns import PATTERNS

EXAMPLES = 60 * int(os.environ.get("TOKENMILL_SWEEP", "1"))

# Characters that the patterns care about, so that made-up text is not all letters of rare scripts.
CARED_FOR = st.sampled_from(
    list("aZsdmtTlLvVrReE'’1234 \t\r\n.,!/_-|é\u00a0\u3000\u017f中日ыЫ٣Ⅷ²\u0301\u200d😀\x00\x85\x1c")
)
TEXTS = st.lists(st.one_of(CARED_FOR, st.characters(exclude_categories=["Cs"])), max_size=80).map("".join)
OWN = [r"\w+|\W", r"[a-c]+?b|x*y", r"(?i:ab|c)+|\s+(?!\S)|.", r"\d{2,3}|\p{Lu}\p{Ll}*|\s", r"a(?=b)|b$|[^\S\n]+"]


def expected(data, pattern):
    """The slow twin's pretokens of bytes; a byte that is no UTF-8 is a lone surrogate to it."""
    pretokens = reference_pretokens((PATTERNS.get(pattern, pattern),), data.decode("utf-8", "surrogateescape"))
    return [pretoken.encode("utf-8", "surrogateescape") for pretoken in pretokens]


def ends_of(pretokens):
    return list(itertools.accumulate(map(len, pretokens)))


@pytest.fixture(params=["lane", "scalar"])
def make(request, monkeypatch):
    if request.param == "scalar":
        monkeypatch.setenv("TOKENMILL_SCALAR", "1")
    else:
        monkeypatch.delenv("TOKENMILL_SCALAR", raising=False)
    return Splitter


@pytest.mark.parametrize("pattern", [*PATTERNS, *OWN])
def test_made_up_text(make, pattern):
    splitter = make(pattern)

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(TEXTS)
    def check(text):
        data = text.encode()
        for repeated in (data, data * 9):  # longer than a window of the lane
            assert list(splitter.ends(repeated)) == ends_of(expected(repeated, pattern))
        assert "".join(splitter.split(text)) == text

    check()


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "whitespace"])
def test_bytes_that_are_no_utf8(make, pattern):
    splitter = make(pattern)

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.binary(max_size=60), TEXTS)
    def check(noise, text):
        for data in (noise, text.encode() + noise + text.encode(), text.encode()[:-1]):
            assert list(splitter.ends(data)) == ends_of(expected(data, pattern))

    check()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_certain_cut_changes_nothing(make, pattern):
    splitter = make(pattern)

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(TEXTS, TEXTS)
    def check(left, right):
        data = (left + right).encode()
        place = splitter.scanner.certain_cut(data)
        if place:
            apart = [*splitter.ends(data[:place]), *(place + end for end in splitter.ends(data[place:]))]
            assert apart == list(splitter.ends(data))
            assert list(splitter.ends(b"x " + data[:place]))[-1] == place + 2

    check()


@pytest.mark.parametrize("corpus", ["en", "multi", "code"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_real_text(make, corpus_bytes, corpus, pattern):
    data = corpus_bytes(corpus, 150_000)
    start = 0
    for end, pretoken in zip(make(pattern).ends(data), expected(data, pattern), strict=True):
        assert data[start:end] == pretoken, f"at byte {start}"
        start = end


@pytest.mark.parametrize("pattern", ["(", "[a", r"\p{Klingon}", "*a", r"(?<name", "a{2,1}"])
def test_a_bad_pattern_is_one_error_that_shows_it(pattern):
    with pytest.raises(PatternError) as error:
        Splitter(pattern)
    assert pattern in str(error.value)
