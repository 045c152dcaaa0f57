"""Splitter: what it cuts, by examples anyone can check, and what it says to patterns that it cannot take."""

import pickle
import subprocess
import sys
import threading
import warnings

import pytest

from naive_split import matches, reference_pretokens, to_regex
from tokenmill.errors import PatternError, UsageError
from tokenmill.split import Splitter
from tokenmill.split.compiler import compile_pattern
from tokenmill.split.patterns import PATTERNS, PUNCTUATION
from tokenmill.split.splitter import ANYTHING, finder_of, whole_text_tables

DEEPSEEK = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


@pytest.mark.parametrize(
    ("name", "text", "pretokens"),
    [
        ("gpt2", "I'll pay  $12345!!\n\n  x", "I|'ll| pay| | $|12345|!!|\n\n | x"),
        ("gpt2", "WE'LL", "WE|'|LL"),
        ("cl100k", "WE'LL pay  $12345!!\n\n  x", "WE|'LL| pay| | $|123|45|!!\n\n| | x"),
        ("cl100k", "tab\tword\r\n\r\n", "tab|\tword|\r\n\r\n"),
        ("cl100k", "end \n  ", "end| \n  "),
        ("llama3", "end \n  ", "end| \n|  "),
        ("o200k", "HelloWorld isn't/", "Hello|World| isn't|/"),
        ("qwen2", "in 2024", "in| |2|0|2|4"),
        ("nanochat", "in 2024\n\n \n", "in| |20|24|\n\n \n"),
        ("whitespace", "a b  c\n\td", "a| b| | c|\n|\td"),
        ("cl100k", "naïve café 東京 はい", "naïve| café| 東京| はい"),
        ("cl100k", "x\u3000y\u00a0z", "x|\u3000y|\u00a0z"),
        ("cl100k", "'ſ'K", "'ſ|'K"),
    ],
)
def test_named_patterns_by_example(name, text, pretokens):
    assert Splitter(name).split(text) == pretokens.split("|")


@pytest.mark.parametrize(
    ("pattern", "text", "pretokens"),
    [
        (r"\p{L}+", "ab, cd.", ["ab", ", ", "cd", "."]),  # what stands between two matches is a pretoken
        (r"x*", "axxb", ["a", "xx", "b"]),  # an empty match cuts, but is no pretoken
        (r"(?=[A-Z])", "aBcDe", ["a", "Bc", "De"]),
        (r"a|ab", "ab", ["a", "b"]),  # the first alternative that matches, not the longest
        (r"a+?b|a", "aaab", ["aaab"]),
        (r"(?i)straße|.", "STRAßE", ["STRAßE"]),
        (r"(?i:k)+|.", "kK\u212a", ["kK\u212a"]),
        (r"[\w&&[^\d]]+|.", "ab12", ["ab", "1", "2"]),
        (r"[a-z--[aeiou]]+|.", "bcade", ["bc", "a", "d", "e"]),
        (r"[[:upper:][:digit:]]+|.", "AB1é", ["AB1", "é"]),
        (r"\x41\u{e9}\U0001F600|.", "Aé😀", ["Aé😀"]),
        (r"(?x) a b # a comment" + "\n| c", "abc", ["ab", "c"]),
        (r"(?m:a$)|.|\n", "a\na", ["a", "\n", "a"]),
        (r"(?P<word>\w+)(?<rest>\s*)", "ab  c", ["ab  ", "c"]),
        (r"[]a]+|[^]a]", "]a[", ["]a", "["]),
        (r"[\w-.]+| ", "a-b.c d", ["a-b.c", " ", "d"]),
        (r"\p{Script=Greek}+|\p{sc=Cyrl}+|.", "αβγдж!", ["αβγ", "дж", "!"]),
        (r"\p{^L}+|\P{^L}+", "ab12", ["ab", "12"]),
        (r"(?>a+)b|a", "aab", ["aab"]),
        (r"a{2}|a{,1}", "aaa", ["aa", "a"]),
        (r"\Aa{0}b?(?#nothing)", "bb", ["b", "b"]),
    ],
)
@pytest.mark.filterwarnings("ignore:the split pattern")
def test_the_dialect_by_example(pattern, text, pretokens):
    splitter = Splitter(pattern)
    assert splitter.split(text) == pretokens
    assert reference_pretokens((pattern,), text) == pretokens


