"""Split patterns in Oniguruma's dialect cut the same pretokens as in ours, and come back."""

import itertools
import os
import random

import pytest
import regex
import tokenizers
from tokenizers import pre_tokenizers

from code_points import code_points
from tokenmill.errors import ConversionError
from tokenmill.split import Splitter
from tokenmill.split.patterns import PATTERNS
from tokenmill.split.spelling import canonical, from_oniguruma, to_oniguruma
from tokenmill.split.syntax import POSIX
from tokenmill.split.tree import expansions

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))

MORE = [
    r"\p{N}{2}?a|\p{L}{1,2}+|.",
    r"(?:ab|a){1,2}+b|(?s:.)",
    r"^a|b$|(?m:^c|d$)|[^]\s\-]+|\s",
    r"(?P<word>\w+)|(?i:x[^\W\d]?)|\PL",
    r"[^\p{^L}a]+|\pN",
]


def pretokens_ours(pattern, text):
    """The pretokens by the `regex` module, whose possessive quantifiers are ours; $ at the very end only, as in Rust."""
    translated = pattern.replace("$", r"\Z") if "(?m" not in pattern else pattern
    ends = [0]
    for found in regex.finditer(translated, text, flags=regex.V1 if "&&" in pattern else regex.V0):
        ends += [found.start(), found.end()]
    ends = sorted({*ends, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(ends)]


def pretokens_theirs(pattern, text):
    split = pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="isolated")
    return [pretoken for pretoken, _ in split.pre_tokenize_str(text)]


def texts(seed, count=400):
    chosen = random.Random(seed)
    for _ in range(count):
        yield "".join(chosen.choices(" \n\r\tabcdeLLSTſ'’0123é漢.,!/\u00a0\u0301\U0001f600", k=chosen.randint(1, 24)))


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *MORE[:2], MORE[3], MORE[4]])
def test_patterns_cut_the_same_pretokens_there(pattern):
    for text in texts(7):
        assert pretokens_theirs(to_oniguruma(pattern), text) == pretokens_ours(pattern, text), text


@pytest.mark.parametrize("name", PATTERNS)
def test_named_patterns_cut_the_same_pretokens_there_on_every_code_point(name):
    ours = Splitter(name)
    theirs = pre_tokenizers.Split(tokenizers.Regex(to_oniguruma(PATTERNS[name])), behavior="isolated")
    for start in range(0, 0x110000, 64):
        if start >= 0x3000 and start % (64 * 64) and SWEEP == 1:
            continue
        text = "".join(
            f"{c} a{c}b 1{c}2 .{c} '{c}\n" for c in map(chr, range(start, start + 64)) if not "\ud800" <= c <= "\udfff"
        )
        assert [pretoken for pretoken, _ in theirs.pre_tokenize_str(text)] == ours.split(text), hex(start)


def test_a_property_that_no_table_has_is_translated_too():
    assert from_oniguruma(r"\p{Nonsense}{2}+|$") == r"(?:\p{Nonsense}{2})+|(?![^\n])"


@pytest.mark.parametrize("name", ["Block=Arrows", "Bidi_Class=L", "Numeric_Value=1", "scx=Grek"])
def test_a_property_that_no_table_has_is_not_written_even_where_both_dialects_spell_it_alike(name):
    for pattern in (rf"\p{{{name}}}", rf"\p{{{name}}}+|\P{{{name}}}", rf"[^a\p{{{name}}}]|."):
        with pytest.raises(ConversionError, match=name):
            to_oniguruma(pattern)


def test_a_name_of_letters_that_oniguruma_does_not_have_is_spelled_out():
    written = to_oniguruma(r"\p{L&}+|\P{L&}")
    assert written == r"[\p{Lu}\p{Ll}\p{Lt}]+|[^\p{Lu}\p{Ll}\p{Lt}]"
    for text in texts(9, 100):
        assert pretokens_theirs(written, text) == Splitter(r"\p{L&}+|\P{L&}").split(text)


def test_all_characters_that_fold_to_several_are_known():
    assert expansions() == {char: char.casefold() for char in map(chr, range(0x110000)) if len(char.casefold()) > 1}


def test_lines_and_texts_end_differently():
    assert pretokens_theirs(to_oniguruma("a$"), "ba\nba") == ["ba\nb", "a"]
    assert pretokens_theirs(to_oniguruma("(?m:a$)"), "ba\nba") == ["b", "a", "\nb", "a"]
    assert pretokens_theirs(to_oniguruma("(?m:a$)|b$"), "b\nb") == ["b\n", "b"]  # the flag ends with its group


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *MORE])
def test_what_is_written_reads_back_to_the_same_pretokens(pattern):
    written = to_oniguruma(pattern)
    for text in texts(8, 100):
        assert pretokens_theirs(to_oniguruma(from_oniguruma(written)), text) == pretokens_theirs(written, text)


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *MORE, r"(?m:^|$)x|\s+(?m:$)|(?m:^)a|(?m:$)*", r"(?s:.){3}?$"])
def test_the_canonical_spelling_survives_a_file(pattern):
    spelling = canonical(pattern)
    assert canonical(spelling) == spelling == canonical(from_oniguruma(to_oniguruma(spelling)))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (r"\p{N}{1,3}", r"\p{N}{1,3}"),
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+"),
        (r"a{2}?", r"(?:a{2})?"),
        (r"\s+$|^x", r"\s+(?![^\n])|(?:\A|(?<=\n))x"),
        (r"\h+|\N", r"[0-9A-Fa-f]+|[^\n]"),
        (r"(?m:.)|(?mi:x)|(?<n>y)", r"\p{Any}|[Xx]|y"),
        (r"[\h_]\Z", r"[0-9A-Fa-f_](?=\n?\z)"),
        (r"\p{^L}", r"\p{^L}"),
    ],
)
def test_their_dialect_in_ours(theirs, ours):
    assert from_oniguruma(theirs) == ours


