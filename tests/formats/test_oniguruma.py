"""Split patterns in Oniguruma's dialect cut the same pieces as in ours, and come back."""

import random
import sys

import pytest
import regex
import tokenizers
from tokenizers import pre_tokenizers

from tokenmill.errors import ConversionError
from tokenmill.formats.oniguruma import from_oniguruma, to_oniguruma
from tokenmill.split.patterns import PATTERNS

MORE = [
    r"\p{N}{2}?a|\p{L}{1,2}+|.",
    r"(?:ab|a){1,2}+b|(?s:.)",
    r"^a|b$|(?m:^c|d$)|[^]\s\-]+|\s",
    r"(?P<word>\w+)|(?i:x[^\W\d]?)|\PL",
    r"[\p{L}--[ab]]|." if False else r"[^\p{^L}a]+|\pN",
]


def pieces_ours(pattern, text):
    """The pieces by the `regex` module, whose possessive quantifiers are ours; $ at the very end only, as in Rust."""
    translated = pattern.replace("$", r"\Z") if "(?m" not in pattern else pattern
    ends = [0]
    for found in regex.finditer(translated, text, flags=regex.V0):
        ends += [found.start(), found.end()]
    ends = sorted({*ends, len(text)})
    return [text[a:b] for a, b in zip(ends, ends[1:], strict=False)]


def pieces_theirs(pattern, text):
    split = pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="isolated")
    return [piece for piece, _ in split.pre_tokenize_str(text)]


def texts(seed, count=400):
    chosen = random.Random(seed)
    for _ in range(count):
        yield "".join(chosen.choices(" \n\r\tabcdeLLSTſ'’0123é漢.,!/\u00a0\u0301\U0001f600", k=chosen.randint(1, 24)))


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *MORE[:2], MORE[3], MORE[4]])
def test_patterns_cut_the_same_pieces_there(pattern):
    for text in texts(7):
        assert pieces_theirs(to_oniguruma(pattern), text) == pieces_ours(pattern, text), text


@pytest.mark.parametrize("name", PATTERNS)
def test_named_patterns_cut_the_same_pieces_there_on_every_code_point(name):
    pattern = PATTERNS[name]
    translated = pre_tokenizers.Split(tokenizers.Regex(to_oniguruma(pattern)), behavior="isolated")
    assigned = regex.compile(r"\P{Cn}")  # the two know different versions of Unicode
    step = 97 if sys.gettrace() else 7
    for point in [*range(0x3000), *range(0x3000, 0x110000, step)]:
        if 0xD800 <= point < 0xE000 or not assigned.match(chr(point)):
            continue
        text = f"{chr(point)} a{chr(point)}b 1{chr(point)}2 .{chr(point)} '{chr(point)}"
        theirs = [piece for piece, _ in translated.pre_tokenize_str(text)]
        if theirs != pieces_ours(pattern, text):
            categories = [regex.match(rf"\p{{{c}}}", chr(point)) is not None for c in ("L", "N", "M", "Lu", "Ll", "Z")]
            pytest.fail(f"U+{point:04X} {categories}: {theirs} {pieces_ours(pattern, text)}")


def test_lines_and_texts_end_differently():
    assert pieces_theirs(to_oniguruma("a$"), "ba\nba") == ["ba\nb", "a"]
    assert pieces_theirs(to_oniguruma("(?m:a$)"), "ba\nba") == ["b", "a", "\nb", "a"]
    assert pieces_theirs(to_oniguruma("(?m:a$)|b$"), "b\nb") == ["b\n", "b"]  # the flag ends with its group


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *MORE])
def test_what_is_written_reads_back_to_the_same_pieces(pattern):
    written = to_oniguruma(pattern)
    assert to_oniguruma(from_oniguruma(written)) == to_oniguruma(from_oniguruma(to_oniguruma(from_oniguruma(written))))
    for text in texts(8, 100):
        assert pieces_theirs(to_oniguruma(from_oniguruma(written)), text) == pieces_theirs(written, text)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (r"\p{N}{1,3}", r"\p{N}{1,3}"),
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+"),
        (r"a{2}?", r"(?:a{2})?"),
        (r"\s+$|^x", r"\s+(?m:$)|(?m:^)x"),
        (r"\h+|\N", r"[0-9A-Fa-f]+|[^\n]"),
        (r"(?m:.)|(?mi:x)|(?<n>y)", r"(?s:.)|(?is:x)|(y)"),
        (r"[\h_]\Z", r"[0-9A-Fa-f_](?=\n?\z)"),
        (r"\p{^L}", r"\P{L}"),
    ],
)
def test_their_dialect_in_ours(theirs, ours):
    assert from_oniguruma(theirs) == ours


@pytest.mark.parametrize("pattern", [r"a\Kb", "(?R)", "(?(1)a)", r"\k<n>", "(a", "a)", "[a", "b|a(?i)c|d", "(?<!a", "(?~a)"])
def test_what_has_no_words_is_refused(pattern):
    with pytest.raises(ConversionError, match="split pattern"):
        to_oniguruma(pattern)
    with pytest.raises(ConversionError, match="split pattern"):
        from_oniguruma(pattern)
