"""The real slices, cleaned: what must be gone, what must stay, and every letter of every script."""

import json
import re

import pytest
import regex
import zstandard

from tokenmill.corpus import CleanOptions, clean, read_documents
from tokenmill.corpus.filters import FILTER_SETS, FILTERS, clean_segments
from tokenmill.corpus.html import html_to_text
from tokenmill.corpus.report import Tally
from tokenmill.corpus.wikitext import Segment, wikitext_to_text

FOREIGN = regex.compile(r"[[\p{L}\p{M}]--\p{Latin}]", regex.V1)


def documents_of(folder):
    for shard in sorted(folder.glob("shard-*.jsonl.zst")):
        with zstandard.open(shard, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


@pytest.fixture(scope="module")
def wiki(shared, tmp_path_factory):
    """Both Wikipedia slices: the documents by (source, title), and the report."""
    folder = tmp_path_factory.mktemp("wiki")
    names = ["enwiki-pages-articles-shortened.xml.bz2", "wikipedia-2006-head.xml"]
    report = clean("wikipedia", [shared / "corpus" / name for name in names], folder)
    return {(d["source"].rpartition("/")[2][:6], d["title"]): d["text"] for d in documents_of(folder)}, report


def test_how_many_pages_are_kept_and_why_the_others_are_not(wiki):
    texts, report = wiki
    assert report.documents_in == 206 + 491
    assert report.documents_kept == len(texts) == 353
    assert report.dropped == {"redirect": 341, "another namespace": 2, "under 100 characters": 1}
    assert report.skipped_count == 0
    assert report.bytes_out == sum(len(text.encode()) for text in texts.values())
    assert len(report.most_removed) == 10
    assert report.most_removed[0][0] == "tag: ref"


MARKUP = (
    "[[",
    "]]",
    "{{",
    "}}",
    "<ref",
    "</",
    "<br",
    "&lt;",
    "&amp;",
    "&nbsp;",
    "|-",
    "'''",
    "\x00",
    "\x01",
    "\x04",
    "\n\n\n",
)


FORMULA = re.compile(r"\$[^$\n]+\$")  # of LaTeX


def test_no_markup_is_left(wiki):
    for (_, title), text in wiki[0].items():
        text = FORMULA.sub("x", text)
        assert not [gone for gone in MARKUP if gone in text], title
        # Lines of tables, lists and headings; files and what stands in their frames; brackets around nothing.
        assert not re.search(r"^([•*:;|!]|#(?!#* )|-(?! |$)|==|\{\||\|\})", text, re.MULTILINE), title
        assert not re.search(r"(?im)^(file|image|category):|\bthumb\||\d+px\||style=\"|colspan=|https?://\w", text), (
            title
        )
        assert not re.search(r"[(（]\s*[,;:]|[,;] \)|\( \)", text), title


SENTENCES = {
    ("enwiki", "Anarchism"): [
        "Anarchism is a political philosophy that advocates self-governed societies based on voluntary institutions.",
        "themselves derived respectively from the Greek ἀναρχία, i.e. anarchy (from ἄναρχος, anarchos, meaning",
    ],
    ("enwiki", "Albedo"): [
        "The average overall albedo of Earth, its planetary albedo, is 30 to 35% because of cloud cover",
        "where $A$ is the astronomical albedo, $D$ is the diameter in kilometers, and $H$ is the absolute magnitude.",
        r"$A =\left ( \frac{1329\times10^{-H/5}}{D} \right ) ^2$",
    ],
    ("enwiki", "Alabama"): ["Alabama has one of the longest navigable inland waterways in the nation."],
    ("enwiki", "Aikido"): ["合気道"],
    ("enwiki", "Algeria"): ["al-Jazā'ir", "ⵍⵣⵣⴰⵢⴻⵔ"],
    ("enwiki", "Alkane"): ["CₙH₂ₙ₊₂", "CH₄"],
    ("wikipe", "Anarchism"): [
        "Anarchism originated as a term of abuse first used against early working class radicals including the Diggers of "
        "the English Revolution and the sans-culottes of the French Revolution.",
        "derived from the Greek αναρχία",
    ],
    ("wikipe", "Axiom of choice"): [r"$\{x \in \{0, 1\} : (x = 0) \vee P\}$"],
    ("wikipe", "Alphabet"): ["alphabet"],
}  # fmt: skip


@pytest.mark.parametrize("page", SENTENCES)
def test_named_sentences_stay(wiki, page):
    for sentence in SENTENCES[page]:
        assert sentence in wiki[0][page]


@pytest.mark.parametrize("name", ["enwiki-pages-articles-shortened.xml.bz2", "wikipedia-2006-head.xml"])
def test_no_foreign_letter_of_a_wikipedia_page_is_lost_to_a_filter(shared, name):
    for document in read_documents(shared / "corpus" / name):
        for segment in wikitext_to_text(document.text):
            cleaned = clean_segments([segment._replace(verbatim=False)], FILTER_SETS["ddtokens"], Tally())
            assert FOREIGN.findall(cleaned) == FOREIGN.findall(segment.text), document.title


def test_no_foreign_letter_of_many_languages_is_lost_to_a_filter(corpus_bytes):
    whole = corpus_bytes("multi")
    step = len(whole) // 40
    text = "".join(whole[at : at + 15_000].decode(errors="ignore") for at in range(0, len(whole), step))
    assert len(FOREIGN.findall(text)) > 10_000
    without = FILTERS["urls"](text, Tally())  # a URL may hold letters of any script that writes spaces
    assert len(FOREIGN.findall(text)) - len(FOREIGN.findall(without)) < 50
    text = without
    for name, apply in FILTERS.items():
        assert FOREIGN.findall(apply(text, Tally())) == FOREIGN.findall(text), name
    cleaned = clean_segments([Segment(text)], FILTER_SETS["ddtokens"], Tally())
    assert FOREIGN.findall(cleaned) == FOREIGN.findall(text)


def test_posts(shared, tmp_path):
    source = shared / "corpus" / "stackexchange-posts.xml"
    report = clean("stackexchange", source, tmp_path / "out")
    assert (report.documents_in, report.documents_kept) == (781, 747)
    texts = {d["id"]: d for d in documents_of(tmp_path / "out")}
    first = texts["1"]
    assert first["title"] == "Translation questions — Questions de traduction"
    assert first["text"].startswith(
        "Translation questions — Questions de traduction\n\nI was the originator of the EN/FR"
    )
    assert "Faut-il" in "".join(d["text"] for d in texts.values())
    for post in texts.values():
        assert not re.search(
            r"</?(p|a|b|i|em|strong|li|ul|code|pre|blockquote|img|h\d)\b[^>]*>|&(lt|gt|amp|quot|#\w+);", post["text"]
        )
    bodies = {d.id: d.text for d in read_documents(source) if "<pre" in d.text}
    assert len(bodies) > 10
    for id, body in bodies.items():
        for segment in html_to_text(body):
            if segment.verbatim and id in texts:
                assert segment.text in texts[id]["text"]
    without = clean("stackexchange", source, tmp_path / "without", options=CleanOptions(keep_code=False))
    assert without.removed_by_kind["tag"] > report.removed_by_kind["tag"]
    assert without.bytes_out < report.bytes_out


def test_fineweb_stays_as_it_is(shared, tmp_path):
    """By default only what cannot be text changes: numbers, code and indentation stay."""
    source = shared / "corpus" / "fineweb-schema-sample.parquet"
    originals = {d.id: d.text for d in read_documents(source)}
    report = clean("fineweb", source, tmp_path / "out")
    assert (report.documents_in, report.documents_kept) == (4000, 4000)
    documents = {d["id"]: d["text"] for d in documents_of(tmp_path / "out")}
    assert "<urn:uuid:4afe3aaf-1127-6e85-6293-994ee06c3285>" in documents
    for id, text in documents.items():
        expected = re.sub("\r\n|[\r\x85\u2028\u2029]", "\n", originals[id])
        assert text == re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]", "", expected).strip("\n")


def test_fineweb_with_the_rules_of_ddtokens(shared, tmp_path):
    source = shared / "corpus" / "fineweb-schema-sample.parquet"
    report = clean("fineweb", source, tmp_path / "out", options=CleanOptions(filters=("ddtokens",), min_chars=100))
    assert report.documents_in == 4000
    assert report.dropped == {"under 100 characters": 7}
    for document in documents_of(tmp_path / "out"):
        assert not re.search(r"[!-~]{51}|https?://\w+\.|([^\w\s])\1{3}", document["text"])
        assert len(document["text"]) >= 100