@pytest.mark.parametrize("pattern", [r"a\Kb", "(?R)", "(?(1)a)", r"\k<n>", "(a", "a)", "[a", "(?<!a", "(?~a)"])
def test_what_has_no_words_is_refused(pattern):
    with pytest.raises(ConversionError, match="split pattern"):
        to_oniguruma(pattern)
    with pytest.raises(ConversionError, match="split pattern"):
        from_oniguruma(pattern)


PROPERTIES = (
    "L N P Lu M S Z C Han Alpha Letter Alnum Space Upper Lower Greek Cyrillic Nd Sc ^L Alphabetic Punct".split()
)
CLASSES = (
    [rf"\{char}" for char in "wWdDsShH"] + [rf"[[:{name}:]]" for name in POSIX] + [rf"[^[:{name}:]x]" for name in POSIX]
    + [rf"\p{{{name}}}" for name in PROPERTIES] + [r"(?i:\p{Lu})", r"(?i:\P{Ll})", "(?i:k)", "(?i:[^a-z])"]
)  # fmt: skip


@pytest.mark.parametrize("pattern", [*CLASSES, r"[^\w\s]", r"[\W\d]", r"[\w&&[^\p{L}]]"])
def test_classes_mean_the_same_on_every_code_point(pattern):
    """Read from a tokenizer.json, and written to one."""
    text = "".join(code_points())
    runs = f"{pattern}+"
    assert Splitter(from_oniguruma(runs)).split(text) == pretokens_theirs(runs, text)
    assert Splitter(runs).split(text) == pretokens_theirs(to_oniguruma(runs), text)


@pytest.mark.parametrize(
    "pattern", [r"\p{Word}", r"[\p{word}]", r"\P{Word}", r"\p{XDigit}", r"[^\p{Graph}]", r"\p{^Print}"]
)
def test_properties_of_oniguruma_alone_mean_what_they_do_there(pattern):
    text = "".join(code_points())
    assert Splitter(from_oniguruma(f"{pattern}+")).split(text) == pretokens_theirs(f"{pattern}+", text)


@pytest.mark.parametrize("text", ["aaab", "a{1, 2}b", "a{ 2}", "a{2}aa"])
@pytest.mark.parametrize(
    "pattern", ["a{1, 2}|b", "a{ 2}", "a{2 }|.", "a{,2}b", "a(?#two){2}|.", "(?#a)a(?#b)+|.", "a{ ,2}"]
)
def test_braces_with_spaces_are_no_quantifier_and_comments_are_nothing(pattern, text):
    assert Splitter(from_oniguruma(pattern)).split(text) == pretokens_theirs(pattern, text)
    assert Splitter(pattern).split(text) == pretokens_theirs(to_oniguruma(pattern), text)


@pytest.mark.parametrize(
    "pattern",
    [
        "ss",
        "[s]s",
        "fi",
        "\u00df",
        "[a-z\ufb00]",
        r"[\p{Lu}1]",
        "\u0149",
        "i\u0307",
        "ffi",
        "x(?:s)s",
        "'s|'t|st",
        "\ufb02+x",
        "\ufb06{2}",
        "x\u1f90?",
        "\ufb02++x",
    ],
)
def test_one_character_for_several_is_refused_or_spelled_out(pattern):
    """Oniguruma takes ss for \u00df where case is ignored; tiktoken and the `regex` module do not."""
    text = "Stra\u00dfe ss SS \u017fs \u1e9e \ufb01 fi FI \ufb06 st \u0149 'n \u02bcn \u0130 i\u0307 'S 's \ufb00 \ufb03 ffi x\u00df xss"
    pattern = f"(?i:{pattern})|."
    assert Splitter(pattern).split(text) == pretokens_theirs(to_oniguruma(pattern), text)
    with pytest.raises(ConversionError, match="ignoring case, Oniguruma takes"):
        from_oniguruma(pattern)


@pytest.mark.parametrize(
    "text", ["x\u00b2 metres", "\u00bd x\u00b2y", "ae\u0301 \u00e9te\u0301", "a\u200db", "\u24b6 \u0967"]
)
@pytest.mark.parametrize(
    "pattern", [r"\w+|\W+", r" ?\w+|[^\w\s]+|\s+", r"\b|x", r"(?x) \w+ # words (", r"(?x: [[:punct:]] )"]
)
def test_words_are_the_same_both_ways(pattern, text):
    assert Splitter(pattern).split(text) == pretokens_theirs(to_oniguruma(pattern), text)
    assert Splitter(from_oniguruma(pattern)).split(text) == pretokens_theirs(pattern, text)


REPEATED = (r"(?:(?!a)){0,2}b", r"(?:a|\z)+b", r"(?:\b)?a", r"(?:(?=x)|(?=y))+x", r"(?:^)*a")


@pytest.mark.parametrize("pattern", [r"\U00000061|b", r"[\u{61}]+", *REPEATED])
@pytest.mark.filterwarnings("ignore:the split pattern")
def test_code_points_and_repeated_conditions_are_written_as_oniguruma_has_them(pattern):
    written, text = to_oniguruma(pattern), "aab xa ybU00000061"
    assert pretokens_theirs(written, text) == Splitter(pattern).split(text)
    assert from_oniguruma(written) != pattern and to_oniguruma(from_oniguruma(written)) == written


@pytest.mark.parametrize("pattern", [r"\U00000061", r"\u{61}", *REPEATED])
def test_what_oniguruma_does_not_have_is_not_read(pattern):
    with pytest.raises(ConversionError):
        from_oniguruma(pattern)