def test_no_pattern_keeps_texts_whole():
    assert Splitter().split("two words\n") == ["two words\n"]
    assert Splitter().split("") == []
    assert Splitter("cl100k").split("") == []
    assert list(Splitter("cl100k").ends(b"")) == []


def test_several_patterns_cut_one_inside_the_other():
    text = "Room 101: 東京は5度, isn't it?\n  ok 12345"
    pretokens = Splitter(*DEEPSEEK).split(text)
    assert pretokens == reference_pretokens(DEEPSEEK, text)
    assert pretokens[:6] == ["Room", " ", "101", ":", " ", "東京は"]
    # The end of an outer pretoken is the end of the text to the inner pattern: the space before a digit stands alone.
    assert Splitter(r"\d", r"\s+(?!\S)|\s?\S+").split("a  1") == ["a", "  ", "1"]


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(a", "character 1: a group that is not closed"),
        ("a)", "character 2: a '\\)' without its '\\('"),
        ("x[ab", "character 2: a class"),
        ("a**", "a quantifier follows a quantifier"),
        ("*a", "character 1: there is nothing to repeat"),
        (r"\p{L", "is not closed"),
        (r"a\q", r"character 2: \\q is not a known escape"),
        ("a{3,1}", "exceeds its upper bound"),
        ("[z-a]", "whose end is before its start"),
        (r"\x{zz}", "hexadecimal"),
        (r"\x{41", "character 1: .* hexadecimal"),  # these two made the parser begin anew for ever
        (r"(?<n>a)\k<nn", "is not closed"),
        ("(?<1>a)", "not an identifier"),
        ("a\\", "it ends inside an escape"),
        ("[[:foo:]]", "'foo' is not a POSIX class"),
        (r"(?<=a", "not closed"),
        (r"(?U)a", "the flag 'U'"),
        (r"\p{Nonsense}", "not a regular expression"),
        ("[" * 100_000, "nested more than 100 deep"),
        (r"\b" + "[" * 100_000, "nested more than 100 deep"),
        ("(" * 200 + ")" * 200, "nested more than 100 deep"),
        ("", "pattern '' is not a name"),
    ],
)
def test_a_bad_pattern_is_one_error_that_says_where(pattern, says):
    with pytest.raises(PatternError, match=says):
        Splitter(pattern)


def test_wrong_calls():
    with pytest.raises(UsageError, match="pattern b'x' is not a name"):
        Splitter(b"x")
    with pytest.raises(UsageError, match="special token '' is empty"):
        Splitter("cl100k", special_tokens=["<s>", ""])
    with pytest.raises(UsageError, match="at most 8"):
        Splitter(*["a"] * 9)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bword\b|.",
        r"(\w)\1|.",
        r"(?<=a)b|.",
        "^a|.",
        r"(?=ab)a|.",
        r"(?>a|ab)c|.",
        r"(?:a?)*|.",
        r"(|a)*a|\\1|.",  # a backslash before a digit is not a reference, but its groups are kept
        r"\p{Block=Cyrillic}+|.",
    ],
)
def test_what_is_not_regular_runs_on_the_regex_module_and_says_so_once(pattern):
    pattern = f"{pattern}|\n"
    with pytest.warns(UserWarning, match="The regex module splits instead") as told:
        splitter = Splitter(pattern)
    assert splitter.scanner is None and len(told) == 1 and told[0].filename == __file__
    text = "word aa abc\nab word ac"
    assert splitter.split(text) == reference_pretokens((pattern,), text)
    assert list(splitter.ends("é a".encode()))[-1] == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Splitter(pattern)


