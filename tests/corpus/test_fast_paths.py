"""Each fast path of cleaning gives what its slow twin gives, on the real samples and on any text."""

import json
import os
import pickle
import re
from array import array
from collections import Counter
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_filters import SLOW

from tokenmill.corpus import read_documents, wikitext
from tokenmill.corpus._traits_cy import traits
from tokenmill.corpus.cleaner import Cleaner
from tokenmill.corpus.filters import FILTER_SETS, FILTERS, clean_segments
from tokenmill.corpus.html import html_to_text
from tokenmill.corpus.options import CleanOptions
from tokenmill.corpus.report import Tally
from tokenmill.corpus.wikitext import Segment, wikitext_to_text
from tokenmill.sources import jsonl
from tokenmill.sources.blocks import Block, Column, ReadOptions

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
SAMPLES = {
    "wikipedia-2006-head.xml": lambda text: [s.text for s in wikitext_to_text(text) if not s.verbatim],
    "stackexchange-posts.xml": lambda text: [s.text for s in html_to_text(text) if not s.verbatim],
    "fineweb-schema-sample.parquet": lambda text: [text],
}
PARTS = st.sampled_from(
    [
        *"https://a.org/x www.b.de. ftp://c.d/(e) mailto:x@y.org data:text/plain;base64,QUJD | || •one ● ○ - 1. ----".split(),
        *"#### ##### .... ____ ==== 字字字字 😀😀😀😀 ( ) [ ] < > \ufeff \uffff \0 \U0001fffe word Ünï » \u0301".split(),
        *(" ", "  ", "\n", "\n\n", "\n\n\n", "\r", "\r\n", "\t", "\x85", "\xa0", "\u2028", "\u3000"),
        *("f0" * 16, "1" * 40, "aB3/" * 12, "x" * 51),
    ]
)
TEXTS = st.lists(st.one_of(PARTS, PARTS, st.text(max_size=6)), max_size=14).map("".join)


@settings(max_examples=200 * SWEEP)
@given(TEXTS)
@example("######\n###### x\n####### y")
def test_each_filter_is_as_its_slow_twin(text):
    for name, slow in SLOW.items():
        assert FILTERS[name](text, Tally()) == slow(text), name


def one_by_one(text, names):
    """Every filter on every text, without a look at what is in it."""
    for name in names:
        text = FILTERS[name](text, Tally())
    return text.strip("\n")


@settings(max_examples=200 * SWEEP)
@given(TEXTS)
@example("\x1b\x1b\x1b\x1b")
def test_no_filter_is_left_out_where_it_changes_something(text):
    for name, filter in FILTERS.items():
        assert FILTERS[name](text, Tally()) == text or traits(text) & filter.trait, name
    for names in FILTER_SETS.values():
        assert clean_segments([Segment(text)], names, Tally()) == one_by_one(text, names)


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_real_samples(shared, sample):
    texts = [text for d in read_documents(shared / "corpus" / sample) for text in SAMPLES[sample](d.text)]
    for text in texts if SWEEP > 1 else texts[::20]:
        for name, filter in FILTERS.items():
            if (name in SLOW and name != "urls") or traits(text) & filter.trait:  # its twin takes seconds
                assert name not in SLOW or FILTERS[name](text, Tally()) == SLOW[name](text), name
    for text in texts if SWEEP > 1 else texts[1::20]:
        for names in FILTER_SETS.values():
            assert clean_segments([Segment(text)], names, Tally()) == one_by_one(text, names)


def block_of(texts, names=None, format="text"):
    block = Block()
    block.reset('a "b".txt', format, "line #")
    block.set_documents(texts, None if names is not None and format == "text" else array("Q", range(7, 7 + len(texts))))
    block.names = None if names is None else Column.of([name and name.encode() for name in names])
    return block


def slowly(cleaner, block):
    tally = Tally(bytes_in=block.nbytes)
    block.finish()
    for skip in block.skips:
        tally.skip(skip)
    if block.replaced:
        tally.removed["lone surrogate"] = sum(block.replaced.values())
    return b"".join(cleaner._line(block, i, tally) for i in range(len(block.ends))), tally


def with_json(block, read):
    """Python's json reads all objects of the block."""
    block.names = block.titles = Column.empty(len(block.ends))
    block.set_texts([b""] * len(block.ends), range(len(block.ends)), partial(jsonl.document, options=read))


