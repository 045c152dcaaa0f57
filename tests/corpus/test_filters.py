"""Each filter takes what it is against, and never a letter of a script outside the Latin one."""

import base64
import hashlib
import re

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tokenmill.corpus.filters import FILTER_SETS, FILTERS, chosen_filters, clean_segments
from tokenmill.corpus.report import Tally
from tokenmill.corpus.wikitext import Segment
from tokenmill.errors import UsageError

FOREIGN = regex.compile(r"[\p{L}--\p{Latin}]\p{M}*", regex.V1)


def run(name, text):
    return FILTERS[name](text, Tally())


def filtered(text, chosen):
    return clean_segments([Segment(text)], FILTER_SETS[chosen], Tally())


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("line-ends", "a\r\nb\rc\u2028d\x85e\n", "a\nb\nc\nd\ne\n"),
        ("urls", "see https://a.org/b_(c)?d=1#e, or www.b.de.", "see  , or  ."),
        ("urls", "看https://a.org/看吧", "看 看吧"),
        ("urls", 'href="http://a.org/x" (ftp://b.org/y), (see http://b.org)', 'href=" "  ,  '),
        ("urls", "[ http://a.org/x ] <www.b.org>.", "   ."),
        ("urls", "- a\n- http://a.org/\n2. <www.b.org> \n- http://a.org/.\n- b http://c.org", "- a\n-  .\n- b  "),
        ("urls", '"http://a.org/x","b" <a href="http://a.org"class=c>', '" ","b" <a href=" "class=c>'),
        ("urls", "awww. that:// is no URL", "awww. that:// is no URL"),
        ("emails", "mail me: Jane.Doe+x@mail.example.org.", "mail me:  ."),
        ("emails", "電郵a@b.co請 <a@b.co>", "電郵 請  "),
        ("emails", "@user and a@b", "@user and a@b"),
        ("hex", "md5 " + hashlib.md5(b"").hexdigest() + "!", "md5  !"),
        ("hex", "x" + "0" * 31 + "x", "x" + "0" * 31 + "x"),
        ("base64", f"key {base64.b64encode(bytes(range(50))).decode()}.", "key  ."),
        ("base64", "pneumonoultramicroscopicsilicovolcanoconiosis", "pneumonoultramicroscopicsilicovolcanoconiosis"),
        ("base64", base64.b64encode(bytes(range(20))).decode(), base64.b64encode(bytes(range(20))).decode()),
        ("urls", "https://en.wikipedia.org/wiki/Foo_(bar) x", "  x"),
        ("urls", "(https://en.wikipedia.org/wiki/Foo_(bar))", " "),
        ("urls", "text (see https://a.org/x_(y)), more", "text  , more"),
        ("urls", "text [Source: www.a.org/b] more", "text   more"),
        ("urls", "text (https://a.org/x, https://b.org/y), more", "text  , more"),
        ("urls", "text [see www.a.org; www.b.org and http://c.org/d_(e) ] more", "text   more"),
        ("urls", "- (http://a.org | http://b.org)\nmore", "more"),
        ("urls", "text (http://a.org, http://b.org and c) more", "text ( ,   and c) more"),
        ("urls", "text http://a.org, http://b.org) more", "text  ,  ) more"),
        ("urls", "text (see https://a.org/x and b) more", "text (see   and b) more"),
        ("urls", "http://пример.рф/путь/сюда и далее", "  и далее"),
        ("urls", "http://例え.jp/ また", "  また"),
        ("urls", "https://de.wikipedia.org/wiki/Größe. Next", " . Next"),
        ("urls", "<img src=data:image/png;base64,iVBORw0KGgo=>", "<img src= >"),
        ("emails", "<a href=mailto:a@b.org>, mailto:x@y.org", "<a href= >,  "),
        ("hex", "1" * 40 + " " + "DEAD" * 10, "1" * 40 + " " + "DEAD" * 10),
        ("base64", "ACGT" * 14, "ACGT" * 14),
        (
            "base64",
            "src/Main/java/com/Example/v2/Thing/Factory/Other1",
            "src/Main/java/com/Example/v2/Thing/Factory/Other1",
        ),
        ("repeats", "Hmmmmm 1000000 3333 $0.00001 ______ a    b", "Hmmmmm 1000000 3333 $0.00001 ______ a    b"),
        ("repeats", "a-----b!!!!", "a---b!!!"),
        ("repeats", "#### Four\n###### Six\nx ##### y", "#### Four\n###### Six\nx ### y"),
        ("repeats", "哈哈哈哈哈 ๆๆๆๆ ـــــ", "哈哈哈哈哈 ๆๆๆๆ ـــــ"),
        ("repeats", "😀😀😀😀😀", "😀😀😀"),
        ("spaced-repeats", "1000000 -----", "1000000  --- "),
        ("controls", "a\x00b\x9f\ufeffc\ufffe\td\n", "abc\td\n"),
        (
            "bullets",
            "• one\n  ● two\n-5 degrees\n#include\n.NET\n¿Qué?\n•x",
            "- one\n- two\n-5 degrees\n#include\n.NET\n¿Qué?\n•x",
        ),
        ("blank-lines", "a\n\n\n\nb\n\nc\nd", "a\n\nb\n\nc\nd"),
        ("pipes", "a|b|c|d|e\nf | g|h\n|V:0,", "a | b | c d e\nf | g | h\n | V:0,"),
        ("long-runs", "a " + "x" * 51 + " b " + "x" * 50, "a   b " + "x" * 50),
        ("long-runs", "字" * 200, "字" * 200),
        ("spaces", "\u3000a \t\xa0b\u2003\n c  ", "a b\nc"),
        ("leading-marks", "• – (one\n  \u201ctwo\u201d\n+ three\n$4\n+5", "one\ntwo\u201d\nthree\n$4\n+5"),
        ("leading-marks", "-\n\n  \nx", "\n\n\nx"),
        ("leading-marks", "\u0301x", "\u0301x"),
        ("letterless-lines", "12\nab\n...\n\nж 1\n字", "ab\nж 1\n字"),
    ],
)
def test_what_each_filter_does(name, before, after):
    assert run(name, before) == after