def test_bytes_that_are_no_utf8_are_characters_of_their_own():
    splitter = Splitter("cl100k")
    for text in (b"ab\xffcd", b"\xe4\xb8", b"a\xe4\xb8b", b"\xf0\x9f\x98 x", b"\xed\xa0\x80\xc0\x80", b"\x80\n\x80"):
        ends = list(splitter.ends(text))
        assert ends[-1] == len(text)
        decoded = text.decode("utf-8", "surrogateescape")
        pretokens = [
            pretoken.encode("utf-8", "surrogateescape") for pretoken in reference_pretokens(splitter.patterns, decoded)
        ]
        assert [text[a:b] for a, b in zip([0, *ends], ends, strict=False)] == pretokens
    assert list(splitter.ends(b"12\xff\xfe!\n34")) == [2, 6, 8]  # cut as punctuation is


def test_a_string_with_lone_surrogates_is_split_too():
    assert Splitter("cl100k").split("a\ud800 b\udc80") == ["a", "\ud800", " b", "\udc80"]


def test_a_splitter_is_known_by_its_patterns():
    splitter = Splitter("o200k", r"\d")
    assert splitter.patterns == (PATTERNS["o200k"], r"\d")
    again = pickle.loads(pickle.dumps(splitter))
    assert again.patterns == splitter.patterns and again.split("ab 12") == splitter.split("ab 12")


def test_threads_share_a_splitter():
    splitter = Splitter(*DEEPSEEK)
    text = ("thread 12345 東京, it's\n " * 3000).encode()
    expected = list(splitter.ends(text))
    found = []
    threads = [threading.Thread(target=lambda: found.append(list(splitter.ends(text)) == expected)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_import_and_first_split_load_neither_numpy_nor_regex():
    code = (
        "import sys; from tokenmill.split import Splitter; Splitter('o200k').split('hello world'); "
        "print([m for m in ('numpy', 'regex') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_white_space_of_ddtokens_is_that_of_ascii():
    text = "a\tb\x0bc\x0cd\re\nf g\xa0h\u3000i\x85j\x1ck"
    assert Splitter("ddtokens").split(text) == [
        "a",
        "\tb",
        "\x0bc",
        "\x0cd",
        "\re",
        "\n",
        "f",
        " g\xa0h\u3000i\x85j\x1ck",
    ]
    assert len(Splitter("whitespace").split(text)) == 10


@pytest.mark.parametrize(
    "pattern",
    [r"\s", r"\w+|[^\w\s]+", PUNCTUATION, r"\p{N}", " {2,}", r"a+b", r"a|ab", r"[a-z]+\s", r"l(?=o)", PATTERNS["gpt2"]],
)
def test_matches_are_found_as_by_the_regex_module(pattern):
    find = finder_of(pattern)
    for text in ("", "aab  aaa ab", "the lé\u3000low, 12 東京!!\n a", "é" * 9, "  \x00\u2028𝟘ab", "lolllo"):
        assert find(text) == list(matches(to_regex(pattern), text))


@pytest.mark.parametrize(
    "pattern, spans",
    [("x*", [(0, 0), (1, 2), (3, 3)]), ("(?<=x)b", [(2, 3)]), (r"(a)x|\1", [(0, 2)]), ("^a", [(0, 1)])],
)
def test_matches_that_only_the_regex_module_finds(pattern, spans):
    assert list(finder_of(pattern)("axb")) == spans


def test_tables_of_whole_texts_are_those_of_the_compiler():
    written, compiled = whole_text_tables(), compile_pattern(ANYTHING)
    assert not any(compiled.alphabet.pages)  # so that the index does not matter
    index = compiled.alphabet.index
    alphabet, columns = (tables.alphabet._replace(index=index) for tables in (written, written.simd))
    assert written._replace(alphabet=alphabet, simd=written.simd._replace(alphabet=columns)) == compiled
    assert len(written.alphabet.index) == len(index)
