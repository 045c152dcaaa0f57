"""What clean does when nothing is said: prose survives, and what is left out or changed is reported."""

import gzip
import json

import pytest

from command_line import CliRunner
from tokenmill.cli.main import app
from tokenmill.corpus import CleanOptions, clean, read_documents
from tokenmill.corpus.cleaning import cut_long_file, report_path
from tokenmill.jobs.work import JobOptions
from tokenmill.sources.blocks import ReadOptions

PROSE = """The first paragraph is wrapped
at a few columns, as files are.

    def code(x):
        return [x]

The last.
"""
ONE = JobOptions(num_threads=1)


def documents(folder):
    return list(read_documents(folder.glob("shard-*")))


def test_a_file_of_wrapped_prose_is_one_document_as_it_is(tmp_path):
    (tmp_path / "a.txt").write_text(PROSE)
    (tmp_path / "b.txt").write_text("Short.")
    report = clean("text", [tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out", job=ONE)
    assert (report.documents_in, report.documents_kept, report.changed) == (2, 2, {})
    assert [(d.id, d.text) for d in documents(tmp_path / "out")] == [("a.txt", PROSE.strip("\n")), ("b.txt", "Short.")]


@pytest.mark.parametrize("kind", ["text", "fineweb"])
def test_code_in_a_jsonl_field_stays_as_it_is(tmp_path, kind):
    text = PROSE.rstrip("\n") + "\n\n\n\tx = {'a': [1000000, -5]}  # ------ https://a.org/x, \u3000•y"
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}))
    clean(kind, tmp_path / "a.jsonl", tmp_path / "out", job=ONE)
    assert [d.text for d in documents(tmp_path / "out")] == [text]


@pytest.mark.parametrize(
    ("line", "between"),
    [("A line of text. " * 20, "\n\n"), ("Only lines. " * 20, "\n"), ("é" * 301, ""), ("words ", "")],
)
def test_a_file_beyond_the_limit_is_cut_where_a_reader_would(tmp_path, line, between):
    text = between.join(f"{i}{line}" for i in range(10_000))
    (tmp_path / "a.txt").write_text(text)
    options = CleanOptions(read=ReadOptions(max_document_bytes=1 << 20), filters=())
    report = clean("text", tmp_path / "a.txt", tmp_path / "out", options=options, job=ONE)
    found = documents(tmp_path / "out")
    assert report.documents_kept == len(found) >= len(text.encode()) >> 21
    assert all(len(d.text.encode()) <= 2 << 20 for d in found)
    assert len({d.id for d in found}) == len(found)
    assert between.join(d.text for d in found) == text


def test_the_documents_of_a_long_file_are_read_back(tmp_path):
    """As lines of JSON they are longer than as text."""
    text = '"A line" of "text" with "quotes".\n\n' * 600_000
    (tmp_path / "a.txt").write_text(text)
    report = clean("text", tmp_path / "a.txt", tmp_path / "out", job=ONE)
    assert sum(len(d.text) + 2 for d in documents(tmp_path / "out")) == len(text)
    assert report.documents_kept == 3


@pytest.mark.parametrize("most", [8, 1000, 100_000])
def test_no_document_of_a_long_file_is_longer_than_the_limit(tmp_path, most):
    text = "".join(f"line {i}, with an é\n" + "\n" * (i % 7 == 0) for i in range(9000))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.txt").write_text("é" * 2000)
    options = CleanOptions(filters=(), read=ReadOptions(max_document_bytes=most))
    clean("text", sorted(tmp_path.glob("*.txt")), tmp_path / "out", options=options, job=ONE)
    found = documents(tmp_path / "out")
    assert max(len(document.text.encode()) for document in found) <= most
    joined = "".join("".join(document.text.split()) for document in found)
    assert joined == "".join((text + "é" * 2000).split())
    assert len({(document.source, document.id) for document in found}) == len(found)