DATA = st.one_of(
    TEXTS.map(str.encode), st.binary(max_size=8), st.sampled_from([b"\xc3", b"\xa9", b"\xe3\x80\x80", b"\n"])
)


@settings(max_examples=100 * SWEEP)
@given(st.lists(DATA, max_size=8), st.integers(0, 5), st.booleans(), st.sampled_from(["minimal", "none"]))
@example([b"\xc3", b"\xa9"], 0, True, "none")
@example([bytes(range(128)), b'\x7f\\"/'], 0, False, "none")
def test_lines_from_the_kernel_are_those_of_plain_python(texts, min_chars, named, filters):
    options = CleanOptions(filters=FILTER_SETS.get(filters, ()), min_chars=min_chars)
    cleaner = Cleaner("text", options)
    names = [f'é"{i}' if i % 2 else None for i in range(len(texts))] if named else None
    block = block_of(texts, names, "parquet")
    assert cleaner(pickle.loads(pickle.dumps(block))) == slowly(cleaner, block)


JSON_VALUES = st.one_of(
    TEXTS, st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2), st.just("\ud800")
)
RECORDS = st.one_of(
    st.tuples(
        st.dictionaries(st.sampled_from(["id", "title", "text", "x", 'k"\\']), JSON_VALUES, max_size=4),
        TEXTS,
        st.booleans(),
    ).map(
        lambda record: json.dumps({"text": record[1]} | record[0], ensure_ascii=record[2]).encode(
            errors="surrogatepass"
        )
    ),
    st.sampled_from(
        [b"{}", b"[1]", b'{"text": "a", "text": "b", "id": -0}', b'{"text": "a"}}', b'{"text": "\xc3"}', b"{"]
    ),
)


@settings(max_examples=100 * SWEEP)
@given(
    st.lists(RECORDS, max_size=8),
    st.integers(0, 5),
    st.sampled_from(["minimal", "none"]),
    st.sampled_from(["text", "id", "title"]),
)
def test_lines_of_json_from_the_kernel_are_those_of_plain_python(records, min_chars, filters, field):
    read = ReadOptions(field=field)
    options = CleanOptions(filters=FILTER_SETS.get(filters, ()), min_chars=min_chars, read=read)
    cleaner = Cleaner("fineweb", options)
    block = block_of(records, None, "jsonl")
    block.parse = partial(jsonl._parse, options=read, ids=True)
    lines = cleaner(pickle.loads(pickle.dumps(block)))
    block.parse = partial(with_json, read=read)
    assert lines == slowly(cleaner, block)


def test_lines_of_the_real_sample(shared):
    texts = [d.text.encode() for d in read_documents(shared / "corpus" / "fineweb-schema-sample.parquet")]
    cleaner = Cleaner("fineweb", CleanOptions().for_kind("fineweb"))
    for at in range(0, len(texts), 500):
        block = block_of(texts[at : at + 500])
        assert cleaner(pickle.loads(pickle.dumps(block))) == slowly(cleaner, block)


# Without the alternatives for templates and links as a whole.
BRACKETS = re.compile(
    r"\{\{|\}\}|\[\[|\]\](?!\](?!\]))|\n[ \t:*#;]*\{\||\n[ \t]*\|\}(?!\})|<table\b[^<>]*>|</table\s*>", re.IGNORECASE
)


def bracket_by_bracket(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wikitext, "_BRACKETS", BRACKETS)
        removed = Counter()
        return wikitext_to_text(text, None, removed), removed


@settings(max_examples=200 * SWEEP)
@given(
    st.lists(
        st.sampled_from(
            [
                *"{{ }} [[ ]] {{lang|fr|mot}} {{cite}} [[a|b]] [[File:x|thumb|y]] [[de:z]] [[Category:q]] {| |} { }".split(),
                *"<table> </table> [ ] | : <sub>2</sub> {{C}} text = ''b'' {{nowrap|".split(),
                *("\n", " ", "\n{|", "\n|}"),
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_whole_templates_and_links_are_as_their_brackets(text):
    removed = Counter()
    assert (wikitext_to_text(text, None, removed), removed) == bracket_by_bracket(text)


def test_whole_templates_and_links_of_real_pages(shared):
    for document in read_documents(shared / "corpus" / "wikipedia-2006-head.xml"):
        removed = Counter()
        assert (wikitext_to_text(document.text, None, removed), removed) == bracket_by_bracket(document.text)