def test_all_filters_in_a_row():
    text = (
        "  • Hello,\u00a0world!   See https://example.org/x (or a@b.org).\n"
        "=====\n"
        "| a | b | c | d |\n"
        "1234\n"
        f"{'0f' * 16} and {'Ab1+' * 12}\n"
        "Soooooo long"
    )
    assert filtered(text, "ddtokens") == "Hello, world! See (or ).\na | b c d\nand\nSoooooo long"
    assert filtered(text, "careful") == ("- Hello, world! See (or ).\n===\n| a | b | c | d |\n1234\nand\nSoooooo long")
    assert filtered(text, "minimal") == text


def test_verbatim_segments_are_left_alone():
    code = "  x = 'https://a.org'  # -----\n\n\n\ty"
    segments = [Segment("  Run -----\n\n"), Segment(code, verbatim=True), Segment("....\n")]
    assert clean_segments(segments, FILTER_SETS["ddtokens"], Tally()) == f"Run ---\n\n{code}"


def test_what_was_removed_is_counted():
    tally = Tally()
    text = "https://a.org/1 https://a.org/2\n- x@y.org\n____\n42\n"
    clean_segments([Segment(text)], FILTER_SETS["ddtokens"], tally)
    assert tally.removed == {
        "urls: a.org": 2,
        "emails: x@y.org": 1,
        "leading-marks: -": 1,
        "leading-marks: ____": 1,
        "letterless-lines: 42": 1,
    }


@pytest.mark.parametrize(
    ("name", "text", "characters", "examples"),
    [
        ("line-ends", "a\r\nb\rc\n", 2, [["a\r\nb\rc\n", "a\nb\rc\n"], ["a\r\nb\rc\n", "a\r\nb\nc\n"]]),
        ("controls", "a\x00\x01b", 2, [["a\x00\x01b", "ab"]]),
        ("urls", "see (http://b.org/x), then", 16, [["see (http://b.org/x), then", "see  , then"]]),
        ("repeats", "=" * 9, 6, [["=" * 9, "==="]]),
        ("spaces", " a  b\t\n c", 4, None),
        ("leading-marks", "- a\n\n- b", 4, [["\n- a\n\n- b", "\na\n\n- b"], ["\n- a\n\n- b", "\n- a\n\nb"]]),
        ("letterless-lines", "ab\n12\ncd", 3, [["\nab\n12\ncd", "\nab\ncd"]]),
        ("hex", "1" * 40, 0, None),
    ],
)
def test_how_many_characters_a_filter_changed_and_where(name, text, characters, examples):
    tally = Tally()
    FILTERS[name](text, tally)
    assert tally.characters[name] == characters
    assert examples is None or tally.examples[name] == examples