def test_where_a_long_file_is_cut():
    for text, place in (("a\n\nb\nc d", 3), ("a\r\n\r\nb\nc", 5), ("a\nb c", 2), ("ab cd", 3), ("abcd", 3), ("aéé", 3)):
        buffer = bytearray(text.encode())
        assert cut_long_file(4, buffer, 0, len(buffer)) == place
        assert cut_long_file(None, buffer, 0, len(buffer)) == cut_long_file(9, buffer, 0, len(buffer)) == 0


def test_a_run_that_leaves_out_more_than_half_says_so_in_one_line(tmp_path):
    (tmp_path / "a.txt").write_text(PROSE)
    command = ["clean", "text", str(tmp_path / "a.txt"), "-o", str(tmp_path / "out"), "--unit", "line"]
    ran = CliRunner().invoke(app, [*command, "--min-chars", "25"])
    assert ran.exit_code == 0
    said = " ".join(ran.stderr.split())
    assert "more than half was left out: 3 documents, under 25 characters. See" in said
    assert "(--unit, --max-document), how long it must be (--min-chars)" in said
    ran = CliRunner().invoke(app, [*command, "--min-chars", "5", "--force"])
    assert "left out" not in ran.stderr


PAGE = "<page><title>Ünï</title><ns>0</ns><id>7</id><revision><text>Zürich 東京 😀 {}</text></revision></page>"
DUMPS = {
    "wikipedia": f"<mediawiki xml:lang='de'>\n{PAGE.format('Text. ' * 40)}\n</mediawiki>",
    "stackexchange": f'<posts>\n<row Id="7" Body="&lt;p&gt;Zürich 東京 😀 {"Text. " * 40}&lt;/p&gt;" />\n</posts>',
}


@pytest.mark.parametrize("kind", DUMPS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_dump_in_utf_16_is_read(tmp_path, kind, encoding, suffix):
    mark = "\ufeff" if encoding.endswith("be") else ""
    data = f'{mark}<?xml version="1.0" encoding="UTF-16"?>\n{DUMPS[kind]}'.encode(encoding)
    path = tmp_path / f"dump.xml{suffix}"
    path.write_bytes(gzip.compress(data) if suffix else data)
    report = clean(kind, path, tmp_path / "out", job=ONE)
    assert (report.documents_kept, report.skipped_count) == (1, 0)
    assert documents(tmp_path / "out")[0].text.startswith("Zürich 東京 😀 Text.")


def test_the_report_says_what_each_filter_changed_in_the_documents_kept(tmp_path):
    lines = ["Look at https://a.org/x now and then." * 3, "!!!!! https://b.org/", "Wow!!!!!! " + "A good line. " * 9]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    options = CleanOptions(filters=("urls", "repeats"), min_chars=50)
    report = clean("text", tmp_path / "a.jsonl", tmp_path / "out", options=options, job=ONE)
    assert report.documents_kept == 2
    assert {name: change["characters"] for name, change in report.changed.items()} == {"urls": 45, "repeats": 3}
    assert report.changed["repeats"]["examples"] == [["Wow!!!!!! A good line. A good", "Wow!!! A good line. A good"]]
    assert len(report.changed["urls"]["examples"]) == 3
    written = json.loads(report_path(tmp_path / "out").read_text())
    assert written["changed"] == report.changed
    ran = CliRunner().invoke(
        app, ["clean", "text", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "c"), "--filters", "repeats"]
    )
    assert "characters changed by filters" in ran.stderr
    assert "5, such as '!!!!! https://b.org/' to '!!! https://b.org/'" in " ".join(ran.stderr.split())


def test_the_strict_set_has_the_floor_of_its_recipe():
    for kind, filters, floor in (
        ("text", ("ddtokens",), 100),
        ("text", ("spaces",), 1),
        ("wikipedia", ("spaces",), 100),
    ):
        assert CleanOptions(filters=filters).for_kind(kind).min_chars == floor
    assert CleanOptions(filters=("ddtokens",), min_chars=0).for_kind("fineweb").min_chars == 0