def test_only_the_first_examples_are_kept_and_they_are_short():
    tally = Tally()
    FILTERS["urls"]("".join(f"{i} {'x' * 99} http://a.org/{'y' * 99} " for i in range(9)), tally)
    assert tally.removed == {"urls: a.org": 9}
    assert len(tally.examples["urls"]) == 5
    assert all(len(before) <= 100 for before, _ in tally.examples["urls"])


def test_filters_by_name():
    assert chosen_filters(["careful", "pipes"]) == tuple(n for n in FILTERS if n in {*FILTER_SETS["careful"], "pipes"})
    assert chosen_filters(()) == ()
    with pytest.raises(
        UsageError, match=r"there is no filter 'url'. The filters are line-ends, .* sets of filters are"
    ):
        chosen_filters(["url"])


SCRIPTS = "字がカ한ไทยລາວខ្មែរမြန်མာབོདཨዐሀعربיעጀ हिंदीবাংлаωЖ၀ՀაᏣᠮޝۇꦗꆈ𐐀𑄇𗀀"
mixed = st.text(
    st.one_of(
        st.sampled_from(SCRIPTS),
        st.characters(codec="utf-8"),
        st.sampled_from(" \n-|.@:/abcdef0123456789ABCDEFxyz+=_•\u3000\u200d\u200c\u0301"),
    ),
    max_size=200,
)
ascii_runs = st.sampled_from(
    ["https://a.org/", "www.x.org", "a@b.org", "f" * 40, "Ab1+" * 12, "x" * 60, "----", "|" * 5, "\r\n", "0000000"]
)
texts = st.lists(st.one_of(mixed, ascii_runs), max_size=12).map("".join)


@settings(max_examples=300)
@given(texts)
@example("看a@b.co看" + "f" * 40 + "看" + "A1" * 30 + "看" + "x" * 60 + "看看看看看||||看")
@example("ꫵ")  # a mark alone is not a letter
@example("\n".join(["ส" * 300, "字" * 1000, "ـ" * 9, "ᠠ᠊᠊᠊᠊"]))
def test_no_letter_of_a_foreign_script_is_ever_lost(text):
    """All of them, in their order, with the marks on them. A URL may hold letters of any script that writes spaces, so URLs are
    left out. So are marks on what is no letter, which may be removed below them."""
    text = regex.sub("://|www|data:", "", text, flags=regex.I)
    text = regex.sub(r"(?<![\p{L}\p{M}])\p{M}+", "", text)
    for name in FILTERS:
        assert FOREIGN.findall(run(name, text)) == FOREIGN.findall(text), name
    for chosen in FILTER_SETS:
        assert FOREIGN.findall(filtered(text, chosen)) == FOREIGN.findall(text), chosen


WORD = regex.compile(r"\w+")


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from('1000000 3333 $0.00001 -5 #include .NET ¿Qué? (a) [b] "q" _x_ x+=1 C# \'90s I/O'.split()),
        min_size=1,
    ).map(" ".join)
)
def test_the_careful_filters_change_no_number_and_no_word(text):
    assert filtered(text, "careful") == text


@settings(max_examples=300)
@given(texts)
def test_cleaned_text_is_clean(text):
    cleaned = filtered(text, "ddtokens")
    assert not re.search(r"[!-~]{51}|https?://[a-z]+[. /]|[^\S\n ]|  |\n\n", cleaned)
    for line in cleaned.split("\n") if cleaned else []:
        assert regex.search(r"\p{L}", line)
        assert not regex.match(r"[\p{P}\s]", line)
        assert line.count("|") <= 2


@pytest.mark.parametrize("name", FILTERS)
def test_no_filter_is_quadratic(name):
    """300 kB of what each pattern begins with; a quadratic one would take hours and hit the timeout of the test."""
    for unit in (
        "http://",
        "www.",
        "a@",
        "a.a@",
        "f",
        "Ab1",
        "-",
        "|",
        " ",
        "\n",
        "\n\n-",
        "\t \n",
        "字",
        "+ ",
        "x" * 50 + " ",
    ):
        run(name, unit * (300_000 // len(unit)))
